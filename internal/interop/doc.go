// Package interop tests that what the cdkd command line wrote can be gone on
// from, and gone back to.
//
// Its folder testdata holds objects of state buckets that cdkd 0.284.40 wrote
// against an emulator, with a made-up account, and the cloud assemblies that
// they came from, of small apps that were made for this: messaging (queue,
// topic, subscription, exports); nested (a stack in another); and mutate, one
// stack through the steps 1 create, 2 update, 3 replace, 4 delete, 4rp removal
// policies only, and 5 a create that fails. Its buckets are called for the
// moment: 32 after the refused replacement of step 3; 53 with step 4 settled; 60
// step 5 failed and rolled back; 61 the same without a rollback, and 63 rolled
// back since; 83 interrupted, and 84 rolled back since; 85 interrupted twice,
// with the lock left; 89 terminated; 93 destroyed.
package interop

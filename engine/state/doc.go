// Package state keeps what a deployment knows, in one S3 bucket.
//
// Every object has one file here and one type. Writes are conditional: a
// writer that did not see the latest version is refused, never merged. The
// lock keeps other runs out; the ETag keeps the record right when it fails to.
// What a reader does not understand it keeps; what it cannot read it refuses,
// and never takes for empty.
//
// A conditional write whose answer was lost meets its own result when it is
// sent again. So whoever is refused reads once, and goes on when the body is
// byte for byte what it sent; it never writes with the ETag of a body that
// somebody else wrote.
//
// The words: the record is what is known of a stack; the lock says who may
// change it; the journal what a failed deploy did, so that it can be undone; a
// run's events are its history; the exports index finds an export without
// reading every record.
//
// A deploy reads beside its lock request and confirms before it changes
// anything:
//
//	store, err := state.Open(ctx, cfg, state.Options{Bucket: "b", Prefix: state.DefaultPrefix, Account: account})
//	stack := store.Stack("Shop", "eu-west-1")
//	lock, err := stack.Lock(ctx, state.LockOptions{Owner: owner, Operation: "deploy"}) // in one goroutine
//	record, etag, err := stack.Read(ctx)                                               // in another
//	err = stack.Confirm(ctx, etag)                                                     // lock held, plan made
//	saver := state.NewSaver(ctx, stack, etag, state.SaverOptions{})
//	saver.Save(record) // after every resource
//	err = saver.Flush(ctx)
//	err = lock.Release(ctx)
//
// Nothing outside this package builds a key.
package state

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
// Four more say what may be made and taken. The ledger vouches for creates
// before they are sent; the retained list names what the stack kept on purpose;
// pending operations are what a run had to let go; the registry says under
// which prefix of the bucket a stack is kept. A create never takes over a
// resource that this evidence does not account for: what cannot be read proves
// nothing.
//
// Nothing outside this package builds a key.
package state

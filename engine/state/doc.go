// Package state keeps what a deployment knows, in one S3 bucket.
//
// Every object has one file here and one type. Writes are conditional: a
// writer that did not see the latest version is refused, never merged. The
// lock keeps other runs out; the ETag keeps the record right when it fails to.
// What a reader does not understand it keeps; what it cannot read it refuses,
// and never takes for empty.
//
// Nothing outside this package builds a key.
package state

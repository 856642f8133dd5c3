// Package routine keeps a fault of the program, a panic, from ending the
// process: a lock would stay behind, and Go's exit code for it means something
// else here.
//
// A panic is an error that nobody foresaw, and goes where errors go: to who waits.
// [Try] makes it one. In a [Group] it is raised again by Wait, so that the deferred
// clean-ups of those who wait run, up to the next Try. Goroutines are started with
// a Group, or they do their work within Try.
//
// What the Go runtime itself gives up at, such as a stack overflow or memory that
// cannot be had, ends the process all the same.
package routine

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A PanicError is what became of a panic.
type PanicError struct {
	Value any
	Stack []byte // where it happened
}

func (e *PanicError) Error() string { return fmt.Sprintf("internal error: %v", e.Value) }

// Remedy says what to do about it.
func (e *PanicError) Remedy() string {
	return "this is a fault of the program: please report it, with the log of a run with verbose"
}

// Try does something, and returns a panic in it as a *PanicError.
func Try(do func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *PanicError: // raised again by a group
			err = p
		default:
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return do()
}

// A Group is goroutines that are waited for together. Its zero value is empty.
type Group struct {
	running  sync.WaitGroup
	panicked atomic.Pointer[PanicError] // the first
}

// Go calls do in a goroutine of the group.
func (g *Group) Go(do func()) {
	g.running.Go(func() {
		err := Try(func() error {
			do()
			return nil
		})
		if p, ok := err.(*PanicError); ok {
			g.panicked.CompareAndSwap(nil, p)
		}
	})
}

// Wait returns when all have ended. It panics with what one of them panicked
// with, a *PanicError, unless that was raised to another who waited.
func (g *Group) Wait() {
	g.running.Wait()
	if p := g.panicked.Swap(nil); p != nil {
		panic(p)
	}
}

package state

import (
	"errors"
	"fmt"
)

// A RegisteredError says that a stack of the same name and region is kept under
// another prefix of the bucket, which its resources belong to.
type RegisteredError struct {
	Stack, Region string
	Prefix, Ours  string
	Key           string // the object that says so
	Working       bool   // nothing is recorded there yet, but somebody is at it

	bucket, profile string
}

func (e *RegisteredError) Error() string {
	what := "is kept"
	if e.Working {
		what = "is being deployed"
	}
	return fmt.Sprintf("stack %s in %s %s under the prefix %q of state bucket %s (%s); here the prefix is %q",
		printable(e.Stack), printable(e.Region), what, printable(e.Prefix), e.bucket, printable(e.Key), printable(e.Ours))
}

// Remedy says what to do about it. Its last line is a command, unless the names
// cannot be pasted safely.
func (e *RegisteredError) Remedy() string {
	advice := "use that prefix (state-prefix); or, if what it records is not wanted, drop that record, which gives the name free"
	command := cli("state orphan", e.Stack, e.Region, e.profile, e.bucket, e.Prefix)
	if e.Working {
		advice = "wait until that deploy is done; only if you know that it is dead, unlock it with the command force-unlock"
		command = cli("force-unlock", e.Stack, e.Region, e.profile, e.bucket, e.Prefix)
	}
	if command != "" {
		advice += ":\n" + command
	}
	return advice
}

// An UnansweredError says that it could not be found out whether another
// prefix of the bucket keeps a stack of the same name.
type UnansweredError struct {
	Stack, Region string
	Key           string // of the marker
	Err           error
}

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("find out which prefix keeps stack %s in %s (%s): %v", e.Stack, e.Region, e.Key, e.Err)
}

func (e *UnansweredError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *UnansweredError) Remedy() string {
	if m, ok := errors.AsType[interface {
		error
		Remedy() string
	}](e.Err); ok {
		return m.Remedy()
	}
	return "run again; nothing was changed"
}

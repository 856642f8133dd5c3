package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
)

var (
	// ErrNotFound says that the resource does not exist.
	ErrNotFound = errors.New("the resource does not exist")
	// ErrDraining says that a wait was let go because the run is ending. What was
	// asked for goes on in AWS.
	ErrDraining = errors.New("the wait was let go: the run is ending")
)

// A SettlingError says that a resource was made and that only the wait for it
// to settle was let go.
type SettlingError struct {
	Unput []string // properties that can only be put when it has settled
	Err   error    // ErrDraining, or the context's
}

func (e *SettlingError) Error() string { return e.Err.Error() }
func (e *SettlingError) Unwrap() error { return e.Err }

// An UnsupportedUpdateError says that a change cannot be made in place. It is
// never retried.
type UnsupportedUpdateError struct {
	Type, LogicalID string
	Properties      []string // that cannot be changed; nil when the service does not tell
	Err             error    // the service's refusal, nil when none was asked
}

func (e *UnsupportedUpdateError) Error() string {
	s := fmt.Sprintf("%s (%s) cannot be updated in place", e.LogicalID, e.Type)
	if len(e.Properties) > 0 {
		s += ": " + strings.Join(e.Properties, ", ")
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *UnsupportedUpdateError) Unwrap() error { return e.Err }

// A RegionError says that a "not found" was not believed, because the client
// looked in another region than the one recorded.
type RegionError struct{ LogicalID, Client, Recorded string }

func (e *RegionError) Error() string {
	return fmt.Sprintf("%s is recorded in %s, but was looked for in %s: not finding it there means nothing", e.LogicalID, e.Recorded, e.Client)
}

// HasCode tells whether the error, or one that caused it, is an AWS error with
// one of the codes.
func HasCode(err error, codes ...string) bool {
	for err != nil {
		var api smithy.APIError
		if !errors.As(err, &api) {
			return false
		}
		if slices.Contains(codes, api.ErrorCode()) {
			return true
		}
		err = errors.Unwrap(api.(error))
	}
	return false
}

func (r *Request) waiting(what, line string) {
	switch {
	case r.Waiting != nil:
		r.Waiting(what, line)
	case line != "":
		r.notice(line)
	}
}

func (r *Request) notice(text string) {
	if r.Notice != nil {
		r.Notice(text)
	}
}

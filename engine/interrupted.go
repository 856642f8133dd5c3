package engine

import (
	"fmt"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/plan"
)

// interrupted is what to say about a stack on which work was stopped.
func (d *deployment) interrupted() error {
	e := &InterruptedError{}
	if d.planned != nil && d.saver != nil {
		for _, c := range d.Changes {
			if c.Action != plan.NoChange {
				e.Planned++
			}
		}
		n := d.res.Counts
		e.Done, e.Unrecorded = n.Created+n.Updated+n.Deleted, d.unrecorded()
	}
	return e
}

// An InterruptedError says that a signal stopped work on a stack.
type InterruptedError struct {
	Done, Planned int
	Unrecorded    bool // the record may not say so
}

func (e *InterruptedError) Error() string {
	if e.Planned == 0 {
		return "interrupted by a signal before anything was changed"
	}
	if e.Unrecorded {
		return fmt.Sprintf("interrupted by a signal: %d of %s %s made, and the record could not be saved to say so", e.Done, amount.Of(e.Planned, "change"), amount.Form(e.Planned, "was", "were"))
	}
	return fmt.Sprintf("interrupted by a signal: %d of %s %s made and are recorded", e.Done, amount.Of(e.Planned, "change"), amount.Form(e.Planned, "was", "were"))
}

func (e *InterruptedError) Is(target error) bool { return target == errInterrupted }

// Remedy says what to do about it.
func (e *InterruptedError) Remedy() string {
	if e.Planned == 0 {
		return ""
	}
	return "run the same command again: it goes on where this one stopped"
}

package engine

import (
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// An ExistsError is AWS's refusal of a create because there is a resource of that
// name, which nothing says to be the stack's.
type ExistsError struct {
	Stack, LogicalID string
	PhysicalID       string // "" when it cannot be told
	Recorded         string // the id of what it was to replace, "" for nothing
	Err              error
}

func (e *ExistsError) Error() string { return e.Err.Error() }
func (e *ExistsError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *ExistsError) Remedy() string {
	return "give it another name; or, if what is there is this stack's, " + state.ImportAdvice(e.Stack, e.LogicalID, e.PhysicalID, e.Recorded)
}

// existing is the error of a create that made nothing, with what to do about it
// where its name was taken.
func (d *deployment) existing(logicalID, typ string, resolved template.Resolved, err error) error {
	if !retry.NameTaken(err) || Remedy(err) != "" {
		return err
	}
	e := &ExistsError{Stack: d.t.Name, LogicalID: logicalID, Err: err}
	if row := d.asRead.Row(logicalID); row != nil {
		e.Recorded = row.PhysicalID
	}
	if n := plan.PhysicalName(d.t.Name, logicalID, typ, resolved.Clear.(*value.Object)); idIsName(typ, n.Property) {
		e.PhysicalID = n.Value
	}
	return e
}

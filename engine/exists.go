package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/org/cdkd-action/engine/cloudformation"
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

	Owner    *cloudformation.Owner // nil when it is none of CloudFormation's
	NotAsked error                 // why that is not known
	Fresh    string                // the stack, or the one it is nested in, if nothing is recorded of it
}

func (e *ExistsError) Error() string {
	if e.Owner == nil {
		return e.Err.Error()
	}
	as := ""
	if e.Owner.LogicalID != "" {
		as = ", as " + e.Owner.LogicalID
	}
	return fmt.Sprintf("%v; it is a resource of CloudFormation stack %s%s", e.Err, e.Owner.Stack, as)
}

func (e *ExistsError) Unwrap() error { return e.Err }

// Remedy says what to do about it. What CloudFormation has is not to be imported as
// it is: it would have two owners.
func (e *ExistsError) Remedy() string {
	imported := state.ImportAdvice(e.Stack, e.LogicalID, e.PhysicalID, e.Recorded)
	switch o := e.Owner; {
	case e.NotAsked != nil:
		return fmt.Sprintf("give it another name; or, if what is there is this stack's, and no stack of CloudFormation has it, which could not be looked up (%v), %s", e.NotAsked, imported)
	case o == nil:
		return "give it another name; or, if what is there is this stack's, " + imported
	case e.Fresh == o.Root:
		return fmt.Sprintf("take the stack over: %s. Or give the resource another name", migration(e.Fresh, ""))
	case e.Fresh != "":
		return fmt.Sprintf("give it another name; or, if CloudFormation stack %s is to become this one, take it over: %s", o.Root, migration(e.Fresh, o.Root))
	default:
		return fmt.Sprintf("give it another name; or have stack %s let go of it first (deploy it with CloudFormation with the DeletionPolicy Retain, then without it), and only then %s", o.Stack, imported)
	}
}

// existing is the error of a create that made nothing, with what to do about it
// where its name was taken.
func (d *deployment) existing(ctx context.Context, logicalID, typ string, resolved template.Resolved, err error) error {
	if !retry.NameTaken(err) || Remedy(err) != "" {
		return err
	}
	e := &ExistsError{Stack: d.t.Name, LogicalID: logicalID, Err: err}
	if row := d.asRead.Row(logicalID); row != nil {
		e.Recorded = row.PhysicalID
	}
	properties := resolved.Clear.(*value.Object)
	switch n := plan.PhysicalName(d.t.Name, logicalID, typ, properties); {
	case n.Property == "":
		e.PhysicalID, _ = properties.Value(identifier(typ)).(string)
	case idIsName(typ, n.Property):
		e.PhysicalID = n.Value
	}
	top := d
	for top.t.parent != nil {
		top = top.t.parent
	}
	if top.asRead == nil || len(top.asRead.Resources) == 0 {
		e.Fresh = top.t.Name
	}
	e.Owner, e.NotAsked = d.formedBy(ctx, e, typ)
	return e
}

// formedBy asks whether a stack of CloudFormation has what is in the way of a create:
// any by its id, and where that cannot be told, the one that is called as this one.
func (d *deployment) formedBy(ctx context.Context, e *ExistsError, typ string) (*cloudformation.Owner, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if e.PhysicalID != "" {
		return d.e.cloudFormation(d).OwnerOf(ctx, typ, e.PhysicalID)
	}
	if d.t.parent != nil {
		return nil, nil
	}
	return d.e.cloudFormation(d).Holds(ctx, d.t.Name, e.LogicalID, typ)
}

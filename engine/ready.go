package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
)

// A RemakeError says that a resource failed after it was made and is kept.
type RemakeError struct {
	LogicalID, Type, PhysicalID string
	Because                     string
	Err                         error
}

func (e *RemakeError) Error() string {
	return fmt.Sprintf("%s (%s) was made by an earlier run and has failed since; it is not deleted and made again, because %s: %v", e.LogicalID, e.Type, e.Because, e.Err)
}

func (e *RemakeError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *RemakeError) Remedy() string {
	return fmt.Sprintf("look at %s, mend it or delete it by hand, and deploy again", e.PhysicalID)
}

// ready makes the wait that an earlier run let go of, before anything else is
// done with the resource or with what depends on it. One that has failed since
// is made again: then nothing is left to do with it.
func (d *deployment) ready(ctx context.Context, c *plan.Change, resolved template.Resolved) (remade bool, err error) {
	op, row := d.pending.settling[c.LogicalID], d.world.row(c.LogicalID)
	if op == nil || row == nil {
		return false, nil
	}
	err = d.awaitReady(ctx, op, row)
	settled, failed := errors.AsType[*provider.SettleError](err)
	switch {
	case err == nil:
		return false, nil
	case failed && settled.After == 0 && op.ChangeType == state.OpCreate, errors.Is(err, provider.ErrNotFound):
		return true, d.remake(ctx, c, resolved, row, err)
	}
	return false, d.fail(c, row.PhysicalID, err)
}

func (d *deployment) awaitReady(ctx context.Context, op *state.OpenOperation, row *state.Resource) error {
	driver := d.router.Driver(row.ResourceType)
	if driver == nil {
		d.finish(op.LogicalID, op.ChangeType)
		return nil
	}
	req := d.request(op.LogicalID, row.ResourceType)
	req.PhysicalID, req.Properties, req.Attributes = row.PhysicalID, row.Properties, row.Attributes
	d.name(req)
	var made provider.Created
	ev := Event{Action: action(*op), LogicalID: op.LogicalID, Type: row.ResourceType, PhysicalID: row.PhysicalID}
	err := d.operation(ctx, ev, d.limit(row.ResourceType), func(ctx context.Context) (string, error) {
		var err error
		made, err = driver.Settle(ctx, req)
		return row.PhysicalID, err
	})
	if err != nil {
		return err
	}
	d.change(func(r *state.Record) {
		next := row.Clone()
		next.Attributes = merged(d.redact(made.Attributes), next.Attributes)
		r.Set(op.LogicalID, next)
	})
	d.finish(op.LogicalID, op.ChangeType)
	d.unawaited(op.LogicalID, row.ResourceType, row.PhysicalID, made.Unsettled)
	return nil
}

// remake deletes what failed after it was made, and makes it again, as CloudFormation
// does with a create that fails.
func (d *deployment) remake(ctx context.Context, c *plan.Change, resolved template.Resolved, row *state.Resource, cause error) error {
	refuse := func(because string) error {
		return d.fail(c, row.PhysicalID, &RemakeError{LogicalID: c.LogicalID, Type: c.Type, PhysicalID: row.PhysicalID, Because: because, Err: cause})
	}
	if !errors.Is(cause, provider.ErrNotFound) {
		switch {
		case row.DeletionPolicy == "Retain":
			return refuse("its DeletionPolicy keeps it")
		case plan.Stateful(row.ResourceType):
			return refuse("its data would be lost")
		}
		if err := d.registry.Check(ctx); err != nil {
			return d.fail(c, row.PhysicalID, err)
		}
		d.observe(Event{Kind: Notice, LogicalID: c.LogicalID, Type: c.Type, PhysicalID: row.PhysicalID,
			Text: fmt.Sprintf("an earlier run made it and it has failed since (%v): deleted and made again", cause)})
		skipped, err := d.delete(ctx, c.LogicalID, row, retry.ForDelete(retry.Classifier{}), false)
		if err == nil && skipped != "" {
			err = errors.New(skipped)
		}
		if err != nil {
			return d.fail(c, row.PhysicalID, err)
		}
	}
	d.change(func(r *state.Record) { r.Remove(c.LogicalID) })
	d.complete(&state.Operation{LogicalID: c.LogicalID, ResourceType: row.ResourceType, ChangeType: state.OpDelete,
		PhysicalID: row.PhysicalID, Previous: row, ProvisionedBy: row.ProvisionedBy})
	d.finish(c.LogicalID, state.OpCreate)
	again := *c
	again.Action, again.PhysicalID = plan.Create, ""
	if resolved.Clear == nil {
		var err error
		if resolved, err = d.scope.ResolvedProperties(ctx, c.LogicalID); err != nil {
			return d.fail(c, "", err)
		}
		resolved = sent(resolved, d.decisions[c.LogicalID])
	}
	return d.create(ctx, &again, resolved, nil)
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
)

// clearWay deletes the old copy of what is replaced before the new one is made.
// From then on the record has no row of it, so that a run that is killed in
// between leaves a resource to create; a rollback makes the old one again.
func (d *deployment) clearWay(ctx context.Context, c *plan.Change, old *state.Resource) error {
	_, policy := d.policies(c.LogicalID)
	skipped, err := d.delete(ctx, c.LogicalID, governed(old, policy), retry.ForDelete(retry.Classifier{}), false)
	if err == nil && skipped != "" {
		err = errors.New(skipped)
	} else if err != nil && !is[*SnapshotError](err) && !is[*ElsewhereError](err) { // AWS was asked
		d.half(err, &state.Operation{LogicalID: c.LogicalID, ResourceType: old.ResourceType, ChangeType: state.OpDelete,
			PhysicalID: old.PhysicalID, Previous: old, ProvisionedBy: old.ProvisionedBy})
	}
	if err != nil {
		return fmt.Errorf("the old %s has to go before the new one is made, and was not deleted: %w", old.PhysicalID, err)
	}
	op := &state.Operation{LogicalID: c.LogicalID, ResourceType: c.Type, ChangeType: state.OpUpdate, Previous: old, OldDeletedFirst: true}
	if old.ResourceType != c.Type {
		op.PreviousType = old.ResourceType
	}
	d.complete(op)
	d.mu.Lock()
	if d.cleared == nil {
		d.cleared = map[string]bool{}
	}
	d.cleared[c.LogicalID] = true
	d.mu.Unlock()
	d.goneLeftover(old)
	d.change(func(r *state.Record) { r.Remove(c.LogicalID) })
	// With the old row on record, what the create to come makes would be forgotten.
	saving, cancel := d.e.config.Window.Cleanup(30 * time.Second)
	defer cancel()
	_ = d.saver.Flush(saving) // who waits for the last save says what came of it
	return nil
}

// oldGoesFirst tells, of a planned replacement, whether the old resource is deleted
// before the new one is made.
func (d *deployment) oldGoesFirst(c *plan.Change, old *state.Resource) bool {
	first, err := d.mayReplace(c, c.Desired, old)
	return first && err == nil
}

// isCleared tells whether this run deleted the old copy of a resource first.
func (d *deployment) isCleared(logicalID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cleared[logicalID]
}

// createCleared makes a resource whose create was answered with the name of its
// old copy, after deleting that one. It is another create, which replaces nothing:
// the answer to the first one's token is that it failed.
func (d *deployment) createCleared(ctx context.Context, c *plan.Change, f *flight, old *state.Resource, decision provider.Decision) (provider.Created, error) {
	if err := d.clearWay(ctx, c, old); err != nil {
		return provider.Created{}, err
	}
	again := *f.req
	if _, err := d.intendAnother(ctx, &again, ""); err != nil {
		return provider.Created{}, err
	}
	d.pending.mu.Lock()
	f.op.ClientToken, f.op.Replacing, f.op.Previous = again.Token, false, nil
	d.pending.mu.Unlock()
	return d.provider(decision, retry.ForRecreate(retry.Classifier{})).Create(ctx, &again)
}

// mayClear tells whether an old copy that has the name of its new one may be
// deleted first.
func (d *deployment) mayClear(c *plan.Change) bool {
	return (d.opt.DeleteFirst || c.Recreate != "") && c.UpdateReplacePolicy != "Retain"
}

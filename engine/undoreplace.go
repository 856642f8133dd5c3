package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/org/cdkd-action/engine/authorship"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
)

// takeBack undoes a replacement whose old copy still exists: the old one's row
// comes back, the new one goes.
func (u *undoing) takeBack(ctx context.Context, op *state.Operation, row *state.Resource) error {
	u.change(func(r *state.Record) { r.Set(op.LogicalID, op.Previous) })
	return u.letGo(ctx, op, row, u.createOf(ctx, op.LogicalID, row, state.RunBegan(u.run)))
}

// letGo deletes the new copy of a replacement that is undone, by its
// UpdateReplacePolicy. No record names it any more.
func (u *undoing) letGo(ctx context.Context, op *state.Operation, row *state.Resource, sent authorship.Create) error {
	if back := u.world.row(op.LogicalID); back != nil && state.SameResource(row.ResourceType, back.PhysicalID, row.PhysicalID) || u.heir(op.LogicalID, row, nil) != "" {
		return nil
	}
	if row.UpdateReplacePolicy == "Retain" {
		return &skip{
			reason: fmt.Sprintf("the old copy is recorded again; its new copy %s was kept, as its UpdateReplacePolicy says", row.PhysicalID),
			remedy: "delete the new copy by hand if it is not wanted: no record names it any more",
		}
	}
	doubt := ""
	if u.onTrial(row) {
		var err error
		if doubt, err = u.doubtOf(ctx, op.LogicalID, row, sent); err != nil {
			doubt = err.Error() // it is not asked again
		}
	}
	if doubt != "" {
		return &skip{
			reason: fmt.Sprintf("the old copy is recorded again; what the replacement was answered with, %s, was kept: %s", row.PhysicalID, doubt),
			remedy: "look whose it is, and put right what the deploy changed of it, or delete it by hand: no record names it any more",
		}
	}
	skipped, err := u.delete(ctx, op.LogicalID, governed(row, row.UpdateReplacePolicy), retry.ForDelete(retry.Classifier{}), true)
	if e, ok := errors.AsType[*ElsewhereError](err); ok {
		u.givenAway(op.LogicalID, row, e)
		return nil
	}
	if skipped != "" {
		err = errors.Join(err, errors.New(skipped))
	}
	if err != nil {
		return &skip{
			reason: fmt.Sprintf("its new copy %s was left behind: %v", row.PhysicalID, err),
			remedy: "delete the new copy by hand: no record names it any more",
		}
	}
	return nil
}

// governed is a row whose deletion another policy decides about.
func governed(row *state.Resource, policy string) *state.Resource {
	c := row.Clone()
	c.DeletionPolicy = policy
	return c
}

// revive undoes a replacement whose old copy is gone: it is made again, then
// the new one goes. Where both would have one name, the new one goes first. row
// is nil when the new one was never made.
func (u *undoing) revive(ctx context.Context, op *state.Operation, row *state.Resource) error {
	from := row
	if from == nil {
		from = op.Previous
	}
	req, decision, err := u.back(ctx, op, from)
	if err != nil {
		return err
	}
	req.PhysicalID, req.Attributes, req.Previous = "", nil, nil
	var sent authorship.Create
	if row != nil {
		sent = u.createOf(ctx, op.LogicalID, row, state.RunBegan(u.run)) // the ledger says it no more once the old copy's create is written down
	}
	remake := func(policy retry.Policy) error { return u.remakeOld(ctx, op, req, decision, policy) }
	if row == nil {
		return remake(retry.ForRecreate(retry.Classifier{}))
	}
	if !op.OldDeletedFirst { // else the two have one name
		if err = remake(retry.ForCreate(retry.Classifier{})); err == nil {
			if err = u.letGo(ctx, op, row, sent); !letGo(err) {
				u.goneLeftover(row) // it is gone, or was named as left behind
			}
			return err
		}
		if !retry.NameTaken(err) {
			return err
		}
	}
	if row.UpdateReplacePolicy == "Retain" {
		return &skip{reason: "its new copy has the name and was kept, as its UpdateReplacePolicy says"}
	}
	doubt, err := u.doubt(ctx, op.LogicalID, row, state.RunBegan(u.run))
	if err != nil {
		return err
	}
	if doubt != "" {
		return &skip{reason: "what the replacement was answered with has the name, and was kept: " + doubt}
	}
	skipped, err := u.delete(ctx, op.LogicalID, governed(row, row.UpdateReplacePolicy), retry.ForDelete(retry.Classifier{}), true)
	if err != nil {
		return err
	}
	if skipped != "" {
		return &skip{reason: skipped}
	}
	u.change(func(r *state.Record) { r.Remove(op.LogicalID) })
	if err := remake(retry.ForRecreate(retry.Classifier{})); err != nil {
		return fmt.Errorf("the new copy is gone already, and making the old one again failed: %w", err)
	}
	return nil
}

// noteSuperseded writes down that a resource goes because the handler that was to
// bring it back answered with another id.
func (u *undoing) noteSuperseded(ctx context.Context, op *state.Operation, row *state.Resource, answered string) error {
	if answered == "" || answered == row.PhysicalID || row.UpdateReplacePolicy == "Retain" {
		return nil
	}
	u.pending.mu.Lock()
	u.pending.noted = true
	u.pending.mu.Unlock()
	l := oldCopy(op.LogicalID, row, row.UpdateReplacePolicy)
	return u.changePending(ctx, func(p *state.Pending) { p.Leave(*l) })
}

// superseded deletes a resource that was brought back under another id.
func (u *undoing) superseded(ctx context.Context, op *state.Operation, row *state.Resource) error {
	if u.world.row(op.LogicalID).PhysicalID == row.PhysicalID {
		return nil
	}
	err := u.letGo(ctx, op, row, authorship.Create{})
	if !letGo(err) {
		u.goneLeftover(row) // it is gone, or was named as left behind
	}
	return err
}

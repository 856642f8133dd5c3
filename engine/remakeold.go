package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
)

// A rollback that makes an old copy again is as careful as a deploy with a create:
// it is written down before it is sent, so that a run that is killed forgets
// nothing, and what it has to let go the next one goes on with.

// remakeOld makes the old copy of a replacement again, and records it. Its new copy,
// if that is still there, is a leftover from then on.
func (u *undoing) remakeOld(ctx context.Context, op *state.Operation, req *provider.Request, decision provider.Decision, policy retry.Policy) error {
	row := u.world.row(op.LogicalID)
	found, err := u.intendOld(ctx, req, row, decision)
	if err != nil {
		return err
	}
	f := u.depart(req, state.OpenOperation{
		ChangeType: state.OpCreate, ProvisionedBy: op.Previous.ProvisionedBy, Replacing: row != nil, Previous: row, ClientToken: req.Token, Name: req.Name,
		Properties: op.Previous.Properties, Dependencies: op.Previous.Dependencies,
		DeletionPolicy: op.Previous.DeletionPolicy, UpdateReplacePolicy: op.Previous.UpdateReplacePolicy,
	})
	var made provider.Created
	ev := Event{Action: plan.Create, LogicalID: op.LogicalID, Type: req.Type, Rollback: true}
	err = u.deployment.operation(ctx, ev, u.limit(req.Type), func(ctx context.Context) (string, error) {
		var err error
		if found != "" {
			made, err = u.router.Driver(req.Type).Resume(ctx, req, provider.Created{PhysicalID: found})
		} else {
			made, err = u.provider(decision, policy).Create(ctx, req)
		}
		return made.PhysicalID, err
	})
	if partial, ok := errors.AsType[*provider.PartialError](err); ok && made.PhysicalID == "" {
		made = partial.Made
	}
	if left := cloudcontrol.RemnantOf(err); left != "" {
		made.PhysicalID = left
	}
	u.arrive(f, err)
	if u.creates != nil {
		u.over(op.LogicalID, req.Type, made.PhysicalID, err)
	}
	switch {
	case made.PhysicalID == "":
		return err
	case row != nil && req.Type == row.ResourceType && state.SameResource(req.Type, made.PhysicalID, row.PhysicalID):
		return &skip{reason: "making it again was answered with the copy that is there, which was kept as it is"}
	case err != nil && !is[*provider.SettlingError](err):
		l := oldCopy(op.LogicalID, previous(op, made.PhysicalID), "")
		l.Reason = state.LeftRemnant
		u.leaveBehind(ctx, l)
		return err
	}
	if row != nil && row.UpdateReplacePolicy != "Retain" {
		u.leaveBehind(ctx, oldCopy(op.LogicalID, row, row.UpdateReplacePolicy))
	}
	u.deployment.mu.Lock()
	u.remade = append(u.remade, op.LogicalID)
	u.deployment.mu.Unlock()
	u.change(func(r *state.Record) {
		old := previous(op, made.PhysicalID)
		old.Attributes = u.redact(made.Attributes)
		r.Set(op.LogicalID, old)
	})
	u.reattach(ctx, op.LogicalID, func(id string, row *state.Resource, err error) {
		u.unaddressed(id, row.ResourceType, row.PhysicalID, err.Error(), fmt.Sprintf("put it there by hand, or deploy with recreate: %s", id))
	})
	return err
}

// wasRemade tells whether a rollback made the resource again: that is proved, and
// needs no evidence any more.
func (d *deployment) wasRemade(logicalID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.remade, logicalID)
}

// leaveBehind writes a leftover down.
func (u *undoing) leaveBehind(ctx context.Context, l *state.Leftover) {
	u.pending.mu.Lock()
	u.pending.noted = true
	u.pending.mu.Unlock()
	if err := u.changePending(ctx, func(p *state.Pending) { p.Leave(*l) }); err != nil {
		u.warn("%v", err)
	}
}

// intendOld writes the create of an old copy down, and looks for what an earlier
// rollback made by the same create: "" is nothing.
func (u *undoing) intendOld(ctx context.Context, req *provider.Request, row *state.Resource, decision provider.Decision) (found string, err error) {
	if decision.Direct {
		req.Token = newToken()
		return "", nil
	}
	replaces := ""
	if row != nil {
		replaces = row.PhysicalID
	}
	again, err := u.intendAnother(ctx, req, replaces)
	driver := u.router.Driver(req.Type)
	if err != nil || !again || driver == nil || decision.Route.ProvisionedBy != state.BySDK {
		return "", err // Cloud Control tells by the token
	}
	if found, err = driver.Find(ctx, req); err != nil {
		err = fmt.Errorf("look for what an earlier rollback may have made: %w", err)
	}
	return found, err
}

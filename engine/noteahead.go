package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/org/cdkd-action/engine/state"
)

// A run that is killed between a delete and the save leaves a record that names
// what is gone, and a plan made from it finds nothing to do. So each phase that
// deletes, or brings back, writes down in one write what it is about to do, before
// the first of it is sent. The next run looks for what was to be deleted, takes
// what is gone off the record, and puts again what may have been brought back.
//
// The phases of nested stacks do so themselves, and custom resources are written
// down as their handlers are invoked. A destroy, which may delete all there is, says
// so in its lock: see state.Destroying.

// noteAhead writes down what a phase is about to do to recorded resources.
func (d *deployment) noteAhead(ctx context.Context, ops []state.OpenOperation) {
	var noted []*flight
	for _, op := range ops {
		if op.ResourceType == nestedType || isCustom(op.ResourceType) {
			continue
		}
		op.Stage, op.StartedAt, op.RoleARN = state.StageSent, now().UnixMilli(), d.e.config.RoleARN
		noted = append(noted, &flight{op: op, noted: true})
	}
	if noted == nil {
		return
	}
	d.pending.mu.Lock()
	d.pending.closing = append(d.pending.closing, noted...)
	d.pending.mu.Unlock()
	err := d.changePending(ctx, func(p *state.Pending) {
		for _, f := range noted {
			p.Enter(f.op)
		}
	})
	if err != nil {
		d.warn("%v: should this run be killed, the record may not say what it deletes from here on", err)
	}
}

// noteDeletes is noteAhead for rows that are to go.
func (d *deployment) noteDeletes(ctx context.Context, ids []string, rows map[string]*state.Resource) {
	var ops []state.OpenOperation
	for _, id := range ids {
		if row := rows[id]; row.DeletionPolicy != "Retain" {
			ops = append(ops, deleting(id, row))
		}
	}
	d.noteAhead(ctx, ops)
}

func deleting(logicalID string, row *state.Resource) state.OpenOperation {
	return state.OpenOperation{LogicalID: logicalID, ResourceType: row.ResourceType, ChangeType: state.OpDelete,
		PhysicalID: row.PhysicalID, ProvisionedBy: cmp.Or(row.ProvisionedBy, state.BySDK)}
}

// noteUndoing is noteAhead for a rollback.
func (u *undoing) noteUndoing(ctx context.Context, completed []*state.Operation) {
	var ops []state.OpenOperation
	for _, op := range completed {
		row := u.world.row(op.LogicalID)
		switch {
		case row == nil, row.PhysicalID != op.PhysicalID, slices.Contains(u.orphan, op.LogicalID):
		case op.ChangeType == state.OpCreate && row.DeletionPolicy == "Retain":
		case op.ChangeType == state.OpCreate, replaced(op):
			if u.forbidden == nil {
				ops = append(ops, deleting(op.LogicalID, row))
			}
		case op.ChangeType == state.OpUpdate && op.Previous != nil && !op.OldDeletedFirst && !hasMasks(op.Previous):
			ops = append(ops, state.OpenOperation{LogicalID: op.LogicalID, ResourceType: row.ResourceType, ChangeType: state.OpUpdate,
				PhysicalID: row.PhysicalID, ProvisionedBy: cmp.Or(row.ProvisionedBy, state.BySDK), Properties: op.Previous.Properties, Previous: row})
		}
	}
	u.noteAhead(ctx, ops)
}

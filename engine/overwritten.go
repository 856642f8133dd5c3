package engine

import (
	"context"
	"fmt"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A create under a new logical id that is answered with what is there, as a
// policy's is, writes its properties over those of the row that goes. Until that
// row has gone, the record says of it what is not so any more: a rollback puts it
// back, and else the next deploy that keeps the old logical id.

// noteOverwritten notes the rows whose resources this run's creates wrote over.
func (d *deployment) noteOverwritten() {
	for _, op := range d.completed {
		row := d.world.row(op.LogicalID)
		if op.ChangeType != state.OpCreate || row == nil {
			continue
		}
		if id := d.heir(op.LogicalID, row, nil); id != "" {
			d.overwritten(id, row)
		}
	}
}

// overwritten notes that a row's resource has the properties of another row.
func (d *deployment) overwritten(logicalID string, by *state.Resource) {
	row := d.world.row(logicalID)
	if value.Equal(row.Properties, by.Properties) {
		return
	}
	d.noteHalf(state.OpenOperation{
		LogicalID: logicalID, ResourceType: row.ResourceType, ChangeType: state.OpUpdate, Stage: state.StageSent, PhysicalID: row.PhysicalID,
		Previous: row, Properties: by.Properties, ProvisionedBy: row.ProvisionedBy, StartedAt: now().UnixMilli(), RoleARN: d.e.config.RoleARN,
	})
}

// giveBack brings a resource that a create wrote over back to what the row that
// had it before says, if there is one that stays.
func (u *undoing) giveBack(ctx context.Context, by *state.Resource, logicalID string) error {
	if logicalID == "" {
		return nil
	}
	row := u.world.row(logicalID)
	u.overwritten(logicalID, by)
	written := row.Clone()
	written.Properties = by.Properties
	op := &state.Operation{LogicalID: logicalID, ResourceType: row.ResourceType, ChangeType: state.OpUpdate, PhysicalID: row.PhysicalID, Previous: row}
	if err := u.revert(ctx, op, written, true); err != nil {
		return fmt.Errorf("it wrote over %s, which was not put back: %w", logicalID, err)
	}
	u.forgetHalf(logicalID)
	u.finish(logicalID, state.OpUpdate)
	return nil
}

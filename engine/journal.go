package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
)

// settleJournal ends the journal after a deploy that succeeded, and before a
// destroy. A create that failed after its resource existed may have left one
// that no record names: that is deleted first, by its policy. What cannot be
// deleted stays in the journal, and the outcome is partial.
func (d *deployment) settleJournal(ctx context.Context) {
	journal, err := d.place.ReadJournal(ctx)
	if err != nil {
		d.unaddressed("", "", "", fmt.Sprintf("the journal of earlier failures is kept: %v", err), "look at the journal, then remove it")
		return
	}
	if journal == nil {
		return
	}
	var left []*state.Segment
	for _, g := range journal.Segments {
		var failed []*state.Operation
		for _, op := range g.Failed {
			if d.abandoned(op) && !d.deleteAbandoned(ctx, op, state.RunBegan(g.RunID)) {
				failed = append(failed, op)
			}
		}
		if failed != nil {
			g.Operations, g.Failed = nil, failed
			left = append(left, g)
		}
	}
	journal.Segments = left
	if err := d.place.WriteJournal(ctx, journal); err != nil {
		d.warn("%v", err)
	}
}

// abandoned tells whether a failed create left a resource that the record does
// not name.
func (d *deployment) abandoned(op *state.Operation) bool {
	if op.ChangeType != state.OpCreate || op.PhysicalID == "" || plan.Keeps(op.DeletionPolicy) {
		return false
	}
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	if row := d.world.record.Row(op.LogicalID); isCustom(op.ResourceType) && row != nil && row.ResourceType == op.ResourceType {
		return false // its handler was told before it made that
	}
	return !inUse(d.world.record, state.Leftover{LogicalID: op.LogicalID, ResourceType: op.ResourceType, PhysicalID: op.PhysicalID})
}

func (d *deployment) deleteAbandoned(ctx context.Context, op *state.Operation, began time.Time) bool {
	row := &state.Resource{PhysicalID: op.PhysicalID, ResourceType: op.ResourceType, Properties: op.Properties,
		ProvisionedBy: op.ProvisionedBy, DeletionPolicy: op.DeletionPolicy}
	holder, err := "", d.place.Registry().Check(ctx)
	if err == nil {
		holder, err = d.namedElsewhere(ctx, op)
	}
	if holder != "" {
		d.unaddressed(op.LogicalID, op.ResourceType, op.PhysicalID, "an earlier create that failed left this, and it was kept: stack "+holder+" names it",
			"nothing if it is that stack's by now; else delete it by hand: no journal names it any more")
		return true
	}
	if err == nil {
		var doubt string
		if doubt, err = d.doubt(ctx, op.LogicalID, row, began); doubt != "" {
			d.unaddressed(op.LogicalID, op.ResourceType, op.PhysicalID, "an earlier create that failed was answered with this, and it was kept: "+doubt,
				"look whose it is, and delete it by hand if nobody needs it: no journal names it any more")
			return true
		}
	}
	skipped := ""
	if err == nil {
		skipped, err = d.delete(ctx, op.LogicalID, row, retry.ForDelete(retry.Classifier{}), false)
	}
	if err == nil && skipped == "" {
		return true
	}
	reason := skipped
	if err != nil {
		reason = err.Error()
	}
	d.unaddressed(op.LogicalID, op.ResourceType, op.PhysicalID, "an earlier create that failed left this, and it could not be deleted: "+reason,
		"delete it by hand, or deploy again")
	return false
}

// namedElsewhere tells which other stack has taken over what a create left, ""
// for none.
func (d *deployment) namedElsewhere(ctx context.Context, op *state.Operation) (string, error) {
	if isCustom(op.ResourceType) {
		return "", nil // ids of custom resources are whatever their handlers say
	}
	all, err := d.store.Survey(ctx)
	if err != nil {
		return "", fmt.Errorf("look whether another stack names it: %w", err)
	}
	return d.namedBy(all, op.ResourceType, op.PhysicalID), nil
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
)

// Only its handler knows what a custom resource's create made that failed. As
// CloudFormation has it, the handler is told to delete that: by the rollback,
// before anything goes that the handler may need, or else before it is asked to
// create again. Once another is created nobody tells it to: many handlers delete by
// what they are given beside the id, which may be what there is now.
//
// So is what a create of Cloud Control left that failed, and could not be deleted
// at once: by the rollback, and before another create, which it would have refused.

// failedID is what a failed create is deleted by: the id that the handler gave, and,
// as in CloudFormation, the logical id when it did not answer. "" is nothing.
func failedID(logicalID string, err error) string {
	failed, answered := errors.AsType[*customresource.FailedError](err)
	switch {
	case answered:
		return failed.PhysicalID
	case is[*customresource.TimeoutError](err), is[*customresource.FunctionError](err):
		return logicalID
	}
	return cloudcontrol.RemnantOf(err)
}

// halfMade tells whether a failed operation is such a create.
func halfMade(op *state.Operation) bool {
	return op.ChangeType == state.OpCreate && op.PhysicalID != "" &&
		(isCustom(op.ResourceType) || op.IDFromError && op.ProvisionedBy == state.ByCloudControl)
}

// undoHalves deletes what creates that failed in this run made, by their handlers
// where they have one. What is left stays in the journal.
func (u *undoing) undoHalves(ctx context.Context) {
	u.deployment.mu.Lock()
	failed := slices.Clone(u.deployment.failed)
	u.deployment.mu.Unlock()
	failed = slices.DeleteFunc(failed, func(op *state.Operation) bool {
		if !halfMade(op) {
			return false
		}
		err := u.forbidden
		if err == nil {
			err = u.deleteHalf(ctx, op)
		}
		if err != nil && !isCustom(op.ResourceType) {
			u.report(op, fmt.Errorf("what its failed create left could not be deleted: %w", err))
		} else if err != nil {
			u.unaddressed(op.LogicalID, op.ResourceType, op.PhysicalID, "what its failed create made could not be deleted: "+err.Error(),
				"the next deploy tries again before it creates another; or look what its handler left, and delete it by hand")
		}
		return err == nil
	})
	u.deployment.mu.Lock()
	defer u.deployment.mu.Unlock()
	u.deployment.failed = failed
}

// deleteHalf deletes what a failed create made, unless that is what there was
// before, or its policy keeps it.
func (d *deployment) deleteHalf(ctx context.Context, op *state.Operation) error {
	before := d.world.row(op.LogicalID)
	if before != nil && before.PhysicalID == op.PhysicalID || op.DeletionPolicy == "Retain" || op.DeletionPolicy == "Snapshot" {
		return nil
	}
	row := &state.Resource{PhysicalID: op.PhysicalID, ResourceType: op.ResourceType, Properties: op.Properties, ProvisionedBy: op.ProvisionedBy}
	skipped, err := d.delete(ctx, op.LogicalID, row, retry.ForDelete(retry.Classifier{}), true)
	if err == nil && skipped != "" {
		err = errors.New(skipped)
	}
	return err
}

// deleteEarlierHalf is deleteHalf for one of an earlier run: by now it may be
// another's.
func (d *deployment) deleteEarlierHalf(ctx context.Context, op *state.Operation) error {
	holder, err := d.namedElsewhere(ctx, op)
	if holder != "" {
		err = &skip{reason: "it was kept: stack " + holder + " names it"}
	}
	if err != nil {
		return err
	}
	return d.deleteHalf(ctx, op)
}

// undoEarlierHalf does so for a create of an earlier run that failed and was not
// undone, before another is sent. What goes wrong is said, and keeps nobody from it.
func (d *deployment) undoEarlierHalf(ctx context.Context, c *plan.Change) error {
	custom := isCustom(c.Type)
	if !d.presence.Journal || custom && d.world.row(c.LogicalID) != nil || !custom && d.decisions[c.LogicalID].Route.ProvisionedBy != state.ByCloudControl {
		return nil
	}
	journal, err := d.place.ReadJournal(ctx)
	if err != nil || journal == nil {
		return nil // which is said when it is settled
	}
	for _, g := range journal.Segments {
		for _, op := range g.Failed {
			if op.LogicalID != c.LogicalID || op.ResourceType != c.Type || !halfMade(op) || !d.abandoned(op) {
				continue
			}
			err := d.deleteEarlierHalf(ctx, op)
			switch {
			case letGo(err):
				return err
			case err != nil:
				d.warn("%s (%s): what an earlier create that failed made could not be deleted, and another is created: %v; look for %s", c.LogicalID, c.Type, err, op.PhysicalID)
			default:
				d.observe(Event{Kind: Notice, LogicalID: c.LogicalID, Type: c.Type, PhysicalID: op.PhysicalID,
					Text: fmt.Sprintf("deleted what an earlier create that failed made: %s", op.PhysicalID)})
			}
		}
	}
	return nil
}

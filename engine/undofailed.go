package engine

import (
	"context"
	"slices"

	"github.com/org/cdkd-action/engine/state"
)

// revertFailed undoes operations that failed, where that is wanted, and returns
// those that are left. What a nested stack completed before it failed is undone
// in any case: the operation failed, those did not. So is what a failed create
// made: nothing else would name it any more.
func (u *undoing) revertFailed(ctx context.Context, failed []*state.Operation) (left []*state.Operation) {
	for _, op := range slices.Backward(failed) {
		if !u.alsoFailed && !halfMade(op) && (op.ResourceType != nestedType || op.ChangeType != state.OpUpdate) {
			left = append(left, op)
			continue
		}
		err := u.failedOperation(ctx, op)
		report := u.reportFailed
		if halfMade(op) {
			report = u.report
		}
		report(op, err)
		switch {
		case err != nil && !is[*skip](err):
			left = append(left, op)
		case err == nil && op.ChangeType == state.OpUpdate && op.ResourceType != nestedType:
			u.finish(op.LogicalID, state.OpUpdate)
		}
	}
	slices.Reverse(left)
	return left
}

func (u *undoing) failedOperation(ctx context.Context, op *state.Operation) error {
	recorded := u.world.row(op.LogicalID)
	row := triedRow(op, recorded)
	switch {
	case op.ChangeType == state.OpDelete:
		return nil
	case op.ResourceType == nestedType && op.ChangeType == state.OpUpdate:
		_, err := u.undoNested(ctx, op.LogicalID) // nothing found: it brought itself back
		return err
	case op.ChangeType == state.OpCreate && op.PhysicalID == "":
		return &skip{reason: "its create failed without an id; if it made something, no record names that"}
	case halfMade(op) && recorded != nil && u.abandoned(op): // the row is that of what there was before
		return u.deleteEarlierHalf(ctx, op)
	case op.ChangeType == state.OpCreate && row == nil:
		return nil
	case op.ChangeType == state.OpCreate:
		return u.uncreate(ctx, op, row)
	case op.Previous == nil:
		return &skip{reason: "what it was before is not in the journal"}
	case row == nil:
		return &skip{reason: "it is not recorded any more"}
	}
	return u.revert(ctx, op, row, true)
}

// triedRow is the resource as a failed operation may have left it, nil when the
// record has another one in its place or there is nothing to go by.
func triedRow(op *state.Operation, recorded *state.Resource) *state.Resource {
	switch {
	case op.ChangeType == state.OpDelete, op.PhysicalID == "", recorded != nil && recorded.PhysicalID != op.PhysicalID:
		return nil
	case op.ChangeType == state.OpCreate && recorded == nil:
		return &state.Resource{PhysicalID: op.PhysicalID, ResourceType: op.ResourceType, Properties: op.Properties,
			ProvisionedBy: op.ProvisionedBy, DeletionPolicy: op.DeletionPolicy}
	case op.ChangeType == state.OpUpdate && recorded != nil && op.Previous != nil && op.Properties != nil:
		tried := recorded.Clone()
		tried.Properties = op.Properties // maybe in part
		return tried
	}
	return recorded
}

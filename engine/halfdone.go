package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
)

// An update that failed may have changed something all the same, and the record
// does not say so. As in CloudFormation, the rollback sends such a resource its
// old properties. Where it is not put back, what was sent stays written down as
// an update of which nobody knows what it did: the next deploy applies what it
// changed again, also when the template agrees with the record. A delete that failed
// may have been taken, too.

// halfUpdated notes an update that failed, and whether it had an effect.
func (d *deployment) halfUpdated(err error, had bool, f *flight, op *state.Operation) {
	d.half(err, op)
	if errors.Is(err, errNotBegun) || op.ResourceType == nestedType || !took(had, err, op) || d.ending(err) != err {
		return
	}
	open := f.op
	open.Stage, open.RequestToken, open.ResponseKey, open.RequestID, open.AnswerBy = state.StageSent, "", "", "", 0
	d.noteHalf(open)
}

// halfDeleted notes a delete that failed when AWS had taken it, as one does that may
// not look whether the resource is gone: the record still names it, and the next run
// looks. An old copy is written down already.
func (d *deployment) halfDeleted(err error, had bool, f *flight) {
	if err == nil {
		d.forgetHalf(f.op.LogicalID)
		return
	}
	row := d.world.row(f.op.LogicalID)
	if errors.Is(err, errNotBegun) || f.op.ResourceType == nestedType || isCustom(f.op.ResourceType) ||
		!had && !provider.Ambiguous(err) || d.ending(err) != err || row == nil || row.PhysicalID != f.op.PhysicalID {
		return
	}
	open := f.op
	open.Stage, open.RequestToken = state.StageSent, ""
	d.noteHalf(open)
}

func (d *deployment) noteHalf(open state.OpenOperation) {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	if d.pending.half == nil {
		d.pending.half = map[string]state.OpenOperation{}
	}
	d.pending.half[open.LogicalID] = open
}

func (d *deployment) forgetHalf(logicalID string) {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	delete(d.pending.half, logicalID)
}

// took tells whether an update that failed may have had an effect. What a
// handler does is told by whether it was asked.
func took(had bool, err error, op *state.Operation) bool {
	if isCustom(op.ResourceType) {
		return failedID(op.LogicalID, err) != "" || provider.Ambiguous(err)
	}
	return (had || provider.Ambiguous(err)) && !is[*provider.UnsupportedUpdateError](err)
}

// halfDone tells whether an update that failed had an effect, and was not put back.
func (d *deployment) halfDone(logicalID string) bool {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	_, half := d.pending.half[logicalID]
	return half
}

// putBack brings back what updates changed that failed in this run, newest first:
// of resources with a handler of the stack's, or of the others. Those are put back
// before what they may refer to goes; a handler is asked when it is what it was.
func (u *undoing) putBack(ctx context.Context, stop <-chan struct{}, handled bool) {
	u.deployment.mu.Lock()
	failed := slices.Clone(u.deployment.failed)
	u.deployment.mu.Unlock()
	for _, op := range slices.Backward(failed) {
		if op.ChangeType != state.OpUpdate || isCustom(op.ResourceType) != handled || !u.halfDone(op.LogicalID) {
			continue
		}
		err := errStopped
		if !isClosed(stop) {
			err = u.failedOperation(ctx, op)
		}
		u.reportFailed(op, err)
		if err != nil {
			continue
		}
		u.forgetHalf(op.LogicalID)
		u.deployment.mu.Lock()
		u.deployment.failed = slices.DeleteFunc(u.deployment.failed, func(o *state.Operation) bool { return o == op })
		u.deployment.mu.Unlock()
	}
}

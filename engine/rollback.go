package engine

import (
	"context"
	"slices"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

// segment is this run's part of the journal.
func (d *deployment) segment(reason state.Reason) *state.Segment {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &state.Segment{
		RunID: d.runID, Timestamp: now().UnixMilli(), Reason: reason, InitialDeploy: d.initial,
		RoleARN: d.e.config.RoleARN, EngineVersion: d.e.config.Version,
		Operations: slices.Clone(d.completed), Failed: slices.Clone(d.failed),
	}
}

// journal writes this run's segment. Without it nothing can be rolled back
// later, which is said loudly, and changes nothing else.
func (d *deployment) journal(reason state.Reason) {
	d.journaling.Lock() // one after the other: the last one counts
	defer d.journaling.Unlock()
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	d.journaled = true
	if err := d.place.AppendSegment(ctx, d.segment(reason)); err != nil {
		d.warn("%v: what this run did cannot be rolled back later", err)
	}
}

// undo rolls back what this run did and settles the journal. It tells whether a
// signal stopped it.
func (d *deployment) undo(ctx context.Context) (stopped bool) {
	defer d.begin()()
	d.unmaking, d.due = true, nil
	u := &undoing{deployment: d, own: true, run: d.runID}
	if !d.initial && (u.deletes(d.completed) || slices.ContainsFunc(d.failed, halfMade)) {
		u.forbidden = d.registry.Check(ctx)
	}
	deleted := d.res.Counts.Deleted
	failed := len(d.failed)
	u.undoHalves(ctx)
	left := u.operations(ctx, d.completed)
	d.count(func(n *result.Counts) { n.Deleted = deleted }) // what went with a nested stack is undone, not deleted
	d.change(func(*state.Record) {})
	if d.saved() != nil || !u.clean() || d.res.RollbackIncomplete {
		d.res.RollbackIncomplete = true
		if len(left) < len(d.completed) || len(d.failed) < failed {
			d.completed = left
			d.journal(state.RollbackStarted)
		}
		d.settleLedgerAtEnd()
		return u.stopped && d.e.config.Window.Interrupted()
	}
	d.res.RolledBack = true
	d.res.Unawaited = nil
	kept := len(d.kept) // resources that were made and stay by their policy
	d.count(func(n *result.Counts) { n.Created, n.Updated, n.Deleted = min(kept, n.Created), 0, 0 })
	d.res.Changed = d.res.Counts.Created > 0
	cleanup, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	segment := d.segment(state.RollbackClean)
	segment.Operations = nil
	vacant := d.vacant(cleanup, d.initial || d.neverDone(cleanup))
	var err error
	switch {
	case vacant:
		err = d.removeRecord(cleanup, nil)
	case len(segment.Failed) > 0:
		err = d.place.AppendSegment(cleanup, segment)
	default:
		err = d.place.PopSegment(cleanup, d.runID)
	}
	if err != nil {
		d.warn("%v", err)
	}
	if !vacant {
		d.settleLedgerAtEnd()
	}
	return false
}

// begin tells that a rollback is under way; the function that it returns tells
// that it is over.
func (d *deployment) begin() (end func()) {
	d.observe(Event{Kind: RollbackStarted})
	d.emit(state.Event{EventType: state.RollbackBegan})
	return func() {
		d.observe(Event{Kind: RollbackFinished})
		d.emit(state.Event{EventType: state.RollbackFinished})
	}
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// What a run did in a nested stack stays in that stack's own journal until the
// top-level stack is done. Should that one fail, each nested stack is brought
// back from its journal when the turn of its row comes.

// keepForParent writes what a nested stack's deploy did, and what its record
// said before, to its journal.
func (d *deployment) keepForParent(ctx context.Context) {
	g := d.segment(state.PendingParent)
	g.Remember(d.before)
	if err := d.place.AppendSegment(ctx, g); err != nil {
		d.warn("%v: should the stack that it is nested in fail, what this run did here cannot be undone", err)
	}
}

// settleNested ends the journals of the stacks nested in a top-level stack that
// succeeded.
func (d *deployment) settleNested(ctx context.Context, before *state.Record) {
	rows := append(nestedIn(before), nestedIn(d.world.record)...)
	if len(rows) == 0 {
		return
	}
	names, err := d.place.NestedJournals(ctx)
	if is[*state.AccessError](err) { // may not be listed
		for _, id := range rows {
			names = add(names, d.t.Name+"~"+id)
		}
	} else if err != nil {
		d.warn("%v: what is in them will be taken for what failed", err)
		return
	}
	var wg routine.Group
	for _, name := range names {
		wg.Go(func() {
			n := &nested{parent: d}
			child := n.child(target{Name: name, Region: d.t.Region, DisplayName: name, parent: d, parentLogicalID: strings.TrimPrefix(name, d.t.Name+"~")})
			if err := child.settleAlone(ctx); err != nil {
				d.warn("the journal of nested stack %s is kept: %v", name, err)
			}
			n.adopt(child)
		})
	}
	wg.Wait()
}

// nestedIn are the logical ids of the nested stacks in a record.
func nestedIn(r *state.Record) (ids []string) {
	for _, id := range r.LogicalIDs() {
		if r.Row(id).ResourceType == nestedType {
			ids = append(ids, id)
		}
	}
	return ids
}

// settleAlone settles a journal, and what goes with it, with nothing else to do on the stack.
func (d *deployment) settleAlone(ctx context.Context) error {
	defer d.release()
	r, err := d.acquire(ctx, state.LockOptions{Operation: "deploy", Subject: d.subject(), FailFast: true})
	if err != nil {
		return err
	}
	if r.record == nil {
		r.record = state.NewRecord(d.t.Name, d.t.Region)
	}
	if err := d.knowRecord(ctx, r.record); err != nil {
		return err
	}
	d.enroll()
	var wg routine.Group
	if r.presence.OpenCreates { // it was kept for a rollback
		wg.Go(func() {
			if err := d.ledger(ctx).Settle(ctx, state.Settlement{Record: r.record}); err != nil {
				d.warn("%v", err)
			}
		})
	}
	d.settleJournal(ctx)
	wg.Wait()
	return nil
}

// within is the deployment of the nested stack that a row of u's stack stands
// for.
func (u *undoing) within(logicalID string) *deployment {
	d := (&nested{parent: u.deployment}).child(target{
		Name: u.t.Name + "~" + logicalID, Region: u.t.Region, DisplayName: u.t.DisplayName + "~" + logicalID,
		parent: u.deployment, parentLogicalID: logicalID,
	})
	d.unmaking = true
	return d
}

// revertNested undoes what the run did in a nested stack, and brings its row
// back.
func (u *undoing) revertNested(ctx context.Context, op *state.Operation) error {
	found, err := u.undoNested(ctx, op.LogicalID)
	if err != nil {
		return err
	}
	if !found {
		return &skip{reason: fmt.Sprintf("nested stack %s~%s has nothing of the run in its journal, so that what was done in it is not known", u.t.Name, op.LogicalID)}
	}
	u.change(func(r *state.Record) { r.Set(op.LogicalID, op.Previous) })
	return nil
}

// madeByRun tells whether all of a nested stack was made by the run that is
// undone, so that it can go as a whole. If not, what the run did in it is
// undone, and its row stays for as long as there is something in it.
func (u *undoing) madeByRun(ctx context.Context, op *state.Operation) (bool, error) {
	place := u.within(op.LogicalID).place
	journal, err := place.ReadJournal(ctx)
	if err != nil {
		return false, err
	}
	if g := journal.Segment(u.run); g != nil && g.InitialDeploy {
		return true, nil
	}
	if _, err := u.undoNested(ctx, op.LogicalID); err != nil {
		return false, err
	}
	record, _, err := place.Read(ctx)
	if err != nil {
		return false, err
	}
	if record == nil || len(record.Resources) == 0 {
		return true, nil
	}
	return false, &skip{
		reason: fmt.Sprintf("nested stack %s has resources that its journal does not say this run made; they and its row were kept", place.Name),
		remedy: "deploy the version of the app that you want; what is gone from it then goes from the stack",
	}
}

// undoNested undoes what the run did in a nested stack, from its journal, and
// tells whether there was something.
func (u *undoing) undoNested(ctx context.Context, logicalID string) (found bool, err error) {
	d := u.within(logicalID)
	below := &undoing{
		deployment: d, own: u.own, run: u.run, orphan: u.orphanedIn(logicalID),
		alsoFailed: u.alsoFailed, forbidden: u.forbidden,
	}
	found, err = below.fromJournal(ctx)
	(&nested{parent: u.deployment}).adopt(d)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = u.stopped || below.stopped
	if err == nil && below.failed > 0 {
		err = errors.New("what could not be brought back in it is named")
	}
	if err != nil {
		return found, &NestedError{Stack: d.t.Name, Err: err}
	}
	u.skipped += below.skipped
	if !d.open() { // nor is anything in it that its row was entered for
		u.finish(logicalID, state.OpCreate)
		u.finish(logicalID, state.OpUpdate)
	}
	return found, nil
}

// orphanedIn are the resources of a nested stack that are to be left: they are
// named as in the report, by the path to them.
func (u *undoing) orphanedIn(logicalID string) (ids []string) {
	for _, id := range u.orphan {
		if rest, ok := strings.CutPrefix(id, logicalID+"/"); ok {
			ids = append(ids, rest)
		}
	}
	return ids
}

// fromJournal undoes the run's segment of the stack's journal, under the
// stack's own lock.
func (u *undoing) fromJournal(ctx context.Context) (found bool, err error) {
	d := u.deployment
	reads, cancel := d.e.config.Window.Interruptible(ctx)
	defer cancel()
	defer d.release()
	r, err := d.acquire(reads, state.LockOptions{Operation: "rollback", Subject: d.subject(), FailFast: true})
	if err != nil {
		return false, err
	}
	if r, err = d.settleOpen(reads, r, false); err != nil {
		return false, err
	}
	d.leaveUnresolved()
	journal, err := d.place.ReadJournal(reads)
	g := journal.Segment(u.run)
	if g == nil || err != nil {
		return false, err
	}
	if r.record, r.etag, err = d.place.Read(reads); err != nil {
		return true, err
	}
	if err := d.rollable(r.record, journal); err != nil {
		return true, err
	}
	if err := d.knowRecord(reads, r.record); err != nil {
		return true, err
	}
	d.enroll()
	d.saveFrom(ctx, r.etag, r.record, nil)
	return true, u.undoSegment(ctx, journal, g)
}

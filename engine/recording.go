package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A RecordError says that a stack was changed and its record could not be
// saved. What it then does not say is in the result.
type RecordError struct{ Err error }

func (e *RecordError) Error() string { return e.Err.Error() }

func (e *RecordError) Unwrap() error { return e.Err }

// gathering is how long a save of the record waits for what else ends at that time.
// Alone, what ended first would go, and the rest wait until that is answered.
const gathering = 10 * time.Millisecond

// openSaver has the record saved from now on, which is as it was read.
func (d *deployment) openSaver(ctx context.Context, etag state.ETag, read *state.Record) {
	saves := make(chan struct{}, 1)
	d.saves = saves
	d.saveFrom(ctx, etag, read, func(state.ETag) {
		if d.creates != nil {
			d.creates.ledger.Recorded()
		}
		select {
		case saves <- struct{}{}:
		default:
		}
	})
}

// saveFrom has the record saved from a version on. saved, when set, is called after
// every save.
func (d *deployment) saveFrom(ctx context.Context, etag state.ETag, read *state.Record, saved func(state.ETag)) {
	d.saver = state.NewSaver(ctx, d.place, etag, state.SaverOptions{
		Read: read, Gather: gathering, Saved: saved,
		Warn: func(text string) { d.warn("%s", text) },
	})
}

// change changes the record and has it saved.
func (d *deployment) change(edit func(*state.Record)) {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	edit(d.world.record)
	if err := d.saver.Save(d.world.record); err != nil && !errors.As(err, new(*state.ConflictError)) {
		// Marshalling a record that this run made cannot fail for what is in it.
		d.observe(Event{Kind: Warning, Text: err.Error()})
	}
}

// flush waits until the record is written. It is not hurried, except by a
// signal: a record that is saved late is worth more than a lock that is free
// early.
func (d *deployment) flush() error { return d.awaitSaver(d.saver.Flush) }

// discard is flush for a record that is about to be deleted: only what is
// being written is waited for.
func (d *deployment) discard() error { return d.awaitSaver(d.saver.Discard) }

func (d *deployment) awaitSaver(wait func(context.Context) error) error {
	ctx, cancel := d.e.config.Window.Cleanup(30 * time.Second)
	defer cancel()
	err := wait(ctx)
	d.unanswered = err != nil && ctx.Err() != nil
	return err
}

// saved waits for the record to be saved and says so when it is not.
func (d *deployment) saved() error {
	err := d.flush()
	if err != nil {
		d.warn("%v: resources were changed and the record does not say so", err)
	}
	return err
}

// saveWhole saves what a deploy that has done everything made of the record.
func (d *deployment) saveWhole(differs bool) error {
	if !differs {
		return nil
	}
	d.world.mu.Lock()
	d.readBacks.into(d.world.record)
	said := d.saver.Says(d.world.record)
	d.world.mu.Unlock()
	if said && d.flush() == nil {
		return nil
	}
	d.change(func(*state.Record) {})
	settled := d.settleAhead()
	defer settled()
	return d.written()
}

// settleAhead settles the ledger beside the last save of the record, once those
// before it answer all of it: then no create depends on that save. A nested
// stack's keeps what a rollback may have to know. The function that it returns is
// called after the save.
func (d *deployment) settleAhead() (settled func()) {
	if d.creates == nil || d.t.parent != nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg routine.Group
	wg.Go(func() {
		for !d.creates.ledger.Settles(d.settlementOf(true)) {
			select {
			case <-d.saves:
			case <-done:
				return // it is settled after that save
			}
		}
		ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
		defer cancel()
		_ = d.creates.ledger.SettleAhead(ctx, d.settlementOf(true)) // what fails is tried again after the save, and said
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// written waits until the record is saved as it is.
func (d *deployment) written() error {
	err := d.flush()
	switch {
	case err == nil || errors.As(err, new(*state.ConflictError)):
		return err
	case d.unanswered && d.e.config.Window.Interrupted():
		return errors.Join(errInterrupted, err)
	}
	return &RecordError{err}
}

// takeBackOutputs makes the record say of outputs and what was read elsewhere
// what it said before a deploy that is to be undone after all.
func (d *deployment) takeBackOutputs(before *state.Record) {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	r := d.world.record
	r.Outputs, r.ExportNames, r.Imports, r.OutputReads = before.Outputs, before.ExportNames, before.Imports, before.OutputReads
	d.mu.Lock()
	defer d.mu.Unlock()
	d.res.Outputs = nil
}

// A difference is what the record in the bucket does not say of a resource.
type difference struct {
	row            *state.Resource
	reason, remedy string
}

// unwritten compares what is so with what the bucket is known to say.
func (d *deployment) unwritten() map[string]difference {
	written := d.saver.Written()
	made, changed, deleted := "once the record can be saved, deploy again: what can be found is found again; delete the rest by hand",
		"once the record can be saved, deploy again", "once the record can be saved, roll back or destroy: both take off the record what is gone"
	if d.takenOver() {
		made = "the record is another run's now: deploy again, and import or delete by hand what that does not find"
		changed = "the record is another run's now, and a deploy compares with that: drift tells what AWS has, and drift with revert puts it right"
		deleted = changed
	}
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	found := map[string]difference{}
	for _, id := range d.world.record.LogicalIDs() {
		row, old := d.world.record.Row(id), written.Row(id)
		switch {
		case old == nil || old.PhysicalID != row.PhysicalID:
			found[id] = difference{row, "it was made, and the record could not be saved to name it", made}
		case !value.Equal(old.Properties, row.Properties):
			found[id] = difference{row, "it was changed, and the record could not be saved to say so", changed}
		}
	}
	for _, id := range written.LogicalIDs() {
		if d.world.record.Row(id) == nil {
			found[id] = difference{written.Row(id), "it was deleted, and the record could not be saved and still names it", deleted}
		}
	}
	return found
}

// takenOver tells whether another run has written the record, or may have.
func (d *deployment) takenOver() bool {
	cause := d.stopCause()
	return errors.Is(cause, errLost) || errors.As(cause, new(*state.ConflictError))
}

// unrecorded tells whether the record in the bucket may not be what it should.
func (d *deployment) unrecorded() bool { return len(d.unwritten()) > 0 }

// tellUnrecorded names what the record does not say, after a save that failed.
func (d *deployment) tellUnrecorded() {
	found := d.unwritten()
	for _, id := range sortedKeys(found) {
		f := found[id]
		d.unaddressed(id, f.row.ResourceType, f.row.PhysicalID, f.reason, f.remedy)
	}
}

// unrecordedFates are the fates of this run's creates, for the ledger: one
// whose resource is not on record yet is not over, whatever its answer was.
func (d *deployment) unrecordedFates() map[string]state.Fate {
	unwritten := d.unwritten()
	d.creates.mu.Lock()
	defer d.creates.mu.Unlock()
	fates := maps.Clone(d.creates.fates)
	for id, fate := range fates {
		if _, ok := unwritten[id]; ok && fate == state.FateOver {
			fates[id] = state.FateUnknown
		}
	}
	return fates
}

// tidyLock removes what earlier runs left of the lock in a bucket with versions,
// beside this one's work. The lock that is held stays. Nothing depends on it.
func (d *deployment) tidyLock(ctx context.Context) {
	d.besideWork(ctx, func(ctx context.Context) {
		if err := d.place.PurgeLock(ctx); err != nil {
			d.observe(Event{Kind: Detail, Text: fmt.Sprintf("earlier versions of the lock stay in the bucket: %v", err)})
		}
	})
}

// besideWork has something done that only the release waits for.
func (d *deployment) besideWork(ctx context.Context, do func(context.Context)) {
	ctx, cancel := d.e.config.Window.Interruptible(ctx)
	d.beside.Go(func() {
		defer cancel()
		do(ctx)
	})
}

// release gives the lock back, unless a save is under way that may still take
// effect: whoever came next would plan from a record that is about to change.
func (d *deployment) release() {
	fault := routine.Try(func() error {
		d.beside.Wait()
		return nil
	})
	if fault != nil { // of what nothing depends on: it must not keep the lock
		defer panic(fault)
	}
	defer d.finishing.Wait()
	if d.lock == nil {
		return
	}
	giveBack := d.lock.Release
	if d.saver != nil && !d.unanswered && d.flush() != nil { // who got as far as to save has waited, and said what came of it
		giveBack = d.lock.GiveUp
	}
	d.endWrites()
	if d.unanswered {
		d.lock.Leave()
		d.warn("the lock of %s %s in %s is left behind, because S3 did not say whether the record is saved; it frees itself at %s, "+
			"and force-unlock removes it sooner", d.subject(), d.t.Name, d.t.Region, d.lock.Record().Expires.UTC().Format(time.RFC3339))
	} else {
		ctx, cancel := d.e.config.Window.Cleanup(10 * time.Second)
		defer cancel()
		if err := giveBack(ctx); err != nil {
			d.warn("%v", err)
		}
	}
	d.e.locks.drop(d.lock)
}

// endWrites returns when nothing that is written beside the record is under way,
// nor the record itself if that was waited for long enough.
func (d *deployment) endWrites() {
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	if d.saver != nil {
		d.saver.End()
	}
	if d.creates != nil {
		select {
		case <-d.creates.opened:
			d.creates.ledger.End(ctx)
		default:
		}
	}
	d.pending.mu.Lock()
	file, proof := d.pending.file, d.pending.proof
	d.pending.mu.Unlock()
	if proof != nil {
		proof.End(ctx)
	}
	if file != nil {
		file.End(ctx)
	}
}

// finishHistory begins to end the run's history; a nested stack's goes on in
// its parent's. The lock is given back beside it: the index of runs is guarded
// by its version and no other run writes this one's history.
func (d *deployment) finishHistory(err error) {
	if d.history == nil || d.t.parent != nil {
		return
	}
	outcome := state.Succeeded
	var failure *state.EventError
	if err != nil || d.res.Counts.Skipped > 0 {
		outcome = state.Failed
	}
	if err != nil {
		failure = d.historyError(err)
	}
	c := d.res.Counts
	counts := &state.Counts{Created: c.Created, Updated: c.Updated, Deleted: c.Deleted, Failed: c.Failed, Skipped: c.Skipped}
	d.finishing.Go(func() {
		ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
		defer cancel()
		d.history.Finish(ctx, outcome, counts, failure)
	})
}

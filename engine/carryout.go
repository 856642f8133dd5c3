package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// carryOut does what was planned, records it, and undoes it when it fails.
func (d *deployment) carryOut(ctx context.Context, before reading) error {
	d.openSaver(ctx, before.etag, before.record)
	d.world.strict = true
	changing := d.changing() || len(d.strays()) > 0 || d.unfinished()
	d.res.Changed = d.Plan.Changed()

	d.keepReferences()
	imports := d.tellImports(ctx, before.record)
	defer imports.end()

	var err error
	if changing {
		d.besideWork(ctx, d.store.Exports(d.t.Region).Prepare)
		if !d.initial || d.lock.TookOver != nil {
			d.tidyLock(ctx)
		}
		err = routine.Try(func() error {
			d.intend(ctx)
			err := d.withAssets(ctx, d.execute)
			d.creates.wait()
			return err
		})
	} else {
		d.res.Counts.Unchanged = len(d.Changes)
		if err := d.holdExports(ctx); err != nil {
			d.finishHistory(err)
			return err // nothing was done that could be undone
		}
	}
	if err == nil {
		err = imports.stay()
	}
	if err == nil {
		old := d.world.record.Clone()
		if err = routine.Try(func() error { return d.resolveOutputs(ctx) }); err == nil {
			d.handUp(ctx)
			d.world.mu.Lock()
			d.references(d.world.record, true)
			differs := changing || d.initial || d.readopted || outputsDiffer(old, d.world.record) ||
				before.record.TerminationProtection != d.t.Protected
			d.world.mu.Unlock()
			if err = d.saveWhole(differs); err == nil || errors.As(err, new(*state.ConflictError)) {
				return d.succeed(before, differs, err)
			}
			d.takeBackOutputs(old)
		}
	}
	return d.fallBack(ctx, err)
}

// withAssets does the work while the stack's assets are published. A nested
// stack's are part of those of its top-level stack, and a stack of which only
// strays are to go needs none.
func (d *deployment) withAssets(ctx context.Context, work func(context.Context) error) error {
	if d.t.parent != nil || d.assets == nil {
		return work(ctx)
	}
	// What is half published is published again by the next run, so a signal ends
	// it at once.
	publishing, cancel := d.e.config.Window.Interruptible(ctx)
	defer cancel()
	d.assets.start(publishing, func(f asset.Asset) { d.observe(Event{Kind: AssetPublished, Text: f.String() + " is at " + f.URL()}) })
	err := work(ctx)
	if unpublished := d.assets.finish(err != nil); err == nil {
		err = unpublished
	}
	return err
}

// keepReferences keeps what the stack read before in the record for as long as
// the deploy is under way.
func (d *deployment) keepReferences() {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	d.references(d.world.record, false)
}

// succeed lets go of what is no longer needed once the record is saved for good;
// err says that somebody else's is there.
func (d *deployment) succeed(before reading, differs bool, err error) error {
	d.early.Wait()
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	var wg routine.Group
	d.whole = d.t.parent == nil
	if err == nil {
		if d.t.parent != nil {
			d.before = before.record
			wg.Go(func() { d.keepForParent(ctx) })
		} else {
			if before.presence.Journal || d.journaled {
				wg.Go(func() { d.settleJournal(ctx) })
			}
			wg.Go(func() { d.settleNested(ctx, before.record) })
		}
		wg.Go(func() { d.settleLedger(ctx) })
		wg.Go(d.seal)
		if changed := d.kept; differs {
			record := d.world.record
			wg.Go(func() {
				if err := d.place.Retain(ctx, before.presence.Retained, changed, record); err != nil {
					d.warn("%v", err)
				}
			})
			wg.Go(func() {
				if err := d.store.Exports(d.t.Region).Update(ctx, d.t.Name, record); err != nil {
					d.warn("%v", err)
				}
			})
		}
	}
	if err != nil {
		d.tellUnrecorded()
	}
	d.finishHistory(err)
	wg.Wait()
	if err == nil {
		d.e.withoutBaseline(d)
	}
	return err
}

// fallBack records what a deploy did before it failed or was stopped, and
// undoes it unless that is not wanted.
func (d *deployment) fallBack(ctx context.Context, cause error) error {
	if d.initial && len(d.completed) == 0 && len(d.failed) == 0 {
		// Nothing was done, so there is nothing to record: not even a stack.
		d.forget()
		d.finishHistory(cause)
		return cause
	}
	d.noteOverwritten()
	d.keepReferences()
	d.change(func(*state.Record) {})
	interrupted := errors.Is(cause, errInterrupted) || d.e.config.Window.Interrupted()
	lost := !interrupted && d.mayBegin(ctx) != nil
	switch {
	case interrupted || lost:
		d.enterDue()
		// Saved side by side: neither waits for the other in the little time left.
		// Whoever has the stack now goes on from the record: an entry in the journal
		// would have their work undone with ours.
		var wg routine.Group
		if !lost {
			wg.Go(func() {
				d.early.Wait()
				d.journal(state.Interrupted)
			})
		}
		wg.Go(func() { d.settleLedgerAtEnd() })
		wg.Go(d.seal)
		d.saved()
		wg.Wait()
		d.tellUnrecorded()
	case d.opt.NoRollback || d.retiring || errors.As(cause, new(*OutputsError)):
		d.enterDue()
		d.saved()
		d.journal(state.NoRollback)
		d.settleLedgerAtEnd()
		d.tellUnrecorded()
	default:
		d.saved()
		d.journal(state.RollbackStarted)
		if d.undo(ctx) {
			cause = errors.Join(errInterrupted, cause)
		}
		d.tellUnrecorded()
	}
	if !interrupted && !lost {
		d.seal()
	}
	d.finishHistory(cause)
	return cause
}

// forget undoes what a first deploy wrote down before it did anything.
func (d *deployment) forget() {
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	d.settleLedger(ctx)
	if _ = d.discard(); d.saver.Written() != nil { // it said what the stack imports
		if d.vacant(ctx, true) {
			if err := d.removeRecord(ctx, nil); err != nil {
				d.warn("%v", err)
			}
		}
		return
	}
	if d.t.parent == nil {
		d.releaseUnused(ctx)
	}
}

// giveBackName gives the name back that a first deploy took and has no use for,
// because it ended before it did anything.
func (d *deployment) giveBackName(cause error) {
	if cause == nil || errors.Is(cause, errPutOff) || d.registry == nil || !d.registry.Claimed() {
		return
	}
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	d.releaseUnused(ctx)
}

func (d *deployment) releaseUnused(ctx context.Context) {
	if err := d.registry.ReleaseUnused(ctx); err != nil {
		d.warn("%v", err)
	}
}

// removeRecord deletes a record that names nothing any more, and gives the
// stack's name back. remains is what was found to go with it, nil when nobody
// looked yet.
func (d *deployment) removeRecord(ctx context.Context, remains *state.Remains) error {
	if err := d.mayBegin(ctx); err != nil {
		return err
	}
	var err error
	if remains != nil {
		err = d.place.DeleteWith(ctx, d.saver.ETag(), *remains)
	} else {
		err = d.place.Delete(ctx, d.saver.ETag())
	}
	if err != nil {
		return err
	}
	if d.gone != nil {
		d.gone()
	}
	d.letGoOfName(ctx)
	return nil
}

// letGoOfName writes down what was kept of a stack whose record is gone, and
// gives its name back.
func (d *deployment) letGoOfName(ctx context.Context) {
	if err := d.place.RetainLast(ctx, d.kept); err != nil {
		d.warn("%v", err)
	}
	if strings.Contains(d.t.Name, "~") {
		return // the name is the top-level stack's
	}
	if err := d.registry.Release(ctx); err != nil {
		d.warn("%v", err)
	}
}

// settleLedgerAtEnd is settleLedger on time of its own.
func (d *deployment) settleLedgerAtEnd() {
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	d.settleLedger(ctx)
}

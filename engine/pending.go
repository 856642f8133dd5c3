package engine

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/org/cdkd-action/engine/state"
)

// What a run has to let go of is written down in an object of its own, for the
// next run to finish: see seal, leftovers and settle. Nothing is read or
// written of it where nothing is open.

// pending is that object while a run holds the stack's lock.
type pending struct {
	there bool // as listed

	mu       sync.Mutex
	file     *state.PendingFile // nil until it is needed
	proof    *state.Ledger      // whose nonce proves that the entries are the stack's
	flights  map[string]*flight // under way
	let      []state.OpenOperation
	half     map[string]state.OpenOperation // updates and deletes that failed and had an effect, by logical id
	closing  []*flight                      // over, and written down as if they were not
	children map[string]bool                // nested stacks that let something go
	gone     []*state.Resource              // leftovers that this run deleted
	done     map[string]bool                // operations of earlier runs that are over
	noted    bool                           // it wrote entries

	// What an earlier run left, for this one to go on with, by logical id.
	earlier    []state.Leftover                // to be cleaned up
	unresolved map[string]*UnresolvedError     // nothing may be done with these
	settling   map[string]*state.OpenOperation // rows that are not ready yet
	uncertain  map[string]*state.OpenOperation // updates that may have had their effect
	settled    []state.Event                   // for the history, once it is begun
}

// unfinished tells whether a deploy has something to do that no plan shows.
func (d *deployment) unfinished() bool {
	return len(d.pending.earlier)+len(d.pending.settling) > 0
}

// stillOpen tells of which resources something is open, by logical id.
func (d *deployment) stillOpen() map[string]bool {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	open := map[string]bool{}
	if d.pending.file != nil {
		for _, op := range d.pending.file.Current().Operations {
			open[op.LogicalID] = open[op.LogicalID] || !op.Void
		}
	}
	return open
}

// openPending reads the object once. The stack's lock is held.
func (d *deployment) openPending(ctx context.Context) (*state.PendingFile, error) {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	if d.pending.file == nil {
		file, err := d.place.OpenPending(ctx, d.pending.there)
		if err != nil {
			return nil, err
		}
		d.pending.file = file
	}
	return d.pending.file, nil
}

// ledger is the one that this run writes, opened where nothing needed it so far.
func (d *deployment) ledger(ctx context.Context) *state.Ledger {
	if d.creates != nil {
		<-d.creates.opened
		return d.creates.ledger
	}
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	if d.pending.proof == nil {
		d.pending.proof = d.newLedger(ctx, d.presence.Ledger, d.asRead)
	}
	return d.pending.proof
}

// changePending has the object changed, and returns when that is written.
func (d *deployment) changePending(ctx context.Context, edit func(*state.Pending)) error {
	file, err := d.openPending(ctx)
	if err != nil {
		return err
	}
	ledger := d.ledger(ctx)
	if err := ledger.Begin(ctx); err != nil {
		return err
	}
	modified := int64(0)
	if d.saver != nil {
		if written := d.saver.Written(); written != nil {
			modified = written.LastModified
		}
	}
	return file.Change(ctx, func(p *state.Pending) {
		edit(p)
		if d.runID != "" { // else only an earlier run's are left
			p.RunID, p.Owner, p.WrittenAt = d.runID, d.e.config.Owner, now().UnixMilli()
		}
		p.LedgerNonce, p.RecordModified = ledger.Nonce(), modified
	})
}

// dropDone takes out the operations that are over.
func (d *deployment) dropDone(p *state.Pending, over []*flight) {
	done := map[string]bool{}
	d.pending.mu.Lock()
	maps.Copy(done, d.pending.done)
	d.pending.mu.Unlock()
	for _, f := range over {
		done[flightKey(f.op.LogicalID, f.op.ChangeType)] = true
	}
	p.Operations = slices.DeleteFunc(p.Operations, func(op state.OpenOperation) bool {
		return op.Malformed == "" && !op.Void && done[flightKey(op.LogicalID, op.ChangeType)]
	})
}

// dropOutdated takes out the operations about what the record does not name any
// more. closing are this run's, of which the record in the bucket may not say so.
func (d *deployment) dropOutdated(p *state.Pending, closing []*flight) {
	p.Operations = slices.DeleteFunc(p.Operations, func(op state.OpenOperation) bool {
		if op.Malformed != "" || op.Stage != state.StageSettling && op.ChangeType == state.OpCreate {
			return false
		}
		if slices.ContainsFunc(closing, func(f *flight) bool {
			return f.op.LogicalID == op.LogicalID && f.op.ChangeType == op.ChangeType
		}) {
			return false
		}
		row := d.world.row(op.LogicalID)
		return (row == nil || row.PhysicalID != op.PhysicalID) && !slices.ContainsFunc(p.Leftovers, func(l state.Leftover) bool {
			return l.PhysicalID == op.PhysicalID && l.ResourceType == op.ResourceType
		})
	})
}

// tidyLeftovers takes out leftovers that are deleted, or in use again.
func (d *deployment) tidyLeftovers(p *state.Pending) {
	d.pending.mu.Lock()
	gone := slices.Clone(d.pending.gone)
	d.pending.mu.Unlock()
	p.Leftovers = slices.DeleteFunc(p.Leftovers, func(l state.Leftover) bool {
		return l.Malformed == "" && (d.taken(l) || slices.ContainsFunc(gone, func(row *state.Resource) bool {
			return row.ResourceType == l.ResourceType && row.PhysicalID == l.PhysicalID
		}))
	})
}

// finish notes that what an earlier run left open about a resource is over.
func (d *deployment) finish(logicalID, changeType string) {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	if d.pending.done == nil {
		d.pending.done = map[string]bool{}
	}
	d.pending.done[flightKey(logicalID, changeType)] = true
}

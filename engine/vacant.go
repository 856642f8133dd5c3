package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/state"
)

// vacant tells, once a first deploy is undone, whether nothing is left of the
// stack, so that its record can go. The record stays, empty, while something is
// open that nothing else names: with it would go what finds that again, and the
// next deploy would make it a second time.
func (d *deployment) vacant(ctx context.Context, initial bool) bool {
	d.world.mu.Lock()
	empty := initial && len(d.world.record.Resources) == 0 && len(d.world.record.Orphans) == 0
	d.world.mu.Unlock()
	d.mu.Lock()
	empty = empty && !slices.ContainsFunc(d.failed, halfMade) // the journal has to go on naming it
	d.mu.Unlock()
	if !empty {
		return false
	}
	open, err := d.openEnds(ctx)
	switch {
	case err != nil:
		d.warn("stack %s in %s stays on record, with nothing in it: whether something is open is not known: %v", d.t.Name, d.t.Region, err)
	case len(open) > 0:
		d.warn("stack %s in %s stays on record, with nothing in it: creates that a run sent, or was about to, are not accounted for: %s; "+
			"the next deploy or destroy looks for them; when you have looked yourself, have them forgotten: %s",
			d.t.Name, d.t.Region, strings.Join(open, ", "), forgetCommand(d.t.Name, AllPending))
	}
	return err == nil && len(open) == 0
}

// neverDone tells, of a stack with nothing on record, whether no deploy of it has
// succeeded since the first one failed.
func (d *deployment) neverDone(ctx context.Context) bool {
	d.world.mu.Lock()
	empty := len(d.world.record.Resources)+len(d.world.record.Orphans)+d.world.record.Outputs.Len() == 0
	d.world.mu.Unlock()
	if !empty {
		return false
	}
	journal, err := d.place.ReadJournal(ctx)
	if err != nil || journal == nil || !journal.Segments[0].InitialDeploy {
		return false
	}
	return !slices.ContainsFunc(journal.Segments, func(g *state.Segment) bool {
		return g.RunID != d.runID && (len(g.Operations) > 0 || slices.ContainsFunc(g.Failed, func(op *state.Operation) bool { return op.PhysicalID != "" }))
	})
}

// openEnds names what stays open of a stack, by logical id.
func (d *deployment) openEnds(ctx context.Context) ([]string, error) {
	d.seal()
	d.mu.Lock()
	open := slices.Clone(d.uncertain)
	d.mu.Unlock()
	if d.creates != nil || d.presence.Ledger {
		unanswered, err := d.ledger(ctx).Unanswered(d.settlement())
		if err != nil {
			return nil, err
		}
		open = append(open, unanswered...)
	}
	file, err := d.openPending(ctx)
	if err != nil {
		return nil, err
	}
	left := file.Current()
	for _, op := range left.Operations {
		open = append(open, op.LogicalID)
	}
	for _, l := range left.Leftovers {
		open = append(open, l.LogicalID)
	}
	return slices.Compact(slices.Sorted(slices.Values(open))), nil
}

// forgetCommand is what that has an open operation forgotten.
func forgetCommand(stack, logicalID string) string {
	return fmt.Sprintf("cdkd-action state orphan %s --pending %s --yes", stack, logicalID)
}

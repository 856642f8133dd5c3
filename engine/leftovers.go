package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// A leftover is the old copy of a replaced resource, which goes when everything
// that used it has moved. It is written down before the record names the new
// copy, so that a run that is killed in between does not forget it.
type leftover struct {
	logicalID string
	row       *state.Resource
	retain    bool
	earlier   bool        // an earlier run left it: whose it is now has to be asked
	within    *deployment // it is those of a nested stack
}

// noteOld writes down that a resource is an old copy from the moment on that the
// record names another.
func (d *deployment) noteOld(ctx context.Context, logicalID string, old *state.Resource) error {
	_, policy := d.policies(logicalID)
	if policy == "Retain" {
		return nil
	}
	d.pending.mu.Lock()
	d.pending.noted = true
	d.pending.mu.Unlock()
	l := oldCopy(logicalID, old, policy)
	return d.changePending(ctx, func(p *state.Pending) { p.Leave(*l) })
}

// oldCopy is the leftover that a replaced row becomes.
func oldCopy(logicalID string, old *state.Resource, policy string) *state.Leftover {
	row := old.Clone()
	row.UpdateReplacePolicy = policy
	return &state.Leftover{
		LogicalID: logicalID, ResourceType: old.ResourceType, PhysicalID: old.PhysicalID, ProvisionedBy: old.ProvisionedBy,
		Previous: row, Reason: state.LeftReplaced, Since: now().UnixMilli(),
	}
}

// taken tells whether a row or an orphan of the stack is the leftover: a rollback
// took it back, or another engine did.
func (d *deployment) taken(l state.Leftover) bool {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	return inUse(d.world.record, l)
}

func inUse(record *state.Record, l state.Leftover) bool {
	if record == nil {
		return false
	}
	same := func(logicalID string, row *state.Resource) bool {
		// Ids of custom resources are whatever their handlers say.
		return (!isCustom(l.ResourceType) || logicalID == l.LogicalID) && row.ResourceType == l.ResourceType &&
			state.SameResource(l.ResourceType, row.PhysicalID, l.PhysicalID) &&
			(l.Previous == nil || l.Previous.Properties.Len() == 0 || sameScope(row, l.Previous))
	}
	for id, row := range record.Resources {
		if same(id, row) {
			return true
		}
	}
	for _, o := range record.Orphans {
		if o.State != nil && same(o.LogicalID, o.State) {
			return true
		}
	}
	return false
}

// leftoverRow is what a leftover is deleted by.
func leftoverRow(l state.Leftover) *state.Resource {
	row := l.Previous.Clone()
	if row == nil {
		row = &state.Resource{}
	}
	row.PhysicalID, row.ResourceType, row.ProvisionedBy = l.PhysicalID, l.ResourceType, l.ProvisionedBy
	return row
}

// cleanUp deletes the old copies of what was replaced, those that earlier runs
// left and those of nested stacks included.
func (d *deployment) cleanUp(ctx context.Context, opt graph.Options) error {
	left := d.leftovers
	d.leftovers = nil
	earlier, err := d.earlierLeftovers(ctx)
	if err != nil {
		return err
	}
	left = append(left, earlier...)
	for _, b := range d.due {
		if b.hasOld() {
			left = append(left, leftover{logicalID: b.t.parentLogicalID, row: b.row, within: b.deployment})
		}
	}
	if stopped := d.stopCause(); len(left) == 0 && errors.Is(stopped, errInterrupted) {
		return nil // the signal found all of the work begun
	}
	for len(left) > 0 {
		// One of each logical id at a time: so they are told apart.
		batch, rest := map[string]leftover{}, []leftover(nil)
		var order []string
		for _, l := range left {
			switch _, taken := batch[l.logicalID]; {
			case l.retain:
				d.retained(l.logicalID, l.row)
			case l.within == nil && (!l.earlier && d.newIsOld(l) || d.heir(l.logicalID, l.row, nil) != ""):
				// the new copy is the old one
			case taken:
				rest = append(rest, l)
			default:
				batch[l.logicalID] = l
				order = append(order, l.logicalID)
			}
		}
		d.deleteOld(ctx, order, batch, opt)
		left = rest
	}
	return d.stopCause()
}

func (d *deployment) newIsOld(l leftover) bool {
	row := d.world.row(l.logicalID)
	return row != nil && state.SameResource(l.row.ResourceType, row.PhysicalID, l.row.PhysicalID) && !isCustom(row.ResourceType)
}

// deleteOld deletes old copies.
func (d *deployment) deleteOld(ctx context.Context, order []string, batch map[string]leftover, opt graph.Options) {
	g := outgoing{order: order, rows: map[string]*state.Resource{}, within: map[string]*deployment{}, old: batch}
	for id, l := range batch {
		g.rows[id] = l.row
		if l.within != nil {
			g.within[id] = l.within
		}
	}
	d.tellUndeleted(g, d.takeOut(ctx, g, opt))
}

// goneLeftover notes that an old copy is deleted, so that it is not written down
// any more.
func (d *deployment) goneLeftover(row *state.Resource) {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	d.pending.gone = append(d.pending.gone, row)
}

// earlierLeftovers are those of earlier runs that may be deleted: nobody else
// names them, and no policy keeps them.
func (d *deployment) earlierLeftovers(ctx context.Context) ([]leftover, error) {
	if len(d.pending.earlier) == 0 {
		return nil, nil
	}
	if err := d.registry.Check(ctx); err != nil {
		return nil, err
	}
	all, err := d.store.Survey(ctx)
	if err != nil {
		return nil, fmt.Errorf("look whether another stack names what an earlier run left: %w", err)
	}
	var left []leftover
	for _, l := range d.pending.earlier {
		row := leftoverRow(l)
		holder := ""
		if !isCustom(l.ResourceType) {
			holder = d.namedBy(all, l.ResourceType, l.PhysicalID)
		}
		switch {
		case d.taken(l):
			d.goneLeftover(row)
		case holder != "":
			d.unaddressed(l.LogicalID, l.ResourceType, l.PhysicalID, fmt.Sprintf("an earlier run left it to be deleted, and it was not: stack %s names it", holder),
				"look whose it is, then have it forgotten: "+forgetCommand(d.t.Name, l.LogicalID))
		case plan.Keeps(row.UpdateReplacePolicy):
			d.retained(l.LogicalID, row)
			d.goneLeftover(row)
		case l.Reason == state.LeftSuperseded && plan.Stateful(l.ResourceType):
			d.unaddressed(l.LogicalID, l.ResourceType, l.PhysicalID, "a second one was made since, and this one was kept: its data would be lost",
				"delete it by hand, then have it forgotten: "+forgetCommand(d.t.Name, l.LogicalID))
		default:
			left = append(left, leftover{logicalID: l.LogicalID, row: row, earlier: true})
		}
	}
	d.pending.earlier = nil
	return left, nil
}

// announce writes down what a later run has to know of a create before it is
// sent, and returns when it may be.
func (d *deployment) announce(ctx context.Context, c *plan.Change, req *provider.Request, old *state.Resource) error {
	var wg routine.Group
	var noted error
	if old != nil && !d.isCleared(c.LogicalID) {
		wg.Go(func() { noted = d.noteOld(ctx, c.LogicalID, old) })
	}
	err := d.admit(ctx, c, req)
	wg.Wait()
	return cmp.Or(err, noted)
}

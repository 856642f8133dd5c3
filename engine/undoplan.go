package engine

import (
	"context"
	"slices"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// undoPlan shows a rollback: what was created goes, what was changed goes back,
// in the stack and in those nested in it that were changed; of what failed, only
// where that is to be reverted.
func (d *deployment) undoPlan(ctx context.Context, record *state.Record, journal *state.Journal, failed bool) (*plan.Plan, error) {
	p := &plan.Plan{Stack: d.t.Name, Region: d.t.Region}
	seen := map[string]bool{}
	inside := map[string][]string{} // the runs that worked on a nested stack, newest first
	var nested []string
	for _, g := range slices.Backward(journal.Segments) {
		for _, op := range slices.Backward(slices.Concat(g.Failed, g.Operations)) {
			if op.ResourceType == nestedType && op.ChangeType == state.OpUpdate && record.Row(op.LogicalID) != nil {
				nested = add(nested, op.LogicalID)
				inside[op.LogicalID] = add(inside[op.LogicalID], g.RunID)
			}
		}
		for _, op := range slices.Backward(g.Failed) {
			if failed || halfMade(op) {
				if row := triedRow(op, record.Row(op.LogicalID)); row != nil && !seen[op.LogicalID] {
					seen[op.LogicalID] = true
					p.Changes = append(p.Changes, undoChange(op, row))
				}
			}
		}
		for _, op := range slices.Backward(g.Operations) {
			row := record.Row(op.LogicalID)
			if row != nil && !seen[op.LogicalID] && op.ChangeType != state.OpDelete {
				seen[op.LogicalID] = true
				p.Changes = append(p.Changes, undoChange(op, row))
			}
		}
	}
	for _, id := range nested {
		child, err := d.undoPlanWithin(ctx, id, inside[id], failed)
		if err != nil {
			return nil, err
		}
		if child != nil {
			p.AddChild(id, child)
		}
	}
	return p, nil
}

// undoPlanWithin is undoPlan for what some runs did in a nested stack, nil when
// its journal has nothing of them.
func (d *deployment) undoPlanWithin(ctx context.Context, logicalID string, runs []string, failed bool) (*plan.Plan, error) {
	child := &deployment{store: d.store, t: target{Name: d.t.Name + "~" + logicalID, Region: d.t.Region}}
	place := d.store.Stack(child.t.Name, child.t.Region)
	journal, err := place.ReadJournal(ctx)
	if err != nil {
		return nil, err
	}
	part := &state.Journal{}
	for _, run := range slices.Backward(runs) {
		if g := journal.Segment(run); g != nil {
			part.Segments = append(part.Segments, g)
		}
	}
	if part.Segments == nil {
		return nil, nil
	}
	record, _, err := place.Read(ctx)
	if record == nil || err != nil {
		return nil, err
	}
	return child.undoPlan(ctx, record, part, failed)
}

func undoChange(op *state.Operation, row *state.Resource) *plan.Change {
	c := &plan.Change{LogicalID: op.LogicalID, Type: op.ResourceType, PhysicalID: row.PhysicalID, Action: plan.Delete,
		DeletionPolicy: plan.DeletionPolicy(row.ResourceType, row.Properties, row.DeletionPolicy)}
	switch {
	case op.ChangeType == state.OpUpdate && op.Previous != nil:
		c.Action = plan.Update
		for name := range merged(row.Properties, op.Previous.Properties).All() {
			old, hasOld := row.Properties.Get(name)
			new, hasNew := op.Previous.Properties.Get(name)
			if hasOld != hasNew || !value.Equal(old, new) {
				c.Properties = append(c.Properties, plan.PropertyChange{Path: name, Old: old, New: new, HasOld: hasOld, HasNew: hasNew})
			}
		}
	case c.DeletionPolicy == "Retain":
		c.Action = plan.Retain
	}
	return c
}

// merged has the members of both objects.
func merged(a, b *value.Object) *value.Object {
	out := a.Clone()
	if out == nil {
		out = &value.Object{}
	}
	for name, v := range b.All() {
		if !out.Has(name) {
			out.Set(name, v)
		}
	}
	return out
}

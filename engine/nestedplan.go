package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A plan has those of the nested stacks below it, each of them against the
// stack's own record: what a deploy does in them is reviewed, approved and refused
// with the rest, and a nested stack that differs from its template, or of which
// something is open, is visited although nothing about its row changed. A deploy
// plans them again, under their locks and with all values.

// planNested plans the nested stacks and puts their plans below the one of the
// stack, all side by side. A change of one may feed another: that is planned
// again, with what it is fed as unknown.
func (d *deployment) planNested(ctx context.Context, record *state.Record) error {
	below := map[string]*deployment{}
	fed := map[string][]string{}
	visit := map[string]bool{}
	var looking routine.Group
	var open []string
	var openErr error
	defer looking.Wait()
	if !d.opt.DryRun && slices.ContainsFunc(d.Changes, func(c *plan.Change) bool { return c.Type == nestedType && record.Row(c.LogicalID) != nil }) {
		looking.Go(func() { open, openErr = d.place.OpenBelow(ctx) })
	}
	for {
		var rows []*plan.Change
		for _, c := range d.Changes {
			if c.Type != nestedType || c.Action == plan.Retain {
				continue
			}
			unknown := d.unknownTo(c)
			if _, planned := fed[c.LogicalID]; !planned || len(fed[c.LogicalID]) != len(unknown) {
				fed[c.LogicalID] = unknown
				rows = append(rows, c)
			}
		}
		if len(rows) == 0 {
			break
		}
		found := make([]*deployment, len(rows))
		faults := make([]error, len(rows))
		var wg routine.Group
		for i, c := range rows {
			wg.Go(func() { found[i], faults[i] = d.planBelow(ctx, c, record.Row(c.LogicalID), fed[c.LogicalID]) })
		}
		wg.Wait()
		looking.Wait()
		if err := joined(nonNil(append(faults, openErr)...)); err != nil {
			return err
		}
		again := false
		for i, c := range rows {
			below[c.LogicalID] = found[i]
			b, name := found[i], d.t.Name+"~"+c.LogicalID
			differs := b != nil && b.planned != nil && b.Plan.Changed()
			if c.Action == plan.NoChange && (differs || slices.ContainsFunc(open, func(s string) bool { return s == name || strings.HasPrefix(s, name+"~") })) {
				visit[c.LogicalID], again = true, true // to go on there
			}
		}
		if again {
			if err := d.compute(d.planned, visit); err != nil {
				return err
			}
		}
	}
	for _, c := range d.Changes {
		switch b := below[c.LogicalID]; {
		case b == nil:
		case b.planned == nil:
			c.Untold = true
		default:
			d.Plan.AddChild(c.LogicalID, b.Plan)
			d.below = append(d.below, b)
		}
	}
	return nil
}

// unknownTo names the parameters of a nested stack whose values are not there yet,
// or may be others when it is its turn.
func (d *deployment) unknownTo(c *plan.Change) (parameters []string) {
	if c.Gone() {
		return nil
	}
	followed := slices.ContainsFunc(c.Properties, func(p plan.PropertyChange) bool {
		return p.Path == "Parameters" && (p.Propagated || p.Carried)
	})
	moves := func(logicalID string) bool {
		from := d.Plan.Change(logicalID)
		return from != nil && (from.Action == plan.Create || from.Action == plan.Replace || from.Action == plan.MayReplace ||
			from.Action == plan.Update && followed)
	}
	written := d.scope.Resource(c.LogicalID).Properties.Object("Parameters")
	for name, v := range c.Desired.Object("Parameters").All() {
		if plan.Unresolved(v) || slices.ContainsFunc(graph.Mentioned(written.Value(name)), moves) {
			parameters = append(parameters, name)
		}
	}
	return parameters
}

// planBelow plans one nested stack; without a plan is one of which it cannot be
// told, before something else is made, what becomes of it. nil is nothing to plan.
func (d *deployment) planBelow(ctx context.Context, c *plan.Change, row *state.Resource, unknown []string) (*deployment, error) {
	n := &nested{parent: d}
	name := d.t.Name + "~" + c.LogicalID
	var record *state.Record
	if row != nil {
		var err error
		if record, _, err = d.store.Stack(name, d.t.Region).Read(ctx); err != nil {
			return nil, err
		}
	}
	if c.Gone() {
		if record == nil {
			return nil, nil
		}
		b := n.child(target{Name: name, Region: d.t.Region, DisplayName: d.t.DisplayName + "~" + c.LogicalID, parent: d, parentLogicalID: c.LogicalID})
		b.planned = &planned{Plan: removal(b.t, record), world: b.newWorld(record), compared: record}
		return b, b.planNested(ctx, record)
	}
	source := d.t.Nested[c.LogicalID]
	if source == nil {
		return nil, nil // which is refused in another place
	}
	t, err := d.targetBelow(n, c, row, unknown)
	if err != nil {
		return nil, err
	}
	b := n.child(t)
	b.opt.DryRun = true
	switch err := b.makePlan(ctx, record); {
	case err == nil:
	case errors.Is(err, template.ErrUnknown):
		b.planned = nil
	case d.tolerant != nil:
		b.planned = nil
		d.warn("nested stack %s: %v", c.LogicalID, err)
	default:
		return nil, fmt.Errorf("nested stack %s: %w", c.LogicalID, err)
	}
	if d.opt.DryRun {
		d.mu.Lock()
		d.res.Warnings = add(d.res.Warnings, b.res.Warnings...)
		d.mu.Unlock()
	}
	return b, nil
}

// targetBelow is a nested stack with the parameters that it would be given, but
// for the unknown ones.
func (d *deployment) targetBelow(n *nested, c *plan.Change, row *state.Resource, unknown []string) (target, error) {
	known := &value.Object{}
	for name, v := range c.Desired.Object("Parameters").All() {
		if !slices.Contains(unknown, name) {
			known.Set(name, v)
		}
	}
	parameters, hidden, err := n.parameters(&provider.Request{LogicalID: c.LogicalID, Properties: value.NewObject("Parameters", known)})
	if err != nil {
		return target{}, err
	}
	before := map[string]string{}
	if row != nil {
		if before, err = nestedParameters(&provider.Request{LogicalID: c.LogicalID, Properties: row.Properties}); err != nil {
			return target{}, err
		}
	}
	t := d.t.child(d, c.LogicalID, d.t.Nested[c.LogicalID], parameters, hidden)
	t.unknown = unknown
	d.handDown(&t, before)
	return t, nil
}

// beforehand tells whether a nested stack is planned with the one above it by a
// deploy, which plans it again when its turn comes.
func (d *deployment) beforehand() bool {
	return d.t.parent != nil && d.opt.DryRun && !d.top().opt.DryRun
}

// keepAllExports is keepExports for the stack and those nested in it.
func (d *deployment) keepAllExports(ctx context.Context, record *state.Record) error {
	if err := d.keepExports(ctx, record); err != nil {
		return err
	}
	for _, b := range d.below {
		if err := b.keepAllExports(ctx, b.compared); err != nil {
			return err
		}
	}
	return nil
}

package engine

import (
	"maps"
	"slices"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// An update that had no answer may have had its effect. What it changed is
// applied again, also where the template agrees with the record by now: the
// commit may have been taken back, and AWS must not keep what it brought.

// doubtful names the properties of which AWS may have either value.
func (d *deployment) doubtful(record *state.Record) map[string][]string {
	all := map[string][]string{}
	for id, op := range d.pending.uncertain {
		row := record.Row(id)
		if row == nil || op.ChangeType != state.OpUpdate || op.ResourceType == nestedType {
			continue
		}
		if op.PropertiesOmitted {
			all[id] = row.Properties.Keys()
			continue
		}
		for name := range merged(op.Properties, previousOf(op)).All() {
			sent, hasSent := op.Properties.Get(name)
			before, had := previousOf(op).Get(name)
			recorded, has := row.Properties.Get(name)
			changed := hasSent != had || !value.Equal(sent, before)
			if changed && has == had && value.Equal(recorded, before) {
				all[id] = append(all[id], name)
			}
		}
	}
	return all
}

func previousOf(op *state.OpenOperation) *value.Object {
	if op.Previous == nil {
		return nil
	}
	return op.Previous.Properties
}

// revisit has the plan visit nested stacks in which something was let go.
func (d *deployment) revisit(p *planned) {
	for id := range d.pending.uncertain {
		if c := p.Change(id); c != nil && c.Type == nestedType && c.Action == plan.NoChange {
			c.Action, c.ChildChanged = plan.Update, true
		}
	}
}

// unsure makes an update compare with what AWS may have, too: what differs from
// either is sent, and what either has that is not wanted is taken away.
func (d *deployment) unsure(req *provider.Request, logicalID string) {
	op := d.pending.uncertain[logicalID]
	if op == nil || req.Type == nestedType {
		return
	}
	req.Unsure = true
	req.Previous = req.Previous.Clone()
	for _, name := range d.planned.doubtful[logicalID] {
		sent, has := op.Properties.Get(name)
		switch recorded, had := req.Previous.Get(name); {
		case has && had:
			req.Previous.Set(name, either(recorded, sent, req.Properties.Value(name)))
		case has:
			req.Previous.Set(name, sent)
		case value.Equal(recorded, req.Properties.Value(name)):
			req.Previous.Delete(name)
		}
	}
}

// either is a value that differs from the one wanted wherever one of two does,
// and has the members of both.
func either(a, b, want any) any {
	switch a := a.(type) {
	case *value.Object:
		if b, ok := b.(*value.Object); ok {
			wanted, _ := want.(*value.Object)
			out := a.Clone()
			for name, v := range b.All() {
				if old, has := a.Get(name); has {
					v = either(old, v, wanted.Value(name))
				}
				out.Set(name, v)
			}
			return out
		}
	case []any:
		if b, ok := b.([]any); ok && tagged(a) && tagged(b) {
			return fromTags(either(toTags(a), toTags(b), toTags(listOf(want))).(*value.Object))
		}
	}
	if value.Equal(a, want) {
		return b
	}
	return a
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// tagged tells whether a list is one of tags.
func tagged(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		o, ok := v.(*value.Object)
		return !ok || o.String("Key") == "" || !o.Has("Value")
	})
}

func toTags(list []any) *value.Object {
	out := &value.Object{}
	for _, v := range list {
		if o, ok := v.(*value.Object); ok {
			out.Set(o.String("Key"), o.Value("Value"))
		}
	}
	return out
}

func fromTags(o *value.Object) []any {
	var list []any
	for key, v := range o.All() {
		list = append(list, value.NewObject("Key", key, "Value", v))
	}
	return list
}

// open tells whether the stack let something go, or an earlier run did that is
// not settled yet.
func (d *deployment) open() bool {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	open := slices.Collect(maps.Keys(d.pending.unresolved))
	return len(open)+len(d.pending.let)+len(d.pending.half)+len(d.pending.closing) > 0 || d.pending.there && d.pending.file == nil || d.pending.file != nil && !d.pending.file.Current().Empty()
}

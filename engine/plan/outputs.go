package plan

import (
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

// outputs compares the record's outputs with the template's: names first, then
// export names, then what is no longer declared.
func (c *computation) outputs() []OutputChange {
	var list []OutputChange
	declared := map[string]bool{}
	for _, o := range c.in.Outputs {
		declared[o.Name] = true
	}
	exportUnknown := false
	for _, o := range c.in.Outputs {
		if change, ok := c.output(o.Name, o, false); ok {
			list = append(list, change)
		}
	}
	for _, o := range c.in.Outputs {
		switch {
		case !o.Exported, o.ExportSecret, declared[o.ExportName]:
			continue // an export never takes the place of an output
		case o.ExportUnresolved:
			exportUnknown = true
			continue
		case c.in.SecretBearing && !c.recordedOutput(o.ExportName).has:
			// A name in a template with secrets is not shown before a deploy has
			// made sure that it holds none.
			declared[o.ExportName] = true
			continue
		}
		declared[o.ExportName] = true
		if change, ok := c.output(o.ExportName, o, true); ok {
			list = append(list, change)
		}
	}
	if c.in.Current == nil {
		return list
	}
	legacy := c.legacyOutputs()
	noExpression := c.in.SecretBearing && !slices.ContainsFunc(c.in.Current.Outputs.Keys(), func(k string) bool {
		return expression(c.in.Current.Outputs.Value(k))
	})
	for k, v := range c.in.Current.Outputs.All() {
		export := slices.Contains(c.in.Current.ExportNames, k)
		// The name of an export that cannot be told may be this one.
		if declared[k] || exportUnknown && (export || c.in.Current.ExportNames == nil) {
			continue
		}
		list = append(list, OutputChange{
			Name: k, Action: Delete, Old: v, HasOld: true, Export: export,
			OldRedacted: noExpression && !expression(v),
		})
	}
	for i := range list {
		if legacy && list[i].HasOld && !expression(list[i].Old) {
			list[i].OldRedacted = true
		}
		if list[i].OldRedacted {
			list[i].Old = nil
		}
	}
	return list
}

func (c *computation) recordedOutput(name string) (s side) {
	if c.in.Current != nil {
		s.v, s.has = c.in.Current.Outputs.Get(name)
	}
	return s
}

// output compares one declared output, or its export. An output whose value
// cannot be told, or that reads from a resource that is replaced, is a change
// only if such a resource changes.
func (c *computation) output(name string, o Output, export bool) (OutputChange, bool) {
	old := c.recordedOutput(name)
	change := OutputChange{
		Name: name, Action: Update, Old: old.v, HasOld: old.has,
		New: o.Value, HasNew: true, Export: export, Secret: o.Secret,
		Unresolved: o.Unresolved || Unresolved(o.Value),
	}
	if !old.has {
		change.Action = Create
	}
	switch {
	case change.Unresolved:
		return change, c.moving(o.References)
	case old.has && value.Equal(old.v, o.Value):
		change.Unresolved = c.replacing(o.References)
		return change, change.Unresolved
	}
	change.Unresolved = c.mayReplace(o.References) // what it refers to has another id then
	return change, true
}

func (c *computation) moving(refs []Reference) bool {
	return slices.ContainsFunc(refs, func(ref Reference) bool {
		r := c.byID[ref.LogicalID]
		return r != nil && r.Action != NoChange
	})
}

func (c *computation) mayReplace(refs []Reference) bool {
	return c.replacing(refs) || slices.ContainsFunc(refs, func(ref Reference) bool {
		r := c.byID[ref.LogicalID]
		return r != nil && r.Action == MayReplace
	})
}

func (c *computation) replacing(refs []Reference) bool {
	return slices.ContainsFunc(refs, func(ref Reference) bool {
		r := c.byID[ref.LogicalID]
		return r != nil && r.Action == Replace
	})
}

// legacyOutputs tells whether the record was written before secrets were kept
// out of outputs: it holds a plaintext for what is a secret now.
func (c *computation) legacyOutputs() bool {
	return slices.ContainsFunc(c.in.Outputs, func(o Output) bool {
		old := c.recordedOutput(o.Name)
		return o.Secret && old.has && !expression(old.v)
	})
}

// expression tells whether a recorded value is or holds a reference to a
// secret, or the mask of one.
func expression(v any) bool {
	return anywhere(v, func(v any) bool {
		text, ok := v.(string)
		return ok && (text == secret.Masked || strings.Contains(text, "{{resolve:"))
	})
}

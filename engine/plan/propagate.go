package plan

import (
	"slices"
	"strings"
)

// propagate adds the changes that follow from other rows' changes, until there
// are no more. A resource that is replaced gets another id and other
// attributes, so whoever refers to it changes; one that changes in place gives
// new values only to those that read what changes with it.
//
// A followed change is a guess: it says that a value will be looked at again.
// It turns a row into an update, and into a replacement where the property is
// one that replaces, and then it is followed in turn.
func (c *computation) propagate() {
	work := slices.Clone(c.rows)
	for len(work) > 0 {
		r := work[0]
		work = work[1:]
		if r.Action != Replace && r.Action != MayReplace && r.Action != Update {
			continue
		}
		for _, reader := range c.readers[r.LogicalID] {
			if reader.Action == Create || reader == r {
				continue
			}
			if reader.follow(r) {
				work = append(work, reader)
			}
		}
	}
}

// follow adds what r must change because producer does, and tells whether that
// changed anything.
func (r *row) follow(producer *row) bool {
	changed := false
	written := r.want.Written
	if written == nil {
		written = r.want.Properties
	}
	for _, property := range written.Keys() {
		fed := slices.ContainsFunc(r.want.References[property], func(ref Reference) bool {
			return ref.LogicalID == producer.LogicalID && producer.moves(ref.Attribute)
		})
		if !fed || r.record.ResourceType != r.Type || !r.Desired.Has(property) {
			continue // also where a condition took the property away
		}
		v := judgeFed(r.Type, r.shape, property, written.Value(property), producer.LogicalID)
		if producer.Action != Replace {
			v = min(v, mayReplace)
		}
		i := slices.IndexFunc(r.Properties, func(p PropertyChange) bool { return p.Path == property })
		if i < 0 {
			p := PropertyChange{
				Path: property, New: written.Value(property), HasNew: true,
				Unresolved: true, Secret: slices.Contains(r.want.Secret, property),
			}
			p.Old, p.HasOld = r.record.Properties.Get(property)
			r.Properties = append(r.Properties, p)
			i = len(r.Properties) - 1
		} else if p := &r.Properties[i]; !p.Propagated && !p.Carried {
			continue // it changes anyway
		}
		p := &r.Properties[i]
		before := *p
		p.Propagated = p.Propagated || producer.Action != Update
		p.Carried = !p.Propagated
		p.Replaces = p.Replaces || v == replaces
		p.MayReplace = !p.Replaces && (p.MayReplace || v == mayReplace)
		if before.Propagated != p.Propagated || before.Carried != p.Carried || before.Replaces != p.Replaces || before.MayReplace != p.MayReplace {
			changed = true
		}
	}
	if changed {
		r.settle()
	}
	return changed
}

// moves tells whether what a reference reads may be another value once r is
// done. Only a replacement gives another id and all attributes anew. An update
// in place moves the attributes that show what it changes, and of what answers
// with values of its own, any: a custom resource's handler, which may even give
// another id, and the outputs of a nested stack.
func (r *row) moves(attribute string) bool {
	switch {
	case r.Action == Replace || r.Action == MayReplace:
		return true
	case r.Action != Update || len(r.Properties) == 0 && !r.ChildChanged:
		return false
	case custom(r.Type):
		return true
	case r.Type == "AWS::CloudFormation::Stack":
		return strings.HasPrefix(attribute, "Outputs.")
	case r.Type == "AWS::EC2::LaunchTemplate":
		return attribute == "LatestVersionNumber" || attribute == "DefaultVersionNumber"
	}
	names := strings.Split(attribute, ".") // Endpoint.Port shows the property Port
	return slices.ContainsFunc(r.Properties, func(p PropertyChange) bool { return slices.Contains(names, p.Path) })
}

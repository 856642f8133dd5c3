package template

import (
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A Reference is one place where a resource names another.
type Reference struct {
	LogicalID string // of the resource that is named
	Property  string // top-level property that names it; "" outside the properties
	Attribute string // of Fn::GetAtt; "" when it is Ref, or not written out
	GetAtt    bool
	DependsOn bool // named in DependsOn, not by value
}

// References lists where r names other resources of the template: by value in
// its properties and in its creation and update policies, then in DependsOn.
// Both branches of an Fn::If count. Names of parameters are left out.
func (t *Template) References(r *Resource) []Reference {
	var all []Reference
	seen := map[Reference]bool{}
	add := func(ref Reference) {
		if t.resources[ref.LogicalID] != nil && t.resources[ref.LogicalID].Type != MetadataType && !seen[ref] {
			seen[ref] = true
			all = append(all, ref)
		}
	}
	in := func(property string, v any) {
		names(v, nil, bothBranches, func(n name) {
			if !strings.HasPrefix(n.id, "AWS::") {
				add(Reference{LogicalID: n.id, Property: property, Attribute: n.attribute, GetAtt: n.byGetAtt})
			}
		})
	}
	if fn, _, ok := function(r.properties()); ok {
		in(fn, r.Properties)
	} else {
		for property, v := range r.Properties.All() {
			in(property, v)
		}
	}
	in("", r.CreationPolicy)
	in("", r.UpdatePolicy)
	for _, id := range r.DependsOn {
		add(Reference{LogicalID: id, DependsOn: true})
	}
	return all
}

// References lists what a resource refers to among Resources.
func (s *Scope) References(logicalID string) []Reference {
	r := s.resources[logicalID]
	if r == nil {
		return nil
	}
	var all []Reference
	for _, ref := range s.t.References(r) {
		if s.resources[ref.LogicalID] != nil {
			all = append(all, ref)
		}
	}
	return all
}

// Parameters names the parameters that a value of the template hangs on: those
// that it refers to, and those by which the conditions were decided that it asks.
// A branch that is not taken does not count.
func (s *Scope) Parameters(v any) []string {
	d := &dependence{s: s, asked: map[string]bool{}}
	d.value(v)
	return d.parameters
}

// ConditionParameters names the parameters by which a condition was decided.
func (s *Scope) ConditionParameters(name string) []string {
	d := &dependence{s: s, asked: map[string]bool{}}
	d.condition(name)
	return d.parameters
}

type dependence struct {
	s          *Scope
	asked      map[string]bool // conditions
	parameters []string
}

func (d *dependence) value(v any) {
	taken := func(name string) (yes, no bool) {
		d.condition(name)
		met := d.s.conditions[name].value
		return met, !met
	}
	names(v, nil, taken, func(n name) {
		if d.s.parameters[n.id] != nil {
			d.parameters = append(d.parameters, n.id)
		}
	})
}

func (d *dependence) condition(name string) {
	if d.asked[name] {
		return
	}
	d.asked[name] = true
	written := d.s.t.Conditions.Value(name)
	d.value(written)
	d.named(written)
}

// named follows the names of other conditions in a condition.
func (d *dependence) named(v any) {
	switch v := v.(type) {
	case []any:
		for _, member := range v {
			d.named(member)
		}
	case *value.Object:
		for k, member := range v.All() {
			if name, ok := member.(string); ok && k == "Condition" {
				d.condition(name)
			}
			d.named(member)
		}
	}
}

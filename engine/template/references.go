package template

import "strings"

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

package template

import (
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// check finds what no part of a template shows by itself: names that lead
// nowhere, and names given twice. Where names are made by loops or functions, that
// is checked after Bind wrote them out.
func (b *builder) check() {
	for _, p := range b.t.Parameters {
		if b.t.resources[p.Name] != nil {
			b.add("Parameters."+p.Name, "a resource has the same name")
		}
	}
	exports := map[string]string{}
	for _, o := range b.t.Outputs {
		name, ok := o.ExportName.(string)
		if !ok {
			continue
		}
		if other, taken := exports[name]; taken {
			b.add("Outputs."+o.Name+".Export", "output %s exports the same name %q", other, name)
		}
		exports[name] = o.Name
	}
	if b.t.unwritten {
		return
	}
	for _, r := range b.t.Resources {
		at := "Resources." + r.LogicalID
		b.condition(at, r.Condition)
		for _, target := range r.DependsOn {
			switch {
			case target == r.LogicalID:
				b.add(at+".DependsOn", "the resource depends on itself")
			case b.t.resources[target] == nil && !b.t.isParameter(target):
				b.add(at+".DependsOn", "there is no resource %s", target)
			}
		}
		b.branches(r.Properties, resourcePlace(r.LogicalID).at("Properties"))
	}
	for _, o := range b.t.Outputs {
		b.condition("Outputs."+o.Name, o.Condition)
		b.branches(o.Value, (&place{name: "Outputs"}).at(o.Name).at("Value"))
	}
}

func (b *builder) condition(at, name string) {
	if name != "" && !b.t.Conditions.Has(name) {
		b.add(at+".Condition", "there is no condition %s", name)
	}
}

// branches checks the condition that each Fn::If names.
func (b *builder) branches(v any, at *place) {
	switch v := v.(type) {
	case []any:
		for i, member := range v {
			b.branches(member, at.item(i))
		}
	case *value.Object:
		if fn, arg, ok := function(v); ok && fn == "Fn::If" {
			args, _ := arg.([]any)
			if len(args) > 0 { // evaluation says what else is wrong with it, if it is used
				if name, ok := args[0].(string); ok && !b.t.Conditions.Has(name) {
					b.add(at.at(fn).String(), "there is no condition %q", name)
				}
			}
		}
		for name, member := range v.All() {
			b.branches(member, at.at(name))
		}
	}
}

func (t *Template) isParameter(name string) bool { return t.parameter(name) != nil }

func (t *Template) parameter(name string) *Parameter {
	i := slices.IndexFunc(t.Parameters, func(p *Parameter) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return t.Parameters[i]
}

// Macros names what in the template only CloudFormation can expand: transforms
// other than the language extensions, and Fn::Transform with its place.
func (t *Template) Macros() []string {
	var all []string
	for _, name := range t.Transform {
		if name != LanguageExtensions {
			all = append(all, name)
		}
	}
	for _, section := range []string{"Resources", "Outputs", "Mappings", "Conditions", "Rules"} {
		if hasTransform(t.Body.Value(section)) {
			all = append(all, "Fn::Transform in "+section)
		}
	}
	return all
}

func hasTransform(v any) bool {
	switch v := v.(type) {
	case *value.Object:
		for name, member := range v.All() {
			if name == "Fn::Transform" || name != "Metadata" && hasTransform(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasTransform)
	}
	return false
}

// hasComputedNames tells whether a function says what a Ref or Fn::GetAtt is of.
func hasComputedNames(v any) bool {
	switch v := v.(type) {
	case *value.Object:
		if _, ok := computedName(v); ok {
			return true
		}
		for _, member := range v.All() {
			if hasComputedNames(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasComputedNames)
	}
	return false
}

// computedName returns the function in the place of the name that a Ref or
// Fn::GetAtt is of.
func computedName(o *value.Object) (*value.Object, bool) {
	fn, arg, _ := function(o)
	if list, ok := arg.([]any); ok && fn == "Fn::GetAtt" && len(list) == 2 {
		arg = list[0]
	} else if fn != "Ref" {
		return nil, false
	}
	_, _, ok := function(arg)
	name, _ := arg.(*value.Object)
	return name, ok
}

func hasLoops(v any) bool {
	switch v := v.(type) {
	case *value.Object:
		for name, member := range v.All() {
			if strings.HasPrefix(name, loopPrefix) || hasLoops(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasLoops)
	}
	return false
}

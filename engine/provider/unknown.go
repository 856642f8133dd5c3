package provider

import (
	"reflect"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// Unknown lists the properties that a template cannot set, as far as the schema
// of the type is known: the type has no such property, or AWS sets it. What
// stands below a property is a dotted path, without the indexes of lists.
//
// What is younger than the schema is none of them when a binding sends it.
func (d *Driver) Unknown(properties *value.Object) (paths []string) {
	typ, ok := schema.Lookup(d.res.Type)
	if !ok {
		return nil
	}
	for name, v := range properties.All() {
		switch shape := typ.Properties[name]; {
		case absent(v) || name == d.res.Tags.Property:
		case typ.Settable(name):
			paths = d.below(paths, name, shape, v)
		case slices.Contains(d.res.Handled, name):
		default:
			if _, handled := d.res.missing(name, shape); shape == nil || !handled {
				paths = append(paths, name)
			}
		}
	}
	return paths
}

// below adds the paths in v for which its shape has no place. A shape that names
// no members takes any, and function calls are looked at again when they are
// evaluated.
func (d *Driver) below(paths []string, path string, shape *schema.Property, v any) []string {
	if shape == nil || shape.JSON {
		return paths
	}
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			paths = d.below(paths, path, shape.Items, element)
		}
	case *value.Object:
		if name, arg, ok := v.Sole(); ok && (name == "Ref" || strings.HasPrefix(name, "Fn::")) {
			if branches, _ := arg.([]any); name == "Fn::If" && len(branches) == 3 {
				paths = d.below(d.below(paths, path, shape, branches[1]), path, shape, branches[2])
			}
			return paths
		}
		for name, member := range v.All() {
			switch p := join(path, name); {
			case absent(member):
			case shape.Member(name) != nil:
				paths = d.below(paths, p, shape.Member(name), member)
			case len(shape.Properties) > 0 && !slices.Contains(paths, p) && !d.res.carries(strings.Split(p, ".")):
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// known leaves out what the type does not have, which a record may hold.
func (d *Driver) known(properties *value.Object) *value.Object {
	if unknown := d.Unknown(properties); len(unknown) > 0 {
		return Without(properties, unknown)
	}
	return properties
}

// Without is a copy of properties without what the dotted paths lead to, through
// lists as well.
func Without(properties *value.Object, paths []string) *value.Object {
	out := properties.Clone()
	for _, path := range paths {
		drop(out, strings.Split(path, "."))
	}
	return out
}

func drop(v any, path []string) {
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			drop(m, path)
		}
	case *value.Object:
		if name, branches, _ := v.Sole(); name == "Fn::If" {
			drop(branches, path)
			return
		}
		if len(path) == 1 {
			v.Delete(path[0])
			return
		}
		drop(v.Value(path[0]), path[1:])
	}
}

// carries tells whether a binding sends what stands at a path by itself. What
// functions of a description read by hand is only what they know.
func (r Resource) carries(path []string) bool {
	for _, in := range r.inputsOf(path[0]) {
		if in.carries(path) {
			return true
		}
	}
	return false
}

// carries implements Input.
func (m *mapping) carries(path []string) bool {
	if !m.takesTop(path[0]) {
		return false
	}
	if _, ok := m.bags[path[0]]; ok {
		return true
	}
	t, at := m.typ, ""
	for _, name := range path {
		t = element(t)
		at = join(at, name)
		switch _, custom := m.custom[at]; {
		case t.Kind() == reflect.Map, t.Kind() == reflect.String:
			return true // with all of its members; a text is their JSON
		case m.asJSON[at]:
			return true
		case custom, m.done[at], m.skip[at], t.Kind() != reflect.Struct:
			return false
		case m.rename[at] == ".":
			continue
		}
		f := m.member(t, at, name)
		if f == nil {
			return false
		}
		t = typeAt(t, f)
	}
	return true
}

// element is the type of what a value is made of: through pointers, lists, and
// the structs that some APIs have in a list's place.
func element(t reflect.Type) reflect.Type {
	for {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice:
			t = t.Elem()
		case reflect.Struct:
			items, _ := quantified(t)
			if items == nil {
				return t
			}
			t = typeAt(t, items)
		default:
			return t
		}
	}
}

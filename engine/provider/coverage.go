package provider

import (
	"reflect"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// covers implements Input.
func (m *mapping) covers(property string, shape *schema.Property) (takes bool, missing []string) {
	if !m.takesTop(property) || m.skip[property] {
		return false, nil
	}
	if _, ok := m.bags[property]; ok || m.done[property] {
		return true, nil
	}
	if m.rename[property] == "." {
		return true, m.missing(m.typ, property, shape, nil)
	}
	f := m.member(m.typ, property, property)
	if f == nil {
		return false, nil
	}
	return true, m.missing(typeAt(m.typ, f), property, shape, nil)
}

// missing lists the paths at and below path that the SDK type has no place
// for, as far as the schema knows them.
func (m *mapping) missing(t reflect.Type, path string, shape *schema.Property, above []*schema.Property) []string {
	if _, ok := m.custom[path]; ok || m.done[path] || m.asJSON[path] || shape == nil || slices.Contains(above, shape) {
		return nil // a recursive shape says nothing new
	}
	above = append(slices.Clip(above), shape)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Interface:
		return []string{path} // a union or document needs a Custom
	case reflect.Slice:
		if t == bytesType {
			return []string{path}
		}
		return m.missing(t.Elem(), path, shape.Items, above)
	case reflect.Map:
		if len(shape.Properties) == 0 {
			return m.missing(t.Elem(), path, shape.Values, above)
		}
	case reflect.Struct:
		if items, _ := quantified(t); items != nil && shape.Items != nil {
			return m.missing(typeAt(t, items), path, shape, above)
		}
		var missing []string
		for name, sub := range shape.Properties {
			p := join(path, name)
			if m.done[p] {
				continue
			}
			if m.rename[p] == "." {
				missing = append(missing, m.missing(t, p, sub, above)...)
			} else if f := m.member(t, p, name); f == nil || m.skip[p] {
				missing = append(missing, p)
			} else {
				missing = append(missing, m.missing(typeAt(t, f), p, sub, above)...)
			}
		}
		slices.Sort(missing)
		return missing
	}
	return nil
}

func typeAt(t reflect.Type, index []int) reflect.Type {
	for _, i := range index {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		t = t.Field(i).Type
	}
	return t
}

// Coverage tells which of a type's writable properties, or of the paths below
// them, the description does not handle.
type Coverage struct {
	Handled   []string // top-level properties, sorted
	Unhandled []string // properties and dotted paths, sorted
}

// Coverage compares the description with the type's schema. It makes no calls.
func (r Resource) Coverage(t *schema.Type) Coverage {
	var c Coverage
	var readOnly []string
	for _, p := range t.ReadOnly {
		readOnly = append(readOnly, strings.ReplaceAll(strings.ReplaceAll(p, "/*", ""), "/", "."))
	}
	for name, shape := range t.Properties {
		if !t.Settable(name) {
			continue
		}
		if r.Recast != nil {
			if !slices.Contains(r.Recast.Lost, name) {
				c.Handled = append(c.Handled, name)
			}
			continue
		}
		missing, ok := r.missing(name, shape)
		if ok {
			c.Handled = append(c.Handled, name)
		} else {
			missing = []string{name}
		}
		for _, path := range missing {
			if !slices.Contains(r.Handled, path) && !slices.Contains(readOnly, path) {
				c.Unhandled = append(c.Unhandled, path)
			}
		}
	}
	if r.Recast != nil {
		c.Unhandled = slices.Clone(r.Recast.Lost)
	}
	slices.Sort(c.Handled)
	slices.Sort(c.Unhandled)
	return c
}

// missing lists the paths of a property that no part of the description
// handles; ok is false when nothing handles the property at all.
func (r Resource) missing(property string, shape *schema.Property) (paths []string, ok bool) {
	if property == r.Name || property == r.Tags.Property || slices.Contains(r.Handled, property) {
		return nil, true
	}
	for _, s := range r.Satellites {
		if s.Input == nil && slices.Contains(s.Properties, property) {
			return nil, true
		}
	}
	for _, in := range r.inputsOf(property) {
		takes, missing := in.covers(property, shape)
		switch {
		case !takes:
		case !ok:
			paths, ok = missing, true
		default: // what one binding leaves out another may take
			paths = slices.DeleteFunc(paths, func(p string) bool { return !slices.Contains(missing, p) })
		}
	}
	return paths, ok
}

// inputsOf are the bindings that may take a property.
func (r Resource) inputsOf(property string) []Input {
	inputs := slices.Concat(r.Inputs, r.Updates)
	for _, s := range r.Satellites {
		if s.Input != nil && slices.Contains(s.Properties, property) {
			inputs = append(inputs, s.Input)
		}
	}
	return inputs
}

// used lists which of the unhandled paths a resource's properties use. Values
// may still hold intrinsic functions.
func used(unhandled []string, props *value.Object) []string {
	var found []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		if absent(v) {
			return
		}
		if slices.Contains(unhandled, path) {
			if !slices.Contains(found, path) {
				found = append(found, path)
			}
			return
		}
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(path, e)
			}
		case *value.Object:
			if name, arg, ok := v.Sole(); ok && (name == "Ref" || strings.HasPrefix(name, "Fn::")) {
				if branches, _ := arg.([]any); name == "Fn::If" && len(branches) == 3 {
					walk(path, branches[1])
					walk(path, branches[2])
				}
				return
			}
			for name, member := range v.All() {
				walk(join(path, name), member)
			}
		}
	}
	for name, v := range props.All() {
		walk(name, v)
	}
	slices.Sort(found)
	return found
}

// absent tells whether a value takes its property away.
func absent(v any) bool {
	if v == nil {
		return true
	}
	o, _ := v.(*value.Object)
	name, arg, ok := o.Sole()
	if !ok {
		return false
	}
	if branches, _ := arg.([]any); name == "Fn::If" && len(branches) == 3 {
		return absent(branches[1]) && absent(branches[2])
	}
	return name == "Ref" && arg == "AWS::NoValue"
}

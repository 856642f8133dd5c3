package provider

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// takesTop tells whether a top-level property is the binding's business at all.
func (m *mapping) takesTop(property string) bool {
	return m.only == nil || m.only[property]
}

// member finds the member of a struct for the property at a path, nil if there
// is none.
func (m *mapping) member(t reflect.Type, path, name string) []int {
	to, renamed := m.rename[path]
	if !renamed {
		return m.field(t, name)
	}
	var index []int
	for step := range strings.SplitSeq(to, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		f := m.field(t, step)
		if f == nil {
			panic(fmt.Sprintf("bind %s: property %s is renamed to %s, which is not there", m.typ, path, to))
		}
		index = append(index, f...)
		t = t.FieldByIndex(f).Type
	}
	return index
}

// field finds a member of a struct by name, letter case and punctuation aside.
func (m *mapping) field(t reflect.Type, name string) []int {
	known, ok := m.fields.Load(t)
	if !ok {
		known, _ = m.fields.LoadOrStore(t, members(t))
	}
	return known.(map[string][]int)[norm(name)]
}

func members(t reflect.Type) map[string][]int {
	byName := map[string][]int{}
	if t.Kind() != reflect.Struct {
		return byName
	}
	for f := range exported(t) {
		n := norm(f.Name)
		byName[n] = f.Index
		if tagType(t) { // Key and Value may be called TagKey and TagValue
			byName[strings.TrimPrefix(n, "tag")] = f.Index
			byName["tag"+n] = f.Index
		}
	}
	return byName
}

// exported yields the members of an SDK struct that go over the wire.
func exported(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Name != "ResultMetadata" && !yield(f) {
				return
			}
		}
	}
}

// reach returns a member, making the structs on the way to it.
func reach(s reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if s.Kind() == reflect.Pointer {
			if s.IsNil() {
				s.Set(reflect.New(s.Type().Elem()))
			}
			s = s.Elem()
		}
		s = s.Field(i)
	}
	return s
}

// tagType tells whether t is one of the SDK's structs for a tag.
func tagType(t reflect.Type) bool {
	return shaped(t, "key", "value") || shaped(t, "tagkey", "tagvalue")
}

// quantified returns the members of a {Quantity, Items} struct, which some
// APIs have in a list's place.
func quantified(t reflect.Type) (items, quantity []int) {
	if !shaped(t, "items", "quantity") {
		return nil, nil
	}
	for f := range exported(t) {
		if f.Name == "Items" {
			items = f.Index
		} else {
			quantity = f.Index
		}
	}
	return items, quantity
}

// boxed returns the member of a {Value} struct, which EC2 has in a scalar's
// place.
func boxed(t reflect.Type) []int {
	if !shaped(t, "value") {
		return nil
	}
	for f := range exported(t) {
		return f.Index
	}
	return nil
}

// shaped tells whether a struct has exactly the members named, in norm form.
func shaped(t reflect.Type, names ...string) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	n := 0
	for f := range exported(t) {
		if !slices.Contains(names, norm(f.Name)) {
			return false
		}
		n++
	}
	return n == len(names)
}

// norm is a name as bindings compare it.
func norm(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// join extends the path of a property.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

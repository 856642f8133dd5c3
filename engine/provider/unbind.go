package provider

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// Unbind turns what a read returned into properties, the way back of a
// binding: shape says which properties there are, and options what is called
// otherwise. Members that the SDK left out are left out. JSON text becomes an
// object where the schema has one.
//
// Only Rename, Skip, Bag and JSON mean something here; Custom values are left
// out, for the caller to set.
func Unbind(from any, shape *schema.Type, opts ...Option) *value.Object {
	m := mapping{
		typ:    reflect.TypeOf(from),
		rename: Rename{}, clear: Clear{},
		skip: map[string]bool{}, bags: map[string]bagEntry{}, custom: map[string]converter{},
		asJSON: map[string]bool{}, done: map[string]bool{},
	}
	for _, o := range opts {
		o.apply(&m)
	}
	s := reflect.ValueOf(from)
	for s.Kind() == reflect.Pointer {
		if s.IsNil() {
			return value.NewObject()
		}
		s = s.Elem()
	}
	props := m.object(s, "", shape.Properties)
	for _, name := range shape.ReadOnly {
		props.Delete(name)
	}
	return props
}

// object reads a struct's members that the schema knows.
func (m *mapping) object(s reflect.Value, path string, shapes map[string]*schema.Property) *value.Object {
	o := value.NewObject()
	names := make([]string, 0, len(shapes))
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p := join(path, name)
		if m.skip[p] || path == "" && !m.takesTop(name) {
			continue
		}
		if e, ok := m.bags[name]; ok && path == "" {
			if text, ok := m.entry(s, e); ok {
				o.Set(name, typed(text, shapes[name]))
			}
			continue
		}
		if m.rename[p] == "." {
			if inner := m.object(s, p, shapes[name].Properties); inner.Len() > 0 {
				o.Set(name, inner)
			}
			continue
		}
		f := m.member(s.Type(), p, name)
		if f == nil {
			continue
		}
		member, ok := walk(s, f)
		if !ok {
			continue
		}
		if v, ok := m.from(member, p, shapes[name]); ok {
			o.Set(name, v)
		}
	}
	return o
}

func (m *mapping) entry(s reflect.Value, e bagEntry) (string, bool) {
	f := m.field(s.Type(), e.member)
	if f == nil {
		return "", false
	}
	bag, _ := s.FieldByIndex(f).Interface().(map[string]string)
	text, ok := bag[e.key]
	return text, ok && text != ""
}

// from reads one value; ok is false for what is not there.
func (m *mapping) from(s reflect.Value, path string, shape *schema.Property) (any, bool) {
	if s.Type() == timeType {
		return s.Interface().(time.Time).UTC().Format(time.RFC3339), true
	}
	switch s.Kind() {
	case reflect.Pointer:
		if s.IsNil() {
			return nil, false
		}
		return m.from(s.Elem(), path, shape)
	case reflect.String:
		return typed(s.String(), shape), s.Len() > 0
	case reflect.Bool:
		return s.Bool(), true
	case reflect.Int, reflect.Int32, reflect.Int64:
		if shape != nil && shape.Type == "string" {
			return strconv.FormatInt(s.Int(), 10), true
		}
		return value.Int(s.Int()), true
	case reflect.Float32, reflect.Float64:
		return json.Number(strconv.FormatFloat(s.Float(), 'f', -1, 64)), true
	case reflect.Slice:
		if s.IsNil() {
			return nil, false
		}
		if s.Type() == bytesType {
			return string(s.Bytes()), shape != nil && shape.Type == "string" && utf8.Valid(s.Bytes())
		}
		list := make([]any, 0, s.Len())
		for i := range s.Len() {
			if v, ok := m.from(s.Index(i), path, items(shape)); ok {
				list = append(list, v)
			}
		}
		return list, true
	case reflect.Map:
		return m.entries(s, path, shape)
	case reflect.Struct:
		return m.fromStruct(s, path, shape)
	}
	return nil, false
}

func (m *mapping) entries(s reflect.Value, path string, shape *schema.Property) (any, bool) {
	if s.IsNil() {
		return nil, false
	}
	keys := s.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	if shape != nil && shape.Items != nil { // tags as a map there, as a list here
		list := []any{}
		for _, k := range keys {
			v, _ := m.from(s.MapIndex(k), path, nil)
			list = append(list, value.NewObject("Key", k.String(), "Value", or(v, any(""))))
		}
		return list, true
	}
	o := value.NewObject()
	for _, k := range keys {
		if v, ok := m.from(s.MapIndex(k), join(path, k.String()), shape.Member(k.String())); ok {
			o.Set(k.String(), v)
		}
	}
	return o, true
}

func (m *mapping) fromStruct(s reflect.Value, path string, shape *schema.Property) (any, bool) {
	if list, _ := quantified(s.Type()); list != nil && shape != nil && shape.Items != nil {
		return m.from(s.FieldByIndex(list), path, shape)
	}
	if shape == nil || len(shape.Properties) == 0 {
		if f := boxed(s.Type()); f != nil {
			return m.from(s.FieldByIndex(f), path, shape)
		}
		return nil, false
	}
	o := m.object(s, path, shape.Properties)
	return o, true
}

// walk follows an index; ok is false where a struct on the way is missing.
func walk(s reflect.Value, index []int) (reflect.Value, bool) {
	for _, i := range index {
		if s.Kind() == reflect.Pointer {
			if s.IsNil() {
				return s, false
			}
			s = s.Elem()
		}
		s = s.Field(i)
	}
	return s, true
}

// typed gives text the type that the schema has in its place.
func typed(text string, shape *schema.Property) any {
	if shape == nil {
		return text
	}
	switch shape.Type {
	case "integer", "number":
		if value.IsNumber(text) {
			return json.Number(text)
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case "object", "array", "":
		if shape.Type != "" || shape.JSON || strings.HasPrefix(text, "{") {
			if v, err := value.Parse([]byte(text)); err == nil {
				return v
			}
		}
	}
	return text
}

func items(shape *schema.Property) *schema.Property {
	if shape == nil {
		return nil
	}
	return shape.Items
}

package provider

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/value"
)

// A BindError says that a property cannot become what its SDK call wants. It
// names kinds, never values: those may be secret.
type BindError struct {
	Stack, LogicalID, Type string
	Path                   string // of the property
	Want, Got              string
}

func (e *BindError) Error() string {
	return fmt.Sprintf("%s of %s (%s) in stack %s: want %s, got %s", e.Path, e.LogicalID, e.Type, e.Stack, e.Want, e.Got)
}

// A decoder fills one input. It stops at the first fault.
type decoder struct {
	*mapping
	request *Request
	err     error
}

func (d *decoder) fail(path, want string, got any) {
	if d.err == nil {
		d.err = &BindError{Stack: d.request.Stack.Name, LogicalID: d.request.LogicalID, Type: d.request.Type,
			Path: path, Want: want, Got: value.Kind(got)}
	}
}

// members decodes an object's members onto a struct. Members of the top level
// have the path "".
func (d *decoder) members(s reflect.Value, path string, o *value.Object) {
	for name, v := range o.All() {
		if d.err != nil {
			return
		}
		p := join(path, name)
		if v == nil || path == "" && !d.takesTop(name) || d.skip[p] {
			continue
		}
		if e, ok := d.bags[name]; ok && path == "" {
			d.bag(s, name, e, v)
			continue
		}
		if d.rename[p] == "." {
			if inner, ok := v.(*value.Object); ok {
				d.members(s, p, inner)
			} else {
				d.fail(p, "an object", v)
			}
			continue
		}
		if f := d.member(s.Type(), p, name); f != nil {
			d.value(reach(s, f), p, v)
		}
	}
}

func (d *decoder) bag(s reflect.Value, path string, e bagEntry, v any) {
	text, ok := textOrJSON(v)
	if !ok {
		d.fail(path, "a value", v)
		return
	}
	m := reach(s, d.field(s.Type(), e.member))
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	m.SetMapIndex(reflect.ValueOf(e.key), reflect.ValueOf(text))
}

// text sets members of a struct that take text.
func (d *decoder) text(s reflect.Value, members []string, v string) {
	for _, m := range members {
		if v != "" && d.err == nil {
			d.value(reach(s, d.field(s.Type(), m)), m, v)
		}
	}
}

var (
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

// value decodes v into t, which is settable.
func (d *decoder) value(t reflect.Value, path string, v any) {
	if v == nil || d.err != nil {
		return
	}
	if make, ok := d.custom[path]; ok {
		d.converted(t, path, v, make)
		return
	}
	if d.asJSON[path] {
		if text, ok := textOrJSON(v); ok {
			v = text
		}
	}
	switch {
	case t.Kind() == reflect.Pointer:
		n := reflect.New(t.Type().Elem())
		d.value(n.Elem(), path, v)
		t.Set(n)
		return
	case t.Type() == timeType:
		if at, ok := instant(v); ok {
			t.Set(reflect.ValueOf(at))
		} else {
			d.fail(path, "a time (RFC 3339, or seconds since 1970)", v)
		}
		return
	}
	switch t.Kind() {
	case reflect.String:
		if text, ok := value.Text(v); ok {
			t.SetString(text)
		} else if o, ok := v.(*value.Object); ok {
			t.SetString(value.JSON(o))
		} else {
			d.fail(path, "text or an object", v)
		}
	case reflect.Bool:
		text, _ := value.Text(v)
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			d.fail(path, "true or false", v)
			return
		}
		t.SetBool(b)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, ok := value.Integer(v)
		if !ok || t.OverflowInt(n) {
			d.fail(path, "a whole number"+tooLarge(t, v), v)
			return
		}
		t.SetInt(n)
	case reflect.Float32, reflect.Float64:
		f, ok := value.Float(v)
		if !ok || t.OverflowFloat(f) {
			d.fail(path, "a number"+tooLarge(t, v), v)
			return
		}
		t.SetFloat(f)
	case reflect.Slice:
		d.slice(t, path, v)
	case reflect.Map:
		d.dict(t, path, v)
	case reflect.Struct:
		d.structure(t, path, v)
	default:
		d.fail(path, "a value that this call can take", v)
	}
}

// tooLarge says what is wrong with a number where a number is wanted.
func tooLarge(t reflect.Value, v any) string {
	text, _ := value.Text(v)
	if f, ok := value.Float(v); !value.IsNumber(text) || ok && math.Abs(f) < 1<<31 {
		return ""
	}
	return fmt.Sprintf(" that fits into %d bits", t.Type().Bits())
}

func (d *decoder) converted(t reflect.Value, path string, v any, make converter) {
	c, err := make(v)
	if err != nil {
		if d.err == nil {
			d.err = fmt.Errorf("%s of %s (%s) in stack %s: %w", path, d.request.LogicalID, d.request.Type, d.request.Stack.Name, err)
		}
		return
	}
	if t.Kind() == reflect.Pointer && c.Type().AssignableTo(t.Type().Elem()) {
		t.Set(reflect.New(t.Type().Elem()))
		t = t.Elem()
	}
	t.Set(c)
}

func (d *decoder) slice(t reflect.Value, path string, v any) {
	if o, ok := v.(*value.Object); ok && tagType(t.Type().Elem()) {
		l := make([]any, 0, o.Len())
		for k, text := range o.All() {
			l = append(l, value.NewObject("Key", k, "Value", text))
		}
		v = l
	}
	if text, ok := value.Text(v); ok && d.textBytes && t.Type() == bytesType {
		t.SetBytes([]byte(text))
		return
	}
	l, ok := v.([]any)
	if !ok || t.Type() == bytesType {
		d.fail(path, "a list", v)
		return
	}
	// An empty list is not nil: it tells the service to empty its own.
	t.Set(reflect.MakeSlice(t.Type(), 0, len(l)))
	for i, m := range l {
		if m == nil {
			continue
		}
		e := reflect.New(t.Type().Elem()).Elem()
		d.element(e, path, i, m)
		t.Set(reflect.Append(t, e))
	}
}

// element decodes a list's element. Options are looked up by the list's path;
// a fault names the element.
func (d *decoder) element(t reflect.Value, path string, i int, v any) {
	before := d.err
	d.value(t, path, v)
	if e, ok := d.err.(*BindError); ok && before == nil {
		e.Path = fmt.Sprintf("%s[%d]%s", path, i, strings.TrimPrefix(e.Path, path))
	}
}

func (d *decoder) dict(t reflect.Value, path string, v any) {
	m := reflect.MakeMap(t.Type())
	set := func(k string, v any) {
		e := reflect.New(t.Type().Elem()).Elem()
		d.value(e, join(path, k), v)
		m.SetMapIndex(reflect.ValueOf(k).Convert(t.Type().Key()), e)
	}
	switch v := v.(type) {
	case *value.Object:
		for k, member := range v.All() {
			set(k, member)
		}
	case []any: // tags
		for _, tag := range v {
			o, _ := tag.(*value.Object)
			k, text, ok := tagOf(o)
			if !ok {
				d.fail(path, "tags with Key and Value", tag)
				return
			}
			set(k, text)
		}
	default:
		d.fail(path, "an object", v)
		return
	}
	t.Set(m)
}

func (d *decoder) structure(t reflect.Value, path string, v any) {
	switch v := v.(type) {
	case *value.Object:
		d.members(t, path, v)
		return
	case []any:
		if items, quantity := quantified(t.Type()); items != nil {
			d.slice(reach(t, items), path, v)
			d.value(reach(t, quantity), path, value.Int(len(v)))
			return
		}
	default:
		if f := boxed(t.Type()); f != nil {
			d.value(reach(t, f), path, v)
			return
		}
	}
	d.fail(path, "an object", v)
}

// Package value holds JSON as templates and state records need it: numbers
// exactly as they were written, members in the order in which they were read.
//
// A value is one of
//
//	nil, bool, string, json.Number, []any, *Object
//
// and nothing else; Parse makes no other, and the other functions of this
// package expect no other. Values are shared freely and must not be changed by
// a reader: who wants to change one works on a Clone.
//
// encoding/json alone does not do: a map forgets the order of members, which a
// reviewer sees in a diff and Fn::ToJsonString must keep, and float64 rounds
// the numbers of a record that somebody else wrote.
package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
)

// MaxDepth is the deepest nesting that Parse accepts. CloudFormation's own
// limits are far below; it only keeps hostile input from exhausting the stack.
const MaxDepth = 500

// Object is a JSON object that remembers the order of its members. The zero
// value is an empty object. A nil *Object reads as empty.
type Object struct {
	keys    []string
	members map[string]any
}

// NewObject returns an object with the members given as alternating names and
// values.
func NewObject(pairs ...any) *Object {
	o := &Object{}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Len returns the number of members.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Keys returns the member names in order. The slice is the caller's own.
func (o *Object) Keys() []string {
	if o == nil {
		return nil
	}
	return slices.Clone(o.keys)
}

// Get returns the member's value and whether it is there.
func (o *Object) Get(name string) (any, bool) {
	if o == nil {
		return nil, false
	}
	v, ok := o.members[name]
	return v, ok
}

// Has tells whether the object has the member.
func (o *Object) Has(name string) bool {
	_, ok := o.Get(name)
	return ok
}

// Value returns the member's value, nil when it is absent.
func (o *Object) Value(name string) any {
	v, _ := o.Get(name)
	return v
}

// String returns the member when it is a string, else "".
func (o *Object) String(name string) string {
	s, _ := o.Value(name).(string)
	return s
}

// Object returns the member when it is an object, else nil.
func (o *Object) Object(name string) *Object {
	m, _ := o.Value(name).(*Object)
	return m
}

// List returns the member when it is a list, else nil.
func (o *Object) List(name string) []any {
	l, _ := o.Value(name).([]any)
	return l
}

// Set adds the member at the end, or changes its value where it stands.
func (o *Object) Set(name string, v any) {
	if o.members == nil {
		o.members = map[string]any{}
	}
	if _, ok := o.members[name]; !ok {
		o.keys = append(o.keys, name)
	}
	o.members[name] = v
}

// Delete removes the member if it is there.
func (o *Object) Delete(name string) {
	if !o.Has(name) {
		return
	}
	delete(o.members, name)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == name })
}

// All yields the members in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for _, k := range o.keys {
			if !yield(k, o.members[k]) {
				return
			}
		}
	}
}

// Sole returns the name and value of an object that has exactly one member.
func (o *Object) Sole() (name string, v any, ok bool) {
	if o.Len() != 1 {
		return "", nil, false
	}
	return o.keys[0], o.members[o.keys[0]], true
}

// MarshalJSON writes the members in order, without HTML escapes.
func (o *Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b, o); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object; anything else is an error.
func (o *Object) UnmarshalJSON(b []byte) error {
	v, err := Parse(b)
	if err != nil {
		return err
	}
	m, ok := v.(*Object)
	if !ok {
		return fmt.Errorf("want a JSON object, got %s", Kind(v))
	}
	*o = *m
	return nil
}

// SyntaxError tells where the text stopped being JSON.
type SyntaxError struct {
	Offset int64 // bytes read when the fault was noticed
	Line   int   // from 1
	Err    error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// Parse reads exactly one JSON value. Of members with one name the last wins,
// as in every JSON reader that CloudFormation's users have.
func Parse(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := read(d, 0)
	if err == nil {
		if _, tail := d.Token(); tail != io.EOF {
			err = errors.New("text after the end of the JSON value")
		}
	}
	if err != nil {
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the JSON text ends too early")
		}
		off := min(d.InputOffset(), int64(len(b)))
		return nil, &SyntaxError{Offset: off, Line: 1 + bytes.Count(b[:off], []byte{'\n'}), Err: err}
	}
	return v, nil
}

// ParseObject is Parse for text that must be an object.
func ParseObject(b []byte) (*Object, error) {
	o := &Object{}
	if err := o.UnmarshalJSON(b); err != nil {
		return nil, err
	}
	return o, nil
}

func read(d *json.Decoder, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", MaxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		o := &Object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := read(d, depth+1)
			if err != nil {
				return nil, err
			}
			o.Set(name.(string), v)
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		l := []any{}
		for d.More() {
			v, err := read(d, depth+1)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		_, err := d.Token()
		return l, err
	}
	return t, nil
}

// Marshal writes v on one line. HTML characters are not escaped: other readers
// of the state bucket search its objects as text.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// MarshalIndent writes v with two spaces a level and no newline at the end.
func MarshalIndent(v any) ([]byte, error) {
	b, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// JSON is Marshal for values that are known to be well formed, as text.
func JSON(v any) string {
	b, err := Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(b)
}

func write(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case *Object:
		b.WriteByte('{')
		first := true
		for k, m := range v.All() {
			if !first {
				b.WriteByte(',')
			}
			first = false
			writeScalar(b, k)
			b.WriteByte(':')
			if err := write(b, m); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, m); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case nil, bool, string, json.Number:
		return writeScalar(b, v)
	default:
		return fmt.Errorf("%T is not a JSON value", v)
	}
	return nil
}

func writeScalar(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // Encode ends with a newline
	return nil
}

// Clone returns a deep copy.
func Clone(v any) any {
	switch v := v.(type) {
	case *Object:
		return v.Clone()
	case []any:
		l := make([]any, len(v))
		for i, m := range v {
			l[i] = Clone(m)
		}
		return l
	}
	return v
}

// Clone returns a deep copy; nil stays nil.
func (o *Object) Clone() *Object {
	if o == nil {
		return nil
	}
	c := &Object{keys: slices.Clone(o.keys), members: make(map[string]any, len(o.keys))}
	for k, m := range o.members {
		c.members[k] = Clone(m)
	}
	return c
}

// Equal compares values: objects by members whatever their order, lists by
// position, numbers by what they mean (1.0 equals 1), nothing across kinds.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case *Object:
		b, ok := b.(*Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for k, m := range a.All() {
			n, ok := b.Get(k)
			if !ok || !Equal(m, n) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(a, b)
	}
	switch b.(type) {
	case *Object, []any, json.Number:
		return false
	}
	return a == b
}

// Text gives a scalar as CloudFormation writes it into a string; ok is false
// for nil, lists and objects.
func Text(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// Kind names the kind of v for messages: "an object", "a string", ….
func Kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	case *Object:
		return "an object"
	}
	return fmt.Sprintf("a %T", v)
}

// Int returns n as a JSON number.
func Int[N ~int | ~int32 | ~int64](n N) json.Number {
	return json.Number(strconv.FormatInt(int64(n), 10))
}

// From turns what encoding/json makes of Go values (structs by their json
// tags, maps, slices, scalars) into a value. Map members come in sorted order.
func From(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Parse(b)
}

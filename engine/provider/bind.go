package provider

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// A Binding maps CloudFormation properties onto the input of one SDK call.
//
// Members are matched by name, letter case and punctuation aside, at every
// depth. Text becomes numbers and booleans where the SDK wants them, objects
// become JSON text, tags take whichever of their spellings the call has, and
// a list becomes {Quantity, Items}. Options say what differs. A property that
// matches no member is left to other bindings; whether all are matched by some
// binding is for Coverage to tell, before anything is called.
//
//	var createQueue = provider.Bind[sqs.CreateQueueInput](
//		provider.Bag("Attributes", "DelaySeconds", "RedrivePolicy"))
type Binding[In any] struct {
	mapping
	finish []func(*Request, *In) error
}

// An Input is a Binding of any input type.
type Input interface {
	// covers tells whether the binding takes a top-level property, and which
	// dotted paths below it, if any, it has no member for.
	covers(property string, shape *schema.Property) (takes bool, missing []string)
	// carries tells whether the binding sends what is at a path by itself.
	carries(path []string) bool
}

// mapping is the part of a binding that does not depend on the input's type.
type mapping struct {
	typ    reflect.Type
	rename Rename
	skip   map[string]bool
	only   map[string]bool
	bags   map[string]bagEntry // by property
	custom map[string]converter
	asJSON map[string]bool
	clear  Clear
	id     []string
	token  []string
	done   map[string]bool // properties that a Finish takes
	last   []any           // func(*Request, *In) error

	textBytes bool

	fields sync.Map // reflect.Type → map[string][]int
}

type bagEntry struct{ member, key string }

// A converter makes the member's value from the property's.
type converter func(v any) (reflect.Value, error)

// An Option is a difference between the properties and the SDK's input.
type Option interface{ apply(*mapping) }

type optionFunc func(*mapping)

func (f optionFunc) apply(m *mapping) { f(m) }

// Options are several as one, for inputs that share them.
func Options(opts ...Option) Option {
	return optionFunc(func(m *mapping) {
		for _, o := range opts {
			o.apply(m)
		}
	})
}

// Rename maps a property, or a dotted path to one, to the member it is called
// in the SDK, relative to the struct that its siblings go to: "A.B" reaches
// into a nested struct, "." spreads an object's members over that struct
// itself. List elements add nothing to a path.
//
//	provider.Rename{"BucketName": "Bucket", "SSESpecification.SSEEnabled": "Enabled"}
type Rename map[string]string

func (r Rename) apply(m *mapping) {
	for from, to := range r {
		m.rename[from] = to
	}
}

// Clear gives, for a path, the value to send when it was recorded and is now
// gone from the template, for updates that read an absent member as "keep".
type Clear map[string]any

func (c Clear) apply(m *mapping) {
	for path, v := range c {
		m.clear[path] = v
	}
}

// Skip leaves paths alone although a member has their name.
func Skip(paths ...string) Option {
	return optionFunc(func(m *mapping) {
		for _, p := range paths {
			m.skip[p] = true
		}
	})
}

// Only restricts the binding to these top-level properties.
func Only(properties ...string) Option {
	return optionFunc(func(m *mapping) {
		if m.only == nil {
			m.only = map[string]bool{}
		}
		for _, p := range properties {
			m.only[p] = true
		}
	})
}

// Bag makes properties entries of a map of strings, objects and lists as JSON
// text. "Property=Key" gives an entry another key.
func Bag(member string, properties ...string) Option {
	return optionFunc(func(m *mapping) {
		for _, p := range properties {
			name, key, ok := strings.Cut(p, "=")
			if !ok {
				key = name
			}
			m.bags[name] = bagEntry{member, key}
		}
	})
}

// JSON makes the values at paths JSON text, whatever they are; objects that go
// to text members become that without being named.
func JSON(paths ...string) Option {
	return optionFunc(func(m *mapping) {
		for _, p := range paths {
			m.asJSON[p] = true
		}
	})
}

// ID sets members of the input to the physical id.
func ID(members ...string) Option {
	return optionFunc(func(m *mapping) { m.id = append(m.id, members...) })
}

// Token sets members of the input to the request's client token.
func Token(members ...string) Option {
	return optionFunc(func(m *mapping) { m.token = append(m.token, members...) })
}

// Custom makes the member at a path by a function: unions, documents, bytes.
// The path's member is found as every other; it must be of type T or a pointer
// to it.
func Custom[T any](path string, make func(v any) (T, error)) Option {
	return optionFunc(func(m *mapping) {
		m.custom[path] = func(v any) (reflect.Value, error) {
			t, err := make(v)
			return reflect.ValueOf(&t).Elem(), err
		}
	})
}

// TextBytes lets text go to members that are bytes, as it is. Without, that is
// refused: it might be base64, or a document's.
func TextBytes() Option { return optionFunc(func(m *mapping) { m.textBytes = true }) }

// Finish has the last word on an input, and takes the properties named.
func Finish[In any](set func(r *Request, in *In) error, properties ...string) Option {
	return optionFunc(func(m *mapping) {
		m.last = append(m.last, set)
		for _, p := range properties {
			m.done[p] = true
		}
	})
}

// Bind returns the binding for an SDK input, such as sqs.CreateQueueInput. It
// panics when an option names a member that the input does not have: bindings
// are made when the program starts, from text in its source.
func Bind[In any](opts ...Option) *Binding[In] {
	b := &Binding[In]{mapping: mapping{
		typ:    reflect.TypeFor[In](),
		rename: Rename{}, clear: Clear{},
		skip: map[string]bool{}, bags: map[string]bagEntry{}, custom: map[string]converter{},
		asJSON: map[string]bool{}, done: map[string]bool{},
	}}
	for _, o := range opts {
		o.apply(&b.mapping)
	}
	for _, f := range b.last {
		set, ok := f.(func(*Request, *In) error)
		if !ok {
			panic(fmt.Sprintf("bind %s: Finish takes another input: %T", b.typ, f))
		}
		b.finish = append(b.finish, set)
	}
	for _, member := range append(append([]string{}, b.id...), b.token...) {
		if b.field(b.typ, member) == nil {
			panic(fmt.Sprintf("bind %s: it has no member %s", b.typ, member))
		}
	}
	for p, e := range b.bags {
		if f := b.field(b.typ, e.member); f == nil || b.typ.FieldByIndex(f).Type != reflect.TypeFor[map[string]string]() {
			panic(fmt.Sprintf("bind %s: member %s for property %s is not a map of strings", b.typ, e.member, p))
		}
	}
	return b
}

// Input returns the SDK input for a request.
func (b *Binding[In]) Input(r *Request) (*In, error) {
	in := new(In)
	v := reflect.ValueOf(in).Elem()
	d := decoder{mapping: &b.mapping, request: r}
	d.members(v, "", b.cleared(r))
	d.text(v, b.id, r.PhysicalID)
	d.text(v, b.token, r.Token)
	if d.err != nil {
		return nil, d.err
	}
	for _, f := range b.finish {
		if err := f(r, in); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Changed tells whether an update changes a property that the binding takes.
func (b *Binding[In]) Changed(d Diff) bool {
	for _, p := range d.changed {
		if takes, _ := b.covers(p, nil); takes {
			return true
		}
	}
	return false
}

// cleared returns the properties, with the values that reset what was removed.
func (m *mapping) cleared(r *Request) *value.Object {
	props := r.Properties
	for path, v := range m.clear {
		steps := strings.Split(path, ".")
		if has(r.Previous, steps) && !has(props, steps) {
			props = with(props, steps, v)
		}
	}
	return props
}

func has(o *value.Object, steps []string) bool {
	for i, s := range steps {
		if !o.Has(s) {
			return false
		}
		if i < len(steps)-1 {
			o = o.Object(s)
		}
	}
	return true
}

// with returns a copy of o that has v at the path; the copy is as deep as the
// path.
func with(o *value.Object, steps []string, v any) *value.Object {
	c := value.NewObject()
	for k, m := range o.All() {
		c.Set(k, m)
	}
	if len(steps) > 1 {
		v = with(o.Object(steps[0]), steps[1:], v)
	}
	c.Set(steps[0], v)
	return c
}

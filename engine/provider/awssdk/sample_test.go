package awssdk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// A sample is a full set of properties: every one that the schema lets a
// template set, with a value that is nowhere else.
type sample struct {
	props  *value.Object
	leaves []leaf
}

// A leaf is one scalar of a sample.
type leaf struct {
	path string // of the property, as bindings name it
	// mark is the text that must be found again, "" for a scalar with too few
	// values to be told from others: that one must change what is sent.
	mark string
	flip func() // gives the scalar another value
}

// A fixed value is one that the type's code decides by. It is found by its
// mark, or by the difference that another value makes.
type fixed struct {
	is, or any
	mark   string
}

// exactly is a text that is found as it is.
func exactly(text string) fixed { return fixed{is: text, mark: text} }

// marked is a value that is found by a text in it.
func marked(is any, mark string) fixed { return fixed{is: is, mark: mark} }

// either is a text that another one is put in the place of.
func either(is, or string) fixed { return fixed{is: is, or: or} }

// A sampler makes samples of one type.
type sampler struct {
	typ   *schema.Type
	fixed map[string]fixed // values by path, where not any will do
	leave map[string]bool  // paths left out
	n     int
	out   []leaf
}

func (s *sampler) sample() sample {
	props := value.NewObject()
	for _, name := range sortedNames(s.typ.Properties) {
		if s.typ.Settable(name) {
			s.member(props, name, name, s.typ.Properties[name], nil)
		}
	}
	return sample{props, s.out}
}

func sortedNames(shapes map[string]*schema.Property) []string {
	var names []string
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *sampler) member(o *value.Object, name, path string, shape *schema.Property, above []*schema.Property) {
	if s.leave[path] || slices.Contains(above, shape) || s.readOnly(path) {
		return
	}
	if v, ok := s.fixed[path]; ok {
		o.Set(name, v.is)
		s.out = append(s.out, leaf{path: path, mark: v.mark, flip: func() { o.Set(name, v.or) }})
		return
	}
	if shape.Type == "boolean" {
		o.Set(name, true)
		s.out = append(s.out, leaf{path: path, flip: func() { o.Set(name, false) }})
		return
	}
	if v := s.value(path, shape, append(slices.Clip(above), shape)); v != nil {
		o.Set(name, v)
	}
}

func (s *sampler) readOnly(path string) bool {
	return slices.ContainsFunc(s.typ.ReadOnly, func(p string) bool {
		return strings.ReplaceAll(strings.ReplaceAll(p, "/*", ""), "/", ".") == path
	})
}

func (s *sampler) value(path string, shape *schema.Property, above []*schema.Property) any {
	switch {
	case len(shape.Properties) > 0:
		o := value.NewObject()
		for _, name := range sortedNames(shape.Properties) {
			s.member(o, name, path+"."+name, shape.Properties[name], above)
		}
		if o.Len() == 0 {
			return nil
		}
		return o
	case shape.Items != nil:
		if slices.Contains(above, shape.Items) {
			return nil
		}
		if v := s.value(path, shape.Items, append(slices.Clip(above), shape.Items)); v != nil {
			return []any{v}
		}
		return nil
	case shape.Values != nil:
		key := s.text(path)
		if v := s.value(path, shape.Values, above); v != nil {
			return value.NewObject(key, v)
		}
		return value.NewObject(key, s.text(path))
	case shape.Type == "object" || shape.JSON:
		return value.NewObject(s.text(path), s.text(path))
	case shape.Type == "integer" || shape.Type == "number":
		s.n++
		text := fmt.Sprint(10000 + s.n)
		s.out = append(s.out, leaf{path: path, mark: text})
		return json.Number(text)
	case shape.Type == "boolean": // of a list
		return true
	}
	return s.text(path)
}

func (s *sampler) text(path string) string {
	s.n++
	text := fmt.Sprintf("sent%dxxx", 10000+s.n) // which is base64 too
	s.out = append(s.out, leaf{path: path, mark: text})
	return text
}

// samples are the full samples of a type: more than one where some properties
// exclude each other.
func samples(r provider.Resource, t *schema.Type, special peculiar) []*sampler {
	lists := [][]string{nil}
	if len(special.without) > 0 {
		lists = special.without
	}
	for _, group := range r.Exclusive {
		var more [][]string
		for _, leave := range lists {
			for _, keep := range group {
				more = append(more, slices.Concat(leave, less(group, []string{keep})))
			}
		}
		lists = more
	}
	var out []*sampler
	for _, leave := range lists {
		s := &sampler{typ: t, fixed: special.fixed, leave: map[string]bool{}}
		for _, p := range leave {
			s.leave[p] = true
		}
		out = append(out, s)
	}
	return out
}

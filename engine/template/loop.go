package template

import (
	"context"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// deepest is how far loops may be nested, as in CloudFormation.
const deepest = 5

// mostRounds is how often the bodies of a template's loops may be written out in
// all. CloudFormation takes 500 resources a stack; this only keeps loops within
// loops from filling the memory.
const mostRounds = 20000

// unroll returns the template's body with every Fn::ForEach written out, and with
// the name of what a Ref or Fn::GetAtt is of in the place of a function for it.
func (s *Scope) unroll(ctx context.Context) (*value.Object, error) {
	s.conditions = map[string]decision{}
	u := &unrolling{evaluation: &evaluation{context: ctx, s: s, early: true}}
	out := &value.Object{}
	for name, section := range s.t.Body.All() {
		switch name {
		case "Resources", "Conditions", "Outputs":
			v, err := u.value(section, &place{name: name}, 0)
			if err != nil {
				return nil, err
			}
			section = v
		}
		out.Set(name, section)
	}
	return out, nil
}

type unrolling struct {
	*evaluation
	rounds int
}

func (u *unrolling) value(v any, at *place, depth int) (any, error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			m, err := u.value(member, at.item(i), depth)
			if err != nil {
				return nil, err
			}
			out[i] = m
		}
		return out, nil
	case *value.Object:
		if fn, ok := computedName(v); ok && u.s.t.extended() {
			return u.named(v, fn, at)
		}
		out := &value.Object{}
		for name, member := range v.All() {
			if strings.HasPrefix(name, loopPrefix) {
				if err := u.loop(out, member, at.at(name), depth+1); err != nil {
					return nil, err
				}
				continue
			}
			m, err := u.value(member, at.at(name), depth)
			if err != nil {
				return nil, err
			}
			if err := put(out, name, m, at); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// named writes out the name of what a Ref or Fn::GetAtt is of. As in
// CloudFormation, only parameters, mappings and the like can go into it.
func (u *unrolling) named(o, computed *value.Object, at *place) (any, error) {
	fn, arg, _ := o.Sole()
	at = at.at(fn)
	list, _ := arg.([]any)
	if list != nil {
		at = at.item(0)
	}
	name, err := u.name(computed, at)
	if err != nil {
		return nil, at.wrap(err)
	}
	if list != nil {
		return value.NewObject(fn, []any{name, list[1]}), nil
	}
	return value.NewObject(fn, name), nil
}

func put(o *value.Object, name string, v any, at *place) error {
	if o.Has(name) {
		return at.errorf("%s is made twice", name)
	}
	o.Set(name, v)
	return nil
}

// loop writes what a loop makes into out.
func (u *unrolling) loop(out *value.Object, written any, at *place, depth int) error {
	if depth > deepest {
		return at.errorf("loops are nested more than %d deep", deepest)
	}
	list, err := args(written, 3, 3)
	if err != nil {
		return at.wrap(err)
	}
	identifier, ok := list[0].(string)
	if !ok || !alphanumeric(identifier) {
		return at.item(0).errorf("want a name for the loop's variable")
	}
	body, ok := list[2].(*value.Object)
	if !ok {
		return at.item(2).errorf("want an object, got %s", value.Kind(list[2]))
	}
	items, err := u.elements(list[1], at.item(1))
	if err != nil {
		return err
	}
	for i, item := range items {
		if u.rounds++; u.rounds > mostRounds {
			return at.errorf("the loops of the template go round more than %d times", mostRounds)
		}
		text, mark, err := plain(item)
		if err != nil {
			return at.item(1).item(i).wrap(err)
		}
		if mark != nil {
			return at.item(1).item(i).errorf("a secret cannot become part of a name")
		}
		v, err := u.value(replaceIn(body, identifier, text), at, depth)
		if err != nil {
			return err
		}
		for name, member := range v.(*value.Object).All() {
			if err := put(out, name, member, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceIn puts an item in the place of the loop's variable. &{x} takes only
// the item's letters and digits, as names have to be.
func replaceIn(v any, identifier, item string) any {
	r := strings.NewReplacer("${"+identifier+"}", item, "&{"+identifier+"}", letters(item))
	var in func(v any) any
	in = func(v any) any {
		switch v := v.(type) {
		case string:
			return r.Replace(v)
		case []any:
			out := make([]any, len(v))
			for i, member := range v {
				out[i] = in(member)
			}
			return out
		case *value.Object:
			if name, arg, ok := function(v); ok && name == "Ref" && arg == identifier {
				return item
			}
			out := &value.Object{}
			for name, member := range v.All() {
				out.Set(r.Replace(name), in(member))
			}
			return out
		}
		return v
	}
	return in(v)
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && alphanumeric(string(r)) {
			return r
		}
		return -1
	}, s)
}

package template

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

type decision struct {
	value bool
	err   error
}

// decide evaluates all conditions. A tolerant scope takes one that cannot be
// evaluated as false and says so.
func (s *Scope) decide(e *evaluation, faults *Faults) {
	for name := range s.t.Conditions.All() {
		_, err := e.condition(name)
		if err == nil || s.undecided(name) && errors.Is(err, ErrUnknown) {
			continue
		}
		if s.warn == nil {
			faults.addError("Conditions."+name, err)
			continue
		}
		s.warn(fmt.Errorf("condition %s is taken as false: %w", name, err))
		s.conditions[name] = decision{}
	}
}

// condition decides a condition by name.
func (e *evaluation) condition(name string) (bool, error) {
	if d, ok := e.s.conditions[name]; ok {
		return d.value, d.err
	}
	written, ok := e.s.t.Conditions.Get(name)
	if !ok {
		return false, fmt.Errorf("there is no condition %q", name)
	}
	if i := slices.Index(e.open, name); i >= 0 {
		return false, errors.New("conditions refer to each other in a circle: " + strings.Join(append(e.open[i:], name), " -> "))
	}
	e.open = append(e.open, name)
	yes, err := e.boolean(written, (&place{name: "Conditions"}).at(name))
	e.open = e.open[:len(e.open)-1]
	e.s.conditions[name] = decision{yes, err}
	return yes, err
}

// Condition tells how a condition was decided; ok is false when there is none
// of that name.
func (s *Scope) Condition(name string) (yes, ok bool) {
	d, ok := s.conditions[name]
	return d.value, ok
}

// branch chooses the branch of an Fn::If, unevaluated.
func (e *evaluation) branch(arg any, at *place) (any, *place, error) {
	list, err := args(arg, 3, 3)
	if err != nil {
		return nil, at, at.wrap(err)
	}
	name, ok := list[0].(string)
	if !ok {
		return nil, at, at.errorf("want the name of a condition, got %s", value.Kind(list[0]))
	}
	yes, err := e.condition(name)
	if err != nil {
		return nil, at, at.wrap(err)
	}
	if yes {
		return list[1], at.item(1), nil
	}
	return list[2], at.item(2), nil
}

// logic evaluates the functions that conditions are made of.
func (e *evaluation) logic(name string, arg any, at *place) (any, error) {
	if name == "Fn::Equals" {
		list, err := args(arg, 2, 2)
		if err != nil {
			return nil, err
		}
		var side [2]any
		for i := range side {
			if side[i], err = e.value(list[i], at.item(i)); err != nil {
				return nil, err
			}
			if side[i] == (noValue{}) {
				return nil, at.item(i).errorf("AWS::NoValue cannot be compared")
			}
			if hides(side[i]) {
				return nil, at.item(i).errorf("a secret cannot be compared: %w", ErrUnknown)
			}
		}
		return equal(side[0], side[1]), nil
	}
	least, most := 2, 10
	if name == "Fn::Not" {
		least, most = 1, 1
	}
	list, err := args(arg, least, most)
	if err != nil {
		return nil, err
	}
	all, some := true, false
	var unknown error // what is wrong with another operand comes first
	for i, operand := range list {
		yes, err := e.boolean(operand, at.item(i))
		switch {
		case errors.Is(err, ErrUnknown):
			unknown = err
		case err != nil:
			return nil, err
		}
		all, some = all && yes, some || yes
	}
	if unknown != nil {
		return nil, unknown
	}
	switch name {
	case "Fn::And":
		return all, nil
	case "Fn::Or":
		return some, nil
	}
	return !some, nil
}

// boolean evaluates an operand: a condition by name, or a function.
func (e *evaluation) boolean(v any, at *place) (bool, error) {
	if o, ok := v.(*value.Object); ok {
		if member, name, ok := o.Sole(); ok && member == "Condition" {
			condition, ok := name.(string)
			if !ok {
				return false, at.errorf("want the name of a condition, got %s", value.Kind(name))
			}
			yes, err := e.condition(condition)
			return yes, at.wrap(err)
		}
	}
	v, err := e.value(v, at)
	if err != nil {
		return false, err
	}
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		if yes, err := strconv.ParseBool(strings.ToLower(v)); err == nil && len(v) > 1 {
			return yes, nil
		}
	}
	return false, at.errorf("want a condition, got %s", kind(v))
}

// equal compares scalars as text, and the scalars in lists and objects too.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case *value.Object:
		b, ok := b.(*value.Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for name, member := range a.All() {
			other, ok := b.Get(name)
			if !ok || !equal(member, other) {
				return false
			}
		}
		return true
	}
	s, _, errA := plain(a)
	t, _, errB := plain(b)
	if errA != nil || errB != nil {
		return a == nil && b == nil
	}
	return s == t
}

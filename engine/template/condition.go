package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
		if err == nil {
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

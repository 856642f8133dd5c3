package template

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

// A Scope is a template in an environment, with its parameters, conditions and
// loops settled. Its methods may be called at once.
type Scope struct {
	t       *Template // with loops unrolled
	env     Environment
	world   World
	secrets *secret.Set
	warn    func(error) // not nil: tolerant
	offline bool        // nothing is known that the template does not say

	parameters map[string]*parameter
	conditions map[string]decision
	resources  map[string]*Resource // those that conditions keep
	kept       []*Resource
	outputs    []*Output

	tokens sync.Map // dynamic references by region and text
}

// An Option changes how a template is bound.
type Option func(*binding)

type binding struct {
	secrets *secret.Set
	warn    func(error)
	unknown []string
	noEcho  []string
	offline bool
	has     func(resourceType, attribute string) bool
}

// Secrets has everything secret that is met put into set.
func Secrets(set *secret.Set) Option { return func(b *binding) { b.secrets = set } }

// Tolerant shows as much as it can of a template that is not right, as a diff
// may: a condition that cannot be evaluated is false, and a function that
// cannot be stays as written in a Preview. warn is told, maybe by several
// goroutines at once. A deployment must not be tolerant: it would delete what
// the condition guards.
func Tolerant(warn func(error)) Option { return func(b *binding) { b.warn = warn } }

// Unknown names parameters whose value exists only after a deployment.
func Unknown(parameters ...string) Option {
	return func(b *binding) { b.unknown = append(b.unknown, parameters...) }
}

// Hidden names parameters to be treated as NoEcho whatever they declare,
// because the value given comes from one that is.
func Hidden(parameters ...string) Option {
	return func(b *binding) { b.noEcho = append(b.noEcho, parameters...) }
}

// Attributes has references in resources to attributes that a type does not have
// refused, as far as has knows.
func Attributes(has func(resourceType, attribute string) bool) Option {
	return func(b *binding) { b.has = has }
}

// A MacroError says that only CloudFormation can expand the template.
type MacroError struct {
	Template string
	Macros   []string
}

func (e *MacroError) Error() string {
	return fmt.Sprintf("template %s uses %s, which only CloudFormation can expand", e.Template, strings.Join(e.Macros, ", "))
}

// Remedy says what to do about it.
func (e *MacroError) Remedy() string {
	return "let CloudFormation expand it with expand-macros, which is not done for nested stacks, or write the resources out"
}

// Bind puts the template into an environment. params are the values supplied
// for its parameters, as text. Everything that is wrong is reported together.
func (t *Template) Bind(ctx context.Context, env Environment, params map[string]string, w World, options ...Option) (*Scope, error) {
	b := binding{secrets: &secret.Set{}}
	for _, option := range options {
		option(&b)
	}
	if macros := t.Macros(); len(macros) > 0 {
		return nil, &MacroError{Template: t.Name, Macros: macros}
	}
	s := &Scope{t: t, env: env, world: w, secrets: b.secrets, warn: b.warn, offline: b.offline}
	faults := &Faults{Template: t.Name}
	if s.bind(ctx, params, b, faults); len(faults.List) > 0 {
		return nil, faults
	}
	if t.unwritten {
		body, err := s.unroll(ctx)
		if err != nil {
			faults.addError("", err)
			return nil, faults
		}
		if s.t = build(t.Name, body, faults); len(faults.List) > 0 {
			return nil, faults
		}
	}
	s.conditions = map[string]decision{}
	e := &evaluation{context: ctx, s: s, early: true}
	if s.decide(e, faults); len(faults.List) > 0 {
		return nil, faults
	}
	s.keep(e, faults)
	if wrong := s.checkNames(b.has); s.warn != nil {
		for _, fault := range wrong {
			s.warn(errors.New(fault.String()))
		}
	} else {
		faults.List = append(faults.List, wrong...)
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Template returns the template with its loops unrolled.
func (s *Scope) Template() *Template { return s.t }

// Environment returns where the template is evaluated.
func (s *Scope) Environment() Environment { return s.env }

// Secrets returns what the scope puts secrets into.
func (s *Scope) Secrets() *secret.Set { return s.secrets }

// Resources returns those that conditions keep, in template order, without
// CDK's usage marker.
func (s *Scope) Resources() []*Resource { return slices.Clone(s.kept) }

// Resource returns one of Resources, nil when it is not among them.
func (s *Scope) Resource(logicalID string) *Resource { return s.resources[logicalID] }

// Outputs returns those that conditions keep, in template order.
func (s *Scope) Outputs() []*Output { return slices.Clone(s.outputs) }

// Resolve evaluates any value of the template strictly.
func (s *Scope) Resolve(ctx context.Context, v any) (any, error) {
	r, err := s.ResolveBoth(ctx, v)
	return r.Clear, err
}

// ResolveBoth is Resolve in both forms.
func (s *Scope) ResolveBoth(ctx context.Context, v any) (Resolved, error) {
	return s.evaluate(ctx, v, nil)
}

// ResolveRecorded resolves the dynamic references in a value from a record, and
// nothing else: what looks like a function there is the user's own object.
func (s *Scope) ResolveRecorded(ctx context.Context, v any) (Resolved, error) {
	e := &evaluation{context: ctx, s: s}
	v, err := e.expressions(v, "recorded value")
	if err != nil {
		return Resolved{}, err
	}
	return resolve(v), nil
}

func (s *Scope) evaluate(ctx context.Context, v any, at *place) (Resolved, error) {
	e := &evaluation{context: ctx, s: s}
	v, err := e.value(v, at)
	if err != nil {
		return Resolved{}, err
	}
	return resolve(v), nil
}

// Properties evaluates a resource's properties strictly, as AWS must get them.
func (s *Scope) Properties(ctx context.Context, logicalID string) (*value.Object, error) {
	r, err := s.ResolvedProperties(ctx, logicalID)
	if err != nil {
		return nil, err
	}
	return r.Clear.(*value.Object), nil
}

// ResolvedProperties is Properties in both forms, which are *value.Object.
func (s *Scope) ResolvedProperties(ctx context.Context, logicalID string) (Resolved, error) {
	r, err := s.declared(logicalID)
	if err != nil {
		return Resolved{}, err
	}
	e := &evaluation{context: ctx, s: s}
	v, err := e.value(r.properties(), resourcePlace(logicalID).at("Properties"))
	if err != nil {
		return Resolved{}, err
	}
	if v, err = asProperties(v, logicalID); err != nil {
		return Resolved{}, err
	}
	return resolve(v), nil
}

// Property evaluates a property of a resource as it is sent, secrets included. ok
// is false while it cannot be told.
func (s *Scope) Property(ctx context.Context, logicalID, name string) (v any, ok bool) {
	r, err := s.declared(logicalID)
	if err != nil {
		return nil, false
	}
	e := &evaluation{context: ctx, s: s, preview: true}
	v, complete, err := e.known(r.properties().Value(name), resourcePlace(logicalID).at("Properties").at(name))
	if err != nil || !complete {
		return nil, false
	}
	return resolve(v).Clear, true
}

// Preview evaluates a resource's properties as far as they can be told before
// it is made, in the form that is stored. A function that needs what is not
// there yet stays as written, and the property it is in is named in unresolved.
func (s *Scope) Preview(ctx context.Context, logicalID string) (props *value.Object, unresolved []string, err error) {
	r, err := s.declared(logicalID)
	if err != nil {
		return nil, nil, err
	}
	e := &evaluation{context: ctx, s: s, preview: true}
	at := resourcePlace(logicalID).at("Properties")
	properties := r.properties()
	if _, _, ok := function(properties); ok { // the whole is one Fn::If, say
		v, complete, err := e.known(properties, at)
		if err != nil {
			return nil, nil, err
		}
		if v, err = asProperties(v, logicalID); err != nil {
			return nil, nil, err
		}
		props = resolve(v).Stored.(*value.Object)
		if !complete {
			unresolved = props.Keys()
		}
		return props, unresolved, nil
	}
	props = &value.Object{}
	for name, v := range properties.All() {
		v, complete, err := e.known(v, at.at(name))
		if err != nil {
			return nil, nil, err
		}
		if v == (noValue{}) {
			continue
		}
		props.Set(name, resolve(v).Stored)
		if !complete {
			unresolved = append(unresolved, name)
		}
	}
	return props, unresolved, nil
}

func (s *Scope) declared(logicalID string) (*Resource, error) {
	r := s.resources[logicalID]
	if r == nil {
		return nil, fmt.Errorf("template %s has no resource %s here", s.t.Name, logicalID)
	}
	return r, nil
}

func (r *Resource) properties() *value.Object {
	if r.Properties == nil {
		return &value.Object{}
	}
	return r.Properties
}

func asProperties(v any, logicalID string) (any, error) {
	switch v.(type) {
	case *value.Object:
		return v, nil
	case noValue:
		return &value.Object{}, nil
	}
	return nil, resourcePlace(logicalID).at("Properties").wrap(errors.New("want an object, got " + kind(v)))
}

package template

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

// An evaluation is one walk through a value of the template.
type evaluation struct {
	context context.Context
	s       *Scope

	// A preview asks for no secret and leaves what is not known as written.
	preview bool
	// Conditions and loops are decided before there are resources.
	early bool
	// Rules have functions of their own.
	ruled bool
	// region is where dynamic references are resolved, "" in the stack's own.
	region string
	// conditions being decided, to notice a circle.
	open []string
}

// value evaluates v strictly.
func (e *evaluation) value(v any, at *place) (any, error) {
	switch v := v.(type) {
	case string:
		pieces, err := e.dynamic(v)
		if err != nil {
			return nil, at.wrap(err)
		}
		return glue(pieces), nil
	case []any:
		return e.list(v, at)
	case *value.Object:
		if name, arg, ok := function(v); ok {
			out, err := e.call(name, arg, at)
			return out, at.at(name).wrap(err)
		}
		return e.members(v, at)
	}
	return v, nil
}

func (e *evaluation) members(o *value.Object, at *place) (*value.Object, error) {
	out := &value.Object{}
	for name, member := range o.All() {
		m, err := e.value(member, at.at(name))
		if err != nil {
			return nil, err
		}
		if m != (noValue{}) {
			out.Set(name, m)
		}
	}
	return out, nil
}

func (e *evaluation) list(l []any, at *place) ([]any, error) {
	out := make([]any, 0, len(l))
	for i, member := range l {
		m, err := e.value(member, at.item(i))
		if err != nil {
			return nil, err
		}
		if m != (noValue{}) {
			out = append(out, m)
		}
	}
	return out, nil
}

// known evaluates as much of v as can be told. A function that needs something
// unknown stays as written, and so does what is in it, except that the branch
// of an Fn::If is chosen.
func (e *evaluation) known(v any, at *place) (out any, complete bool, err error) {
	switch v := v.(type) {
	case []any:
		list, complete := make([]any, 0, len(v)), true
		for i, member := range v {
			m, whole, err := e.known(member, at.item(i))
			if err != nil {
				return nil, false, err
			}
			complete = complete && whole
			if m != (noValue{}) {
				list = append(list, m)
			}
		}
		return list, complete, nil
	case *value.Object:
		name, arg, ok := function(v)
		if !ok {
			o, complete := &value.Object{}, true
			for name, member := range v.All() {
				m, whole, err := e.known(member, at.at(name))
				if err != nil {
					return nil, false, err
				}
				complete = complete && whole
				if m != (noValue{}) {
					o.Set(name, m)
				}
			}
			return o, complete, nil
		}
		if name == "Fn::If" {
			branch, at, err := e.branch(arg, at.at(name))
			if err == nil {
				return e.known(branch, at)
			}
			return e.unknown(v, err)
		}
	}
	out, err = e.value(v, at)
	if err != nil {
		return e.unknown(v, err)
	}
	return out, true, nil
}

// unknown leaves as written what is not known yet, and in a tolerant scope what
// cannot be evaluated at all.
func (e *evaluation) unknown(written any, err error) (any, bool, error) {
	if errors.Is(err, ErrUnknown) {
		return written, false, nil
	}
	if e.s.warn != nil && e.context.Err() == nil {
		e.s.warn(fmt.Errorf("shown as it is written: %w", err))
		return written, false, nil
	}
	return nil, false, err
}

// call evaluates one intrinsic function.
func (e *evaluation) call(name string, arg any, at *place) (any, error) {
	at = at.at(name)
	switch name {
	case "Ref":
		id, ok := arg.(string)
		if !ok {
			return nil, e.s.t.notName("a name", arg)
		}
		return e.ref(id)
	case "Fn::GetAtt":
		return e.getAtt(arg, at)
	case "Fn::Join":
		return e.join(arg, at)
	case "Fn::Sub":
		return e.sub(arg, at)
	case "Fn::Select":
		return e.choose(arg, at)
	case "Fn::Split":
		return e.split(arg, at)
	case "Fn::If":
		branch, at, err := e.branch(arg, at)
		if err != nil {
			return nil, err
		}
		return e.value(branch, at)
	case "Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not":
		return e.logic(name, arg, at)
	case "Fn::FindInMap":
		return e.findInMap(arg, at)
	case "Fn::Base64":
		return e.base64(arg, at)
	case "Fn::GetAZs":
		return e.zones(arg, at)
	case "Fn::Cidr":
		return e.cidr(arg, at)
	case "Fn::ImportValue":
		return e.importValue(arg, at)
	case "Fn::GetStackOutput":
		return e.stackOutput(arg, at)
	case "Fn::Length", "Fn::ToJsonString":
		if !e.s.t.extended() {
			return nil, fmt.Errorf("needs \"Transform\": %q in the template", LanguageExtensions)
		}
		if name == "Fn::Length" {
			return e.length(arg, at)
		}
		return e.toJSON(arg, at)
	case "Fn::Contains", "Fn::EachMemberEquals", "Fn::EachMemberIn", "Fn::RefAll", "Fn::ValueOf", "Fn::ValueOfAll":
		if e.ruled {
			return e.ruleFunction(name, arg, at)
		}
	case "Fn::Transform":
		return nil, errors.New("a macro is left in the template; only CloudFormation can expand it")
	}
	if strings.HasPrefix(name, loopPrefix) {
		return nil, fmt.Errorf("a loop cannot stand here, or needs \"Transform\": %q in the template", LanguageExtensions)
	}
	return nil, errors.New("no such function")
}

// args evaluates nothing: it checks that a function was given a list of least
// to most entries.
func args(arg any, least, most int) ([]any, error) {
	list, ok := arg.([]any)
	if !ok {
		return nil, fmt.Errorf("want a list, got %s", value.Kind(arg))
	}
	if len(list) < least || len(list) > most {
		want := fmt.Sprint(least)
		if most > least {
			want = fmt.Sprintf("%d to %d", least, most)
		}
		return nil, fmt.Errorf("want a list of %s, got one of %d", want, len(list))
	}
	return list, nil
}

// answer takes in what the World answered.
func (e *evaluation) answer(v any, at string) (any, error) {
	if n, ok := v.(NoEcho); ok {
		return e.s.noEcho(n.Value), nil
	}
	return e.expressions(v, at)
}

// expressions resolves the dynamic references in a value from outside, and
// nothing else: an object in it that looks like a function is not one.
func (e *evaluation) expressions(v any, from string) (any, error) {
	switch v := v.(type) {
	case string:
		pieces, err := e.dynamic(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		return glue(pieces), nil
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			m, err := e.expressions(member, from)
			if err != nil {
				return nil, err
			}
			out[i] = m
		}
		return out, nil
	case *value.Object:
		out := &value.Object{}
		for name, member := range v.All() {
			m, err := e.expressions(member, from)
			if err != nil {
				return nil, err
			}
			out.Set(name, m)
		}
		return out, nil
	}
	return v, nil
}

// noEcho marks all text in a value.
func (s *Scope) noEcho(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = s.noEcho(member)
		}
		return out
	case *value.Object:
		out := &value.Object{}
		for name, member := range v.All() {
			out.Set(name, s.noEcho(member))
		}
		return out
	case nil, marked:
		return v
	}
	clear, err := text(v)
	if err != nil {
		return v
	}
	s.secrets.AddNoEcho(clear.(string))
	return marked{clear: clear.(string), stored: secret.Masked, noEcho: true}
}

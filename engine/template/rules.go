package template

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// bootstrapVersion is the parameter by which the CDK has CloudFormation check how
// old the bootstrap is. It names a value of the parameter store that is of no use
// here, and is not read for its rule alone.
const bootstrapVersion = "BootstrapVersion"

// An AssertionError says that the parameters of a template have values which one
// of its rules does not allow.
type AssertionError struct{ Rule, Description string }

func (e *AssertionError) Error() string {
	if e.Description == "" {
		return "an assertion of the rule does not hold"
	}
	return "an assertion of the rule does not hold: " + e.Description
}

// Remedy says what to do about it.
func (e *AssertionError) Remedy() string {
	return "give the template's parameters other values with the input parameters, or have the app change them or the rule"
}

// A HookError says that changes of a stack are to go through hooks.
type HookError struct{ Hooks []string }

func (e *HookError) Error() string {
	return fmt.Sprintf("changes are to go through %s, which only CloudFormation runs", strings.Join(e.Hooks, ", "))
}

// Remedy says what to do about it.
func (e *HookError) Remedy() string {
	return "deploy this stack with CloudFormation, or take Hooks out of the template: without them, what a hook would have shifted step by step changes at once"
}

// Admit refuses what CloudFormation refuses, for the values that the parameters
// have, before it looks at a resource: assertions that do not hold. What cannot be
// told yet is let through. So are hooks refused, which CloudFormation would run.
func (s *Scope) Admit(ctx context.Context) error {
	faults := &Faults{Template: s.t.Name}
	s.admit(ctx, faults)
	return faults.err()
}

func (s *Scope) admit(ctx context.Context, faults *Faults) {
	if hooks, ok := s.t.Body.Get("Hooks"); ok {
		o, _ := hooks.(*value.Object)
		faults.addError("Hooks", &HookError{Hooks: o.Keys()})
	}
	rules, ok := s.t.Body.Get("Rules")
	all, isObject := rules.(*value.Object)
	if ok && !isObject {
		faults.add("Rules", "want an object, got %s", value.Kind(rules))
	}
	for name, rule := range all.All() {
		e := &evaluation{context: ctx, s: s, early: true, ruled: true}
		if err := e.rule(name, rule); err != nil && !errors.Is(err, ErrUnknown) {
			faults.addError("Rules."+name, err)
		}
	}
}

func (e *evaluation) rule(name string, written any) error {
	rule, ok := written.(*value.Object)
	if !ok {
		return fmt.Errorf("want an object, got %s", value.Kind(written))
	}
	at := (&place{name: "Rules"}).at(name)
	if condition, ok := rule.Get("RuleCondition"); ok {
		if holds, err := e.boolean(condition, at.at("RuleCondition")); err != nil || !holds {
			return err
		}
	}
	assertions := rule.List("Assertions")
	if len(assertions) == 0 {
		return errors.New("a rule needs a list of Assertions")
	}
	var unknown error
	for i, assertion := range assertions {
		at := at.at("Assertions").item(i)
		o, _ := assertion.(*value.Object)
		if !o.Has("Assert") {
			return at.errorf("want an object with Assert")
		}
		switch holds, err := e.boolean(o.Value("Assert"), at.at("Assert")); {
		case errors.Is(err, ErrUnknown):
			unknown = err // another one may be told
		case err != nil:
			return err
		case !holds:
			return at.wrap(&AssertionError{Rule: name, Description: o.String("AssertDescription")})
		}
	}
	return unknown
}

// ruleFunction evaluates the functions that only rules have.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-rules.html
func (e *evaluation) ruleFunction(name string, arg any, at *place) (any, error) {
	switch name {
	case "Fn::RefAll":
		typ, ok := arg.(string)
		if !ok {
			return nil, fmt.Errorf("want a parameter type, got %s", value.Kind(arg))
		}
		return e.every(e.s.t.ofType(typ), e.ref)
	case "Fn::ValueOf", "Fn::ValueOfAll":
		list, err := args(arg, 2, 2)
		if err != nil {
			return nil, err
		}
		of, isText := list[0].(string)
		attribute, ok := list[1].(string)
		if !isText || !ok {
			return nil, errors.New("want two texts: no function can stand here")
		}
		if name == "Fn::ValueOf" {
			return e.valueOf(of, attribute)
		}
		return e.every(e.s.t.ofType(of), func(parameter string) (any, error) { return e.valueOf(parameter, attribute) })
	}
	list, err := args(arg, 2, 2)
	if err != nil {
		return nil, err
	}
	members, err := e.texts(list[0], at.item(0))
	if err != nil {
		return nil, err
	}
	right, err := e.value(list[1], at.item(1))
	if err != nil {
		return nil, err
	}
	if name == "Fn::EachMemberIn" {
		allowed, err := texts(right)
		if err != nil {
			return nil, at.item(1).wrap(err)
		}
		return !slices.ContainsFunc(members, func(m string) bool { return !slices.Contains(allowed, m) }), nil
	}
	text, _, err := plain(right)
	if err != nil {
		return nil, at.item(1).wrap(err)
	}
	if name == "Fn::Contains" {
		return slices.Contains(members, text), nil
	}
	return !slices.ContainsFunc(members, func(m string) bool { return m != text }), nil
}

func (e *evaluation) texts(written any, at *place) ([]string, error) {
	v, err := e.value(written, at)
	if err != nil {
		return nil, err
	}
	all, err := texts(v)
	return all, at.wrap(err)
}

func texts(v any) (all []string, err error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("want a list, got %s", kind(v))
	}
	for _, member := range list {
		if nested, ok := member.([]any); ok { // of a parameter that is a list
			below, err := texts(nested)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
			continue
		}
		text, _, err := plain(member)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// ofType names the parameters of a type, and those that are lists of it.
func (t *Template) ofType(typ string) (names []string) {
	for _, p := range t.Parameters {
		if p.Type == typ || p.Type == "List<"+typ+">" {
			names = append(names, p.Name)
		}
	}
	return names
}

func (e *evaluation) every(parameters []string, ask func(parameter string) (any, error)) (any, error) {
	all := []any{}
	for _, name := range parameters {
		v, err := ask(name)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// A describing World answers Fn::ValueOf: it tells an attribute of what a
// parameter of one of AWS's own types names.
type describing interface {
	Describe(ctx context.Context, parameterType, id, attribute string) (string, error)
}

func (e *evaluation) valueOf(parameter, attribute string) (any, error) {
	p := e.s.t.parameter(parameter)
	if p == nil {
		return nil, fmt.Errorf("there is no parameter %q", parameter)
	}
	v, err := e.ref(parameter)
	if err != nil {
		return nil, err
	}
	world, ok := e.s.world.(describing)
	if !ok {
		return nil, ErrUnknown
	}
	typ, isList := strings.CutPrefix(p.Type, "List<")
	if !isList {
		v = []any{v}
	}
	ids, err := texts(v)
	if err != nil {
		return nil, err
	}
	all := []any{}
	for _, id := range ids {
		text, err := world.Describe(e.context, strings.TrimSuffix(typ, ">"), id, attribute)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", parameter, err)
		}
		all = append(all, text)
	}
	if isList {
		return all, nil
	}
	return all[0], nil
}

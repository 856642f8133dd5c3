package template

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/org/cdkd-action/engine/partition"
	"github.com/org/cdkd-action/engine/value"
)

// ref answers Ref of a resource, a parameter or a pseudo parameter.
func (e *evaluation) ref(id string) (any, error) {
	if strings.HasPrefix(id, "AWS::") {
		return e.s.pseudo(id)
	}
	if e.s.t.resources[id] != nil {
		if err := e.resource(id); err != nil {
			return nil, err
		}
		v, err := e.s.world.Ref(e.context, id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		return e.answer(v, id)
	}
	p, ok := e.s.parameters[id]
	if !ok {
		return nil, fmt.Errorf("there is no resource, parameter or pseudo parameter %q", id)
	}
	if p.unknown {
		return nil, fmt.Errorf("parameter %s: %w", id, ErrUnknown)
	}
	v, err := e.expressions(p.value, "parameter "+id)
	if err != nil || !p.noEcho {
		return v, err
	}
	return e.s.noEcho(v), nil
}

// resource refuses to refer to a resource where that cannot be.
func (e *evaluation) resource(id string) error {
	if e.early {
		return fmt.Errorf("%s is a resource, which cannot be referred to here", id)
	}
	if e.s.resources[id] == nil {
		if e.s.undecided(e.s.t.resources[id].Condition) {
			return ErrUnknown
		}
		return fmt.Errorf("%s is left out by its condition %s", id, e.s.t.resources[id].Condition)
	}
	return nil
}

func (e *evaluation) getAtt(arg any, at *place) (any, error) {
	if text, ok := arg.(string); ok {
		id, attribute, ok := strings.Cut(text, ".")
		if !ok {
			return nil, fmt.Errorf("want resource.attribute, got %q", text)
		}
		return e.attribute(id, attribute)
	}
	list, err := args(arg, 2, 2)
	if err != nil {
		return nil, err
	}
	id, ok := list[0].(string)
	if !ok {
		return nil, e.s.t.notName("a logical id", list[0])
	}
	v, err := e.value(list[1], at.item(1))
	if err != nil {
		return nil, err
	}
	attribute, _, err := plain(v)
	if err != nil {
		return nil, err
	}
	return e.attribute(id, attribute)
}

func (t *Template) notName(want string, got any) error {
	if _, _, ok := function(got); ok && !t.extended() {
		return fmt.Errorf("a function in the place of %s needs \"Transform\": %q in the template", want, LanguageExtensions)
	}
	return fmt.Errorf("want %s, got %s", want, value.Kind(got))
}

func (e *evaluation) attribute(id, name string) (any, error) {
	switch {
	case e.s.t.resources[id] == nil:
		return nil, fmt.Errorf("there is no resource %q", id)
	case name == "":
		return nil, fmt.Errorf("no attribute of %s is named", id)
	}
	if err := e.resource(id); err != nil {
		return nil, err
	}
	v, err := e.s.world.Attribute(e.context, id, name)
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", id, name, err)
	}
	return e.answer(v, id+"."+name)
}

func (s *Scope) pseudo(name string) (any, error) {
	of := func(known, v string) (any, error) {
		if known == "" {
			return nil, ErrUnknown
		}
		return v, nil
	}
	switch name {
	case "AWS::Region":
		return of(s.env.Region, s.env.Region)
	case "AWS::AccountId":
		return of(s.env.AccountID, s.env.AccountID)
	case "AWS::Partition":
		return of(s.env.Region, partition.Of(s.env.Region))
	case "AWS::URLSuffix":
		return of(s.env.Region, partition.URLSuffix(s.env.Region))
	case "AWS::StackName":
		return of(s.env.StackName, s.env.StackName)
	case "AWS::StackId":
		return of(s.env.StackID, s.env.StackID)
	case "AWS::NotificationARNs":
		return []any{}, nil
	case "AWS::NoValue":
		return noValue{}, nil
	}
	return nil, fmt.Errorf("there is no pseudo parameter %s", name)
}

func (e *evaluation) importValue(arg any, at *place) (any, error) {
	if e.early {
		return nil, errors.New("cannot be used here")
	}
	name, err := e.name(arg, at)
	if err != nil {
		return nil, err
	}
	v, err := e.s.world.Import(e.context, name)
	if err != nil {
		return nil, fmt.Errorf("export %s: %w", name, err)
	}
	return e.answer(v, "export "+name)
}

// name evaluates to a text that is not empty.
func (e *evaluation) name(arg any, at *place) (string, error) {
	v, err := e.value(arg, at)
	if err != nil {
		return "", err
	}
	name, _, err := plain(v)
	if err == nil && name == "" {
		err = errors.New("want a name, got an empty text")
	}
	return name, err
}

var roleARN = regexp.MustCompile(`^arn:aws[a-z-]*:iam::\d{12}:role/.+$`)

func (e *evaluation) stackOutput(arg any, at *place) (any, error) {
	o, ok := arg.(*value.Object)
	if !ok {
		return nil, fmt.Errorf("want an object, got %s", value.Kind(arg))
	}
	if e.early {
		return nil, errors.New("cannot be used here")
	}
	ref := StackOutput{Region: e.s.env.Region}
	for member, v := range o.All() {
		var err error
		switch member {
		case "StackName":
			ref.StackName, err = e.name(v, at.at(member))
		case "OutputName":
			ref.OutputName, err = e.name(v, at.at(member))
		case "Region":
			if ref.Region, err = e.name(v, at.at(member)); err == nil {
				ref.Region, err = regionName(ref.Region)
			}
		case "RoleArn":
			if ref.RoleARN, ok = v.(string); !ok || !roleARN.MatchString(ref.RoleARN) {
				err = errors.New("RoleArn must be the ARN of a role, written out")
			}
		default:
			err = fmt.Errorf("there is no argument %s", member)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case ref.StackName == "" || ref.OutputName == "":
		return nil, errors.New("needs StackName and OutputName")
	case ref.StackName == e.s.env.StackName && ref.Region == e.s.env.Region && ref.RoleARN == "":
		return nil, errors.New("a stack cannot read its own outputs")
	}
	v, err := e.s.world.StackOutput(e.context, ref)
	if err != nil {
		return nil, fmt.Errorf("output %s of stack %s: %w", ref.OutputName, ref.StackName, err)
	}
	return e.in(ref.Region).answer(v, "output "+ref.OutputName+" of stack "+ref.StackName)
}

var region = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}$`)

// regionName checks what will become part of a host name.
func regionName(name string) (string, error) {
	if name = strings.ToLower(name); !region.MatchString(name) {
		return "", fmt.Errorf("%q is not the name of a region", name)
	}
	return name, nil
}

func (e *evaluation) zones(arg any, at *place) (any, error) {
	v, err := e.value(arg, at)
	if err != nil {
		return nil, err
	}
	name := ""
	if v != nil && v != (noValue{}) {
		if name, _, err = plain(v); err != nil {
			return nil, err
		}
	}
	if name == "" {
		if name = e.s.env.Region; name == "" {
			return nil, ErrUnknown
		}
	}
	if name, err = regionName(name); err != nil {
		return nil, err
	}
	zones, err := e.s.world.AvailabilityZones(e.context, name)
	if err != nil {
		return nil, fmt.Errorf("availability zones of %s: %w", name, err)
	}
	if len(zones) == 0 {
		return nil, fmt.Errorf("%s has no availability zones", name)
	}
	out := make([]any, len(zones))
	for i, z := range zones {
		out[i] = z
	}
	return out, nil
}

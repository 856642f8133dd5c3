package template

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A parameter is a Parameter with its value.
type parameter struct {
	value   any // string, number, []any of them
	noEcho  bool
	unknown bool
}

// bind gives every parameter its value. One that is read from the parameter
// store is read only when something that is evaluated refers to it; CDK's rule
// about its bootstrap version, which is not, would cost a call.
func (s *Scope) bind(ctx context.Context, params map[string]string, b binding, faults *Faults) {
	s.parameters = map[string]*parameter{}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !s.t.isParameter(name) {
			faults.add("Parameters."+name, "a value is given, but the template has no such parameter")
		}
	}
	used := s.t.used()
	paths := map[string]string{} // by parameter
	for _, p := range s.t.Parameters {
		at := "Parameters." + p.Name
		bound := &parameter{noEcho: p.NoEcho || slices.Contains(b.noEcho, p.Name), unknown: b.offline || slices.Contains(b.unknown, p.Name)}
		s.parameters[p.Name] = bound
		if bound.unknown {
			continue
		}
		texts, isList, err := p.given(params)
		if err != nil {
			faults.addError(at, err)
			continue
		}
		if bound.noEcho {
			for _, text := range texts {
				s.secrets.AddNoEcho(text)
			}
		}
		if slices.ContainsFunc(texts, token.MatchString) {
			// A parent stack hands secrets down as expressions. What they stand
			// for is not known before they are resolved, so nothing is checked.
			bound.value, _ = typed("", texts, isList)
			continue
		}
		if err := p.check(texts, bound.noEcho); err != nil {
			faults.addError(at, err)
			continue
		}
		if _, stored := p.stored(); stored {
			if used[p.Name] {
				paths[p.Name] = texts[0]
			}
			bound.unknown = !used[p.Name] // nothing asks for it
			continue
		}
		if bound.value, err = typed(p.Type, texts, isList); err != nil {
			if bound.noEcho {
				err = errors.New("the value does not fit type " + p.Type)
			}
			faults.addError(at, err)
		}
	}
	if len(paths) > 0 && len(faults.List) == 0 {
		s.read(ctx, paths, faults)
	}
}

// read takes values from the parameter store.
func (s *Scope) read(ctx context.Context, paths map[string]string, faults *Faults) {
	names := slices.Compact(slices.Sorted(maps.Values(paths)))
	texts, err := s.world.SSMParameters(ctx, names)
	if err != nil {
		faults.addError("Parameters", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		text, ok := texts[paths[name]]
		if !ok {
			faults.add("Parameters."+name, "there is no SSM parameter %s in %s", paths[name], s.env.Region)
			continue
		}
		p := s.t.parameter(name)
		inner, _ := p.stored()
		if s.parameters[name].value, err = typed(inner, split(inner, text), listType(inner)); err != nil {
			faults.addError("Parameters."+name, err)
		}
	}
}

// given returns the parameter's value as text, one for each element of a list.
func (p *Parameter) given(params map[string]string) (texts []string, isList bool, err error) {
	if text, ok := params[p.Name]; ok {
		return split(p.Type, text), listType(p.Type), nil
	}
	switch d := p.Default.(type) {
	case nil:
		return nil, false, errors.New("a value is required: it has no Default, and none is given")
	case []any:
		for _, v := range d {
			text, ok := value.Text(v)
			if !ok {
				return nil, false, fmt.Errorf("the Default's elements must be texts, not %s", value.Kind(v))
			}
			texts = append(texts, text)
		}
		return texts, true, nil
	}
	text, _ := value.Text(p.Default)
	return split(p.Type, text), listType(p.Type), nil
}

const (
	storedPrefix = "AWS::SSM::Parameter::Value<"
	commaList    = "CommaDelimitedList"
)

// parameterType is what a parameter's type may be. Of AWS's own types new ones
// come, so that these are known by their form.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
var parameterType = func() *regexp.Regexp {
	own := `[A-Za-z0-9]+(::[A-Za-z0-9]+){1,3}`
	plain := `(String|Number|CommaDelimitedList|` + own + `|List<(String|Number|` + own + `)>)`
	return regexp.MustCompile(`^(` + plain + `|AWS::SSM::Parameter::Value<` + plain + `>)$`)
}()

// stored returns the type of the value in the parameter store, for a parameter
// whose own value is a path there.
func (p *Parameter) stored() (inner string, ok bool) {
	inner, ok = strings.CutPrefix(p.Type, storedPrefix)
	return strings.TrimSuffix(inner, ">"), ok
}

// Plain is a parameter whose own value is a path in the parameter store as one that
// is given what is there.
func (p *Parameter) Plain() Parameter {
	inner, ok := p.stored()
	if !ok {
		return *p
	}
	return Parameter{Name: p.Name, Type: inner, NoEcho: p.NoEcho, Declaration: value.NewObject("Type", inner)} // what it declares is about the path
}

func listType(typ string) bool { return typ == commaList || strings.HasPrefix(typ, "List<") }

func split(typ, text string) []string {
	if !listType(typ) {
		return []string{text}
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// typed turns texts into the value that Ref gives.
func typed(typ string, texts []string, isList bool) (any, error) {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
		if typ == "Number" || typ == "List<Number>" {
			n, err := parseNumber(text)
			if err != nil {
				return nil, err
			}
			list[i] = n
		}
	}
	if isList {
		return list, nil
	}
	return list[0], nil
}

var writtenNumber = regexp.MustCompile(`^([+-]?)([0-9]*)(?:\.([0-9]*))?([eE][+-]?[0-9]+)?$`)

// parseNumber keeps how a number was written. What JSON has no spelling for,
// such as a leading zero, is a number all the same, and exactly that one.
func parseNumber(written string) (any, error) {
	m := writtenNumber.FindStringSubmatch(strings.TrimSpace(written))
	if m == nil || m[2]+m[3] == "" {
		return nil, fmt.Errorf("%q is not a number", written)
	}
	text := strings.TrimPrefix(m[1], "+") + cmp.Or(strings.TrimLeft(m[2], "0"), "0")
	if m[3] != "" {
		text += "." + m[3]
	}
	return number{json.Number(text + m[4]), written}, nil
}

// used names the parameters that are referred to where something is evaluated.
// What is there, and whether conditions keep it, does not matter. That a rule asks
// for the version of the bootstrap does not count.
func (t *Template) used() map[string]bool {
	used := map[string]bool{}
	if t.extended() && hasComputedNames(t.Body) { // which may be any parameter's
		for _, p := range t.Parameters {
			used[p.Name] = true
		}
		return used
	}
	names(t.Body.Value("Rules"), nil, bothBranches, func(n name) { used[n.id] = n.id != bootstrapVersion })
	note := func(n name) { used[n.id] = true }
	names(t.Conditions, nil, bothBranches, note)
	names(t.Body.Value("Outputs"), nil, bothBranches, note)
	for id, r := range t.Body.Object("Resources").All() {
		o, ok := r.(*value.Object)
		if !ok || strings.HasPrefix(id, loopPrefix) {
			names(r, nil, bothBranches, note)
			continue
		}
		for member, v := range o.All() {
			if member != "Metadata" {
				names(v, nil, bothBranches, note)
			}
		}
	}
	return used
}

package template

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// An ExportError says why an output is not exported, though the template asks
// for it. The output itself stands.
type ExportError struct {
	Output, Reason string
}

func (e *ExportError) Error() string {
	return fmt.Sprintf("output %s is not exported: %s", e.Output, e.Reason)
}

// Output evaluates an output strictly, in the form that is stored: what is
// secret in it is an expression or masked. An *ExportError comes with a valid
// value; any other error leaves the name that the output would be exported under.
func (s *Scope) Output(ctx context.Context, name string) (v any, exportName string, exported bool, err error) {
	o := s.output(name)
	if o == nil {
		return nil, "", false, fmt.Errorf("template %s has no output %s here", s.t.Name, name)
	}
	at := (&place{name: "Outputs"}).at(name)
	e := &evaluation{context: ctx, s: s}
	v, err = e.value(o.Value, at.at("Value"))
	if v == (noValue{}) {
		err = at.at("Value").errorf("AWS::NoValue is no value of an output")
	}
	r := Resolved{}
	if err == nil {
		r = resolve(v)
	}
	if o.ExportName == nil {
		return r.Stored, "", false, err
	}
	exportName, nameErr := e.exportName(o, at)
	return r.Stored, exportName, nameErr == nil, cmp.Or(err, nameErr)
}

func (s *Scope) output(name string) *Output {
	for _, o := range s.outputs {
		if o.Name == name {
			return o
		}
	}
	return nil
}

func (e *evaluation) exportName(o *Output, at *place) (string, error) {
	at = at.at("Export").at("Name")
	v, err := e.value(o.ExportName, at)
	if err != nil {
		return "", err
	}
	name, mark, err := plain(v)
	switch {
	case err != nil:
		return "", at.wrap(err)
	case mark != nil || e.s.secrets.Contains(name):
		return "", &ExportError{o.Name, "its name contains a secret"}
	case name == "":
		return "", at.errorf("the name is empty")
	case name != o.Name && e.s.output(name) != nil:
		return "", &ExportError{o.Name, fmt.Sprintf("its name %s is that of another output", name)}
	}
	return name, nil
}

// PreviewOutput evaluates an output as far as it can be told before a
// deployment. unresolved says that functions are left in it. The export name is
// "" while it is not known.
func (s *Scope) PreviewOutput(ctx context.Context, name string) (v any, exportName string, unresolved bool, err error) {
	o := s.output(name)
	if o == nil {
		return nil, "", false, fmt.Errorf("template %s has no output %s here", s.t.Name, name)
	}
	at := (&place{name: "Outputs"}).at(name)
	e := &evaluation{context: ctx, s: s, preview: true}
	v, complete, err := e.known(o.Value, at.at("Value"))
	if v == (noValue{}) {
		err = at.at("Value").errorf("AWS::NoValue is no value of an output")
	}
	if err != nil {
		return nil, "", false, err
	}
	v = resolve(v).Stored
	if o.ExportName == nil {
		return v, "", !complete, nil
	}
	exportName, err = e.exportName(o, at)
	if errors.Is(err, ErrUnknown) {
		err = nil
	}
	return v, exportName, !complete, err
}

package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

// While a value is evaluated it may hold three kinds of leaves more than a
// value has; resolve takes them out again.
type (
	// noValue is what AWS::NoValue stands for.
	noValue struct{}

	// A number of a parameter, which is text exactly as it was written and a
	// number anywhere else.
	number struct {
		json.Number
		written string
	}

	// A marked string holds a secret.
	marked struct {
		clear, stored string
		noEcho        bool // stored is no expression; the whole leaf is masked
		hidden        bool // clear is not known: a preview asks for no secret
	}
)

// Resolved is a value as AWS must get it and as it may be stored.
type Resolved struct {
	Clear  any
	Stored any           // {{resolve:…}} expressions and secret.Masked in place of secrets
	Masked []secret.Path // the leaves of Stored that are secret.Masked
}

// resolve turns what evaluation made into values.
func resolve(v any) Resolved {
	if !special(v) {
		return Resolved{Clear: v, Stored: v}
	}
	r := Resolved{Clear: finish(v, func(m marked, _ secret.Path) string { return m.clear }, nil)}
	r.Stored = finish(v, func(m marked, path secret.Path) string {
		if m.noEcho || m.stored == secret.Masked {
			r.Masked = append(r.Masked, append(secret.Path(nil), path...))
			return secret.Masked
		}
		return m.stored
	}, nil)
	return r
}

func special(v any) bool {
	switch v := v.(type) {
	case noValue, number, marked:
		return true
	case []any:
		for _, member := range v {
			if special(member) {
				return true
			}
		}
	case *value.Object:
		for _, member := range v.All() {
			if special(member) {
				return true
			}
		}
	}
	return false
}

func finish(v any, show func(marked, secret.Path) string, path secret.Path) any {
	switch v := v.(type) {
	case noValue:
		return nil
	case number:
		return v.Number
	case marked:
		return show(v, path)
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = finish(member, show, append(path, i))
		}
		return out
	case *value.Object:
		if v == nil {
			return v
		}
		out := &value.Object{}
		for name, member := range v.All() {
			out.Set(name, finish(member, show, append(path, name)))
		}
		return out
	}
	return v
}

// text gives the textual form of an evaluated scalar, as a string or a marked.
func text(v any) (any, error) {
	switch v := v.(type) {
	case string, marked:
		return v, nil
	case number:
		return v.written, nil
	case noValue:
		return nil, fmt.Errorf("AWS::NoValue cannot be part of a text")
	}
	if s, ok := value.Text(v); ok {
		return s, nil
	}
	return nil, fmt.Errorf("%s cannot be part of a text", kind(v))
}

// plain is text for where a function has to look into it. secret says that the
// result of the function has to be marked too.
func plain(v any) (s string, mark *marked, err error) {
	v, err = text(v)
	if err != nil {
		return "", nil, err
	}
	if m, ok := v.(marked); ok {
		if m.hidden {
			return "", nil, fmt.Errorf("the value of %s: %w", m.stored, ErrUnknown)
		}
		return m.clear, &m, nil
	}
	return v.(string), nil, nil
}

// derive marks what a function made from a marked text. No expression names it.
func (s *Scope) derive(result string, from *marked) any {
	if from == nil {
		return result
	}
	if from.noEcho {
		s.secrets.AddNoEcho(result)
	} else {
		s.secrets.AddDerived(result)
	}
	return marked{clear: result, stored: secret.Masked, noEcho: from.noEcho}
}

// concat joins evaluated texts. The parts that are no secret are looked at
// together, because a template composes a dynamic reference from pieces.
func (e *evaluation) concat(parts []any) (any, error) {
	var pieces []any
	var run strings.Builder
	flush := func() error {
		if run.Len() == 0 {
			return nil
		}
		more, err := e.dynamic(run.String())
		run.Reset()
		pieces = append(pieces, more...)
		return err
	}
	for _, part := range parts {
		if s, ok := part.(string); ok {
			run.WriteString(s)
			continue
		}
		if open := strings.LastIndex(run.String(), "{{resolve:"); open >= 0 && !strings.Contains(run.String()[open:], "}") {
			return nil, errors.New("a secret cannot be part of a dynamic reference")
		}
		if err := flush(); err != nil {
			return nil, err
		}
		pieces = append(pieces, part)
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return glue(pieces), nil
}

func glue(pieces []any) any {
	var all marked
	secretive := false
	for _, piece := range pieces {
		m, ok := piece.(marked)
		if !ok {
			m = marked{clear: piece.(string), stored: piece.(string)}
		}
		secretive = secretive || ok
		all.clear += m.clear
		all.stored += m.stored
		all.noEcho = all.noEcho || m.noEcho
		all.hidden = all.hidden || m.hidden
	}
	if !secretive {
		return all.clear
	}
	return all
}

func kind(v any) string {
	switch v.(type) {
	case noValue:
		return "AWS::NoValue"
	case number:
		return "a number"
	case marked:
		return "a string"
	}
	return value.Kind(v)
}

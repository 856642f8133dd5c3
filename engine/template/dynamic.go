package template

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A RegionalWorld also resolves dynamic references in another region than the
// stack's. A World that cannot is never asked to guess: an output of a stack
// in another region that holds a reference is then refused.
type RegionalWorld interface {
	DynamicIn(ctx context.Context, region, service, reference string) (text string, isSecret bool, err error)
}

// A PlainWorld reads a parameter for a Preview without what it takes to decrypt
// one. plain is false for one that holds a secret; then there is no text.
type PlainWorld interface {
	Plain(ctx context.Context, region, name string) (text string, plain bool, err error)
}

var token = regexp.MustCompile(`\{\{resolve:([^}]*)\}\}`)

// in is the evaluation of what comes from a stack in another region.
func (e *evaluation) in(region string) *evaluation {
	if region == e.s.env.Region {
		return e
	}
	other := *e
	other.region = region
	return &other
}

// dynamic splits text into strings and marked strings, with its dynamic
// references resolved.
func (e *evaluation) dynamic(text string) (pieces []any, err error) {
	if !strings.Contains(text, "{{resolve:") {
		return []any{text}, nil
	}
	end := 0
	for _, m := range token.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > end {
			pieces = append(pieces, text[end:m[0]])
		}
		end = m[1]
		piece, err := e.token(text[m[0]:m[1]], text[m[2]:m[3]])
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece)
	}
	if end < len(text) {
		pieces = append(pieces, text[end:])
	}
	return pieces, nil
}

func (e *evaluation) token(whole, inner string) (any, error) {
	service, reference, _ := strings.Cut(inner, ":")
	always := false // whatever it holds is a secret
	switch service {
	case "ssm":
	case "ssm-secure", "secretsmanager":
		always = true
	default:
		return nil, fmt.Errorf("%s: %q is no service of dynamic references; there are secretsmanager, ssm and ssm-secure", whole, service)
	}
	if reference == "" {
		return nil, fmt.Errorf("%s names nothing", whole)
	}
	if always && e.preview {
		return marked{stored: whole, hidden: true}, nil
	}
	key := e.region + "/" + inner
	known, ok := e.s.tokens.Load(key)
	if !ok {
		text, isSecret, err := e.ask(service, reference)
		if err == nil && isSecret && e.preview {
			return marked{stored: whole, hidden: true}, nil // the text was not asked for
		}
		if err != nil && e.preview && e.context.Err() == nil {
			// The same deployment may make the parameter.
			err = fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", whole, err)
		}
		known = resolvedToken{text, isSecret || always}
		e.s.tokens.Store(key, known)
	}
	t := known.(resolvedToken)
	if !t.secret {
		return t.text, nil
	}
	e.s.secrets.Add(t.text, whole)
	if e.preview {
		return marked{stored: whole, hidden: true}, nil
	}
	return marked{clear: t.text, stored: whole}, nil
}

type resolvedToken struct {
	text   string
	secret bool
}

func (e *evaluation) ask(service, reference string) (text string, isSecret bool, err error) {
	if w, ok := e.s.world.(PlainWorld); ok && e.preview {
		region := cmp.Or(e.region, e.s.env.Region)
		text, plain, err := w.Plain(e.context, region, reference)
		return text, !plain, err
	}
	if e.region == "" {
		return e.s.world.Dynamic(e.context, service, reference)
	}
	if w, ok := e.s.world.(RegionalWorld); ok {
		return w.DynamicIn(e.context, e.region, service, reference)
	}
	return "", false, errors.New("the value comes from a stack in region " + e.region + ", and the reference cannot be resolved there")
}

package secret

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A Path leads to a leaf: member names as strings, list positions as ints.
type Path []any

// Redact returns v as it may be stored, and which leaves are now masked, having
// no expression to come back from. v is not changed.
//
// source is what v was made from, with expressions still in it: the template's
// properties, or the recorded bag. It may be nil, of another shape, or longer:
// a leaf that it has no expression for is judged by its value.
func (s *Set) Redact(v, source any) (redacted any, masked []Path) {
	r := redaction{set: s}
	redacted = r.value(v, source, nil)
	return redacted, r.masked
}

type redaction struct {
	set    *Set
	masked []Path
}

func (r *redaction) value(v, source any, path Path) any {
	switch v := v.(type) {
	case *value.Object:
		if v == nil {
			return v
		}
		from, _ := source.(*value.Object)
		out := &value.Object{}
		for name, member := range v.All() {
			out.Set(name, r.value(member, from.Value(name), append(path, name)))
		}
		return out
	case []any:
		from, _ := source.([]any)
		from = counterparts(v, from)
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = r.value(member, from[i], append(path, i))
		}
		return out
	case nil:
		return nil
	}
	if text, ok := source.(string); ok && r.set.expression(text) {
		if text == Masked {
			return r.mask(path)
		}
		return text
	}
	text, ok := v.(string)
	if !ok {
		if n, isNumber := v.(json.Number); isNumber {
			return r.number(n, path)
		}
		return v
	}
	return r.text(text, path)
}

// counterparts are what the elements of a list came from. Tags are told by their
// keys, since AWS lists them in an order of its own. Otherwise lists of other
// lengths do not tell.
func counterparts(list, from []any) []any {
	byKey := map[string]any{}
	for _, member := range from {
		if o, ok := member.(*value.Object); ok && o.String("Key") != "" {
			byKey[o.String("Key")] = o
		}
	}
	switch {
	case len(byKey) > 0 && len(byKey) == len(from):
		out := make([]any, len(list))
		for i, member := range list {
			if o, ok := member.(*value.Object); ok {
				out[i] = byKey[o.String("Key")]
			}
		}
		return out
	case len(from) == len(list):
		return from
	}
	return make([]any, len(list))
}

func (r *redaction) text(text string, path Path) any {
	if text == Masked {
		return r.mask(path)
	}
	if r.set.Empty() || IsExpression(text) {
		return text
	}
	if o, ok := r.set.origin(text); ok && (o.whole || len(text) >= shortest) {
		return r.stored(o, path)
	}
	_, inserts, noEcho := r.set.replacers()
	for _, plaintext := range noEcho {
		if strings.Contains(text, plaintext) {
			return r.mask(path)
		}
	}
	return inserts.Replace(text)
}

// number catches a secret that a provider turned into a number on its way.
func (r *redaction) number(n json.Number, path Path) any {
	o, ok := r.set.origin(n.String())
	if !ok || len(n) < shortest {
		return n
	}
	return r.stored(o, path)
}

func (r *redaction) stored(o origin, path Path) any {
	if o.expression == Masked {
		return r.mask(path)
	}
	return o.expression
}

func (r *redaction) mask(path Path) any {
	r.masked = append(r.masked, slices.Clone(path))
	return Masked
}

// expression tells whether a source's leaf stands for a secret.
func (s *Set) expression(text string) bool {
	if text == Masked || hasSecretReference(text) {
		return true
	}
	if s == nil || !strings.Contains(text, "{{resolve:") {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, o := range s.known {
		if o.expression != Masked && strings.Contains(text, o.expression) {
			return true
		}
	}
	return false
}

func hasSecretReference(text string) bool {
	return strings.Contains(text, "{{resolve:secretsmanager:") || strings.Contains(text, "{{resolve:ssm-secure:")
}

// IsExpression tells whether text is one dynamic reference and nothing else.
func IsExpression(text string) bool {
	return strings.HasPrefix(text, "{{resolve:") && strings.Index(text, "}}") == len(text)-2
}

package drift

import (
	"regexp"

	"github.com/org/cdkd-action/engine/value"
)

// policy tells whether an object is a policy document.
func policy(o *value.Object) bool {
	switch o.Value("Statement").(type) {
	case []any, *value.Object:
		return true
	}
	return false
}

// canonical brings a policy document into one of the forms that mean the same:
// lists where one element may stand alone, principals as ARNs, no empty Sid.
func canonical(o *value.Object) *value.Object {
	out := &value.Object{}
	for name, v := range o.All() {
		if name == "Statement" {
			var statements []any
			for _, s := range several(v) {
				statements = append(statements, canonicalStatement(s))
			}
			v = statements
		}
		if !vacuous(v) {
			out.Set(name, v)
		}
	}
	return out
}

func canonicalStatement(v any) any {
	o, ok := v.(*value.Object)
	if !ok {
		return v
	}
	out := &value.Object{}
	for name, m := range o.All() {
		switch name {
		case "Action", "NotAction", "Resource", "NotResource":
			m = several(m)
		case "Principal", "NotPrincipal":
			m = canonicalPrincipal(m)
		case "Condition":
			m = canonicalCondition(m)
		}
		if !vacuous(m) {
			out.Set(name, m)
		}
	}
	return out
}

var account = regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}):root$`)

// canonicalPrincipal takes an account by its id and by its root for the same, as
// AWS does, and everybody by "*".
func canonicalPrincipal(v any) any {
	if v == "*" {
		return value.NewObject("AWS", []any{"*"})
	}
	o, ok := v.(*value.Object)
	if !ok {
		return v
	}
	out := &value.Object{}
	for kind, m := range o.All() {
		var list []any
		for _, p := range several(m) {
			if text, ok := p.(string); ok && kind == "AWS" {
				if root := account.FindStringSubmatch(text); root != nil {
					p = root[1]
				}
			}
			list = append(list, p)
		}
		out.Set(kind, list)
	}
	return out
}

func canonicalCondition(v any) any {
	o, ok := v.(*value.Object)
	if !ok {
		return v
	}
	out := &value.Object{}
	for operator, m := range o.All() {
		keys, ok := m.(*value.Object)
		if !ok {
			out.Set(operator, m)
			continue
		}
		c := &value.Object{}
		for key, values := range keys.All() {
			c.Set(key, texts(several(values)))
		}
		out.Set(operator, c)
	}
	return out
}

// texts are scalars as IAM compares them.
func texts(l []any) []any {
	out := make([]any, len(l))
	for i, v := range l {
		out[i] = v
		if text, ok := value.Text(v); ok {
			out[i] = text
		}
	}
	return out
}

func several(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	if v == nil {
		return nil
	}
	return []any{v}
}

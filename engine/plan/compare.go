package plan

import (
	"encoding/json"
	"net/netip"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// Equal tells whether two values of a property mean the same to AWS. Shape is
// the property's, nil when it is unknown.
//
// Beyond value.Equal it takes for equal what CloudFormation accepts in several
// forms: a number or boolean and its text, where the schema has such a type;
// lists that the schema calls unordered, and lists of tags, in any order; a JSON
// document as object and as text; two spellings of an IPv6 prefix; and a member
// that is AWS::NoValue with one that is not there. A function call that was not
// evaluated equals only the same call.
func Equal(shape *schema.Property, a, b any) bool {
	if Intrinsic(a) || Intrinsic(b) {
		return value.Equal(a, b)
	}
	if shape != nil && shape.JSON {
		a, b = document(a), document(b)
	}
	switch a := a.(type) {
	case *value.Object:
		b, ok := b.(*value.Object)
		return ok && equalObjects(shape, a, b)
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(shape, a, b)
	}
	return value.Equal(a, b) || equalTexts(shape, a, b) || equalPrefixes(a, b)
}

func equalObjects(shape *schema.Property, a, b *value.Object) bool {
	for k, m := range a.All() {
		n, ok := b.Get(k)
		if absent(n, ok) != absent(m, true) {
			return false
		}
		if !absent(m, true) && !Equal(shape.Member(k), m, n) {
			return false
		}
	}
	for k, n := range b.All() {
		if !a.Has(k) && !absent(n, true) {
			return false
		}
	}
	return true
}

func absent(v any, has bool) bool { return !has || noValue(v) }

func equalLists(shape *schema.Property, a, b []any) bool {
	a, b = withoutNoValue(a), withoutNoValue(b)
	if len(a) != len(b) {
		return false
	}
	item := shape.Member("*")
	if !(shape != nil && shape.Unordered) && !(tags(a) && tags(b)) {
		for i := range a {
			if !Equal(item, a[i], b[i]) {
				return false
			}
		}
		return true
	}
	taken := make([]bool, len(b))
next:
	for i := range a {
		for j := range b {
			// Most lists did not move; look at the same place first.
			j := (i + j) % len(b)
			if !taken[j] && Equal(item, a[i], b[j]) {
				taken[j] = true
				continue next
			}
		}
		return false
	}
	return true
}

func withoutNoValue(l []any) []any {
	for i := range l {
		if noValue(l[i]) {
			kept := append([]any{}, l[:i]...)
			for _, v := range l[i:] {
				if !noValue(v) {
					kept = append(kept, v)
				}
			}
			return kept
		}
	}
	return l
}

// tags tells whether a list is made of tags with different keys.
func tags(l []any) bool {
	seen := map[string]bool{}
	for _, v := range l {
		o, _ := v.(*value.Object)
		key, ok := o.Value("Key").(string)
		if !ok || seen[key] || !o.Has("Value") {
			return false
		}
		seen[key] = true
	}
	return true
}

// document parses what may be JSON text; what is not stays as it is.
func document(v any) any {
	text, ok := v.(string)
	if !ok || !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return v
	}
	if o, err := value.ParseObject([]byte(text)); err == nil {
		return o
	}
	return v
}

// equalTexts compares a scalar with its text form, where the schema knows the
// property as one or the other.
func equalTexts(shape *schema.Property, a, b any) bool {
	if shape == nil {
		return false
	}
	if _, ok := a.(string); !ok {
		a, b = b, a
	}
	text, ok := a.(string)
	if !ok {
		return false
	}
	switch b := b.(type) {
	case json.Number:
		return (shape.Type == "string" || shape.Type == "number" || shape.Type == "integer") && text == b.String()
	case bool:
		form, _ := value.Text(b)
		return (shape.Type == "string" || shape.Type == "boolean") && text == form
	}
	return false
}

func equalPrefixes(a, b any) bool {
	s, ok1 := a.(string)
	t, ok2 := b.(string)
	if !ok1 || !ok2 || strings.Count(s, ":") < 2 || strings.Count(t, ":") < 2 {
		return false // quickly, for all other text
	}
	p, err1 := netip.ParsePrefix(s)
	q, err2 := netip.ParsePrefix(t)
	return err1 == nil && err2 == nil && p.Addr().Is6() && p == q
}

// Reduce cuts two values of a property down to what differs between them, for
// a reader: of objects the members that are equal go, and those where either
// side is a function call that was not evaluated; lists stay whole. When
// nothing would remain, the values are returned as they are.
func Reduce(shape *schema.Property, old, new any) (any, any) {
	a, ok1 := old.(*value.Object)
	b, ok2 := new.(*value.Object)
	if !ok1 || !ok2 || Intrinsic(a) || Intrinsic(b) {
		return old, new
	}
	x, y := reduceObjects(shape, a, b)
	if x.Len() == 0 && y.Len() == 0 {
		return old, new
	}
	return x, y
}

func reduceObjects(shape *schema.Property, a, b *value.Object) (x, y *value.Object) {
	x, y = &value.Object{}, &value.Object{}
	for k, m := range a.All() {
		n, both := b.Get(k)
		switch {
		case Intrinsic(m), both && Intrinsic(n):
		case !both:
			x.Set(k, m)
		case !Equal(shape.Member(k), m, n):
			p, ok1 := m.(*value.Object)
			q, ok2 := n.(*value.Object)
			if !ok1 || !ok2 {
				x.Set(k, m)
				y.Set(k, n)
				continue
			}
			if p, q = reduceObjects(shape.Member(k), p, q); p.Len() > 0 || q.Len() > 0 {
				x.Set(k, p)
				y.Set(k, q)
			}
		}
	}
	for k, n := range b.All() {
		if !a.Has(k) && !Intrinsic(n) {
			y.Set(k, n)
		}
	}
	return x, y
}

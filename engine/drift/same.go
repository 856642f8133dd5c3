package drift

import (
	"encoding/json"
	"net/netip"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// chosen is the name of an object's only member, where that is all that it says:
// the action {"Block": {}} sets nothing, and is another than {"Allow": {}}.
func chosen(o *value.Object) string {
	name, v, _ := o.Sole()
	if inner, ok := v.(*value.Object); !ok || inner.Len() > 0 {
		return ""
	}
	return name
}

// vacuous tells whether a value stands for "not set": AWS answers with one, or
// leaves it out, as it pleases.
func vacuous(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		return value.Equal(v, json.Number("0"))
	case []any:
		for _, m := range v {
			if !vacuous(m) {
				return false
			}
		}
		return true
	case *value.Object:
		for _, m := range v.All() {
			if !vacuous(m) {
				return false
			}
		}
		return true
	}
	return false
}

// equalScalars takes scalars for equal that differ in spelling only.
func equalScalars(a, b any) bool {
	if value.Equal(a, b) {
		return true
	}
	s, ok1 := value.Text(a)
	t, ok2 := value.Text(b)
	return ok1 && ok2 && (s == t || equalNumbers(a, b) || equalSwitches(a, b) || equalPrefixes(s, t))
}

// equalNumbers compares a number with its text. Two texts are not numbers: an
// account's id may begin with a zero.
func equalNumbers(a, b any) bool {
	if _, ok := a.(json.Number); !ok {
		a, b = b, a
	}
	n, ok1 := a.(json.Number)
	text, ok2 := b.(string)
	return ok1 && ok2 && value.IsNumber(text) && value.Equal(n, json.Number(text))
}

func equalSwitches(a, b any) bool {
	if _, ok := a.(bool); !ok {
		a, b = b, a
	}
	on, ok1 := a.(bool)
	text, ok2 := b.(string)
	return ok1 && ok2 && (on && strings.EqualFold(text, "true") || !on && strings.EqualFold(text, "false"))
}

func equalPrefixes(s, t string) bool {
	if strings.Count(s, ":") < 2 || strings.Count(t, ":") < 2 {
		return false // quickly, for all other text
	}
	p, err1 := netip.ParsePrefix(s)
	q, err2 := netip.ParsePrefix(t)
	return err1 == nil && err2 == nil && p == q
}

// scalars tells whether a list has only plain values: subnets, groups, policies,
// events. The few of which the order means something are not reordered by hand.
func scalars(l []any) bool {
	for _, v := range l {
		switch v.(type) {
		case *value.Object, []any:
			return false
		}
	}
	return true
}

// freeForm tells whether a schema says nothing of a value's members.
func freeForm(shape *schema.Property) bool {
	return shape.Type == "" || shape.Type == "object" && len(shape.Properties) == 0 && shape.Values == nil
}

// document parses what may be JSON text; what is not stays as it is.
func document(v any) any {
	text, ok := v.(string)
	if !ok || !strings.HasPrefix(strings.TrimSpace(text), "{") || standsForSecret(v) {
		return v
	}
	if o, err := value.ParseObject([]byte(text)); err == nil {
		return o
	}
	return v
}

// tags tells whether a list is made of tags with different keys.
func tags(l []any) bool {
	seen := map[string]bool{}
	for _, v := range l {
		o, ok := v.(*value.Object)
		key, _ := o.Value("Key").(string)
		if !ok || key == "" || seen[key] || !o.Has("Value") {
			return false
		}
		seen[key] = true
	}
	return true
}

func tag(v any) (key string, val any) {
	o, _ := v.(*value.Object)
	return o.String("Key"), o.Value("Value")
}

func byKey(l []any) map[string]any {
	m := map[string]any{}
	for _, t := range l {
		key, v := tag(t)
		m[key] = v
	}
	return m
}

// foreign tells whether a value has nothing but tags that nobody put by hand:
// AWS's own, and those that say which create made a resource.
func foreign(v any) bool {
	l, ok := v.([]any)
	return ok && tags(l) && len(withoutForeign(l)) == 0
}

func withoutForeign(l []any) []any {
	var kept []any
	for _, t := range l {
		if key, _ := tag(t); !strings.HasPrefix(key, "aws:") && !strings.HasPrefix(key, "cdkd-action:") {
			kept = append(kept, t)
		}
	}
	return kept
}

// A form tells for places of a type, as schemas name them, whether two texts
// that differ mean the same there.
type form map[string]func(want, is string) bool

func (f form) same(at string, want, is any) bool {
	s, ok1 := want.(string)
	t, ok2 := is.(string)
	return ok1 && ok2 && f[at] != nil && f[at](s, t)
}

// Names of the DNS may end in a dot.
func sameHost(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, "."), strings.TrimSuffix(b, "."))
}

var forms = map[string]form{
	"AWS::Route53::HostedZone": {"Name": sameHost},
	"AWS::Route53::RecordSet": {
		"Name": sameHost, "HostedZoneName": sameHost, "AliasTarget/DNSName": sameHost, "ResourceRecords/*": sameHost,
	},
}

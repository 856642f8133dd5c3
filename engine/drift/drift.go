// Package drift compares what is recorded of a resource with what AWS says of
// it now, property by property.
//
// Two kinds of baseline are compared with. One that was read back says all that
// AWS told at the time, so whatever differs is drift. One that the template
// declared says nothing of what it leaves out, so what AWS adds to it is a
// default, and what AWS leaves out cannot be compared.
//
// The comparison is to be believed by people whom it wakes up. It keeps quiet
// about everything that means the same to AWS: the order of what has none,
// numbers as text, the spellings of a policy document, tags that AWS puts,
// values that stand for "not set". What cannot be compared (a secret, a
// property that AWS does not tell) is named as that and never taken for equal.
//
// The package asks nobody and shows no value that stands for a secret.
package drift

import (
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A Path leads to a value: names of members as strings, places in a list as
// ints. The first name is the property's.
type Path []any

// Property is the top-level property that the path is in.
func (p Path) Property() string {
	name, _ := p[0].(string)
	return name
}

// String is the path as people write it: Rules[0].Status.
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

func (p Path) to(step any) Path { return append(p[:len(p):len(p)], step) }

// A Difference is a place at which a resource is not what was recorded. Of
// lists it has only the elements that differ.
type Difference struct {
	Path             Path
	Expected, Actual any  // nil: not there
	Hidden           bool // a secret stands there: both are nil
}

// A Gap is a place that could not be compared.
type Gap struct {
	Path Path
	Why  Why
}

// Why something cannot be compared.
type Why string

// The reasons.
const (
	Secret Why = "its value is a secret"
	Untold Why = "AWS does not tell it"
)

// A Comparison is what came of comparing one resource.
type Comparison struct {
	Differences []Difference
	Gaps        []Gap
}

// Properties are the top-level properties that differ, in order.
func (c Comparison) Properties() []string {
	var names []string
	seen := map[string]bool{}
	for _, d := range c.Differences {
		if name := d.Path.Property(); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// Baseline is what a row says that its resource is like, and whether that was
// read back.
func Baseline(row *state.Resource) (properties *value.Object, observed bool) {
	if row.Observed != nil {
		return row.Observed, true
	}
	return row.Properties, false
}

// Compare compares the baseline of a row with what was read.
func Compare(row *state.Resource, read *value.Object) Comparison {
	baseline, observed := Baseline(row)
	c := comparer{observed: observed, silent: map[string]bool{}, declared: row.Properties}
	shape := &schema.Property{}
	if typ, ok := schema.Lookup(row.ResourceType); ok {
		shape.Properties = typ.Properties
		for _, p := range append(append([]string{}, typ.ReadOnly...), typ.WriteOnly...) {
			c.silent[p] = true
		}
	}
	c.forms = forms[row.ResourceType]
	c.object(shape, place{}, baseline, read)
	for name, v := range row.Properties.All() {
		if observed && !baseline.Has(name) && !c.silent[name] && bearsSecret(v) {
			c.gap(place{}.member(name), Secret)
		}
	}
	return c.Comparison
}

// A place is where the comparison is: as people write it and as schemas do.
type place struct {
	path   Path
	schema string
}

func (p place) member(name string) place { return p.step(name, name) }

func (p place) element(i int) place { return p.step(i, "*") }

func (p place) step(step any, inSchema string) place {
	if p.schema != "" {
		inSchema = p.schema + "/" + inSchema
	}
	return place{p.path.to(step), inSchema}
}

type comparer struct {
	Comparison
	observed bool
	declared *value.Object   // what the template says, with the places of secrets
	silent   map[string]bool // paths of schemas that AWS sets or does not tell
	forms    form
}

func (c *comparer) differ(at place, expected, actual any) {
	d := Difference{Path: at.path, Expected: expected, Actual: actual}
	if bearsSecret(expected) || bearsSecret(reached(c.declared, at.path)) {
		d.Expected, d.Actual, d.Hidden = nil, nil, true
	}
	c.Differences = append(c.Differences, d)
}

// reached is what a path leads to in a value, or where it ends there. Nothing is
// reached by a name that an object does not have.
func reached(v any, path Path) any {
	for _, step := range path {
		switch in := v.(type) {
		case *value.Object:
			name, _ := step.(string)
			v = in.Value(name)
		case []any:
			i, ok := step.(int)
			if !ok || i >= len(in) {
				return v
			}
			v = in[i]
		default:
			return v
		}
	}
	return v
}

func (c *comparer) gap(at place, why Why) { c.Gaps = append(c.Gaps, Gap{at.path, why}) }

// value compares two values that are both there.
func (c *comparer) value(shape *schema.Property, at place, want, is any) {
	if standsForSecret(want) {
		c.gap(at, Secret)
		return
	}
	if shape == nil || shape.JSON || freeForm(shape) {
		want, is = document(want), document(is)
	}
	switch w := want.(type) {
	case *value.Object:
		if o, ok := is.(*value.Object); ok {
			if _, inList := at.path[len(at.path)-1].(int); inList && w.Has("Value") && !c.equal(shape, at, w, o) {
				c.differ(at, w, o) // the name beside the value says what it is, and whether it may be shown
				return
			}
			c.object(shape, at, w, o)
			return
		}
	case []any:
		if l, ok := is.([]any); ok {
			c.list(shape, at, w, l)
			return
		}
	}
	if !equalScalars(want, is) && !(vacuous(want) && vacuous(is)) && !c.forms.same(at.schema, want, is) {
		c.differ(at, want, is)
	}
}

func (c *comparer) object(shape *schema.Property, at place, want, is *value.Object) {
	if was, now := chosen(want), chosen(is); at.schema != "" && was != "" && now != "" && was != now {
		c.differ(at, want, is)
		return
	}
	whole := closed(shape)
	if policy(want) || policy(is) {
		want, is = canonical(want), canonical(is)
		shape = &schema.Property{Properties: map[string]*schema.Property{"Statement": {Type: "array", Unordered: true}}}
	}
	for name, w := range want.All() {
		next := at.member(name)
		if shape != nil && shape.Properties[name] == nil && shape.Values != nil {
			next = at.step(name, "*")
		}
		v, there := is.Get(name)
		switch {
		case c.silent[next.schema]:
		case there && v != nil:
			c.value(shape.Member(name), next, w, v)
		default:
			c.missing(at, next, w)
		}
	}
	for name, v := range is.All() {
		next := at.member(name)
		if want.Has(name) || c.silent[next.schema] || vacuous(v) || foreign(v) {
			continue
		}
		if c.observed && at.schema == "" && bearsSecret(c.declared.Value(name)) {
			continue // left out of what was read back, as its secrets had no place
		}
		if c.observed || at.schema != "" && whole {
			c.differ(next, nil, v)
		}
	}
}

// missing judges what is recorded and was not read.
func (c *comparer) missing(parent, at place, want any) {
	switch {
	case vacuous(want) || foreign(want):
	case !c.observed && standsForSecret(want):
		c.gap(at, Secret)
	case !c.observed && parent.schema == "":
		c.gap(at, Untold)
	default:
		c.differ(at, want, nil)
	}
}

// closed tells whether all of an object's members are its owner's: there is no
// schema that would tell defaults apart.
func closed(shape *schema.Property) bool { return shape == nil || len(shape.Properties) == 0 }

func (c *comparer) list(shape *schema.Property, at place, want, is []any) {
	if tags(want) && tags(is) {
		c.tags(at, withoutForeign(want), withoutForeign(is))
		return
	}
	item := shape.Member("*")
	ordered := !(shape != nil && shape.Unordered) && !scalars(want)
	if ordered && len(want) == len(is) {
		for i := range want {
			c.value(item, at.element(i), want[i], is[i])
		}
		return
	}
	before := len(c.Gaps)
	wanted, found := c.unmatched(item, at, want, is)
	if len(wanted)+len(found) == 0 {
		return
	}
	if !ordered && len(wanted) == 1 && len(found) == 1 {
		// One element was changed: say what in it.
		c.value(item, at.element(indexOf(want, wanted[0])), wanted[0], found[0])
		return
	}
	c.differ(at, elements(wanted), elements(found))
	if d := &c.Differences[len(c.Differences)-1]; bearsSecret(want) { // which element the secret moved to, nobody can tell
		d.Expected, d.Actual, d.Hidden = nil, nil, true
		c.Gaps = c.Gaps[:before]
	}
}

// equal tells whether two objects mean the same.
func (c *comparer) equal(shape *schema.Property, at place, want, is *value.Object) bool {
	try := c.try()
	try.object(shape, at, want, is)
	return len(try.Differences) == 0
}

// try returns a comparer for what may not count.
func (c *comparer) try() comparer {
	return comparer{observed: c.observed, declared: c.declared, silent: c.silent, forms: c.forms}
}

// unmatched takes out of two lists what is the same in both.
func (c *comparer) unmatched(item *schema.Property, at place, want, is []any) (wanted, found []any) {
	taken := make([]bool, len(is))
next:
	for i, w := range want {
		for j := range is {
			j := (i + j) % len(is) // most did not move
			if taken[j] {
				continue
			}
			try := c.try()
			if try.value(item, at.element(i), w, is[j]); len(try.Differences) == 0 {
				taken[j] = true
				c.Gaps = append(c.Gaps, try.Gaps...)
				continue next
			}
		}
		wanted = append(wanted, w)
	}
	for j, v := range is {
		if !taken[j] {
			found = append(found, v)
		}
	}
	return wanted, found
}

func indexOf(l []any, v any) int {
	for i := range l {
		if value.Equal(l[i], v) {
			return i
		}
	}
	return 0
}

func elements(l []any) any {
	if l == nil {
		return nil
	}
	return l
}

// tags compares tags one by one.
func (c *comparer) tags(at place, want, is []any) {
	read := byKey(is)
	for _, t := range want {
		key, w := tag(t)
		v, there := read[key]
		delete(read, key)
		switch {
		case !there:
			c.differ(at.member(key), w, nil)
		default:
			c.value(nil, at.member(key), w, v)
		}
	}
	for _, t := range is {
		key, v := tag(t)
		if _, left := read[key]; left {
			c.differ(at.member(key), nil, v)
		}
	}
}

// standsForSecret tells whether a text has a secret in it, or its place.
func standsForSecret(v any) bool {
	text, _ := v.(string)
	return text == secret.Masked || strings.Contains(text, "{{resolve:")
}

// bearsSecret tells whether anything in a value stands for a secret.
func bearsSecret(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			if bearsSecret(m) {
				return true
			}
		}
	case *value.Object:
		for _, m := range v.All() {
			if bearsSecret(m) {
				return true
			}
		}
	}
	return standsForSecret(v)
}

package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/value"
)

// A leaf is one line of a comparison.
type leaf struct {
	sign byte // '+' or '-'
	path string
	v    any
	// instead tells that the line stands in place of one with the other sign.
	instead bool
}

// compare lists where two values differ, as deep as they can be told apart.
// Entries of lists are matched, so that one that was put in front does not make
// all others differ.
func compare(path string, old, new any) []leaf {
	if value.Equal(old, new) {
		return nil
	}
	a, isA := old.(*value.Object)
	b, isB := new.(*value.Object)
	if isA && isB && !intrinsic(a) && !intrinsic(b) {
		var out []leaf
		for k, v := range a.All() {
			if w, ok := b.Get(k); ok {
				out = append(out, compare(join(path, k), v, w)...)
			} else {
				out = append(out, leaf{sign: '-', path: join(path, k), v: v})
			}
		}
		for k, w := range b.All() {
			if !a.Has(k) {
				out = append(out, leaf{sign: '+', path: join(path, k), v: w})
			}
		}
		return out
	}
	if x, ok := old.([]any); ok {
		if y, ok := new.([]any); ok && len(x)*len(y) <= 1_000_000 {
			return compareLists(path, x, y)
		}
	}
	return []leaf{{'-', path, old, true}, {'+', path, new, true}}
}

// compareLists matches equal entries (the longest common subsequence) and
// compares what is left between two matches entry by entry.
func compareLists(path string, x, y []any) []leaf {
	longest := make([][]int, len(x)+1)
	for i := range longest {
		longest[i] = make([]int, len(y)+1)
	}
	same := func(i, j int) bool { return value.Equal(x[i], y[j]) }
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if same(i, j) {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []leaf
	var gone, come []int
	flush := func() {
		for len(gone) > 0 || len(come) > 0 {
			switch {
			case len(gone) > 0 && len(come) > 0:
				out = append(out, compare(index(path, come[0]), x[gone[0]], y[come[0]])...)
				gone, come = gone[1:], come[1:]
			case len(gone) > 0:
				out = append(out, leaf{sign: '-', path: index(path, gone[0]), v: x[gone[0]]})
				gone = gone[1:]
			default:
				out = append(out, leaf{sign: '+', path: index(path, come[0]), v: y[come[0]]})
				come = come[1:]
			}
		}
	}
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		switch {
		case same(i, j):
			flush()
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			gone, i = append(gone, i), i+1
		default:
			come, j = append(come, j), j+1
		}
	}
	for ; i < len(x); i++ {
		gone = append(gone, i)
	}
	for ; j < len(y); j++ {
		come = append(come, j)
	}
	flush()
	return out
}

func join(path, member string) string {
	if strings.ContainsAny(member, ".[] ") {
		member = strconv.Quote(member)
	}
	return path + "." + member
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// intrinsic tells whether an object is a function of a template.
func intrinsic(v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return false
	}
	name, _, ok := o.Sole()
	return ok && (name == "Ref" || name == "Condition" || strings.HasPrefix(name, "Fn::"))
}

// most is how much of one value is shown.
const most = 2000

// difference renders the property changes of a resource as the lines of a diff.
func difference(c *plan.Change) string {
	var b strings.Builder
	for _, p := range c.Properties {
		r := &redactor{}
		old := r.property(c.Type, p.Path, p.Old, p.Secret)
		new := r.property(c.Type, p.Path, p.New, p.Secret)
		var leaves []leaf
		switch {
		case p.HasOld && p.HasNew:
			leaves = compare(oneLine(p.Path), old, new)
		case p.HasOld:
			leaves = []leaf{{sign: '-', path: oneLine(p.Path), v: old}}
		default:
			leaves = []leaf{{sign: '+', path: oneLine(p.Path), v: new}}
		}
		notes := propertyNotes(p)
		if len(leaves) == 0 { // equal when resolved as far as it can be
			fmt.Fprintf(&b, "  %s%s\n", oneLine(p.Path), notes)
			continue
		}
		for i, l := range leaves {
			note := ""
			if i == len(leaves)-1 {
				note = notes
			}
			l.write(&b, note)
		}
	}
	for _, a := range c.Attributes {
		fmt.Fprintf(&b, "- %s: %s\n+ %s: %s [metadata only, no AWS API call]\n", a.Name, orUnset(a.Old), a.Name, orUnset(a.New))
	}
	return b.String()
}

func (l leaf) write(b *strings.Builder, note string) {
	text := shorten(unmark(show(l.v), l.instead && l.sign == '+'))
	lines := strings.Split(text, "\n")
	fmt.Fprintf(b, "%c %s: %s", l.sign, unmark(l.path, false), lines[0])
	for _, line := range lines[1:] {
		fmt.Fprintf(b, "\n%c %s", l.sign, line)
	}
	b.WriteString(note + "\n")
}

func propertyNotes(p plan.PropertyChange) string {
	notes := ""
	if p.Replaces {
		notes += " [requires replacement]"
	}
	if p.MayReplace {
		notes += " [may require replacement]"
	}
	if p.Propagated {
		notes += " [replacement propagated]"
	}
	if p.Unresolved {
		notes += " (known after deploy)"
	}
	return notes
}

// show renders a value: scalars as JSON, small objects and lists on one line,
// others indented. A text that is itself JSON is shown as text.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case json.Number, bool:
		return value.JSON(v)
	}
	if one := value.JSON(v); len(one) <= 80 {
		return one
	}
	text, err := value.MarshalIndent(v)
	if err != nil {
		return value.Kind(v)
	}
	return string(text)
}

func shorten(text string) string {
	if r := []rune(text); len(r) > most {
		return fmt.Sprintf("%s… (%d more characters)", string(r[:most]), len(r)-most)
	}
	return text
}

func orUnset(text string) string {
	if text == "" {
		return "(unset)"
	}
	return oneLine(text)
}

package report

import (
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
	if isA && isB && !plan.Intrinsic(a) && !plan.Intrinsic(b) {
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
	return []leaf{{'-', path, old}, {'+', path, settle(old, true, new)}}
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

// most is how much of one value is shown.
const most = 2000

// difference renders the property changes of a resource as the lines of a diff.
// A line above those of a property says what its change means, loudly where it
// may replace the resource.
func difference(c *plan.Change) string {
	var b strings.Builder
	for _, p := range c.Properties {
		leaves := leavesOf(oneLine(p.Path), p)
		marks, loud := propertyMarks(p), "#"
		switch {
		case p.Replaces, p.MayReplace:
			loud = "!"
		case p.Propagated: // nothing differs but what it refers to
			marks, leaves = marks+" "+knownAfterDeploy, nil
		}
		if p.NoEcho {
			marks += afterNew(p, nil)
		}
		if marks != "" || len(leaves) == 0 { // equal when resolved as far as it can be
			fmt.Fprintf(&b, "%s %s:%s\n", loud, oneLine(p.Path), marks)
		}
		for _, l := range leaves {
			l.write(&b)
		}
	}
	for _, a := range c.Attributes {
		name := oneLine(a.Name)
		fmt.Fprintf(&b, "# %s:%s\n- %s: %s\n+ %s: %s\n", name, metadataOnly, name, orUnset(a.Old), name, orUnset(a.New))
	}
	return b.String()
}

func leavesOf(path string, p plan.PropertyChange) []leaf {
	switch {
	case p.HasOld && p.HasNew:
		return compare(path, p.Old, p.New)
	case p.HasOld:
		return []leaf{{'-', path, p.Old}}
	}
	return []leaf{{'+', path, p.New}}
}

// outputDifference does the same for an output.
func outputDifference(o plan.OutputChange) string {
	var b strings.Builder
	name := oneLine(o.Name)
	if o.Export {
		fmt.Fprintf(&b, "# %s: [export]\n", name)
	}
	switch {
	case o.OldRedacted:
		fmt.Fprintf(&b, "- %s: %s\n", name, legacyPlaintext)
	case o.HasOld:
		leaf{'-', name, o.Old}.write(&b)
	}
	switch {
	case o.Unresolved:
		fmt.Fprintf(&b, "+ %s: %s\n", name, knownAfterDeploy)
	case o.HasNew:
		leaf{'+', name, settle(o.Old, o.HasOld, o.New)}.write(&b)
	}
	return b.String()
}

func (l leaf) write(b *strings.Builder) {
	lines := strings.Split(shorten(unmark(flat(l.v)), most), "\n")
	fmt.Fprintf(b, "%c %s: %s", l.sign, unmark(l.path), lines[0])
	for _, line := range lines[1:] {
		fmt.Fprintf(b, "\n%c %s", l.sign, line)
	}
	if l.sign == '+' && plan.Unresolved(l.v) {
		b.WriteString(" " + knownAfterDeploy)
	}
	b.WriteByte('\n')
}

// flat renders a value on one line where it is short or a function call, else
// indented. A text that a template joins reads like one for Fn::Sub.
func flat(v any) string {
	if plan.Intrinsic(v) {
		if _, ok := plan.Joined(v, value.JSON); ok {
			return value.JSON(plan.Readable(v))
		}
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

func shorten(text string, to int) string {
	if r := []rune(text); len(r) > to {
		return fmt.Sprintf("%s… (%d more characters)", string(r[:to]), len(r)-to)
	}
	return text
}

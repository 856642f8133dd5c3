package plan

import (
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// Text is the plan as the log shows it, with its children's below. It starts
// with an empty line when there are changes, and ends with a line break.
func (p *Plan) Text() string {
	if !p.Changed() {
		return "✓ No changes detected for stack " + line(p.Stack) + "\n"
	}
	var t text
	t.tree(p, "Stack ")
	return string(t)
}

type text []byte

func (t *text) add(format string, args ...any) { *t = fmt.Appendf(*t, format+"\n", args...) }

func (t *text) tree(p *Plan, kind string) {
	if n := p.Counts(); n != (Counts{}) {
		t.stack(p, kind, n)
	}
	for _, child := range p.Children {
		t.tree(child, "Nested stack: ")
	}
}

func (t *text) stack(p *Plan, kind string, n Counts) {
	t.add("")
	t.add("%s%s:", kind, line(p.Stack))
	for _, c := range p.Changes {
		t.row(c)
	}
	if len(p.Outputs) > 0 {
		t.add("")
		t.add("  Outputs:")
		for _, o := range p.Outputs {
			t.output(o)
		}
	}
	t.add("")
	t.add("%s", n.rows())
	if outputs := n.outputs(); outputs != "" {
		t.add("%s", outputs)
	}
}

// A replacement is an update that costs more, and is counted as one.
func (n Counts) rows() string {
	s := fmt.Sprintf("%d to create, %d to update, %d to delete", n.Create, n.Update+n.Replace+n.MayReplace, n.Delete)
	if n.Retain > 0 {
		s += fmt.Sprintf(", %d to keep in AWS", n.Retain)
	}
	return s
}

func (n Counts) outputs() string {
	if n.OutputsAdded+n.OutputsChanged+n.OutputsRemoved == 0 {
		return ""
	}
	return fmt.Sprintf("%d output(s) to add, %d to change, %d to remove", n.OutputsAdded, n.OutputsChanged, n.OutputsRemoved)
}

// Mark is the sign in front of a row; "" for a row without changes.
func (a Action) Mark() string {
	switch a {
	case Create:
		return "[+]"
	case Update, Replace, MayReplace:
		return "[~]"
	case Delete, Retain:
		return "[-]"
	}
	return ""
}

func (t *text) row(c *Change) {
	if c.Action == NoChange {
		return
	}
	note := c.Route.Annotation()
	switch {
	case c.Action == Retain:
		note = " [kept in AWS: DeletionPolicy " + line(c.DeletionPolicy) + "]"
	case c.Action == Delete:
		note = ""
	}
	t.add("  %s %s (%s)%s", c.Action.Mark(), line(c.LogicalID), line(c.Type), note)
	for _, p := range c.Properties {
		t.property(c, p)
	}
	for _, a := range c.Attributes {
		t.add("      - %s: [metadata only, no AWS API call]", line(a.Name))
		t.add("          old: %s", orUnset(a.Old))
		t.add("          new: %s", orUnset(a.New))
	}
}

// Annotation says behind a row why its resource is not, or no longer, the
// SDK's; "" when there is nothing to say.
func (r Route) Annotation() string {
	switch {
	case len(r.Unhandled) > 0:
		return " [via CC API: " + line(strings.Join(r.Unhandled, ", ")) + "]"
	case r.Returning:
		return " [returning to SDK provider]"
	case r.Sticky:
		return " [via CC API: sticky]"
	}
	return ""
}

func orUnset(policy string) string {
	if policy == "" {
		return "(unset)"
	}
	return line(policy)
}

func (t *text) property(c *Change, p PropertyChange) {
	marks := ""
	for _, m := range []struct {
		set  bool
		text string
	}{
		{p.Replaces, " [requires replacement]"},
		{p.MayReplace, " [may require replacement]"},
		{p.Propagated, " [replacement propagated]"},
		{p.Uncertain, " [outcome unknown, applied again]"},
	} {
		if m.set {
			marks += m.text
		}
	}
	t.add("      - %s:%s", line(p.Path), marks)
	old, new := p.shownOld(), p.shownNew()
	if p.HasOld && p.HasNew {
		old, new = Reduce(propertyShape(c.Type, p.Path), old, new)
	}
	t.add("          old: %s", printed(old, p.HasOld, "              "))
	after := ""
	switch {
	case p.NoEcho:
		after = " (NoEcho, cannot be compared)"
	case intrinsic(new):
		after = " (known after deploy)"
	}
	t.add("          new: %s%s", printed(new, p.HasNew, "              "), after)
}

func propertyShape(typ, property string) *schema.Property {
	if t, ok := schema.Lookup(typ); ok {
		return t.Properties[property]
	}
	return nil
}

func (t *text) output(o OutputChange) {
	export := ""
	if o.Export {
		export = " [export]"
	}
	t.add("    %s %s%s", o.Action.Mark(), line(o.Name), export)
	switch {
	case o.OldRedacted:
		t.add("          old: <redacted: may be legacy plaintext in state — run scrub>")
	case o.HasOld:
		t.add("          old: %s", printed(o.shownOld(), true, "            "))
	}
	switch {
	case o.Unresolved:
		t.add("          new: (known after deploy)")
	case o.HasNew:
		t.add("          new: %s", printed(o.shownNew(), true, "            "))
	}
}

// printed is a value over as many lines as it needs, all but the first
// indented. A function call stays on one line.
func printed(v any, has bool, indent string) string {
	switch {
	case !has:
		return "undefined"
	case v == any(hidden):
		return hidden
	case intrinsic(v):
		return line(value.JSON(v))
	}
	b, err := value.MarshalIndent(v)
	if err != nil {
		return line(value.JSON(v))
	}
	return strings.ReplaceAll(plain(string(b)), "\n", "\n"+indent)
}

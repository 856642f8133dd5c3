package report

import (
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// PlanText renders a plan for the log, its nested stacks after it. It starts
// with an empty line when there are changes, and ends with a line break.
func PlanText(p *plan.Plan) string { return planText(shownPlan(p, nil)) }

func planText(p *plan.Plan) string {
	if !p.Changed() {
		return "✓ No changes detected for stack " + oneLine(p.Stack) + "\n"
	}
	var t lines
	t.tree(p, "Stack ")
	return string(t)
}

type lines []byte

func (t *lines) add(format string, args ...any) { *t = fmt.Appendf(*t, format+"\n", args...) }

func (t *lines) tree(p *plan.Plan, kind string) {
	if changes := changing(p); len(changes)+len(p.Outputs) > 0 {
		t.add("")
		t.add("%s%s:", kind, oneLine(p.Stack))
		for _, c := range changes {
			t.row(c, p.FromTemplates)
		}
		t.outputs(p.Outputs)
		t.counts(p)
	}
	for _, child := range p.Children {
		t.tree(child, "Nested stack: ")
	}
}

// A replacement is an update that costs more, and is counted as one.
func (t *lines) counts(p *plan.Plan) {
	n, kept := p.Counts(), ""
	if n[plan.Retain] > 0 {
		kept = fmt.Sprintf(", %d to keep in AWS", n[plan.Retain])
	}
	t.add("")
	t.add("%d to create, %d to update, %d to delete%s",
		n[plan.Create], n[plan.Update]+n[plan.Replace]+n[plan.MayReplace], n[plan.Delete], kept)
	if len(p.Outputs) > 0 {
		o := p.OutputCounts()
		t.add("%d output(s) to add, %d to change, %d to remove", o[plan.Create], o[plan.Update], o[plan.Delete])
	}
}

// row renders a change. Of values that were resolved only what differs for certain
// is shown; of templates that are compared as they are written, whole is, and
// function calls are among what differs.
func (t *lines) row(c *plan.Change, whole bool) {
	t.add("  %s %s (%s)%s", sign(c.Action), oneLine(c.LogicalID), oneLine(c.Type), annotation(c))
	for _, p := range c.Properties {
		t.property(c.Type, p, whole)
	}
	for _, a := range c.Attributes {
		t.add("      - %s:%s", oneLine(a.Name), metadataOnly)
		t.add("          old: %s", orUnset(a.Old))
		t.add("          new: %s", orUnset(a.New))
	}
}

func (t *lines) property(resourceType string, p plan.PropertyChange, whole bool) {
	old, new := p.Old, p.New
	if p.HasOld && p.HasNew && !whole {
		old, new = plan.Reduce(shape(resourceType, p.Path), old, new)
	}
	old, new = sides(p, old, new)
	t.add("      - %s:%s", oneLine(p.Path), propertyMarks(p))
	t.add("          old: %s", printed(old, p.HasOld, 14))
	t.add("          new: %s%s", printed(new, p.HasNew, 14), afterNew(p, new))
}

func shape(resourceType, property string) *schema.Property {
	if t, ok := schema.Lookup(resourceType); ok {
		return t.Properties[property]
	}
	return nil
}

func (t *lines) outputs(outputs []plan.OutputChange) {
	if len(outputs) == 0 {
		return
	}
	t.add("")
	t.add("  Outputs:")
	for _, o := range outputs {
		export := ""
		if o.Export {
			export = " [export]"
		}
		t.add("    %s %s%s", sign(o.Action), oneLine(o.Name), export)
		switch {
		case o.OldRedacted:
			t.add("          old: %s", legacyPlaintext)
		case o.HasOld:
			t.add("          old: %s", printed(o.Old, true, 12))
		}
		switch {
		case o.Unresolved:
			t.add("          new: %s", knownAfterDeploy)
		case o.HasNew:
			t.add("          new: %s", printed(settle(o.Old, o.HasOld, o.New), true, 12))
		}
	}
}

// printed is a value over as many lines as it needs, all but the first
// indented. A function call stays on one line.
func printed(v any, has bool, indent int) string {
	if !has {
		return "undefined"
	}
	text, err := value.MarshalIndent(v)
	if err != nil || plan.Intrinsic(v) {
		text = []byte(value.JSON(v))
	}
	return strings.ReplaceAll(shorten(unmark(string(text)), most), "\n", "\n"+strings.Repeat(" ", indent))
}

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// PlanText renders a plan for the log, its nested stacks after it.
func PlanText(p *plan.Plan) string {
	var b strings.Builder
	planText(&b, p, "Stack ")
	return b.String()
}

func planText(b *strings.Builder, p *plan.Plan, kind string) {
	var created, updated, deleted int
	var rows strings.Builder
	for _, c := range p.Changes {
		sign := ""
		switch c.Action {
		case plan.Create:
			sign = "[+]"
			created++
		case plan.Update, plan.Replace, plan.MayReplace:
			sign = "[~]"
			updated++
		case plan.Delete, plan.Retain:
			sign = "[-]"
			deleted++
		default:
			continue
		}
		note := oneLine(annotation(c))
		if c.Action == plan.Retain {
			note = "[retained]"
		}
		if note != "" {
			note = " " + note
		}
		fmt.Fprintf(&rows, "  %s %s (%s)%s\n", sign, oneLine(c.LogicalID), oneLine(c.Type), note)
		if sign == "[~]" {
			propertiesText(&rows, c)
		}
	}
	if rows.Len() == 0 && len(p.Outputs) == 0 {
		fmt.Fprintf(b, "✓ No changes detected for stack %s\n", oneLine(p.Stack))
	} else {
		fmt.Fprintf(b, "\n%s%s:\n%s", kind, oneLine(p.Stack), rows.String())
		outputsText(b, p)
		fmt.Fprintf(b, "\n%d to create, %d to update, %d to delete\n", created, updated, deleted)
		outputCounts(b, p)
	}
	for _, child := range p.Children {
		planText(b, child, "Nested stack: ")
	}
}

func propertiesText(b *strings.Builder, c *plan.Change) {
	for _, p := range c.Properties {
		notes := strings.TrimSuffix(propertyNotes(p), " (known after deploy)")
		fmt.Fprintf(b, "      - %s:%s\n", oneLine(p.Path), notes)
		r := &redactor{}
		old := r.property(c.Type, p.Path, p.Old, p.Secret)
		new := r.property(c.Type, p.Path, p.New, p.Secret)
		if p.HasOld && p.HasNew {
			old, new = plan.Reduce(nil, old, new)
		}
		b.WriteString("          old: " + valueText(old, p.HasOld, false, 14) + "\n")
		b.WriteString("          new: " + valueText(new, p.HasNew, p.HasOld, 14))
		if intrinsic(new) {
			b.WriteString(" (known after deploy)")
		}
		b.WriteByte('\n')
	}
	for _, a := range c.Attributes {
		fmt.Fprintf(b, "      - %s: [metadata only, no AWS API call]\n          old: %s\n          new: %s\n",
			a.Name, orUnset(a.Old), orUnset(a.New))
	}
}

// valueText renders a value as indented JSON whose further lines are indented
// to stand below the first.
func valueText(v any, has, changed bool, indent int) string {
	if !has {
		return "undefined"
	}
	text, err := value.MarshalIndent(v)
	if err != nil {
		return value.Kind(v)
	}
	return strings.ReplaceAll(shorten(unmark(string(text), changed)), "\n", "\n"+strings.Repeat(" ", indent))
}

func outputsText(b *strings.Builder, p *plan.Plan) {
	if len(p.Outputs) == 0 {
		return
	}
	b.WriteString("\n  Outputs:\n")
	for _, o := range p.Outputs {
		sign := map[plan.Action]string{plan.Create: "[+]", plan.Update: "[~]", plan.Delete: "[-]"}[o.Action]
		export := ""
		if o.Export {
			export = " [export]"
		}
		fmt.Fprintf(b, "    %s %s%s\n", sign, oneLine(o.Name), export)
		r := &redactor{}
		switch {
		case o.HasOld && o.OldRedacted:
			b.WriteString("          old: " + hidden + "\n")
		case o.HasOld:
			b.WriteString("          old: " + valueText(r.output(o.Name, o.Old, o.Secret), true, false, 12) + "\n")
		}
		switch {
		case o.Unresolved:
			b.WriteString("          new: (known after deploy)\n")
		case o.HasNew:
			b.WriteString("          new: " + valueText(r.output(o.Name, o.New, o.Secret), true, o.HasOld, 12) + "\n")
		}
	}
}

func outputCounts(b *strings.Builder, p *plan.Plan) {
	n := map[plan.Action]int{}
	for _, o := range p.Outputs {
		n[o.Action]++
	}
	if len(p.Outputs) > 0 {
		fmt.Fprintf(b, "%d output(s) to add, %d to change, %d to remove\n", n[plan.Create], n[plan.Update], n[plan.Delete])
	}
}

// Text renders a run for the end of a log: the plans of a diff or a dry run,
// and of other runs what came of them.
func Text(run *result.Run) string {
	var b strings.Builder
	if planned(run) {
		for _, s := range run.Stacks {
			if s.Plan != nil {
				planText(&b, s.Plan, "Stack ")
			}
		}
	}
	trouble := messageText(run.Message, run.Remedy, "")
	for _, s := range run.Stacks {
		trouble += stackText(s)
	}
	if trouble != "" {
		b.WriteString("\n" + trouble)
	}
	if planned(run) && trouble == "" {
		return b.String()
	}
	b.WriteString("\n" + Title(run))
	if run.Duration > 0 {
		fmt.Fprintf(&b, " (%s)", run.Duration.Round(100*time.Millisecond))
	}
	b.WriteByte('\n')
	return b.String()
}

func stackText(s *result.Stack) string {
	var b strings.Builder
	name := oneLine(s.Name) + " in " + oneLine(s.Region)
	b.WriteString(messageText(s.Message, s.Remedy, name+": "))
	for _, f := range s.Failures {
		fmt.Fprintf(&b, "%s: %s of %s (%s) failed\n", name, strings.ToLower(label(f.Action)), oneLine(f.LogicalID), oneLine(f.Type))
		b.WriteString(indented(messageText(f.Message, f.Remedy, "")))
	}
	for _, u := range s.Unaddressed {
		fmt.Fprintf(&b, "%s: left %s (%s) %s\n", name, oneLine(u.LogicalID), oneLine(u.Type), oneLine(u.PhysicalID))
		b.WriteString(indented(messageText(u.Reason, u.Remedy, "")))
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(&b, "%s: warning: %s\n", name, oneLine(w))
	}
	if names := s.Outputs.Keys(); len(names) > 0 {
		fmt.Fprintf(&b, "%s: outputs\n", name)
		for _, n := range names {
			if madeByCDK(n) {
				continue
			}
			fmt.Fprintf(&b, "  %s = %s\n", oneLine(n), oneLine(outputValue(n, s.Outputs.Value(n))))
		}
	}
	return b.String()
}

func messageText(message, remedy, prefix string) string {
	text := ""
	if message != "" {
		text = prefix + strings.TrimSpace(Clean(message)) + "\n"
	}
	if remedy != "" {
		text += "what to do: " + strings.TrimSpace(Clean(remedy)) + "\n"
	}
	return text
}

func indented(text string) string {
	lines := slices.Collect(strings.Lines(text))
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return strings.Join(lines, "")
}

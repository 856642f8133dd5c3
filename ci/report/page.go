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

// Comment renders a run for a pull request: [Markdown] in what GitHub takes.
// rest is a sentence that says where a report that had to be cut goes on.
func Comment(run *result.Run, limit int, rest string) string {
	return Fit(Markdown(run), limit, rest)
}

// Markdown renders a run in full.
func Markdown(run *result.Run) string {
	p := &page{run: run}
	p.line("### " + title(run, code))
	p.counts()
	p.message(run.Message, run.Remedy)
	for _, s := range run.Stacks {
		p.trouble(s)
	}
	p.destructive()
	for _, s := range run.Stacks {
		p.stack(s)
	}
	if run.RunID != "" {
		p.line("<sub>" + footer(run) + "</sub>")
	}
	return p.b.String()
}

// A page is Markdown under construction: blocks with a blank line between.
type page struct {
	run *result.Run
	b   strings.Builder
}

func (p *page) line(text string) {
	if p.b.Len() > 0 {
		p.b.WriteByte('\n')
	}
	p.b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
}

func (p *page) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("| " + strings.Join(head, " | ") + " |\n|" + strings.Repeat(" --- |", len(head)) + "\n")
	for _, r := range rows {
		b.WriteString("| " + strings.Join(r, " | ") + " |\n")
	}
	p.line(b.String())
}

func (p *page) folded(summary string, body func()) {
	p.line("<details><summary>" + summary + "</summary>")
	body()
	p.line("</details>")
}

func (p *page) counts() {
	var parts []string
	if planned(p.run) { // the title has counted what would be done to resources
		if n := tallyOf(p.run)[plan.NoChange]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d unchanged", n))
		}
		parts = append(parts, outputTally(p.run)...)
	} else {
		parts = append(parts, done(p.run.Counts()))
	}
	if p.run.DryRun {
		parts = append(parts, "dry run: nothing was written")
	}
	if p.run.Duration > 0 && !planned(p.run) {
		parts = append(parts, p.run.Duration.Round(100*time.Millisecond).String())
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) > 0 {
		p.line(strings.Join(parts, " · "))
	}
}

// message is what failed as a whole, and what to do about it.
func (p *page) message(message, remedy string) {
	if message != "" {
		p.line(fence("text", shorten(Clean(message))))
	}
	if remedy != "" {
		p.line("**What to do:** " + prose(remedy))
	}
}

// trouble is everything about a stack that somebody has to look at.
func (p *page) trouble(s *result.Stack) {
	if s.Message == "" && s.Remedy == "" && s.Lock == nil && len(s.Failures) == 0 && len(s.Unaddressed) == 0 && len(s.Warnings) == 0 {
		return
	}
	p.line("#### " + code(s.Name) + " in " + code(s.Region) + " " + ended(s))
	p.message(s.Message, s.Remedy)
	if l := s.Lock; l != nil {
		text := "The lock is held by " + code(l.Owner) + " for " + code(l.Operation)
		if l.ExpiresAt > 0 {
			text += ", until " + time.UnixMilli(l.ExpiresAt).UTC().Format("2006-01-02 15:04:05 UTC") + " unless it is renewed"
		}
		p.line(text + ".")
		if l.RunURL != "" {
			p.line("Its run: " + code(l.RunURL))
		}
	}
	for _, f := range s.Failures {
		p.line("**" + label(f.Action) + " failed:** " + code(f.LogicalID) + " (" + code(f.Type) + ")" + at(f.Path) + physical(f.PhysicalID))
		p.message(f.Message, f.Remedy)
	}
	if len(s.Unaddressed) > 0 {
		p.line("**Left to take care of**")
		var rows [][]string
		for _, u := range s.Unaddressed {
			rows = append(rows, []string{code(u.LogicalID), code(u.Type), code(u.PhysicalID), prose(u.Reason), prose(u.Remedy)})
		}
		p.table([]string{"Resource", "Type", "Physical id", "Why", "What to do"}, rows)
	}
	for _, w := range s.Warnings {
		p.line("> ⚠ " + prose(w))
	}
}

func ended(s *result.Stack) string {
	switch s.Outcome {
	case result.Success, result.NoChange, "":
		return ""
	case result.Failed:
		if s.RolledBack {
			return "failed and was rolled back"
		}
	}
	return "(" + string(s.Outcome) + ")"
}

func at(path string) string {
	if path == "" {
		return ""
	}
	return " at " + code(path)
}

func physical(id string) string {
	if id == "" {
		return ""
	}
	return ", " + code(id)
}

func label(a plan.Action) string {
	l := labelsOf[a]
	if l == "" {
		return "Change"
	}
	return strings.ToUpper(l[:1]) + l[1:]
}

// destructive lists what is deleted or replaced, before anything else.
func (p *page) destructive() {
	if !planned(p.run) {
		return
	}
	var rows [][]string
	for _, action := range []plan.Action{plan.Delete, plan.Replace, plan.MayReplace} {
		for _, s := range p.run.Stacks {
			eachPlan(s.Plan, func(pl *plan.Plan) {
				for _, c := range pl.Changes {
					if c.Action == action {
						rows = append(rows, []string{"**" + labelsOf[action] + "**", code(c.LogicalID), code(c.Type), code(pl.Stack), strings.Join(reasons(p.run, c, code), "; ")})
					}
				}
			})
		}
	}
	if len(rows) > 0 {
		p.line("#### Deleted or replaced")
	}
	p.table([]string{"", "Resource", "Type", "Stack", "Why"}, rows)
}

// stack is the plan of a stack, folded property changes and its outputs.
func (p *page) stack(s *result.Stack) {
	eachPlan(s.Plan, func(pl *plan.Plan) {
		changes := important(pl)
		if len(changes) == 0 && len(pl.Outputs) == 0 {
			return
		}
		heading := "#### " + code(pl.Stack) + " in " + code(pl.Region)
		if pl != s.Plan {
			heading = "#### Nested stack " + code(pl.Stack)
		}
		show := func() {
			p.rows(changes)
			p.properties(changes)
			p.outputChanges(pl)
		}
		if planned(p.run) {
			p.line(heading)
			show()
			return
		}
		t := tally{}
		t.add(&plan.Plan{Changes: pl.Changes})
		p.folded("Plan of "+htmlCode(pl.Stack)+": "+t.String(), show)
	})
	if !planned(p.run) && s.Outputs.Len() > 0 {
		p.outputs(s)
	}
}

func (p *page) rows(changes []*plan.Change) {
	var rows [][]string
	for _, c := range changes {
		note := ""
		if a := annotation(c); a != "" {
			note = code(strings.TrimSpace(a))
		}
		rows = append(rows, []string{labelsOf[c.Action], code(c.LogicalID), code(c.Type), note})
	}
	head := []string{"", "Resource", "Type", "Provisioned"}
	if !slices.ContainsFunc(rows, func(r []string) bool { return r[3] != "" }) {
		head = head[:3]
		for i := range rows {
			rows[i] = rows[i][:3]
		}
	}
	p.table(head, rows)
}

func (p *page) properties(changes []*plan.Change) {
	changes = slices.DeleteFunc(slices.Clone(changes), func(c *plan.Change) bool {
		return len(c.Properties) == 0 && len(c.Attributes) == 0 || c.Action == plan.Create
	})
	if len(changes) == 0 {
		return
	}
	p.folded("Property changes", func() {
		for _, c := range changes {
			p.line("**" + labelsOf[c.Action] + "** " + code(c.LogicalID) + " (" + code(c.Type) + ")" + at(c.Path) + codeNote(c))
			p.line(fence("diff", difference(c)))
		}
	})
}

func codeNote(c *plan.Change) string {
	a := annotation(c)
	if a == "" {
		return ""
	}
	return " " + code(strings.TrimSpace(a))
}

func (p *page) outputChanges(pl *plan.Plan) {
	var rows [][]string
	exports := 0
	for _, o := range pl.Outputs {
		if madeByCDK(o.Name) {
			exports++
			continue
		}
		old, new := outputSides(o)
		name := code(o.Name)
		if o.Export {
			name += " (export)"
		}
		rows = append(rows, []string{labelsOf[o.Action], name, code(old), code(new)})
	}
	if len(rows) > 0 {
		p.line("**Outputs**")
	}
	p.table([]string{"", "Output", "Old", "New"}, rows)
	p.exports(exports)
}

// madeByCDK tells whether an output is one that the CDK adds by itself, for a
// stack that uses another's resource. There are many, and nobody wrote them.
func madeByCDK(name string) bool {
	if _, export, ok := strings.Cut(name, ":"); ok {
		name = export
	}
	return strings.HasPrefix(name, "ExportsOutput")
}

func (p *page) exports(n int) {
	if n > 0 {
		p.line(count(n, "output") + " more for other stacks of the app")
	}
}

// outputSides renders an output before and after, "" for an absent side.
func outputSides(o plan.OutputChange) (old, new string) {
	r := &redactor{}
	if o.HasOld && o.OldRedacted {
		old = hidden
	} else if o.HasOld {
		old = unmark(shorten(show(r.output(o.Name, o.Old, o.Secret))), false)
	}
	switch {
	case o.Unresolved:
		new = "(known after deploy)"
	case o.HasNew:
		new = unmark(shorten(show(r.output(o.Name, o.New, o.Secret))), o.HasOld)
	}
	return old, new
}

func (p *page) outputs(s *result.Stack) {
	var rows [][]string
	exports := 0
	for name, v := range s.Outputs.All() {
		if madeByCDK(name) {
			exports++
			continue
		}
		rows = append(rows, []string{code(name), code(outputValue(name, v))})
	}
	p.line("**Outputs of " + code(s.Name) + "**")
	p.table([]string{"Output", "Value"}, rows)
	p.exports(exports)
}

func outputValue(name string, v any) string {
	v = (&redactor{}).output(name, v, false)
	text, ok := value.Text(v)
	if !ok {
		text = value.JSON(v)
	}
	return shorten(unmark(text, false))
}

// important are the changes of a plan, those that destroy something first.
func important(pl *plan.Plan) []*plan.Change {
	var out []*plan.Change
	for _, a := range actions {
		for _, c := range pl.Changes {
			if c.Action == a {
				out = append(out, c)
			}
		}
	}
	return out
}

func eachPlan(p *plan.Plan, do func(*plan.Plan)) {
	if p == nil {
		return
	}
	do(p)
	for _, child := range p.Children {
		eachPlan(child, do)
	}
}

func footer(run *result.Run) string {
	return fmt.Sprintf("run %s", htmlCode(run.RunID))
}

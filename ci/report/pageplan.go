package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// destructive lists what is deleted or replaced, before anything else. What
// would make the list long is left to those of the stacks.
func (p *page) destructive() {
	var b strings.Builder
	more := 0
	for _, action := range []plan.Action{plan.Delete, plan.Replace, plan.MayReplace} {
		p.eachPlan(func(s *result.Stack, pl *plan.Plan) {
			for _, c := range pl.Changes {
				switch {
				case c.Action != action:
				case len(p.listed) == 2*few:
					more++
				default:
					p.listed[c] = true
					in := ""
					if len(p.run.Stacks) > 1 || pl != s.Plan {
						in = " in " + code(pl.Stack)
					}
					fmt.Fprintf(&b, "- **%s** %s (%s)%s%s%s\n", labelsOf[action], code(c.LogicalID), code(c.Type), in, note(c), why(p.run, c))
				}
			}
		})
	}
	if more > 0 {
		fmt.Fprintf(&b, "- and %d more, in the lists below\n", more)
	}
	if b.Len() > 0 {
		p.alert("CAUTION", b.String())
	}
}

func why(run *result.Run, c *plan.Change) string {
	if reasons := reasons(run, c, code); len(reasons) > 0 {
		return ": " + strings.Join(reasons, "; ")
	}
	return ""
}

// note is the annotation of a row as a code span, with a blank before it.
func note(c *plan.Change) string {
	if a := annotation(c); a != "" {
		return " " + code(a)
	}
	return ""
}

// stack is the plan of a stack: its rows, property changes and outputs.
func (p *page) stack(s *result.Stack) {
	eachPlan(s.Plan, func(pl *plan.Plan) {
		changes := important(pl)
		nothingMore := func(c *plan.Change) bool { return p.listed[c] && len(c.Properties)+len(c.Attributes) == 0 }
		if len(pl.Outputs) == 0 && !slices.ContainsFunc(changes, func(c *plan.Change) bool { return !nothingMore(c) }) {
			return
		}
		show := func() {
			p.rows(changes)
			p.properties(changes)
			p.outputChanges(pl)
		}
		if !planned(p.run) {
			p.folded("Plan of "+htmlCode(pl.Stack)+": "+cmp.Or(toDo(pl.Counts()), "only outputs"), false, show)
			return
		}
		heading := "#### " + code(pl.Stack) + " in " + code(s.Place())
		if pl != s.Plan {
			heading = "#### Nested stack " + code(pl.Stack)
		}
		p.line(heading)
		if pl == s.Plan {
			p.chain(s)
		}
		show()
	})
}

// rows lists what happens to resources. Many are folded.
func (p *page) rows(changes []*plan.Change) {
	var rows [][]string
	n := plan.Counts{}
	for _, c := range changes {
		if !p.listed[c] {
			n[c.Action]++
			note := annotation(c)
			if onlyPropagated(c) {
				note += " " + strings.Join(names(c), ", ") + ":" + replacementPropagated
			}
			rows = append(rows, []string{labelsOf[c.Action], code(c.LogicalID), code(c.Type), code(note)})
		}
	}
	show := func() { p.line(table([]string{"", "Resource", "Type", "Note"}, rows)) }
	switch {
	case len(rows) > few && planned(p.run):
		p.folded(amount.Of(len(rows), "resource")+": "+toDo(n), false, show)
	case len(rows) > 0:
		show()
	}
}

// onlyPropagated tells whether nothing in a resource differs but what it refers
// to, which is replaced. Its row says so.
func onlyPropagated(c *plan.Change) bool {
	return c.Action == plan.Update && len(c.Properties) > 0 && len(c.Attributes) == 0 &&
		!slices.ContainsFunc(c.Properties, func(p plan.PropertyChange) bool { return propertyMarks(p) != replacementPropagated })
}

func names(c *plan.Change) []string {
	var names []string
	for _, p := range c.Properties {
		names = append(names, p.Path)
	}
	return names
}

// properties shows what changes below resources. Little is shown at once.
func (p *page) properties(changes []*plan.Change) {
	var blocks []string
	lines := 0
	for _, c := range changes {
		if len(c.Properties)+len(c.Attributes) == 0 || onlyPropagated(c) {
			continue
		}
		text := difference(c)
		lines += strings.Count(text, "\n")
		blocks = append(blocks,
			"**"+labelsOf[c.Action]+"** "+code(c.LogicalID)+" ("+code(c.Type)+")"+at(c.Path)+note(c), fence("diff", text))
	}
	if len(blocks) == 0 {
		return
	}
	p.folded("Property changes", planned(p.run) && lines <= 2*few, func() {
		for _, b := range blocks {
			p.line(b)
		}
	})
}

func (p *page) outputChanges(pl *plan.Plan) {
	var b strings.Builder
	n, made := 0, 0
	for _, o := range pl.Outputs {
		if madeByCDK(o.Name) {
			if !o.Export { // which says the same again
				made++
			}
			continue
		}
		n++
		b.WriteString(outputDifference(o))
	}
	if b.Len() > 0 || made > 0 {
		p.line("**Outputs**")
	}
	show := func() { p.line(fence("diff", b.String())) }
	switch {
	case n > few:
		p.folded(amount.Of(n, "output"), false, show)
	case n > 0:
		show()
	}
	p.madeByCDK(made)
}

// changing are the changes of a plan that do something.
func changing(p *plan.Plan) []*plan.Change {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c *plan.Change) bool { return c.Action == plan.NoChange })
}

// important are the same, those that destroy something first.
func important(p *plan.Plan) []*plan.Change {
	return slices.SortedStableFunc(slices.Values(changing(p)), func(a, b *plan.Change) int {
		return cmp.Compare(slices.Index(actions, a.Action), slices.Index(actions, b.Action))
	})
}

func (p *page) eachPlan(do func(*result.Stack, *plan.Plan)) {
	for _, s := range p.run.Stacks {
		eachPlan(s.Plan, func(pl *plan.Plan) { do(s, pl) })
	}
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

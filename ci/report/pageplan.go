package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// destructive lists what is deleted or replaced, before anything else. What
// would make the list long is left to those of the stacks.
func (p *page) destructive() {
	const most = 2 * few
	var rows [][]string
	more := 0
	for _, action := range []plan.Action{plan.Delete, plan.Replace, plan.MayReplace} {
		p.eachPlan(func(s *result.Stack, pl *plan.Plan) {
			for _, c := range pl.Changes {
				switch {
				case c.Action != action:
				case len(rows) == most:
					more++
				default:
					p.listed[c] = true
					stack := ""
					if len(p.run.Stacks) > 1 || pl != s.Plan {
						stack = code(pl.Stack)
					}
					rows = append(rows, []string{"**" + labelsOf[action] + "**", code(c.LogicalID), code(c.Type), stack,
						strings.Join(reasons(p.run, c, code), "; "), code(annotation(c))})
				}
			}
		})
	}
	if len(rows) == 0 {
		return
	}
	text := table([]string{"", "Resource", "Type", "Stack", "Why", "Note"}, rows)
	if more > 0 {
		text += fmt.Sprintf("\nand %d more, in the lists below\n", more)
	}
	p.alert("CAUTION", text)
}

// stack is the plan of a stack: its rows, property changes and outputs.
func (p *page) stack(s *result.Stack) {
	eachPlan(s.Plan, func(pl *plan.Plan) {
		changes := important(pl)
		if len(changes) == 0 && len(pl.Outputs) == 0 {
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
		heading := "#### " + code(pl.Stack) + " in " + code(pl.Region)
		if pl != s.Plan {
			heading = "#### Nested stack " + code(pl.Stack)
		}
		p.line(heading)
		show()
	})
	if !planned(p.run) {
		p.outputs(s)
	}
}

// rows lists what happens to resources. Many are folded.
func (p *page) rows(changes []*plan.Change) {
	var rows [][]string
	n := plan.Counts{}
	for _, c := range changes {
		if !p.listed[c] {
			n[c.Action]++
			rows = append(rows, []string{labelsOf[c.Action], code(c.LogicalID), code(c.Type), code(annotation(c))})
		}
	}
	show := func() { p.line(table([]string{"", "Resource", "Type", "Note"}, rows)) }
	switch {
	case len(rows) > few:
		p.folded(count(len(rows), "resource")+": "+toDo(n), false, show)
	case len(rows) > 0:
		show()
	}
}

// properties shows what changes below resources. Little is shown at once.
func (p *page) properties(changes []*plan.Change) {
	var blocks []string
	lines := 0
	for _, c := range changes {
		if len(c.Properties)+len(c.Attributes) == 0 {
			continue
		}
		text := difference(c)
		lines += strings.Count(text, "\n")
		note := ""
		if a := annotation(c); a != "" {
			note = " " + code(a)
		}
		blocks = append(blocks,
			"**"+labelsOf[c.Action]+"** "+code(c.LogicalID)+" ("+code(c.Type)+")"+at(c.Path)+note, fence("diff", text))
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
	made := 0
	for _, o := range pl.Outputs {
		if madeByCDK(o.Name) {
			made++
			continue
		}
		b.WriteString(outputDifference(o))
	}
	if b.Len() > 0 || made > 0 {
		p.line("**Outputs**")
	}
	show := func() { p.line(fence("diff", b.String())) }
	switch n := len(pl.Outputs) - made; {
	case n > few:
		p.folded(count(n, "output"), false, show)
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

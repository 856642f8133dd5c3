package report

import (
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/exposure"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// exposures shows who could do or reach more, or less. Of what a policy says
// only names are shown: principals, actions, resources, and of conditions the
// keys.
func (p *page) exposures() {
	var rows [][]string
	var public strings.Builder
	n := map[exposure.Kind]int{}
	for _, s := range p.run.Stacks {
		eachPlan(s.Plan, func(pl *plan.Plan) {
			for _, r := range p.rules[pl] {
				n[r.Kind]++
				stack := ""
				if len(p.run.Stacks) > 1 || pl != s.Plan {
					stack = code(pl.Stack)
				}
				if r.Broadens() && r.Public() {
					fmt.Fprintf(&public, "- %s (%s) lets in **everybody**: %s\n", code(r.Change.LogicalID), code(r.Change.Type), code(r.What))
				}
				rows = append(rows, []string{effect(r), stack, code(r.Change.LogicalID), cell(r.Who), cell(r.What), cell(r.On), cell(r.Conditions)})
			}
		})
	}
	if len(rows) == 0 {
		return
	}
	if public.Len() > 0 {
		p.alert("WARNING", public.String())
	}
	show := func() {
		p.line(table([]string{"", "Stack", "Resource", "Who", "What", "On", "If"}, rows))
	}
	var parts []string
	if k := n[exposure.Permission]; k > 0 {
		parts = append(parts, amount.Of(k, "permission"))
	}
	if k := n[exposure.Network]; k > 0 {
		parts = append(parts, amount.Of(k, "network rule"))
	}
	p.folded("<b>Who may do and reach what:</b> "+strings.Join(parts, " and ")+" would change", len(rows) <= few, show)
}

func cell(text string) string { return code(shorten(text, wide)) }

func effect(r exposure.Rule) string {
	what := "allow"
	if r.Deny {
		what = "forbid"
	}
	switch {
	case !r.Added && r.Deny:
		return "**stop forbidding**"
	case !r.Added:
		return "stop allowing"
	case r.Public():
		return "**" + what + "**"
	}
	return what
}

// rulesOf finds what the plans change about who may do what, before what may
// not be shown is taken out of them: it is names that the rules are made of.
func rulesOf(run, shown *result.Run) map[*plan.Plan][]exposure.Rule {
	out := map[*plan.Plan][]exposure.Rule{}
	var both func(a, b *plan.Plan)
	both = func(a, b *plan.Plan) {
		if a == nil {
			return
		}
		out[b] = exposure.Of(a)
		for i, child := range a.Children {
			both(child, b.Children[i])
		}
	}
	for i, s := range run.Stacks {
		both(s.Plan, shown.Stacks[i].Plan)
	}
	return out
}

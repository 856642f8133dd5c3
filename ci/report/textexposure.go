package report

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/org/cdkd-action/engine/exposure"
	"github.com/org/cdkd-action/engine/plan"
)

// exposureText is the table of who may do or reach more, or less, when a plan and
// those of its nested stacks are carried out: "" when nobody does. Like the table
// of [Markdown] it has names only.
func exposureText(p *plan.Plan) string {
	var b strings.Builder
	for _, part := range []struct {
		kind        exposure.Kind
		title, head string
	}{
		{exposure.Permission, "Permission changes", "RESOURCE\tEFFECT\tWHO\tWHAT\tON\tIF"},
		{exposure.Network, "Network rule changes", "RESOURCE\tEFFECT\tWHO\tWHAT\t\t"},
	} {
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		n := 0
		eachPlan(p, func(pl *plan.Plan) {
			for _, r := range exposure.Of(pl) {
				if r.Kind != part.kind {
					continue
				}
				if n++; n == 1 {
					fmt.Fprintf(w, "\n%s:\n  \t%s\n", part.title, part.head)
				}
				sign, resource := "[-]", r.Change.LogicalID
				if r.Added {
					sign = "[+]"
				}
				if pl != p {
					resource = pl.Stack + "/" + resource
				}
				effect := "Allow"
				if r.Deny {
					effect = "Deny"
				}
				fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\n", sign, cellText(resource), effect, cellText(r.Who), cellText(r.What), cellText(r.On), cellText(r.Conditions))
			}
		})
		w.Flush() // into memory
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n")+"\n")
	}
	return strings.Join(lines, "")
}

func cellText(text string) string { return oneLine(shorten(text, 120)) }

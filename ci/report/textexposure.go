package report

import (
	"strings"

	grid "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/org/cdkd-action/engine/exposure"
	"github.com/org/cdkd-action/engine/plan"
)

// exposureText is the table of who may do or reach more, or less, when a plan and
// those of its nested stacks are carried out: "" when nobody does. Like the table
// of [Markdown] it has names only.
func exposureText(p *plan.Plan) string {
	var b strings.Builder
	for _, part := range []struct {
		kind  exposure.Kind
		title string
		head  grid.Row
	}{
		{exposure.Permission, "Permission changes", grid.Row{"", "RESOURCE", "EFFECT", "WHO", "WHAT", "ON", "IF"}},
		{exposure.Network, "Network rule changes", grid.Row{"", "RESOURCE", "EFFECT", "WHO", "WHAT"}},
	} {
		w := cells()
		eachPlan(p, func(pl *plan.Plan) {
			for _, r := range exposure.Of(pl) {
				if r.Kind != part.kind {
					continue
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
				row := grid.Row{sign, cellText(resource), effect, cellText(r.Who), cellText(r.What), cellText(r.On), cellText(r.Conditions)}
				w.AppendRow(row[:len(part.head)])
			}
		})
		if w.Length() > 0 {
			w.AppendHeader(part.head)
			b.WriteString("\n" + part.title + ":\n")
			for line := range strings.Lines(w.Render()) {
				b.WriteString(strings.TrimRight("  "+line, " \n") + "\n")
			}
		}
	}
	return b.String()
}

// cells is a table without lines whose long cells go on below.
func cells() grid.Writer {
	const width = 32
	t := grid.NewWriter()
	style := grid.StyleDefault
	style.Options = grid.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	var columns []grid.ColumnConfig
	for n := range 7 {
		columns = append(columns, grid.ColumnConfig{Number: n + 1, WidthMax: width, WidthMaxEnforcer: text.WrapSoft})
	}
	t.SetColumnConfigs(columns)
	return t
}

func cellText(text string) string { return oneLine(shorten(text, 120)) }

package report

import (
	"github.com/org/cdkd-action/engine/plan"

	"github.com/org/cdkd-action/engine/amount"
)

// Line makes text from outside fit for one line of a log: nothing in it moves
// the cursor or ends the line.
func Line(text string) string { return oneLine(text) }

// Summary says in a few words what a plan would do.
func Summary(p *plan.Plan) string {
	n := countsOf(p)
	unchanged := amount.Of(n[plan.NoChange], "resource") + " unchanged"
	text := toDo(n)
	switch {
	case text == "" && len(p.Outputs) == 0:
		return "nothing to do, " + unchanged
	case text == "":
		text = "only outputs change"
	}
	if n[plan.NoChange] > 0 {
		text += " · " + unchanged
	}
	return text
}

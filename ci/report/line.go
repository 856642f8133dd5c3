package report

import (
	"github.com/org/cdkd-action/engine/plan"
)

// Line makes text from outside fit for one line of a log: nothing in it moves
// the cursor or ends the line.
func Line(text string) string { return oneLine(text) }

// Summary says in a few words what a plan would do.
func Summary(p *plan.Plan) string {
	t := tally{}
	t.add(p)
	n := t[plan.NoChange]
	delete(t, plan.NoChange)
	if len(t) == 0 && len(p.Outputs) == 0 {
		return "nothing to do, " + count(n, "resource") + " unchanged"
	}
	text := t.String()
	if text == "" {
		text = "only outputs change"
	}
	if n > 0 {
		text += " · " + count(n, "resource") + " unchanged"
	}
	return text
}

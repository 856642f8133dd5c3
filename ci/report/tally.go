package report

import (
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// actions are in the order in which people should meet them.
var actions = []plan.Action{plan.Delete, plan.Replace, plan.MayReplace, plan.Retain, plan.Update, plan.Create}

// labelsOf say what a planned action is.
var labelsOf = map[plan.Action]string{
	plan.Delete:     "delete",
	plan.Replace:    "replace",
	plan.MayReplace: "may replace",
	plan.Retain:     "leave in AWS",
	plan.Update:     "update",
	plan.Create:     "create",
}

// verb says what would be done, where it differs from the label.
func verb(a plan.Action, n int) string {
	switch a {
	case plan.MayReplace:
		return fmt.Sprintf("perhaps replace %d", n)
	case plan.Retain:
		return fmt.Sprintf("leave %d in AWS", n)
	}
	return fmt.Sprintf("%s %d", labelsOf[a], n)
}

// countsOf counts what a plan and its nested stacks would do.
func countsOf(p *plan.Plan) plan.Counts {
	n := plan.Counts{}
	eachPlan(p, func(p *plan.Plan) { n.Add(p.Counts()) })
	return n
}

func runCounts(run *result.Run) plan.Counts {
	n := plan.Counts{}
	for _, s := range run.Stacks {
		n.Add(countsOf(s.Plan))
	}
	return n
}

// toDo is "1 to delete · 2 to create".
func toDo(n plan.Counts) string {
	var parts []string
	for _, a := range actions {
		if n[a] > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n[a], strings.Replace(labelsOf[a], "may", "perhaps", 1)))
		}
	}
	return strings.Join(parts, " · ")
}

// outputsToDo is "1 output to add", "2 outputs to change", ….
func outputsToDo(run *result.Run) []string {
	n := plan.Counts{}
	for _, s := range run.Stacks {
		eachPlan(s.Plan, func(p *plan.Plan) {
			for _, o := range p.Outputs {
				if !madeByCDK(o.Name) {
					n[o.Action]++
				}
			}
		})
	}
	var parts []string
	for _, kind := range []struct {
		action plan.Action
		what   string
	}{{plan.Delete, "to remove"}, {plan.Update, "to change"}, {plan.Create, "to add"}} {
		if n[kind.action] > 0 {
			parts = append(parts, amount.Of(n[kind.action], "output")+" "+kind.what)
		}
	}
	return parts
}

// done is "2 created · 1 failed".
func done(c result.Counts) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{c.Failed, "failed"}, {c.Deleted, "deleted"}, {c.Updated, "updated"}, {c.Created, "created"}, {c.Skipped, "left"}, {c.Unchanged, "unchanged"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, " · ")
}

// reasons say why a change destroys or replaces something.
func reasons(run *result.Run, c *plan.Change, quote func(string) string) []string {
	switch c.Action {
	case plan.Delete:
		gone := []string{"it is not in the template any more"}
		if run.Command == "destroy" {
			gone = []string{"the stack is destroyed"}
		}
		switch {
		case c.DeletionPolicy == "Snapshot" && plan.TakesFinalSnapshot(c.Type):
			gone = append(gone, "a final snapshot is taken")
		case plan.Stateful(c.Type):
			gone = append(gone, "**it may hold data**")
		}
		return gone
	case plan.Retain:
		return []string{"it is not in the template any more and its DeletionPolicy keeps it"}
	}
	var why []string
	if c.Recreate != "" {
		why = append(why, "it is to be made anew, as asked for")
	}
	var propagated, fixed, perhaps []string
	for _, p := range c.Properties {
		switch {
		case p.Replaces && p.Path == "Type":
			why = append(why, "its type changes")
		case p.Propagated && (p.Replaces || p.MayReplace):
			propagated = append(propagated, quote(p.Path))
		case p.Replaces:
			fixed = append(fixed, quote(p.Path))
		case p.MayReplace:
			perhaps = append(perhaps, quote(p.Path))
		}
	}
	for _, group := range []struct {
		names     []string
		one, many string
	}{
		{fixed, "cannot be changed in place", "cannot be changed in place"},
		{propagated, "refers to a resource that is replaced", "refer to resources that are replaced"},
		{perhaps, "may not be changeable in place", "may not be changeable in place"},
	} {
		switch len(group.names) {
		case 0:
		case 1:
			why = append(why, group.names[0]+" "+group.one)
		default:
			why = append(why, strings.Join(group.names, ", ")+" "+group.many)
		}
	}
	switch {
	case plan.Keeps(c.UpdateReplacePolicy):
		why = append(why, "the old one is kept in AWS")
	case plan.Stateful(c.Type):
		why = append(why, "**it may hold data**")
	}
	return why
}

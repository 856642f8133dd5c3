package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// planned tells whether a run only says what would be done.
func planned(run *result.Run) bool {
	return run.Command == "diff" || run.Command == "check" || run.DryRun ||
		run.Outcome == result.ApprovalRequired || run.Outcome == result.PlanChanged
}

// Title says in one line of plain text what will happen, or what did.
func Title(run *result.Run) string { return title(run, oneLine) }

func title(run *result.Run, name func(string) string) string {
	subject := "the app"
	switch {
	case len(run.Stacks) == 1:
		subject = name(run.Stacks[0].Name)
	case len(run.Stacks) > 1:
		subject = fmt.Sprintf("%d stacks", len(run.Stacks))
	}
	command, did := "Deploy", "Deployed"
	switch run.Command {
	case "destroy":
		command, did = "Destroy", "Destroyed"
	case "rollback":
		command, did = "Rollback", "Rolled back"
	case "diff":
		command = "Diff"
	case "check":
		command = "Check"
	}
	switch run.Outcome {
	case result.Cancelled:
		return command + " of " + subject + " was cancelled"
	case result.Locked:
		return locked(run, subject, name)
	case result.PlanChanged:
		return "What would be done to " + subject + " is not what was reviewed"
	case result.ApprovalRequired:
		return command + " of " + subject + " needs approval"
	case result.Drifted:
		return capital(subject) + " drifted"
	case result.Failed:
		if planned(run) && run.Command == "diff" && !failed(run) {
			break // what differs is the failure
		}
		if one := onlyFailed(run); one != nil {
			subject = name(one.Name)
			run = &result.Run{Stacks: []*result.Stack{one}}
		}
		return command + " of " + subject + " failed" + rolledBack(run)
	case result.Partial:
		if refused(run) {
			return command + " of " + subject + " was refused, and nothing was done"
		}
		n := 0
		for _, s := range run.Stacks {
			for _, u := range s.Unaddressed {
				if u.LogicalID != "" {
					n++
				}
			}
		}
		left := "something" // not a resource
		if n > 0 {
			left = amount.Of(n, "resource")
		}
		return fmt.Sprintf("%s %s, with %s left to take care of", did, subject, left)
	}
	if planned(run) {
		return wouldChange(run, whereChanged(run, subject, name))
	}
	c := run.Counts()
	c.Unchanged = 0
	if text := done(c); text != "" {
		return did + " " + subject + ": " + strings.ReplaceAll(text, " · ", ", ")
	}
	if run.Outcome == result.NoChange {
		return capital(subject) + ": no changes"
	}
	return did + " " + subject
}

// whereChanged is the subject of a plan: of several stacks, those that change.
func whereChanged(run *result.Run, all string, name func(string) string) string {
	changed := slices.DeleteFunc(slices.Clone(run.Stacks), func(s *result.Stack) bool { return !s.Changed })
	switch {
	case len(changed) == 0 || len(changed) == len(run.Stacks):
		return all
	case len(changed) == 1:
		return fmt.Sprintf("%s, 1 of %s", name(changed[0].Name), all)
	}
	return fmt.Sprintf("%d of %s", len(changed), all)
}

func wouldChange(run *result.Run, subject string) string {
	text := wouldDo(runCounts(run))
	switch templates := fromTemplates(run); {
	case text != "" && templates:
		return "Compared with the base branch, this would " + text + " in " + subject
	case text != "":
		return "This would " + text + " in " + subject
	case templates && run.Changed():
		return "Compared with the base branch, no resources change in " + subject
	case templates:
		return "No changes in " + subject + " compared with the base branch"
	case run.Changed():
		return "This would change only outputs of " + subject
	}
	return "No changes in " + subject
}

// fromTemplates tells whether a run compared templates and asked nothing of AWS.
func fromTemplates(run *result.Run) bool {
	return slices.ContainsFunc(run.Stacks, func(s *result.Stack) bool { return s.Plan != nil && s.Plan.FromTemplates })
}

// onlyTemplates says what that means.
const onlyTemplates = "This compares templates, not what is deployed: the run has no AWS credentials, as is usual for a pull request from a fork. " +
	"What is deployed may be of another revision, and this does not count as a reviewed plan."

// wouldDo is "delete 1 resource, replace 2 and create 3", "" for nothing.
func wouldDo(n plan.Counts) string {
	var parts []string
	for _, a := range actions {
		switch {
		case n[a] == 0:
		case len(parts) == 0:
			parts = append(parts, strings.Replace(verb(a, n[a]), fmt.Sprint(n[a]), amount.Of(n[a], "resource"), 1))
		default:
			parts = append(parts, verb(a, n[a]))
		}
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// refused tells whether a run was kept from doing anything: what is left are
// stacks as a whole.
func refused(run *result.Run) bool {
	return !slices.ContainsFunc(run.Stacks, func(s *result.Stack) bool {
		return s.Changed || s.Outcome != result.Partial || slices.ContainsFunc(s.Unaddressed, func(u result.Unaddressed) bool { return u.LogicalID != "" })
	})
}

func failed(run *result.Run) bool {
	return run.Message != "" || slices.ContainsFunc(run.Stacks, func(s *result.Stack) bool {
		return s.Message != "" || len(s.Failures) > 0
	})
}

// locked says which of a run's stacks others hold.
func locked(run *result.Run, subject string, name func(string) string) string {
	var names []string
	for _, s := range run.Stacks {
		if s.Outcome == result.Locked {
			names = append(names, s.Name)
		}
	}
	switch {
	case len(run.Stacks) < 2:
		return capital(subject) + " is locked by another run"
	case len(names) == 1:
		return name(names[0]) + " is locked by another run"
	}
	return fmt.Sprintf("%d of %s are locked by another run", len(names), subject)
}

// onlyFailed is the one stack that a run failed for, nil when there are more.
func onlyFailed(run *result.Run) *result.Stack {
	var one *result.Stack
	for _, s := range run.Stacks {
		if s.Outcome == result.Failed {
			if one != nil {
				return nil
			}
			one = s
		}
	}
	return one
}

func rolledBack(run *result.Run) string {
	n, incomplete := 0, 0
	for _, s := range run.Stacks {
		switch {
		case s.RollbackIncomplete:
			incomplete++
		case s.RolledBack:
			n++
		}
	}
	switch {
	case incomplete == 1 && len(run.Stacks) == 1:
		return ", and its rollback is incomplete"
	case incomplete > 0:
		return fmt.Sprintf("; the rollback of %s is incomplete", amount.Of(incomplete, "stack"))
	case n == 0:
		return ""
	case n == len(run.Stacks):
		return " and was rolled back"
	}
	return fmt.Sprintf("; %s rolled back", amount.Of(n, "stack"))
}

// capital makes our own words begin a sentence; names stay as they are.
func capital(text string) string {
	if strings.HasPrefix(text, "the ") {
		return "T" + text[1:]
	}
	return text
}

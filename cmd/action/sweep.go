package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/github"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// sweep destroys the stacks of pull requests that are closed. A stack whose name
// names no pull request that GitHub knows stays, and so does every one when
// GitHub cannot be asked.
func (s *step) sweep(ctx context.Context) error {
	reads, cancel := s.window.Interruptible(ctx)
	defer cancel()
	refs, err := s.engine.StateList(reads)
	if err != nil {
		return s.refuse(err)
	}
	numbers := map[state.Ref]int{}
	for _, pattern := range s.in.Stacks {
		name := pullPattern(pattern)
		for _, r := range refs {
			if m := name.FindStringSubmatch(r.Stack); m != nil {
				if n, err := strconv.Atoi(m[1]); err == nil { // else it is no pull request's
					numbers[r] = n
				}
			}
		}
	}
	asked := slices.Compact(slices.Sorted(maps.Values(numbers)))
	states, err := github.PullStates(reads, s.surface.Getenv, s.commentOptions(), asked)
	if err != nil {
		return s.refuse(&engine.InputError{
			What: fmt.Sprintf("nothing was destroyed, because it is not known which pull requests are closed: %v", err),
			Next: "give github-token a token that may read pull requests (in a workflow the job needs the permission pull-requests: read), or destroy the stacks by name with state destroy",
			Page: guide.GitHub,
		})
	}
	var gone []state.Ref
	for _, r := range refs { // in their order
		n, ours := numbers[r]
		switch {
		case !ours:
		case states[n] == github.PullClosed:
			gone = append(gone, r)
			s.log.Info().Msg(report.Line(fmt.Sprintf("%s: pull request %d is closed", r.Stack, n)))
		case states[n] == github.PullOpen:
			s.log.Info().Msg(report.Line(fmt.Sprintf("%s: pull request %d is open", r.Stack, n)))
		default:
			s.surface.Warning(ci.Annotation{Title: "Stack " + r.Stack, Message: fmt.Sprintf("left alone: there is no pull request %d, or the token may not see it", n)})
		}
	}
	if len(gone) == 0 || s.in.DryRun {
		s.done(len(gone) > 0)
		return s.show(sweptJSON(gone, numbers), sweptText(gone, numbers))
	}
	return s.takeDown(ctx, engine.RecordSelection{Refs: gone}, true)
}

func sweptJSON(gone []state.Ref, numbers map[state.Ref]int) []any {
	all := []any{}
	for _, r := range gone {
		all = append(all, value.NewObject("stack", r.Stack, "region", r.Region, "pullRequest", value.Int(numbers[r])))
	}
	return all
}

func sweptText(gone []state.Ref, numbers map[state.Ref]int) string {
	var b strings.Builder
	for _, r := range gone {
		fmt.Fprintf(&b, "%s, of pull request %d\n", refText(r), numbers[r])
	}
	fmt.Fprintf(&b, "%d of %s of pull requests would be destroyed", len(gone), amount.Of(len(numbers), "stack"))
	return b.String()
}

// pullPattern is the expression for stack names that a pattern stands for: {pr}
// is the number of a pull request, * any text.
func pullPattern(pattern string) *regexp.Regexp {
	text := regexp.QuoteMeta(pattern)
	text = strings.Replace(text, regexp.QuoteMeta("{pr}"), "([1-9][0-9]*)", 1)
	return regexp.MustCompile("^" + strings.ReplaceAll(text, `\*`, ".*") + "$")
}

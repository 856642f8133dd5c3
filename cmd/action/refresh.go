package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

func (s *step) stateRefresh(ctx context.Context) error {
	all, err := s.engine.RefreshObserved(ctx, engine.RefreshOptions{
		RecordSelection: engine.RecordSelection{Stacks: s.in.Stacks, All: s.in.All, Region: strings.ToLower(s.in.StackRegion)},
		DryRun:          s.in.DryRun,
	})
	if err != nil && len(all) == 0 {
		return s.refuse(err)
	}
	shown := s.show(refreshedJSON(all), refreshedText(all, s.in.DryRun))
	if err != nil {
		return s.refusal(err)
	}
	failed, changed := 0, false
	for _, r := range all {
		if r.Err != nil && err == nil {
			err = r.Err
		} else if r.Err != nil {
			s.surface.Error(s.annotation("Stack "+refText(r.Ref), r.Err))
		}
		for _, row := range r.Resources {
			switch row.Refresh {
			case engine.Refreshed:
				changed = true
			case engine.RefreshFailed:
				failed++
			}
		}
	}
	if err != nil {
		return s.refusal(err)
	}
	s.done(changed && !s.in.DryRun)
	if failed == 0 || shown != nil {
		return shown
	}
	s.surface.Error(ci.Annotation{Title: "cdkd-action", Message: fmt.Sprintf("%s could not be read; what is recorded stays", amount.Of(failed, "resource")), Page: guide.NotReadable.URL(version)})
	return s.partial(result.ReasonResource)
}

// partial ends a command that did not do all that it was asked; reason is "" where
// nothing failed.
func (s *step) partial(reason result.Reason) error {
	s.set("outcome", string(result.Partial))
	s.set("failure-reason", string(reason))
	s.set("exit-code", fmt.Sprint(result.Partial.ExitCode()))
	return ended(s.in.StepCode(result.Partial, result.Partial.ExitCode()))
}

func refreshedText(all []engine.RefreshedStack, dryRun bool) string {
	var b strings.Builder
	for _, s := range all {
		counts := map[engine.Refresh]int{}
		for _, r := range s.Resources {
			counts[r.Refresh]++
		}
		done := "refreshed"
		if dryRun {
			done = "to refresh"
		}
		fmt.Fprintf(&b, "%s: %d %s, %d unchanged", refText(s.Ref), counts[engine.Refreshed], done, counts[engine.RefreshSame])
		for _, more := range []struct {
			kind engine.Refresh
			text string
		}{
			{engine.RefreshRefused, "of which none may be recorded"}, {engine.RefreshOpen, "with an operation still open"},
			{engine.Unreadable, "that nothing can read"}, {engine.RefreshFailed, "failed"},
		} {
			if n := counts[more.kind]; n > 0 {
				fmt.Fprintf(&b, ", %d %s", n, more.text)
			}
		}
		b.WriteString("\n")
		for _, r := range s.Resources {
			if r.Reason != "" {
				fmt.Fprintf(&b, "  %s (%s): %s\n", report.Line(r.LogicalID), report.Line(r.Type), report.Line(r.Reason))
			}
		}
	}
	return b.String()
}

func refreshedJSON(all []engine.RefreshedStack) []any {
	list := []any{}
	for _, s := range all {
		resources := []any{}
		for _, r := range s.Resources {
			o := value.NewObject("logicalId", r.LogicalID, "resourceType", r.Type, "outcome", string(r.Refresh))
			if r.Reason != "" {
				o.Set("reason", r.Reason)
			}
			resources = append(resources, o)
		}
		list = append(list, value.NewObject("stackName", s.Stack, "region", regionJSON(s.Ref), "resources", resources))
	}
	return list
}

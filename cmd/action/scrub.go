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

func (s *step) scrub(ctx context.Context) error {
	sel, err := s.selectionAndState(ctx)
	if err != nil {
		return s.refuse(err)
	}
	all, err := s.engine.Scrub(ctx, engine.ScrubOptions{Selection: sel, Parameters: s.in.Parameters, DryRun: s.in.DryRun, LockWait: s.in.LockWait})
	if err != nil && len(all) == 0 {
		return s.refuse(err)
	}
	shown := s.show(scrubbedJSON(all), scrubbedText(all, s.in.DryRun))
	if err != nil {
		return s.refusal(err)
	}
	if shown != nil {
		return shown
	}
	return s.scrubbed(all)
}

// scrubbed ends a scrub by what was found.
func (s *step) scrubbed(all []engine.Scrubbed) error {
	var left, named []string
	var reason result.Reason
	found := false
	for _, r := range all {
		if r.Err != nil {
			left = append(left, refText(r.Ref))
			if _, why := engine.Classify(r.Err); reason == "" {
				reason = why
			}
			s.surface.Error(s.annotation("Stack "+refText(r.Ref), r.Err))
		}
		if len(r.Keys) > 0 {
			named = append(named, refText(r.Ref))
		}
		found = found || !r.Clean()
	}
	s.done(found && !s.in.DryRun)
	if found {
		stand := "stood"
		if s.in.DryRun {
			stand = "stand"
		}
		s.surface.Warning(ci.Annotation{Title: "Secrets", Message: "secrets " + stand + " in clear in the state bucket; whoever could read it may know them: rotate them", Page: guide.SecretsRecorded.URL(version)})
	}
	switch {
	case left != nil:
		s.surface.Error(ci.Annotation{Title: "cdkd-action", Message: "not scrubbed, or not all: " + strings.Join(left, ", ")})
		return s.partial(reason)
	case named != nil && !s.in.DryRun:
		return s.failed(result.ReasonInput, guide.SecretInName, "names of what is recorded hold a secret, and are not changed; rename them in the app and deploy: "+strings.Join(named, ", "))
	case found && s.in.Fail:
		return s.failed(result.ReasonInput, guide.SecretsRecorded, "secrets were found in what is recorded")
	}
	return nil
}

// failed ends a command that did its work and has to say no.
func (s *step) failed(reason result.Reason, page guide.Page, message string) error {
	s.surface.Error(ci.Annotation{Title: "cdkd-action", Message: message, Page: page.URL(version)})
	s.set("outcome", string(result.Failed))
	s.set("failure-reason", string(reason))
	s.set("exit-code", fmt.Sprint(result.Failed.ExitCode()))
	return ended(result.Failed.ExitCode())
}

func scrubbedText(all []engine.Scrubbed, dryRun bool) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s: %s\n", refText(s.Ref), scrubbedSummary(s, dryRun))
		for _, place := range s.Found {
			fmt.Fprintf(&b, "  %s\n", report.Line(place))
		}
		for _, place := range s.Keys {
			fmt.Fprintf(&b, "  name: %s\n", report.Line(place))
		}
	}
	return b.String()
}

// scrubbedSummary does not say "no secrets" where that is not known, nor where
// nothing was there to hold any.
func scrubbedSummary(s engine.Scrubbed, dryRun bool) string {
	switch {
	case !s.Recorded && s.Err == nil:
		return "nothing is recorded"
	case s.Clean() && s.Err == nil:
		return "no secrets"
	case s.Clean():
		return "not looked through, or not all of it; why is in the log"
	}
	done, gone := "replaced", ""
	if dryRun {
		done = "to replace"
	} else if s.Err == nil && s.Versions > 0 {
		gone = " removed"
	}
	return fmt.Sprintf("%d %s, %d in names, %s with secrets%s", len(s.Found), done, len(s.Keys), amount.Of(s.Versions, "earlier version"), gone)
}

func scrubbedJSON(all []engine.Scrubbed) []any {
	texts := func(places []string) []any {
		l := []any{}
		for _, p := range places {
			l = append(l, p)
		}
		return l
	}
	list := []any{}
	for _, s := range all {
		o := value.NewObject("stackName", s.Stack, "region", regionJSON(s.Ref),
			"recorded", s.Recorded, "found", texts(s.Found), "names", texts(s.Keys), "earlierVersions", value.Int(s.Versions))
		if s.Err != nil {
			o.Set("failed", true) // why is in the log
		}
		list = append(list, o)
	}
	return list
}

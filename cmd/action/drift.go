package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/github"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/result"
)

func (s *step) drift(ctx context.Context) error {
	opt := engine.DriftOptions{
		Recorded: engine.RecordSelection{Stacks: s.in.Stacks, All: s.in.All, Region: strings.ToLower(s.in.StackRegion)},
		DryRun:   s.in.DryRun, Concurrency: s.in.Concurrency, ResourceTimeout: s.in.ResourceTimeout.Each, TypeTimeouts: s.in.ResourceTimeout.Of,
	}
	question := "Record of stack %s what is in AWS?"
	switch {
	case s.in.Accept:
		opt.Mode = result.DriftAccept
	case s.in.Revert:
		opt.Mode, question = result.DriftRevert, "Change the resources of stack %s back?"
	}
	if s.in.App != "" || len(s.in.Stacks) == 0 && !s.in.All {
		sel, err := s.selectionAndState(ctx)
		if err != nil {
			return s.refuse(err)
		}
		opt.App = &sel
	}
	if !s.in.Yes {
		opt.Consent = func(st *result.DriftedStack) bool {
			s.surface.Print(report.DriftedStackText(&result.DriftRun{Mode: opt.Mode, ShowValues: s.in.ShowValues}, st))
			return s.surface.Confirm(ctx, strings.ReplaceAll(question, "%s", report.Line(st.Name)), false)
		}
	}
	return s.finishDrift(ctx, s.engine.Drift(ctx, opt))
}

// finishDrift reports a look for drift. GitHub comes last, when the locks are
// free.
func (s *step) finishDrift(ctx context.Context, run *result.DriftRun) error {
	run.ShowValues = s.in.ShowValues
	s.check(s.surface.SetDrift(run))
	s.check(s.surface.SetSummary(report.DriftMarkdown(run)))
	if s.in.JSON {
		text, err := report.DriftJSON(run)
		s.check(err)
		s.surface.Print(text)
	} else {
		s.surface.Print(report.DriftText(run))
	}
	s.annotateDrift(run)
	s.commentDrift(run)
	s.keepDriftIssues(ctx, run)
	return ended(s.in.StepCode(run.Outcome, run.Outcome.ExitCode()))
}

func (s *step) annotateDrift(run *result.DriftRun) {
	explain := func(title, message, remedy, page string) {
		if remedy != "" {
			message += "\nwhat to do: " + remedy
		}
		s.surface.Error(ci.Annotation{Title: title, Message: message, Page: page})
	}
	if run.Message != "" {
		explain("cdkd-action", run.Message, run.Remedy, run.Page)
	}
	for _, st := range run.Stacks {
		title := "Stack " + st.Name + " (" + st.Place() + ")"
		if st.Message != "" {
			explain(title, st.Message, st.Remedy, st.Page)
		} else if code := st.Outcome.ExitCode(); code != 0 {
			s.surface.Error(ci.Annotation{Title: title, Page: st.Page, Message: report.DriftTitle(&result.DriftRun{
				Mode: run.Mode, DryRun: run.DryRun, Outcome: st.Outcome, Stacks: []*result.DriftedStack{st},
			})})
		}
	}
}

// commentDrift keeps a comment about drift of its own, once there is any: it is
// not what the pull request changes.
func (s *step) commentDrift(run *result.DriftRun) {
	if s.in.Comment == ci.CommentOff || s.in.GitHubToken == "" || run.Message != "" {
		return
	}
	own := report.NewDriftSection(run)
	own.Leg, own.Name = s.leg()
	opt := s.commentOptions()
	opt.Key += "\x00drift"
	opt.Repost, opt.OnlyChanges = s.in.Comment == ci.CommentRepost, true
	s.say(opt, own)
}

// keepDriftIssues keeps an issue for each stack that was compared whole. That it
// could not is a notice and changes nothing else.
func (s *step) keepDriftIssues(ctx context.Context, run *result.DriftRun) {
	if !s.in.DriftIssues || run.DryRun || s.window.Interrupted() {
		return
	}
	account, err := s.engine.Account(ctx)
	if err != nil {
		return // said already
	}
	var issues []github.Issue
	for _, st := range run.Stacks {
		clean := st.Outcome == result.NoChange || st.Outcome == result.Success
		if st.Declined || !clean && !st.Drifted() {
			continue // what could not be compared may be either
		}
		issue := github.Issue{
			Subject: strings.Join([]string{"drift", cmp.Or(st.Account, account), st.Region, s.in.StatePrefix, st.Name}, "\x00"),
			Title:   s.surface.Redact(report.DriftIssueTitle(st)), Over: clean,
			Body: s.surface.Redact(report.DriftIssue(run, st, s.runURL())),
		}
		issues = append(issues, issue)
	}
	if len(issues) == 0 {
		return
	}
	urls, err := github.Issues(ctx, s.surface.Getenv, github.Options{Client: s.githubClient(), Rest: "The whole report is in " + s.summaryLink() + "."}, issues)
	if err != nil {
		s.surface.Notice(ci.Annotation{Title: "Issues", Message: err.Error(), Page: guide.GitHub.URL(version)})
	}
	for _, url := range urls {
		s.log.Info().Msg("issue: " + report.Line(url))
	}
}

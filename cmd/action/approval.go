package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/github"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/ci/review"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/exposure"
	"github.com/org/cdkd-action/engine/loss"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// scope is the pull request that a run is for, "" when it is for none.
func (s *step) scope() string {
	pr, ok, err := github.PullRequestFromEnv(s.surface.Getenv)
	if err != nil || !ok {
		return ""
	}
	return pr.String()
}

// name gives a run's plans the digest that they are approved by.
func (s *step) name(run *result.Run, scope string) ([]review.Plan, error) {
	plans, err := review.Of(run, scope)
	if err != nil {
		return nil, err
	}
	s.shown = plans
	// Neither templates nor a plan that could not be made can be approved.
	if !slices.ContainsFunc(run.Stacks, func(st *result.Stack) bool { return st.Plan == nil || st.Plan.FromTemplates }) {
		run.PlanDigest = review.Digest(plans)
	}
	return plans, nil
}

// approval returns what a deploy has to ask before it begins, nil for nothing.
func (s *step) approval(ctx context.Context) func(*result.Run) error {
	if s.in.ApprovedPlan == "" && !s.in.RequireReviewedPlan && (s.in.RequireApproval == ci.ApprovalNever || s.in.Yes) {
		return nil
	}
	return func(run *result.Run) error {
		plans, err := s.name(run, s.scope())
		if err != nil || len(plans) == 0 {
			return err
		}
		s.set("plan-digest", run.PlanDigest)
		switch {
		case s.in.RequireReviewedPlan:
			return s.reviewed(ctx, run)
		case s.in.ApprovedPlan != "":
			return s.approved(run, plans)
		}
		return s.agreed(ctx, run)
	}
}

// approved compares with the digest that was given. That of a diff which was
// not for a pull request is as good.
func (s *step) approved(run *result.Run, plans []review.Plan) error {
	apart, err := review.Of(run, "")
	if err != nil {
		return err
	}
	given := strings.ToLower(strings.TrimSpace(s.in.ApprovedPlan))
	if given == review.Digest(plans) || given == review.Digest(apart) {
		return nil
	}
	return &engine.PlanChangedError{
		What: fmt.Sprintf("what would be done is plan %s, and approved is plan %s", run.PlanDigest, report.Line(given)),
		Next: "look at what would be done now; approved-plan takes the output plan-digest of the diff that shows the same",
	}
}

// reviewed compares with what the comment on the pull request says.
func (s *step) reviewed(ctx context.Context, run *result.Run) error {
	reading, cancel := s.window.Interruptible(ctx)
	defer cancel()
	pr, sections, err := github.Reviewed(reading, s.surface.Getenv, s.commentOptions())
	if err != nil && s.window.Interrupted() {
		return context.Cause(reading)
	}
	if none := (*github.NoPullRequestError)(nil); errors.As(err, &none) {
		return &engine.ApprovalError{What: none.Error(), Next: "let changes come by pull requests on which diff comments, or approve this one with approved-plan"}
	}
	if err != nil {
		return &engine.ApprovalError{What: err.Error(), Next: "require-reviewed-plan needs a github-token with pull-requests: read and contents: read"}
	}
	now, err := review.Of(run, pr.String())
	if err != nil {
		return err
	}
	var seen []review.Plan
	cut, templates := false, false
	for _, section := range sections {
		seen = append(seen, section.Review...)
		cut, templates = cut || section.Truncated, templates || section.Templates
	}
	if len(seen) == 0 && templates {
		return &engine.ApprovalError{
			What: fmt.Sprintf("the comment on %s compares templates only, because its run had no AWS credentials; that is no plan that could have been reviewed", pr),
			Next: "look at what would be done now and approve it with approved-plan: " + run.PlanDigest,
		}
	}
	if len(seen) == 0 && len(now) > 0 && len(sections) == 0 {
		return &engine.ApprovalError{
			What: fmt.Sprintf("pull request %s has no comment that says what would be done", pr),
			Next: "run diff on pull requests with the same app, working-directory and comment-key, and let it comment",
		}
	}
	if lines := review.Difference(seen, now); len(lines) > 0 {
		return &engine.PlanChangedError{
			What: fmt.Sprintf("what would be done is not what was reviewed on %s:\n%s", pr, strings.Join(lines, "\n")),
			Next: "run diff on the pull request again, or approve what would be done now with approved-plan: " + run.PlanDigest,
		}
	}
	if cut {
		return &engine.ApprovalError{
			What: fmt.Sprintf("the comment on %s was too long and shows only a part of the plan, so nobody can have reviewed all of it there", pr),
			Next: "read the whole report and approve it with approved-plan: " + run.PlanDigest,
		}
	}
	s.log.Info().Msgf("what would be done is what was reviewed on %s", pr)
	return nil
}

// agreed asks a person for what needs agreement.
func (s *step) agreed(ctx context.Context, run *result.Run) error {
	needs := broadening(run)
	if s.in.RequireApproval == ci.ApprovalAnyChange {
		needs = append([]string{"every change does (require-approval: any-change)"}, needs...)
	}
	if len(needs) == 0 {
		return nil
	}
	if s.surface.Interactive() {
		for _, st := range run.Stacks {
			s.surface.Print(report.PlanText(st.Plan))
		}
		if s.surface.Confirm(ctx, "Deploy this?", false) {
			return nil
		}
	}
	return &engine.ApprovalError{
		What: "this needs approval:\n" + strings.Join(needs, "\n"),
		Next: "look at what would be done, and deploy again with approved-plan: " + run.PlanDigest,
	}
}

// most is how many reasons are told of each kind.
const most = 20

// broadening names what lets anybody do or reach more, and after what data may be
// gone.
func broadening(run *result.Run) []string {
	var lost, more []string
	var look func(p *plan.Plan)
	look = func(p *plan.Plan) {
		if p == nil {
			return
		}
		for _, c := range p.Changes {
			if c.Untold {
				more = append(more, fmt.Sprintf("%s in %s: what changes in this nested stack can be told only during the deploy", c.LogicalID, p.Stack))
			}
		}
		for _, l := range loss.Of(p) {
			lost = append(lost, fmt.Sprintf("%s (%s) in %s: %s", l.Change.LogicalID, l.Change.Type, p.Stack, l.Why))
		}
		for _, r := range exposure.Of(p) {
			if r.Broadens() {
				text := fmt.Sprintf("%s (%s) in %s: %s may %s", r.Change.LogicalID, r.Change.Type, p.Stack, r.Who, r.What)
				if r.On != "" {
					text += " on " + r.On
				}
				more = append(more, report.Line(text))
			}
		}
		for _, child := range p.Children {
			look(child)
		}
	}
	for _, s := range run.Stacks {
		look(s.Plan)
	}
	return slices.Concat(few(lost), few(more))
}

func few(lines []string) []string {
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(lines)-most))
}

// checkReviewed compares what a deploy would do with what was reviewed.
func (s *step) checkReviewed(ctx context.Context) error {
	run, err := s.planned(ctx)
	if err != nil {
		return s.refuse(err)
	}
	run.Command = string(ci.Check)
	plans, err := s.name(run, s.scope())
	if err != nil {
		return s.refuse(err)
	}
	if len(plans) > 0 && run.Outcome.ExitCode() == 0 {
		if err := s.reviewed(ctx, run); err != nil {
			run.Outcome, run.Reason = engine.Classify(err)
			run.Message, run.Remedy, run.Page = s.secrets.Mask(err.Error()), engine.Remedy(err), page(err)
		}
	}
	return s.finish(run)
}

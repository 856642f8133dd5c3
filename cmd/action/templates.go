package main

import (
	"context"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/github"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/result"
)

// comparedTemplates is what a run without credentials can say: in what the app's
// templates differ from those of the base branch.
func (s *step) comparedTemplates(ctx context.Context) (*result.Run, error) {
	base, err := s.project.Resolve(s.in.BaseApp, "")
	if err != nil {
		return nil, err
	}
	if base.Assembly == "" {
		return nil, &engine.InputError{
			What: "base-" + noFolder(s.in.BaseApp, s.in.WorkingDirectory) + ", and without AWS credentials there is nothing else to compare with",
			Next: "synthesize the app of the base branch in an earlier step and name the folder that it wrote",
			Page: guide.NoApp,
		}
	}
	sel, err := s.selection(ctx)
	if err != nil {
		return nil, err
	}
	s.surface.Notice(ci.Annotation{Title: "Templates only", Message: "there are no AWS credentials, so templates are compared with those of base-app, and not with what is deployed"})
	run, _ := s.engine.DiffTemplates(ctx, engine.TemplateDiffOptions{Selection: sel, Base: base.Assembly})
	return run, nil
}

// explainFork says what a failure for want of credentials comes from on a pull
// request from a fork, and what helps there.
func (s *step) explainFork(run *result.Run) {
	if run.Reason != result.ReasonCredentials || s.in.BaseApp != "" {
		return
	}
	if pr, ok, err := github.PullRequestFromEnv(s.surface.Getenv); err != nil || !ok || !pr.Fork {
		return
	}
	run.Remedy = "the run is for a pull request from a fork, which gets no credentials: with base-app, the assembly of the base branch, diff compares templates instead"
}

package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/github"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

// An environment is where GitHub shows what is deployed. What cannot be said
// there is a notice and changes nothing else.
type environment struct {
	step *step
	made routine.Group
	id   int64 // of the deployment, 0: there is none
}

// beginEnvironment makes the deployment beside the work, which does not wait for
// GitHub.
func (s *step) beginEnvironment() *environment {
	e := &environment{step: s}
	if s.in.Environment == "" || s.in.DryRun || !s.surface.InStep() || s.in.GitHubToken == "" {
		return e
	}
	ctx, cancel := s.window.Interruptible(context.Background())
	e.made.Go(func() {
		defer cancel()
		id, err := github.CreateDeployment(ctx, s.surface.Getenv, s.commentOptions(), s.in.Environment)
		if id != 0 {
			e.id = id
			s.memory.keep(keptDeployment, strconv.FormatInt(id, 10))
		}
		s.notice(err, guide.GitHub)
	})
	return e
}

// end says how the run ended.
func (e *environment) end(run *result.Run, end ci.Ending) {
	e.made.Wait()
	if e.id == 0 {
		return
	}
	status := github.DeploymentStatus{State: github.DeploymentFailure, Description: report.Title(run)}
	switch {
	case end.StepCode == 0:
		status.State = github.DeploymentSuccess
		status.URL = e.step.environmentURL(run)
	case end.Outcome == result.Cancelled:
		status.State = github.DeploymentError
	}
	e.step.endDeployment(e.id, status)
}

// endDeployment sets the last status of a deployment, in what is left of the
// step's time.
func (s *step) endDeployment(id int64, status github.DeploymentStatus) {
	opt := s.commentOptions()
	if at, cancelled := s.window.Deadline(); cancelled {
		if opt.Limit = time.Until(at) - 500*time.Millisecond; opt.Limit <= 0 {
			return // the post step says it
		}
	}
	status.Description = s.surface.Redact(status.Description)
	err := github.SetDeploymentStatus(context.Background(), s.surface.Getenv, opt, id, status)
	s.notice(err, guide.GitHub)
	if err == nil {
		s.memory.keep(keptDeployment, "")
	}
}

func (s *step) notice(err error, page guide.Page) {
	if err != nil {
		s.surface.Notice(ci.Annotation{Title: "Deployment", Message: err.Error(), Page: page.URL(version)})
	}
}

// environmentURL is the input environment-url: an address, or the output of a
// stack that holds one.
func (s *step) environmentURL(run *result.Run) string {
	text := s.in.EnvironmentURL
	if text == "" {
		return ""
	}
	if !strings.Contains(text, "://") {
		text = outputNamed(run, text)
	}
	if at, err := url.Parse(text); err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		s.notice(fmt.Errorf("environment-url: %s is neither an address that begins with https:// nor Stack.Output of a stack that was deployed and has one there", report.Line(s.in.EnvironmentURL)), guide.Inputs)
		return ""
	}
	return text
}

// outputNamed is the text of the output Stack.Output, "" when there is none.
func outputNamed(run *result.Run, name string) string {
	stack, output, _ := strings.Cut(name, ".")
	for _, st := range run.Stacks {
		if st.Name == stack {
			if text, ok := value.Text(st.Outputs.Value(output)); ok {
				return text
			}
		}
	}
	return ""
}

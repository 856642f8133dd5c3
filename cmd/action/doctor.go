package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/org/cdkd-action/ci/github"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/child"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/synth"
	"github.com/org/cdkd-action/engine/value"
)

// doctor looks at what a deploy needs, one line each. It runs no app: what the
// app's program would write or ask is not doctor's to cause.
func (s *step) doctor(ctx context.Context) error {
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	found, dir := s.examineApp(ctx)
	found = append(found, s.engine.Doctor(ctx, dir)...)
	found = append(found, s.examineGitHub(ctx)...)
	if err := ctx.Err(); err != nil {
		return s.refuse(fmt.Errorf("doctor: %w", err))
	}
	for i, f := range found {
		found[i].Text, found[i].Remedy = s.secrets.Mask(f.Text), s.secrets.Mask(f.Remedy)
	}
	if err := s.show(findingsJSON(found), findingsText(found)); err != nil {
		return err
	}
	failed, reason := 0, result.Reason("")
	for _, f := range found {
		if f.Verdict == result.Fail {
			failed, reason = failed+1, cmp.Or(reason, f.Reason)
		}
	}
	if failed > 0 {
		return s.failed(reason, guide.ChecksFailed, fmt.Sprintf("%d of %s failed", failed, amount.Of(len(found), "check")))
	}
	s.done(false)
	return nil
}

// examineApp looks at the app, and names the folder of its assembly when there
// is one.
func (s *step) examineApp(ctx context.Context) (found []result.Finding, dir string) {
	const subject = "app"
	app, err := s.project.Resolve(s.in.App, s.surface.Getenv("CDKD_APP"))
	switch {
	case errors.As(err, new(*synth.NoAppError)):
		return []result.Finding{{Subject: subject, Verdict: result.OK, Text: "none is named, so none was looked at"}}, ""
	case err != nil:
		return []result.Finding{{Subject: subject, Verdict: result.Fail, Text: err.Error(), Remedy: engine.Remedy(err), Reason: result.ReasonInput}}, ""
	case app.Assembly != "":
		return nil, app.Assembly
	case looksLikeFolder(app.Command):
		return []result.Finding{{Subject: subject, Verdict: result.Fail, Text: noFolder(app.Command, s.in.WorkingDirectory),
			Remedy: "synthesize the app in an earlier step, or name the command that runs it", Reason: result.ReasonInput}}, ""
	}
	found = append(found, result.Finding{Subject: subject, Verdict: result.OK, Text: "made by the command " + app.Command + ", which was not run"})
	return append(found, s.examineNode(ctx, app.Command)...), ""
}

// examineNode looks for Node.js where the app seems to need it.
func (s *step) examineNode(ctx context.Context, command string) []result.Finding {
	_, err := os.Stat(filepath.Join(s.in.WorkingDirectory, "package.json"))
	first, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	if err != nil && first != "node" && first != "npx" && !strings.HasSuffix(first, ".js") {
		return nil
	}
	var version bytes.Buffer
	err = (&child.Command{Args: []string{"node", "--version"}, Dir: s.in.WorkingDirectory, Env: os.Environ(), Stdout: &version}).Run(ctx)
	f := result.Finding{Subject: "node", Verdict: result.OK, Text: strings.TrimSpace(version.String())}
	if err != nil {
		f.Verdict, f.Text, f.Reason = result.Fail, err.Error(), result.ReasonSynth
		f.Remedy = "use the Action's image that is not -slim, or synthesize the app in an earlier step"
		if errors.Is(err, exec.ErrNotFound) {
			f.Text = "there is no node in PATH"
		}
	}
	return []result.Finding{f}
}

// examineGitHub looks at what the workflow's tokens may do, as far as that shows
// without writing.
func (s *step) examineGitHub(ctx context.Context) []result.Finding {
	if !s.surface.InStep() {
		return nil
	}
	oidc := result.Finding{Subject: "OIDC", Verdict: result.OK, Text: "the job may ask for a token"}
	if s.surface.Getenv("ACTIONS_ID_TOKEN_REQUEST_URL") == "" {
		oidc.Text = "the job may not ask for a token, which only roles that are assumed with one need (id-token: write)"
	}
	return []result.Finding{s.examineToken(ctx), oidc}
}

func (s *step) examineToken(ctx context.Context) result.Finding {
	f := result.Finding{Subject: "GitHub token", Verdict: result.Warn}
	var denied *github.DeniedError
	pr, ofPull, err := github.PullRequestFromEnv(s.surface.Getenv)
	if err == nil {
		_, _, err = github.Reviewed(ctx, s.surface.Getenv, s.commentOptions())
	}
	switch {
	case errors.Is(err, github.ErrNoToken):
		f.Text, f.Remedy = "there is none, so there are no comments on pull requests", "give github-token, or set comment to off"
	case errors.As(err, new(*github.NoPullRequestError)), err == nil && !ofPull:
		f.Verdict, f.Text = result.OK, "reads pull requests; this run is not for one"
	case errors.As(err, &denied):
		f.Text, f.Remedy = fmt.Sprintf("GitHub refused (%d %s)", denied.Status, denied.Message), denied.Remedy()
	case err != nil:
		f.Text, f.Remedy = err.Error(), "run again in a while; without GitHub there is no comment, and nothing else is missing"
	case pr.Fork:
		f.Text, f.Remedy = "the pull request is from a fork, for which the token can only read", "read the report in the step summary"
	default:
		f.Verdict, f.Text = result.OK, "reads the comments of "+pr.String()+"; writing them takes pull-requests: write, which only a write shows"
	}
	return f
}

func findingsText(found []result.Finding) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range found {
		text := report.Line(f.Text)
		if f.Remedy != "" {
			text += ": " + report.Line(f.Remedy)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Verdict, report.Line(f.Subject), text)
	}
	w.Flush() // into memory
	return b.String()
}

func findingsJSON(found []result.Finding) []any {
	list := []any{}
	for _, f := range found {
		o := value.NewObject("subject", f.Subject, "verdict", string(f.Verdict), "text", report.Clean(f.Text))
		if f.Remedy != "" {
			o.Set("remedy", report.Clean(f.Remedy))
		}
		list = append(list, o)
	}
	return list
}

package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/github"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/result"
)

// comment keeps the pull request's comment up to date. That it could not is a
// notice and changes nothing else. It tells whether nothing is left to try: a
// cancelled step may have no time for it.
func (s *step) comment(run *result.Run) (over bool) {
	if s.in.Comment == ci.CommentOff || s.in.Command == ci.Check || s.in.GitHubToken == "" && !s.surface.InStep() {
		return true
	}
	opt := s.commentOptions()
	opt.Repost, opt.OnlyChanges = s.in.Comment == ci.CommentRepost, s.in.Comment == ci.CommentChanges
	own := report.NewSection(run)
	own.Leg, own.Name = s.leg()
	own.Review = s.shown
	return s.say(opt, own)
}

// say puts a section into a comment.
func (s *step) say(opt github.Options, own report.Section) (over bool) {
	opt.Rest = "The whole report is in " + s.summaryLink() + "."
	if at, cancelled := s.window.Deadline(); cancelled && time.Until(at) < 500*time.Millisecond {
		return false
	}
	// A signal may come while GitHub is waited for.
	ctx, cancel := s.window.Cleanup(github.Limit)
	defer cancel()
	own.Name, own.Title, own.Body = s.surface.Redact(own.Name), s.surface.Redact(own.Title), s.surface.Redact(own.Body)
	url, err := github.Comment(ctx, s.surface.Getenv, opt, own)
	if err != nil {
		s.surface.Notice(ci.Annotation{Title: "Pull request comment", Message: err.Error(), Page: guide.GitHub.URL(version)})
		return !s.window.Interrupted()
	}
	if url != "" {
		s.set("comment-url", url)
	}
	return true
}

// commentOptions say which comment is this app's.
func (s *step) commentOptions() github.Options {
	return github.Options{Client: s.githubClient(), App: s.app(), Key: s.in.CommentKey}
}

func (s *step) githubClient() github.ClientOptions {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	proxy := proxyFromEnv()
	transport.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
	// On a terminal there are no inputs of a workflow.
	return github.ClientOptions{Token: cmp.Or(s.in.GitHubToken, s.surface.Getenv("GITHUB_TOKEN")), Transport: transport}
}

// app tells apart the apps of a repository.
func (s *step) app() string { return s.in.WorkingDirectory + "\x00" + s.in.App }

// leg tells apart the jobs that work on one app for the same pull request: by
// which stacks they work on, and where.
func (s *step) leg() (id, name string) {
	stacks := slices.Sorted(slices.Values(s.in.Stacks))
	all := append(stacks, "\x00", fmt.Sprint(s.in.All, s.in.Exclusively), s.in.Region, strings.Join(s.in.RoleARNs, "\n"), s.in.StateBucket, s.in.StatePrefix)
	sum := sha256.Sum256([]byte(strings.Join(all, "\x00")))
	return hex.EncodeToString(sum[:8]), strings.Join(stacks, " ")
}

// runURL is the page of the workflow run, "" outside of one.
func (s *step) runURL() string {
	server, repo, id := s.surface.Getenv("GITHUB_SERVER_URL"), s.surface.Getenv("GITHUB_REPOSITORY"), s.surface.Getenv("GITHUB_RUN_ID")
	if server == "" || repo == "" || id == "" {
		return ""
	}
	return server + "/" + repo + "/actions/runs/" + id
}

func (s *step) summaryLink() string {
	if at := s.runURL(); at != "" {
		return "[the summary of the workflow run](" + at + ")"
	}
	return "the summary of the workflow run"
}

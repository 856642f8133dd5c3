package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/org/cdkd-action/ci/github/githubtest"
)

type githubKey struct{}

const (
	repository = "acme/shop"
	pullNumber = 7
	merged     = "0123456789012345678901234567890123456789"
)

// onGitHub EVENT [read-only] [fork] makes what follows a step of a workflow that
// the event started: pull_request, push (of the commit that merging pull request 7
// made), merge_group (of the same) or schedule. GitHub is one for the script.
func onGitHub(ts *testscript.TestScript, _ bool, args []string) {
	server, ok := ts.Value(githubKey{}).(*githubHolder)
	if !ok {
		ts.Fatalf("the script has no GitHub")
	}
	s := server.start(ts)
	token, head := "ghs_write", repository
	if slices.Contains(args, "read-only") {
		token = "ghs_read"
	}
	if slices.Contains(args, "fork") {
		head = "someone/shop"
	}
	event := filepath.Join(ts.MkAbs("."), "event.json")
	ts.Check(os.WriteFile(event, []byte(fmt.Sprintf(
		`{"number":%d,"pull_request":{"number":%[1]d,"head":{"sha":"abc123","repo":{"full_name":%q}},"base":{"repo":{"full_name":%q}}}}`, pullNumber, head, repository)), 0o600))
	ref := "refs/heads/main"
	if args[0] == "merge_group" {
		ref = fmt.Sprintf("refs/heads/gh-readonly-queue/main/pr-%d-%s", pullNumber, merged)
	}
	for name, v := range map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_API_URL": s.URL, "GITHUB_GRAPHQL_URL": s.GraphQL, "GITHUB_SERVER_URL": "https://github.com",
		"GITHUB_REPOSITORY": repository, "GITHUB_EVENT_NAME": args[0], "GITHUB_EVENT_PATH": event, "GITHUB_SHA": merged, "GITHUB_REF": ref,
		"GITHUB_RUN_ID": "1000", "GITHUB_RUN_ATTEMPT": "1",
		"GITHUB_OUTPUT": ts.MkAbs("output"), "GITHUB_STEP_SUMMARY": ts.MkAbs("summary"), "INPUT_GITHUB-TOKEN": token,
	} {
		ts.Setenv(name, v)
	}
}

// comment [REGEXP] wants a comment on the pull request that the expression
// matches; "!" wants none, or none that it matches.
func comment(ts *testscript.TestScript, neg bool, args []string) {
	var all []string
	for _, c := range ts.Value(githubKey{}).(*githubHolder).server.Comments(repository, pullNumber) {
		all = append(all, c.Body)
	}
	text := strings.Join(all, "\n=====\n")
	matches := len(all) > 0 && (len(args) == 0 || regexp.MustCompile("(?m)"+args[0]).MatchString(text))
	if matches == neg {
		ts.Fatalf("%d comments, want match %t of %q:\n%s", len(all), !neg, args, text)
	}
}

// pull NUMBER open|closed makes a pull request.
func pull(ts *testscript.TestScript, _ bool, args []string) {
	number, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Value(githubKey{}).(*githubHolder).start(ts).Pull(repository, number, args[1])
}

// issue [REGEXP] wants an issue whose state, title and body the expression matches;
// "!" wants none, or none that it matches.
func issue(ts *testscript.TestScript, neg bool, args []string) {
	var all []string
	for _, i := range ts.Value(githubKey{}).(*githubHolder).server.Issues(repository) {
		state := "open"
		if i.Closed {
			state = "closed"
		}
		all = append(all, state+" "+i.Title+"\n"+i.Body)
	}
	text := strings.Join(all, "\n=====\n")
	matches := len(all) > 0 && (len(args) == 0 || regexp.MustCompile("(?m)"+args[0]).MatchString(text))
	if matches == neg {
		ts.Fatalf("%d issues, want match %t of %q:\n%s", len(all), !neg, args, text)
	}
}

// deployment ENVIRONMENT REF STATE... [ADDRESS] wants the last deployment to be
// that, with these statuses; "!" wants none at all.
func deployment(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value(githubKey{}).(*githubHolder).server.Deployments()
	if neg {
		if len(all) > 0 {
			ts.Fatalf("there are deployments: %+v", all)
		}
		return
	}
	if len(all) == 0 {
		ts.Fatalf("there is no deployment")
	}
	last := all[len(all)-1]
	got := []string{last.Environment, last.Ref}
	for _, s := range last.Statuses {
		got = append(got, s.State)
		if s.EnvironmentURL != "" {
			got = append(got, s.EnvironmentURL)
		}
		if s.LogURL != "https://github.com/"+repository+"/actions/runs/1000" {
			ts.Fatalf("log of %+v", s)
		}
	}
	if diff := cmp.Diff(args, got); diff != "" {
		ts.Fatalf("(-want +got):\n%s\n%+v", diff, last)
	}
}

// A githubHolder is a script's GitHub, once it has one.
type githubHolder struct{ server *githubtest.Server }

func (h *githubHolder) start(ts *testscript.TestScript) *githubtest.Server {
	if h.server != nil {
		return h.server
	}
	s := githubtest.New()
	s.Token("ghs_write", githubtest.Actions, true)
	s.Token("ghs_read", githubtest.Actions, false)
	s.Merge(repository, merged, pullNumber)
	h.server = s
	ts.Defer(func() {
		s.Close()
		if faults := s.Faults(); len(faults) > 0 {
			ts.Fatalf("GitHub's contract: %s", strings.Join(faults, "\n"))
		}
	})
	return s
}

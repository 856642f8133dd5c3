package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/org/cdkd-action/ci/github/githubtest"
	"github.com/org/cdkd-action/ci/report"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

var (
	octocat = githubtest.User{Login: "octocat", ID: 1, Type: "User"}
	mallory = githubtest.User{Login: "mallory", ID: 2, Type: "User"}
)

const repo = "acme/shop"

// A lab is a GitHub and the environment of a step that runs for its pull
// request 7.
type lab struct {
	*githubtest.Server
	env map[string]string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	return newVersionLab(t, githubtest.Versions[0])
}

func newVersionLab(t *testing.T, version string) *lab {
	t.Helper()
	s := githubtest.NewVersion(version)
	t.Cleanup(func() {
		s.Close()
		for _, f := range s.Faults() {
			t.Errorf("GitHub's contract: %s", f)
		}
	})
	s.Token("ghs_write", githubtest.Actions, true)
	s.Token("ghs_read", githubtest.Actions, false)
	s.Token("ghp_person", octocat, true)
	s.Token("v1.old", githubtest.Actions, true)
	return &lab{s, map[string]string{
		"GITHUB_API_URL":     s.URL,
		"GITHUB_GRAPHQL_URL": s.GraphQL,
		"GITHUB_REPOSITORY":  repo,
		"GITHUB_EVENT_NAME":  "pull_request",
		"GITHUB_EVENT_PATH":  event(t, `{"action":"opened","number":7,"pull_request":{"number":7,"head":{"repo":{"full_name":"acme/shop"}},"base":{"repo":{"full_name":"acme/shop"}}}}`),
	}}
}

func event(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (l *lab) getenv(name string) string { return l.env[name] }

func (l *lab) comment(t *testing.T, token, key, body string) (string, error) {
	t.Helper()
	return l.say(t, Options{Client: ClientOptions{Token: token}, Key: key}, report.Section{Leg: "a", Body: body + "\n"})
}

func (l *lab) say(t *testing.T, opt Options, s report.Section) (string, error) {
	t.Helper()
	opt.App, opt.Rest, opt.Settling = "cdk.out", "See the summary.", time.Millisecond
	if opt.Client.Token == "" {
		opt.Client.Token = "ghs_write"
	}
	return Comment(t.Context(), l.getenv, opt, s)
}

func (l *lab) bodies() []string {
	var out []string
	for _, c := range l.Comments(repo, 7) {
		said := []string{}
		for _, s := range report.Sections(c.Body) {
			said = append(said, strings.TrimSpace(s.Body))
		}
		if len(said) == 0 {
			said = []string{c.Body}
		}
		out = append(out, c.User.Login+": "+strings.Join(said, ", "))
	}
	return out
}

func must(t *testing.T) func(string, error) string {
	return func(s string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestOneCommentIsKept(t *testing.T) {
	l := newLab(t)
	first := must(t)(l.comment(t, "ghs_write", "", "one"))
	second := must(t)(l.comment(t, "ghs_write", "", "two"))
	if first != second || !strings.Contains(first, "/acme/shop/pull/7#issuecomment-") {
		t.Errorf("addresses: %q and %q", first, second)
	}
	must(t)(l.comment(t, "ghs_write", "other", "three"))
	want := []string{
		"github-actions[bot]: two",
		"github-actions[bot]: three",
	}
	if diff := cmp.Diff(want, l.bodies()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	before := len(l.Requests())
	must(t)(l.comment(t, "ghs_write", "", "two"))
	if got := l.Requests()[before:]; len(got) != 1 || !strings.HasPrefix(got[0], "GET ") {
		t.Errorf("the same text was written again: %q", got)
	}
}

func TestOursIsFoundPastTheFirstPage(t *testing.T) {
	l := newLab(t)
	for i := range 250 {
		l.Add(repo, 7, mallory, fmt.Sprint("comment ", i))
	}
	l.Add(repo, 7, githubtest.Actions, marker("cdk.out", "")+"\r\nold")
	for i := range 150 {
		l.Add(repo, 7, mallory, fmt.Sprint("later ", i))
	}
	must(t)(l.comment(t, "ghs_write", "", "new"))
	all := l.bodies()
	if len(all) != 401 || all[250] != "github-actions[bot]: new" {
		t.Errorf("%d comments, number 251 is %q (G-5.2.8)", len(all), all[min(250, len(all)-1)])
	}
}

func TestAuthorIsChecked(t *testing.T) {
	copied := marker("cdk.out", "") + "\ncopied"
	tests := []struct {
		name   string
		token  string
		author githubtest.User
		edits  bool
	}{
		{"a person copied the marker", "ghs_write", mallory, false},
		{"a workflow wrote it", "ghs_write", githubtest.Actions, true},
		{"an older app token, which has no user either", "v1.old", githubtest.Actions, true},
		{"a person's token, their own comment", "ghp_person", octocat, true},
		{"a person's token, another's comment", "ghp_person", mallory, false},
		{"a person's token, an app's comment", "ghp_person", githubtest.Actions, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.Add(repo, 7, tt.author, copied)
			l.Add(repo, 7, tt.author, "quoted: "+copied) // a marker elsewhere is none
			must(t)(l.comment(t, tt.token, "", "new"))
			all := l.bodies()
			if edited := len(all) == 2 && strings.HasSuffix(all[0], ": new"); edited != tt.edits {
				t.Errorf("edits: want %v, got %q", tt.edits, all)
			}
		})
	}
}

func TestDeletedMeanwhile(t *testing.T) {
	l := newLab(t)
	id := l.Add(repo, 7, githubtest.Actions, marker("cdk.out", "")+"\nold")
	l.Next(func(http.ResponseWriter, *http.Request) bool { return false }) // the list
	l.Next(func(http.ResponseWriter, *http.Request) bool { l.Delete(id); return false })
	must(t)(l.comment(t, "ghs_write", "", "new"))
	if got := l.bodies(); len(got) != 1 || !strings.HasSuffix(got[0], ": new") {
		t.Errorf("got %q", got)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name, token string
		fork        bool
		want        string
	}{
		{"a token that may only read", "ghs_read", false,
			"comment on pull request acme/shop#7: GitHub refused (403 Resource not accessible by integration); give the job the permission pull-requests: write, or set comment to off; the report is in the step summary"},
		{"a fork", "ghs_read", true,
			"comment on pull request acme/shop#7: GitHub refused (403 Resource not accessible by integration); on a pull request from a fork the token can only read; the report is in the step summary"},
		{"no such token", "ghs_secret", false,
			"comment on pull request acme/shop#7: GitHub refused (401 Bad credentials); it knows no such token; look at the secret that github-token is, or leave github-token away, which takes the job's own; the report is in the step summary"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			if tt.fork {
				l.env["GITHUB_EVENT_PATH"] = event(t, `{"pull_request":{"number":7,"head":{"repo":{"full_name":"mallory/shop"}},"base":{"repo":{"full_name":"acme/shop"}}}}`)
			}
			_, err := l.comment(t, tt.token, "", "x")
			if _, ok := errors.AsType[*DeniedError](err); !ok || err.Error() != tt.want {
				t.Errorf("want\n%s\ngot %T\n%v", tt.want, err, err)
			}
		})
	}
	l := newLab(t)
	if _, err := Comment(t.Context(), l.getenv, Options{}, report.Section{}); err == nil || !strings.Contains(err.Error(), "github-token") || len(l.Requests()) > 0 {
		t.Errorf("no token: %v, %q", err, l.Requests())
	}
}

func TestTooLong(t *testing.T) {
	l := newLab(t)
	must(t)(l.comment(t, "ghs_write", "", strings.Repeat("ä😀\n", 20_000)))
	body := l.Comments(repo, 7)[0].Body
	if s := report.Sections(body); len(s) != 1 || !s[0].Truncated || !strings.Contains(body, "See the summary.") || len(body) < report.CommentLimit/2 {
		t.Errorf("%d bytes, %d sections (G-1.5)", len(body), len(s))
	}
}

func TestOnlyPullRequestEvents(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{"push", "issue_comment", "merge_group", "schedule", ""} {
		l.env["GITHUB_EVENT_NAME"] = name
		if got, err := l.comment(t, "ghs_write", "", "x"); got != "" || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	if n := len(l.Requests()); n > 0 {
		t.Errorf("%d requests without a pull request", n)
	}
	l.env["GITHUB_EVENT_NAME"] = "pull_request_target"
	must(t)(l.comment(t, "ghs_write", "", "x"))

	for what, path := range map[string]string{
		"no file": "/nonexistent", "no JSON": event(t, "{"), "no number": event(t, "{}"),
	} {
		l.env["GITHUB_EVENT_PATH"] = path
		if _, err := l.comment(t, "ghs_write", "", "x"); err == nil {
			t.Errorf("%s: want an error", what)
		}
	}
}

func TestPatience(t *testing.T) {
	limited := func(after string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message":"You have exceeded a secondary rate limit.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`)
			return true
		}
	}
	t.Run("a short wait is waited", func(t *testing.T) {
		l := newLab(t)
		l.Next(limited("0"))
		must(t)(l.comment(t, "ghs_write", "", "x"))
	})
	for name, header := range map[string][2]string{
		"429 with a time to wait": {"Retry-After", "0"},
		"429 until the reset":     {"X-RateLimit-Reset", fmt.Sprint(time.Now().Add(-time.Second).Unix())},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.Next(func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("X-RateLimit-Remaining", "0")
				w.Header().Set(header[0], header[1])
				w.WriteHeader(http.StatusTooManyRequests)
				fmt.Fprint(w, `{"message":"slow down"}`)
				return true
			})
			must(t)(l.comment(t, "ghs_write", "", "x"))
			if got := l.bodies(); len(got) != 1 {
				t.Errorf("comments %q", got)
			}
		})
	}
	t.Run("a long one is not, and is no refusal", func(t *testing.T) {
		l := newLab(t)
		l.Next(limited("600"))
		_, err := l.comment(t, "ghs_write", "", "x")
		if _, denied := errors.AsType[*DeniedError](err); err == nil || denied || len(l.Requests()) != 1 {
			t.Errorf("%v, %q", err, l.Requests())
		}
	})
	t.Run("a server that does not answer costs the limit", func(t *testing.T) {
		l := newLab(t)
		release := make(chan struct{})
		l.Next(func(w http.ResponseWriter, r *http.Request) bool {
			select {
			case <-r.Context().Done():
			case <-release:
			}
			w.WriteHeader(http.StatusBadGateway)
			return true
		})
		defer close(release)
		_, err := Comment(t.Context(), l.getenv, Options{Client: ClientOptions{Token: "ghs_write"}, Limit: 50 * time.Millisecond}, report.Section{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("want the deadline, got %v", err)
		}
	})
	for name, effect := range map[string]bool{"a first comment that GitHub failed to write is written": false, "one that was written all the same is not written twice": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.Next(func(http.ResponseWriter, *http.Request) bool { return false })
			l.Next(func(w http.ResponseWriter, r *http.Request) bool {
				var in struct{ Body string }
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
					t.Error(err)
				}
				if effect {
					l.Add(repo, 7, githubtest.Actions, in.Body)
				}
				w.WriteHeader(http.StatusBadGateway)
				return true
			})
			must(t)(l.comment(t, "ghs_write", "", "x"))
			if got := l.bodies(); len(got) != 1 {
				t.Errorf("comments %q", got)
			}
		})
	}
	t.Run("a GitHub that goes on failing is told of", func(t *testing.T) {
		l := newLab(t)
		for range 2 * looks {
			l.Next(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost {
					return false
				}
				w.WriteHeader(http.StatusBadGateway)
				return true
			})
		}
		if _, err := l.comment(t, "ghs_write", "", "x"); err == nil || len(l.bodies()) != 0 {
			t.Errorf("%v, comments %q", err, l.bodies())
		}
	})
}

func TestTheTokenStaysWithItsHost(t *testing.T) {
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) { reached = true }))
	defer elsewhere.Close()
	l := newLab(t)
	l.Next(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	})
	if _, err := l.comment(t, "ghs_write", "", "x"); err == nil || reached {
		t.Errorf("a redirect was followed: %v", err)
	}
	for _, bad := range []string{"no address", "://"} {
		l.env["GITHUB_API_URL"] = bad
		if _, err := l.comment(t, "ghs_write", "", "x"); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

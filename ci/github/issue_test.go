package github

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/ci/github/githubtest"
)

func (l *lab) issue(t *testing.T, token string, issues ...Issue) ([]string, error) {
	t.Helper()
	return Issues(t.Context(), l.getenv, Options{Client: ClientOptions{Token: token}, Rest: "See the summary.", Settling: time.Millisecond}, issues)
}

// issues are all of the repository: number, author, state, title and what
// follows the marker.
func (l *lab) issues() (out []string) {
	for _, i := range l.Issues(repo) {
		state := "open"
		if i.Closed {
			state = "closed " + i.Reason
		}
		_, body, _ := strings.Cut(i.Body, "\n")
		out = append(out, fmt.Sprintf("%d %s %s: %s: %s", i.Number, i.User.Login, state, i.Title, body))
	}
	return out
}

// One issue a subject is opened, kept up to date, and closed (G-5.2, G-5.3).
func TestIssueLife(t *testing.T) {
	for _, version := range githubtest.Versions {
		t.Run(version, func(t *testing.T) {
			l := newVersionLab(t, version)
			drifted := Issue{Subject: "drift\x00Shop", Title: "Drift: Shop", Body: "one"}
			urls, err := l.issue(t, "ghs_write", drifted, Issue{Subject: "drift\x00Clean", Title: "Drift: Clean", Body: "clean", Over: true})
			if err != nil || len(urls) != 1 || !strings.HasSuffix(urls[0], "/acme/shop/issues/100") {
				t.Fatalf("opened %v, %v", urls, err)
			}
			before := len(l.Requests())
			if _, err := l.issue(t, "ghs_write", drifted); err != nil {
				t.Fatal(err)
			}
			for _, r := range l.Requests()[before:] {
				if !strings.HasPrefix(r, "GET ") {
					t.Errorf("nothing is new, and: %s", r)
				}
			}
			drifted.Body = "two"
			if _, err := l.issue(t, "ghs_write", drifted); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"100 github-actions[bot] open: Drift: Shop: two"}, l.issues()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			drifted.Over, drifted.Body = true, "As recorded again."
			if urls, err = l.issue(t, "ghs_write", drifted); err != nil || len(urls) > 0 {
				t.Fatalf("closed %v, %v", urls, err)
			}
			if diff := cmp.Diff([]string{"100 github-actions[bot] closed completed: Drift: Shop: two"}, l.issues()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if c := l.Comments(repo, 100); len(c) != 1 || c[0].Body != "As recorded again." {
				t.Errorf("last word %v", c)
			}
			drifted.Over, drifted.Body = false, "again"
			if _, err := l.issue(t, "ghs_write", drifted); err != nil {
				t.Fatal(err)
			}
			if all := l.issues(); len(all) != 2 || all[1] != "101 github-actions[bot] open: Drift: Shop: again" {
				t.Errorf("drifted once more: %v", all)
			}
		})
	}
}

// Ours is found past the first page and told from what people and pull requests
// have with its marker (G-5.3).
func TestIssueIsFound(t *testing.T) {
	l := newLab(t)
	i := Issue{Subject: "drift\x00Shop", Title: "Drift: Shop", Body: "new"}
	text := issueMarker(i.Subject) + "\nold"
	l.AddIssue(repo, githubtest.Issue{Title: "copied", Body: text, User: mallory})
	l.AddIssue(repo, githubtest.Issue{Title: "a pull request", Body: text, User: githubtest.Actions, PullRequest: true})
	l.AddIssue(repo, githubtest.Issue{Title: "quoted", Body: "> " + text, User: githubtest.Actions})
	for range 230 {
		l.AddIssue(repo, githubtest.Issue{Title: "other", Body: "other", User: octocat})
	}
	ours := l.AddIssue(repo, githubtest.Issue{Title: "Drift: Shop", Body: text, User: githubtest.Actions})
	if _, err := l.issue(t, "ghs_write", i); err != nil {
		t.Fatal(err)
	}
	for _, found := range l.Issues(repo) {
		if changed := strings.HasSuffix(found.Body, "new"); changed != (found.Number == ours) {
			t.Errorf("issue %d (%s): %s", found.Number, found.Title, found.Body)
		}
	}
	if n := len(l.Issues(repo)); n != 234 {
		t.Errorf("%d issues", n)
	}
}

// Two jobs that open one at the same time are left with the older (G-5.3).
func TestIssueOfTwoJobs(t *testing.T) {
	l := newLab(t)
	i := Issue{Subject: "drift\x00Shop", Title: "Drift: Shop", Body: "mine"}
	l.Next(func(w http.ResponseWriter, r *http.Request) bool { return false }) // the list
	l.Next(func(w http.ResponseWriter, r *http.Request) bool {                 // the create: another was a moment faster
		l.AddIssue(repo, githubtest.Issue{Title: "Drift: Shop", Body: issueMarker(i.Subject) + "\ntheirs", User: githubtest.Actions})
		return false
	})
	if _, err := l.issue(t, "ghs_write", i); err != nil {
		t.Fatal(err)
	}
	want := []string{"100 github-actions[bot] open: Drift: Shop: mine", "101 github-actions[bot] closed not_planned: Drift: Shop: mine"}
	if diff := cmp.Diff(want, l.issues()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A token that may not write says which permission is missing; what is too long
// is cut (G-5.3).
func TestIssueLimits(t *testing.T) {
	l := newLab(t)
	_, err := l.issue(t, "ghs_read", Issue{Subject: "s", Title: "t", Body: "b"})
	if denied := (*IssuesDeniedError)(nil); !errors.As(err, &denied) || !strings.Contains(err.Error(), "issues: write") {
		t.Errorf("read-only: %v", err)
	}
	if _, err := l.issue(t, "", Issue{Subject: "s", Title: "t", Body: "b"}); !errors.Is(err, ErrNoToken) {
		t.Errorf("no token: %v", err)
	}
	l.Next(func(w http.ResponseWriter, r *http.Request) bool { return false }) // the list is empty
	l.Next(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusGone)
		fmt.Fprint(w, `{"message": "Issues are disabled for this repo", "documentation_url": "https://docs.github.com/v3/issues/"}`)
		return true
	})
	if _, err := l.issue(t, "ghs_write", Issue{Subject: "s", Title: "t", Body: "b"}); err == nil || !strings.Contains(err.Error(), "switch issues on") {
		t.Errorf("switched off: %v", err)
	}
	if _, err := l.issue(t, "ghs_write", Issue{Subject: "s", Title: "t", Body: strings.Repeat("a line of text\n", 10_000)}); err != nil {
		t.Fatal(err)
	}
	if body := l.Issues(repo)[0].Body; !strings.Contains(body, "Truncated") || len(body) > 65_000 {
		t.Errorf("%d bytes", len(body))
	}
}

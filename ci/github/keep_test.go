package github

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/ci/github/githubtest"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine/result"
)

func section(leg, text string) report.Section {
	return report.Section{Leg: leg, Name: leg, Title: text, Body: text + "\n", Changed: true, Planned: true, Outcome: result.Success, Stacks: 1}
}

// Jobs of a matrix share a comment. Whichever of them is first, and whatever
// they overwrite, in the end each has its section in it.
func TestMatrixSharesAComment(t *testing.T) {
	l := newLab(t)
	for _, leg := range []string{"b", "a", "c"} {
		must(t)(l.say(t, Options{}, section(leg, "plan "+leg)))
	}
	if d := cmp.Diff([]string{"github-actions[bot]: plan a, plan b, plan c"}, l.bodies()); d != "" {
		t.Errorf("one after the other (-want +got):\n%s", d)
	}
	must(t)(l.say(t, Options{}, section("b", "plan B")))
	if d := cmp.Diff([]string{"github-actions[bot]: plan a, plan B, plan c"}, l.bodies()); d != "" {
		t.Errorf("a section is replaced (-want +got):\n%s", d)
	}
}

// All jobs look before any of them writes, so that each undoes what the others
// wrote. After that they look again one at a time, as they do when a write is
// over before the next look.
func TestMatrixConverges(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("no comment yet: %v", first), func(t *testing.T) {
			l := newLab(t)
			if !first {
				must(t)(l.say(t, Options{}, section("z", "plan z")))
			}
			const jobs = 4
			var looked, wrote sync.WaitGroup
			looked.Add(jobs)
			wrote.Add(jobs)
			turn := make(chan struct{}, 1)
			requests, holds := map[string]int{}, map[string]bool{}
			var mu sync.Mutex
			pass := func(token string) {
				mu.Lock()
				defer mu.Unlock()
				if holds[token] {
					holds[token] = false
					<-turn
				}
			}
			order := func(_ http.ResponseWriter, r *http.Request) bool {
				token := r.Header.Get("Authorization")
				mu.Lock()
				requests[token]++
				n := requests[token]
				mu.Unlock()
				switch {
				case n == 1:
					looked.Done()
					looked.Wait()
				case n == 2:
				case r.Method == http.MethodGet:
					if n == 3 {
						wrote.Done() // its answer has come
						wrote.Wait()
					}
					pass(token)
					turn <- struct{}{}
					mu.Lock()
					holds[token] = true
					mu.Unlock()
				}
				return false
			}
			for range 100 {
				l.Next(order)
			}
			var all sync.WaitGroup
			for i := range jobs {
				token := fmt.Sprint("ghs_", i)
				l.Token(token, githubtest.Actions, true)
				all.Go(func() {
					defer pass("Bearer " + token)
					if _, err := l.say(t, Options{Client: ClientOptions{Token: token}}, section(fmt.Sprint(i), fmt.Sprint("plan ", i))); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			want := "github-actions[bot]: plan 0, plan 1, plan 2, plan 3"
			if !first {
				want += ", plan z"
			}
			if d := cmp.Diff([]string{want}, l.bodies()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestRepost(t *testing.T) {
	l := newLab(t)
	run := func(run, leg string) {
		s := section(leg, run+leg)
		l.env["GITHUB_RUN_ID"], l.env["GITHUB_RUN_ATTEMPT"] = run[:1], run[2:]
		must(t)(l.say(t, Options{Repost: true}, s))
	}
	run("1.1", "a")
	run("1.1", "b")
	l.Add(repo, 7, mallory, "what about the queue?")
	run("2.1", "b")
	run("2.1", "a")
	if d := cmp.Diff([]string{"github-actions[bot]: 1.1a, 1.1b", "mallory: what about the queue?", "github-actions[bot]: 2.1a, 2.1b"}, l.bodies()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var hidden []bool
	for _, c := range l.Comments(repo, 7) {
		hidden = append(hidden, c.Minimized)
	}
	if d := cmp.Diff([]bool{true, false, false}, hidden); d != "" {
		t.Errorf("folded away (-want +got):\n%s", d)
	}
	// Of the same run some jobs are run again: the others' sections move along.
	run("2.2", "b")
	if d := cmp.Diff("github-actions[bot]: 2.1a, 2.2b", l.bodies()[3]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestOnlyChanges(t *testing.T) {
	l := newLab(t)
	quiet := section("a", "nothing")
	quiet.Changed, quiet.Outcome = false, result.NoChange
	if url := must(t)(l.say(t, Options{OnlyChanges: true}, quiet)); url != "" || len(l.bodies()) > 0 {
		t.Errorf("a comment without changes: %q %q", url, l.bodies())
	}
	failed := quiet
	failed.Outcome, failed.Body = result.Failed, "failed\n"
	must(t)(l.say(t, Options{OnlyChanges: true}, failed)) // silence must not be mistaken for success
	must(t)(l.say(t, Options{OnlyChanges: true}, quiet))
	if d := cmp.Diff([]string{"github-actions[bot]: nothing"}, l.bodies()); d != "" {
		t.Errorf("a comment that is there is kept up to date (-want +got):\n%s", d)
	}
}

// The same on Enterprise Server, whose API has another root and other documents.
func TestEnterpriseServer(t *testing.T) {
	for _, version := range githubtest.Versions {
		t.Run(version, func(t *testing.T) {
			l := newVersionLab(t, version)
			for _, token := range []string{"ghs_write", "ghp_person"} {
				for _, text := range []string{"one", "two"} {
					must(t)(l.comment(t, token, token, text))
				}
			}
			if d := cmp.Diff([]string{"github-actions[bot]: two", "octocat: two"}, l.bodies()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// The server finds what GitHub would refuse, or never answer.
func TestContractIsChecked(t *testing.T) {
	for what, do := range map[string]func(s *githubtest.Server) *http.Request{
		"no such operation": func(s *githubtest.Server) *http.Request {
			r, _ := http.NewRequest(http.MethodGet, s.URL+"/repos/a/b/commentz", nil)
			return r
		},
		"the request: request body": func(s *githubtest.Server) *http.Request {
			r, _ := http.NewRequest(http.MethodPost, s.URL+"/repos/a/b/issues/1/comments", strings.NewReader(`{"text":"x"}`))
			r.Header.Set("Content-Type", "application/json")
			return r
		},
		"the answer 201": func(s *githubtest.Server) *http.Request {
			s.Next(func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusCreated)
				fmt.Fprint(w, `{"id":1,"body":"x"}`)
				return true
			})
			r, _ := http.NewRequest(http.MethodPost, s.URL+"/repos/a/b/issues/1/comments", strings.NewReader(`{"body":"x"}`))
			r.Header.Set("Content-Type", "application/json")
			return r
		},
	} {
		s := githubtest.New()
		resp, err := http.DefaultClient.Do(do(s))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if faults := s.Faults(); !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, what) }) {
			t.Errorf("%s: got %q", what, faults)
		}
		s.Close()
	}
}

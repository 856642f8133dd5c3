package github

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/ci/report"
)

// The plan that was reviewed is found from wherever the deploy of it starts.
func TestReviewedPlanIsFound(t *testing.T) {
	const sha = "0123456789012345678901234567890123456789"
	tests := []struct {
		name string
		env  map[string]string
		want string // the pull request, or what the error says
	}{
		{"on the pull request itself", nil, "acme/shop#7"},
		{"on the merged commit", map[string]string{"GITHUB_EVENT_NAME": "push", "GITHUB_SHA": sha, "GITHUB_REF": "refs/heads/main"}, "acme/shop#7"},
		{"in a merge queue (G-5.2)", map[string]string{"GITHUB_EVENT_NAME": "merge_group", "GITHUB_SHA": "f", "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-" + sha}, "acme/shop#7"},
		{"a commit that came without one", map[string]string{"GITHUB_EVENT_NAME": "push", "GITHUB_SHA": "9999999999999999999999999999999999999999"}, "came with no pull request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			want := section("a", "plan a")
			must(t)(l.say(t, Options{}, want))
			l.Add(repo, 7, mallory, strings.Replace(l.Comments(repo, 7)[0].Body, "plan", "evil", 1)) // only our own count
			l.Merge(repo, sha, 7)
			for k, v := range tt.env {
				l.env[k] = v
			}
			pr, got, err := Reviewed(t.Context(), l.getenv, Options{App: "cdk.out", Client: ClientOptions{Token: "ghs_read"}})
			if err != nil {
				if _, ok := errors.AsType[*NoPullRequestError](err); !ok || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if pr.String() != tt.want || len(got) != 1 {
				t.Fatalf("got %s with %d sections", pr, len(got))
			}
			if d := cmp.Diff("plan a\n", got[0].Body); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	l := newLab(t)
	if pr, got, err := Reviewed(t.Context(), l.getenv, Options{App: "cdk.out", Client: ClientOptions{Token: "ghs_read"}}); err != nil || got != nil || pr.Number != 7 {
		t.Errorf("without a comment: %v %v %v", pr, got, err)
	}
	if got := report.Sections(""); got != nil {
		t.Errorf("%v", got)
	}
}

package github

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/org/cdkd-action/ci/report"
)

// A NoPullRequestError says that a run belongs to no pull request.
type NoPullRequestError struct{ Commit string }

func (e *NoPullRequestError) Error() string {
	return fmt.Sprintf("commit %s came with no pull request, so nothing was reviewed", e.Commit)
}

// Reviewed returns the pull request that a run's commit came with, and what its
// comment says would be done: nothing when there is no comment. A failure is of
// GitHub's, or a [*NoPullRequestError].
func Reviewed(ctx context.Context, getenv func(string) string, opt Options) (PullRequest, []report.Section, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(opt.Limit, Limit))
	defer cancel()
	c, err := newClient(getenv, opt.Client)
	if err != nil {
		return PullRequest{}, nil, fmt.Errorf("look up the reviewed plan: %w", err)
	}
	pr, err := c.pullRequest(ctx, getenv)
	if err != nil {
		return pr, nil, fmt.Errorf("find the pull request of commit %s: %w", getenv("GITHUB_SHA"), err)
	}
	ours, err := c.find(ctx, pr, marker(opt.App, opt.Key))
	if err != nil {
		return pr, nil, fmt.Errorf("read the comment on pull request %s: %w", pr, explained(err, pr))
	}
	if len(ours) == 0 {
		return pr, nil, nil
	}
	return pr, report.Sections(ours[len(ours)-1].GetBody()), nil
}

// mergeGroup is the branch that a merge queue tests a pull request on.
var mergeGroup = regexp.MustCompile(`^refs/heads/gh-readonly-queue/.+/pr-([0-9]+)-[0-9a-f]{40}$`)

// pullRequest finds the pull request of a run: the event's, the merge group's,
// or the one that brought the commit.
func (c *client) pullRequest(ctx context.Context, getenv func(string) string) (PullRequest, error) {
	pr, ok, err := PullRequestFromEnv(getenv)
	if ok || err != nil {
		return pr, err
	}
	owner, repo, found := strings.Cut(getenv("GITHUB_REPOSITORY"), "/")
	if !found {
		return pr, fmt.Errorf("GITHUB_REPOSITORY is %q", getenv("GITHUB_REPOSITORY"))
	}
	pr.Owner, pr.Repo = owner, repo
	if m := mergeGroup.FindStringSubmatch(getenv("GITHUB_REF")); m != nil {
		pr.Number, err = strconv.Atoi(m[1])
		return pr, err
	}
	sha := getenv("GITHUB_SHA")
	pulls, err := again(ctx, true, func() ([]*github.PullRequest, error) {
		pulls, _, err := c.rest.PullRequests.ListPullRequestsWithCommit(ctx, owner, repo, sha, nil)
		return pulls, err
	})
	if err != nil {
		return pr, explained(err, pr)
	}
	pulls = slices.DeleteFunc(pulls, func(p *github.PullRequest) bool { return p.MergedAt == nil })
	if len(pulls) == 0 {
		return pr, &NoPullRequestError{sha}
	}
	// A commit can be part of several; the one whose merge it is comes first.
	i := slices.IndexFunc(pulls, func(p *github.PullRequest) bool { return p.GetMergeCommitSHA() == sha })
	pr.Number = pulls[max(i, 0)].GetNumber()
	return pr, nil
}

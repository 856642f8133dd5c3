package github

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// A PullRequest is where a comment goes.
type PullRequest struct {
	Owner, Repo string
	Number      int
	// Fork tells that its branch is in another repository, or in one that is gone;
	// the token of a run for it may only read.
	Fork bool
	// Head is the commit that the run is about, "" when the event does not say.
	Head string
}

// String is owner/repo#number.
func (pr PullRequest) String() string { return fmt.Sprintf("%s/%s#%d", pr.Owner, pr.Repo, pr.Number) }

// A trigger is what is read of the event that started a run. Of the hundreds of fields that GitHub sends no
// other may fail a run by what it holds.
type trigger struct {
	PullRequest struct {
		Number     int
		Head, Base struct {
			SHA  string
			Repo struct { // null: it was deleted
				FullName string `json:"full_name"`
			}
		}
	} `json:"pull_request"`
}

// PullRequestFromEnv returns the pull request that a run is for. ok is false
// when the event is none of a pull request.
func PullRequestFromEnv(getenv func(string) string) (pr PullRequest, ok bool, err error) {
	switch getenv("GITHUB_EVENT_NAME") {
	case "pull_request", "pull_request_target":
	default: // comments on a pull request come with the event of an issue, and start no plan
		return pr, false, nil
	}
	path := getenv("GITHUB_EVENT_PATH")
	b, err := os.ReadFile(path)
	if err != nil {
		return pr, false, fmt.Errorf("read the event that started the run: %w", err)
	}
	var e trigger
	if err := json.Unmarshal(b, &e); err != nil {
		return pr, false, fmt.Errorf("read the event that started the run from %s: %w", path, err)
	}
	pull := e.PullRequest
	owner, repo, found := strings.Cut(getenv("GITHUB_REPOSITORY"), "/")
	if !found || pull.Number == 0 {
		return pr, false, fmt.Errorf("read the event that started the run from %s: it names no pull request of %q", path, getenv("GITHUB_REPOSITORY"))
	}
	fork := pull.Head.Repo.FullName != pull.Base.Repo.FullName
	return PullRequest{Owner: owner, Repo: repo, Number: pull.Number, Fork: fork, Head: pull.Head.SHA}, true, nil
}

package github

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/google/go-github/v60/github"
	"golang.org/x/sync/errgroup"

	"github.com/org/cdkd-action/engine/routine"
)

// A PullState says whether work on a pull request goes on.
type PullState string

// The states of a pull request. A merged one is closed.
const (
	PullOpen   PullState = "open"
	PullClosed PullState = "closed"
	PullNone   PullState = "" // the repository has none of that number, or the token may not see it
)

// PullStates asks for the states of pull requests of the run's repository, by
// number. It takes pull-requests: read. An error means that nothing is known of
// any of them.
func PullStates(ctx context.Context, getenv func(string) string, opt Options, numbers []int) (map[int]PullState, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(opt.Limit, Limit))
	defer cancel()
	owner, repo, found := strings.Cut(getenv("GITHUB_REPOSITORY"), "/")
	if !found {
		return nil, fmt.Errorf("GITHUB_REPOSITORY is %q, want owner/repository", getenv("GITHUB_REPOSITORY"))
	}
	c, err := newClient(getenv, opt.Client)
	if err != nil {
		return nil, err
	}
	states := map[int]PullState{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4) // GitHub asks for few requests at once
	for _, n := range numbers {
		group.Go(func() error {
			return routine.Try(func() error {
				pull, err := again(ctx, true, func() (*github.PullRequest, error) {
					p, _, err := c.rest.PullRequests.Get(ctx, owner, repo, n)
					return p, err
				})
				state := PullState(pull.GetState())
				switch {
				case gone(err):
					state = PullNone
				case err != nil:
					return fmt.Errorf("look at pull request %s/%s#%d: %w", owner, repo, n, err)
				case state != PullOpen && state != PullClosed:
					return fmt.Errorf("look at pull request %s/%s#%d: GitHub says that it is %q, which is neither open nor closed", owner, repo, n, state)
				}
				mu.Lock()
				defer mu.Unlock()
				states[n] = state
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return states, nil
}

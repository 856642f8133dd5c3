package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v60/github"
)

// A DeploymentState is what GitHub calls how a deployment goes.
// https://docs.github.com/rest/deployments/statuses
type DeploymentState string

// The states that are used here.
const (
	DeploymentInProgress DeploymentState = "in_progress"
	DeploymentSuccess    DeploymentState = "success"
	DeploymentFailure    DeploymentState = "failure"
	DeploymentError      DeploymentState = "error" // it did not come to an end
)

// A DeploymentStatus is one status of a deployment.
type DeploymentStatus struct {
	State       DeploymentState
	Description string // cut at the 140 characters that GitHub takes
	URL         string // of what was deployed, "" for none
}

// CreateDeployment tells GitHub that the run's commit is being deployed to an
// environment, and returns the deployment's id. It takes deployments: write.
func CreateDeployment(ctx context.Context, getenv func(string) string, opt Options, environment string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(opt.Limit, Limit))
	defer cancel()
	c, owner, repo, err := newDeployments(getenv, opt)
	if err != nil {
		return 0, err
	}
	// Of a pull request it is the head: GITHUB_SHA is a merge that nobody sees.
	ref := getenv("GITHUB_SHA")
	if pr, ok, err := PullRequestFromEnv(getenv); err == nil && ok && pr.Head != "" {
		ref = pr.Head
	}
	// Whether the checks have passed is for the workflow to say, and not to wait
	// for: this very run is one of them.
	made, err := again(ctx, false, func() (*github.Deployment, error) {
		d, _, err := c.rest.Repositories.CreateDeployment(ctx, owner, repo, &github.DeploymentRequest{
			Ref: &ref, Environment: &environment, AutoMerge: github.Bool(false), RequiredContexts: &[]string{},
		})
		return d, err
	})
	if err != nil {
		return 0, fmt.Errorf("create a deployment to environment %q: %w", environment, deploymentRefused(err))
	}
	return made.GetID(), SetDeploymentStatus(ctx, getenv, opt, made.GetID(), DeploymentStatus{State: DeploymentInProgress})
}

// SetDeploymentStatus adds a status to a deployment, with a link to the run.
func SetDeploymentStatus(ctx context.Context, getenv func(string) string, opt Options, id int64, status DeploymentStatus) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(opt.Limit, Limit))
	defer cancel()
	c, owner, repo, err := newDeployments(getenv, opt)
	if err != nil {
		return err
	}
	in := &github.DeploymentStatusRequest{State: github.String(string(status.State))}
	if status.Description != "" {
		in.Description = github.String(firstRunes(status.Description, 140))
	}
	if status.URL != "" {
		in.EnvironmentURL = &status.URL
	}
	if server, run := getenv("GITHUB_SERVER_URL"), getenv("GITHUB_RUN_ID"); server != "" && run != "" {
		in.LogURL = github.String(server + "/" + owner + "/" + repo + "/actions/runs/" + run)
	}
	_, err = again(ctx, true, func() (*github.DeploymentStatus, error) { // a status said twice is the same status
		s, _, err := c.rest.Repositories.CreateDeploymentStatus(ctx, owner, repo, id, in)
		return s, err
	})
	if err != nil {
		return fmt.Errorf("set the status of deployment %d to %s: %w", id, status.State, deploymentRefused(err))
	}
	return nil
}

func newDeployments(getenv func(string) string, opt Options) (c *client, owner, repo string, err error) {
	owner, repo, found := strings.Cut(getenv("GITHUB_REPOSITORY"), "/")
	if !found {
		return nil, "", "", fmt.Errorf("GITHUB_REPOSITORY is %q, want owner/repository", getenv("GITHUB_REPOSITORY"))
	}
	c, err = newClient(getenv, opt.Client)
	return c, owner, repo, err
}

func deploymentRefused(err error) error {
	r, ok := errors.AsType[*github.ErrorResponse](err)
	if !ok || r.Response == nil {
		return err
	}
	switch r.Response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return fmt.Errorf("GitHub refused (%d %s); give the job the permission deployments: write, or leave the input environment out", r.Response.StatusCode, r.Message)
	}
	return err
}

func firstRunes(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

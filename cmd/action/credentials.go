package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/sethvargo/go-githubactions"
)

const sessionName = "cdkd-action"

// assumeRole lets a configuration work as a role. The session is renewed before it
// ends, for as long as the run takes.
func (s *step) assumeRole(ctx context.Context, cfg *aws.Config, roleARN string) {
	if cfg.Region == "" {
		cfg.Region = "us-east-1" // of the STS that is asked
	}
	var role aws.CredentialsProvider
	if s.hasIDToken() {
		role = stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(*cfg), roleARN, &idToken{ctx: ctx, s: s, roleARN: roleARN},
			func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = sessionName })
	} else {
		role = stscreds.NewAssumeRoleProvider(sts.NewFromConfig(*cfg), roleARN,
			func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = sessionName })
	}
	cfg.Credentials = aws.NewCredentialsCache(role, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = 5 * time.Minute })
}

// hasIDToken tells whether the role is to be assumed with the job's own OIDC
// token: the job may have one, and no earlier step gave it credentials.
func (s *step) hasIDToken() bool {
	return !s.givenCredentials() && s.surface.Getenv("ACTIONS_ID_TOKEN_REQUEST_URL") != "" && s.surface.Getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN") != ""
}

// givenCredentials tells whether the environment names some, good or bad.
func (s *step) givenCredentials() bool {
	return slices.ContainsFunc([]string{
		"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	}, func(name string) bool { return s.surface.Getenv(name) != "" })
}

// withoutCredentials tells whether there are no credentials at all: nobody named
// any, there is no token for the role, and the machine has none of its own.
// Credentials that AWS refuses are another matter.
func (s *step) withoutCredentials(ctx context.Context) bool {
	if s.givenCredentials() || len(s.in.RoleARNs) > 0 && s.hasIDToken() {
		return false
	}
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	cfg, err := s.sourceConfig(ctx)
	if err != nil {
		return false // which the run itself will say
	}
	asking, done := context.WithTimeout(ctx, 15*time.Second) // a machine may answer nothing where EC2 has its metadata
	defer done()
	_, err = cfg.Credentials.Retrieve(asking)
	return err != nil && ctx.Err() == nil
}

// An idToken asks GitHub for the job's OIDC token, anew for each session: a
// token lives for minutes. A job that gets none at first is not permitted to have
// one, and each request that goes without credentials would ask again.
// https://docs.github.com/en/actions/reference/security/oidc
type idToken struct {
	ctx     context.Context
	s       *step
	roleARN string

	mu      sync.Mutex
	given   bool
	refused error
}

// GetIdentityToken implements stscreds.IdentityTokenRetriever.
func (t *idToken) GetIdentityToken() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused != nil {
		return nil, t.refused
	}
	audience := "sts.amazonaws.com"
	if strings.HasPrefix(t.roleARN, "arn:aws-cn:") {
		audience += ".cn"
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), 30*time.Second) // a save after a signal needs credentials too
	defer cancel()
	github := githubactions.New(githubactions.WithGetenv(t.s.surface.Getenv), githubactions.WithHTTPClient(proxied()))
	token, err := github.GetIDToken(ctx, audience)
	if err != nil {
		err = fmt.Errorf("ask GitHub for the job's OIDC token: %w", err)
		if !t.given {
			t.refused = err
		}
		return nil, err
	}
	t.given = true
	t.s.secrets.AddDerived(token)
	return []byte(token), nil
}

// proxied is a client for what is not AWS.
func proxied() *http.Client {
	return &http.Client{Transport: httpClient().GetTransport()}
}

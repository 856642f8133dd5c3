package github

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v60/github"
)

// ClientOptions say who talks to GitHub, and over what.
type ClientOptions struct {
	Token string
	// Transport makes the connections; nil is Go's own.
	Transport http.RoundTripper
}

type client struct {
	rest    *github.Client
	graphql string // where the GraphQL API is
	// installation tells that the token is an app's: it has no user.
	installation bool
	login        *string // of the token's user, once it is known
}

// ErrNoToken says that GitHub cannot be asked as anybody.
var ErrNoToken = errors.New("the input github-token is empty")

func newClient(getenv func(string) string, opt ClientOptions) (*client, error) {
	if opt.Token == "" {
		return nil, ErrNoToken
	}
	api := cmp.Or(getenv("GITHUB_API_URL"), "https://api.github.com")
	base, err := url.Parse(strings.TrimSuffix(api, "/") + "/")
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("GITHUB_API_URL %q is no address", api)
	}
	// The token is added to every request, also to one that a redirect leads
	// to, so redirects must not leave the host.
	rest := github.NewClient(&http.Client{
		Transport: opt.Transport,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Host != base.Host || req.URL.Scheme != base.Scheme || len(via) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}).WithAuthToken(opt.Token)
	rest.BaseURL = base
	c := &client{rest: rest, installation: strings.HasPrefix(opt.Token, "ghs_")}
	if g, err := url.Parse(getenv("GITHUB_GRAPHQL_URL")); err == nil && g.Host == base.Host && g.Scheme == base.Scheme {
		c.graphql = g.String()
	}
	return c, nil
}

// self is the login behind the token, "" when the token is an app's.
func (c *client) self(ctx context.Context) string {
	if c.installation {
		return ""
	}
	if c.login == nil {
		me, _, err := c.rest.Users.Get(ctx, "")
		if err != nil {
			return ""
		}
		login := me.GetLogin()
		c.login = &login
	}
	return *c.login
}

const minimize = `mutation($id:ID!){minimizeComment(input:{subjectId:$id,classifier:OUTDATED}){minimizedComment{isMinimized}}}`

// hide folds an outdated comment away. It stays where the API that does it
// cannot be used: its successor says the same and more.
func (c *client) hide(ctx context.Context, comment *github.IssueComment) {
	if comment.GetNodeID() == "" || c.graphql == "" {
		return
	}
	_, _ = again(ctx, true, func() (any, error) {
		body, err := json.Marshal(map[string]any{"query": minimize, "variables": map[string]string{"id": comment.GetNodeID()}})
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.graphql, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		_, err = c.rest.Do(ctx, req, nil)
		return nil, err
	})
}

package github

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Limit is how long keeping a comment may take when nothing else is said.
const Limit = 30 * time.Second

// Options say as whom and for which app a comment is kept.
type Options struct {
	Token string
	// App and Key tell apart the comments of one pull request.
	App, Key string
	// Limit bounds the time that is spent; 0 is [Limit].
	Limit time.Duration
}

// Comment makes body the comment of the pull request that the environment
// names, and returns its address. Without a pull request it does nothing and
// returns "".
func Comment(ctx context.Context, getenv func(string) string, opt Options, body string) (string, error) {
	pr, ok, err := PullRequestFromEnv(getenv)
	if err != nil || !ok {
		return "", err
	}
	limit := opt.Limit
	if limit == 0 {
		limit = Limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	c, err := newClient(getenv("GITHUB_API_URL"), opt.Token)
	if err != nil {
		return "", err
	}
	address, err := c.keep(ctx, pr, marker(opt.App, opt.Key), body)
	if err != nil {
		return "", fmt.Errorf("comment on pull request %s/%s#%d: %w", pr.Owner, pr.Repo, pr.Number, explained(err, pr))
	}
	return address, nil
}

// marker is the first line of a comment. Names are hashed: whatever is in
// them, they cannot end the marker.
func marker(app, key string) string {
	sum := sha256.Sum256([]byte(app + "\x00" + key))
	return "<!-- cdkd-action " + hex.EncodeToString(sum[:12]) + " -->"
}

type client struct {
	rest *github.Client
	// installation tells that the token is an app's: it has no user.
	installation bool
}

func newClient(api, token string) (*client, error) {
	if token == "" {
		return nil, errors.New("comment on the pull request: there is no token; give github-token, or set comment to off")
	}
	if api == "" {
		api = "https://api.github.com"
	}
	base, err := url.Parse(strings.TrimSuffix(api, "/") + "/")
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("comment on the pull request: GITHUB_API_URL %q is no address", api)
	}
	// The token is added to every request, also to one that a redirect leads
	// to, so redirects must not leave the host.
	rest := github.NewClient(&http.Client{
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Host != base.Host || req.URL.Scheme != base.Scheme || len(via) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}).WithAuthToken(token)
	rest.BaseURL = base
	return &client{rest: rest, installation: strings.HasPrefix(token, "ghs_")}, nil
}

// keep edits our comment, or writes it when there is none.
func (c *client) keep(ctx context.Context, pr PullRequest, marker, body string) (string, error) {
	text := marker + "\n" + body
	old, err := c.find(ctx, pr, marker)
	if err != nil {
		return "", err
	}
	wanted := &github.IssueComment{Body: &text}
	if old != nil {
		if old.GetBody() == text {
			return old.GetHTMLURL(), nil
		}
		edited, err := again(ctx, true, func() (*github.IssueComment, error) {
			edited, _, err := c.rest.Issues.EditComment(ctx, pr.Owner, pr.Repo, old.GetID(), wanted)
			return edited, err
		})
		if !gone(err) {
			return edited.GetHTMLURL(), err
		}
		// Somebody deleted it in the meantime.
	}
	made, err := again(ctx, false, func() (*github.IssueComment, error) {
		made, _, err := c.rest.Issues.CreateComment(ctx, pr.Owner, pr.Repo, pr.Number, wanted)
		return made, err
	})
	return made.GetHTMLURL(), err
}

// find returns our comment, the oldest if there are several, or nil.
func (c *client) find(ctx context.Context, pr PullRequest, marker string) (*github.IssueComment, error) {
	opt := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: 100}}
	var candidates []*github.IssueComment
	for {
		next := 0
		page, err := again(ctx, true, func() ([]*github.IssueComment, error) {
			page, resp, err := c.rest.Issues.ListComments(ctx, pr.Owner, pr.Repo, pr.Number, opt)
			if err == nil {
				next = resp.NextPage
			}
			return page, err
		})
		if err != nil {
			return nil, err
		}
		for _, comment := range page {
			if first, _, _ := strings.Cut(comment.GetBody(), "\n"); strings.TrimSpace(first) == marker {
				candidates = append(candidates, comment)
			}
		}
		if next == 0 {
			break
		}
		opt.Page = next
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	self := c.self(ctx)
	for _, comment := range candidates {
		if wroteIt(self, comment.GetUser()) {
			return comment, nil
		}
	}
	return nil, nil
}

// self is the login behind the token, "" when the token is an app's.
func (c *client) self(ctx context.Context) string {
	if c.installation {
		return ""
	}
	me, _, err := c.rest.Users.Get(ctx, "")
	if err != nil {
		return ""
	}
	return me.GetLogin()
}

// wroteIt tells whether a comment can be ours. Anybody can copy a marker into a
// comment, and could later edit what we would write there; an app's comments
// are out of the hands of people.
func wroteIt(self string, author *github.User) bool {
	if self != "" {
		return author.GetLogin() == self
	}
	return author.GetType() == "Bot"
}

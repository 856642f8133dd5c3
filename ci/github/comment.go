package github

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/org/cdkd-action/ci/report"
)

// Limit is how long keeping a comment may take when nothing else is said.
const Limit = 30 * time.Second

// settling is how long a write by another job may be under way unseen.
const settling = time.Second

// looks is how often a shared comment is looked at after it was written.
const looks = 6

// Options say as whom, for which app and how a comment is kept.
type Options struct {
	Client ClientOptions
	// App and Key tell apart the comments of one pull request.
	App, Key string
	// Repost hides the comment of the run before and writes a new one, at the
	// end of the conversation. The jobs of one run share it.
	Repost bool
	// OnlyChanges writes no first comment to say that nothing changes.
	OnlyChanges bool
	// Rest says where a comment that had to be cut goes on.
	Rest string
	// Limit bounds the time that is spent; 0 is [Limit].
	Limit time.Duration
	// Settling replaces how long a write by another job may be under way.
	Settling time.Duration
}

// Comment puts a section into the comment of the pull request that the
// environment names, and returns the comment's address. It is "" without a
// pull request, and when there is nothing to say. Commit and run of the section
// are those of the environment.
func Comment(ctx context.Context, getenv func(string) string, opt Options, own report.Section) (string, error) {
	pr, ok, err := PullRequestFromEnv(getenv)
	if err != nil || !ok {
		return "", err
	}
	own.Head, own.Run = pr.Head, getenv("GITHUB_RUN_ID")+"."+getenv("GITHUB_RUN_ATTEMPT")
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(opt.Limit, Limit))
	defer cancel()
	c, err := newClient(getenv, opt.Client)
	if err != nil {
		return "", fmt.Errorf("comment on the pull request: %w", err)
	}
	comment, err := c.keep(ctx, pr, opt, own)
	if err != nil {
		return "", fmt.Errorf("comment on pull request %s: %w", pr, explained(err, pr))
	}
	return comment.GetHTMLURL(), nil
}

// marker is the first line of a comment. Names are hashed: whatever is in
// them, they cannot end the marker.
func marker(app, key string) string {
	sum := sha256.Sum256([]byte(app + "\x00" + key))
	return "<!-- cdkd-action " + hex.EncodeToString(sum[:12]) + " -->"
}

// keep makes own a section of our comment.
//
// GitHub has no conditional edit, so two jobs that write at once may each undo
// what the other did. A job that shares the comment therefore looks again after
// it wrote, a little later than another's write can still be under way, until
// its section is there. Two first comments are made one the same way. So it does
// after a write that failed on GitHub's side, which may have had its effect.
func (c *client) keep(ctx context.Context, pr PullRequest, opt Options, own report.Section) (*github.IssueComment, error) {
	mark := marker(opt.App, opt.Key) + "\n"
	var made, last *github.IssueComment
	var failure error // of the latest write
	for look := range looks {
		if look > 0 && !pause(ctx, cmp.Or(opt.Settling, settling)) {
			return last, failure // what there is was written; there is no time to make sure
		}
		ours, err := c.find(ctx, pr, strings.TrimSpace(mark))
		if err != nil {
			if last != nil {
				return last, failure
			}
			return nil, cmp.Or(failure, err)
		}
		var before *github.IssueComment
		if len(ours) > 0 {
			before = ours[len(ours)-1]
		}
		sections := report.Sections(before.GetBody())
		if opt.OnlyChanges && before == nil && !own.Changed && own.Outcome.ExitCode() == 0 {
			return nil, nil
		}
		anew := before == nil || opt.Repost && made == nil && !slices.ContainsFunc(sections, func(s report.Section) bool { return s.Run == own.Run })
		if anew { // of the same run, some jobs may have been run again
			sections = slices.DeleteFunc(sections, func(s report.Section) bool { return runOf(s) != runOf(own) })
		}
		sections = report.With(sections, own)
		text := mark + report.Compose(sections, own.Head, report.CommentLimit-len(mark), opt.Rest)
		switch {
		case anew:
			if made, err = c.create(ctx, pr, text); err != nil {
				if made, failure = nil, err; failedThere(err) {
					continue
				}
				return last, err
			}
			last, failure = made, nil
			c.hide(ctx, before)
			continue
		case before.GetBody() == text:
			last, failure = before, nil
		default:
			edited, err := c.edit(ctx, pr, before.GetID(), text)
			if gone(err) { // somebody deleted it in the meantime
				made, last = nil, nil
				continue
			}
			if failure = err; failedThere(err) {
				continue
			}
			if err != nil {
				return last, err
			}
			last = edited
		}
		if made != nil && made.GetID() != last.GetID() {
			c.remove(ctx, pr, made.GetID())
			made = nil
		}
		if len(sections) == 1 || before.GetBody() == text {
			return last, nil
		}
	}
	return last, failure
}

// runOf is the workflow run that wrote a section, whichever attempt it was.
func runOf(s report.Section) string {
	run, _, _ := strings.Cut(s.Run, ".")
	return run
}

// pause waits for about d. It tells whether there is time left to do anything
// after it.
func pause(ctx context.Context, d time.Duration) bool {
	d += rand.N(d/2 + 1) // so that jobs that met once do not meet again
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < 2*d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// find returns our comments, oldest first.
func (c *client) find(ctx context.Context, pr PullRequest, marker string) ([]*github.IssueComment, error) {
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
	return slices.DeleteFunc(candidates, func(comment *github.IssueComment) bool { return !wroteIt(self, comment.GetUser()) }), nil
}

func (c *client) create(ctx context.Context, pr PullRequest, text string) (*github.IssueComment, error) {
	return again(ctx, false, func() (*github.IssueComment, error) {
		made, _, err := c.rest.Issues.CreateComment(ctx, pr.Owner, pr.Repo, pr.Number, &github.IssueComment{Body: &text})
		return made, err
	})
}

func (c *client) edit(ctx context.Context, pr PullRequest, id int64, text string) (*github.IssueComment, error) {
	return again(ctx, true, func() (*github.IssueComment, error) {
		edited, _, err := c.rest.Issues.EditComment(ctx, pr.Owner, pr.Repo, id, &github.IssueComment{Body: &text})
		return edited, err
	})
}

// remove deletes a comment that another one has taken the place of. One that
// stays says nothing wrong.
func (c *client) remove(ctx context.Context, pr PullRequest, id int64) {
	_, _ = again(ctx, true, func() (any, error) {
		_, err := c.rest.Issues.DeleteComment(ctx, pr.Owner, pr.Repo, id)
		return nil, err
	})
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

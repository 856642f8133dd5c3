package github

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/org/cdkd-action/ci/report"
)

// An Issue is what there is to say about one subject, such as a stack that has
// drifted, in an issue of its own.
type Issue struct {
	Subject string // tells issues apart; it is hashed
	Title   string
	Body    string // Markdown
	// Over closes the issue, if there is one, with Body as the last comment.
	Over bool
}

// Issues keeps issues of the repository that the environment names: each is
// opened, brought up to date, or closed. It returns the addresses of those that
// are open now, in order. What keeps one from being kept does not keep the others.
func Issues(ctx context.Context, getenv func(string) string, opt Options, issues []Issue) ([]string, error) {
	owner, repo, found := strings.Cut(getenv("GITHUB_REPOSITORY"), "/")
	if !found {
		return nil, errors.New("keep issues: GITHUB_REPOSITORY names no repository")
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(opt.Limit, Limit))
	defer cancel()
	c, err := newClient(getenv, opt.Client)
	if err != nil {
		return nil, fmt.Errorf("keep issues of %s/%s: %w", owner, repo, err)
	}
	k := &keeper{client: c, owner: owner, repo: repo, opt: opt}
	if err := k.read(ctx); err != nil {
		return nil, fmt.Errorf("find the issues of %s/%s: %w", owner, repo, issuesDenied(err))
	}
	var urls []string
	var errs []error
	for _, i := range issues {
		kept, err := k.keep(ctx, i)
		if err != nil {
			errs = append(errs, fmt.Errorf("keep issue %q of %s/%s: %w", report.Line(i.Title), owner, repo, issuesDenied(err)))
		}
		if kept.GetHTMLURL() != "" {
			urls = append(urls, kept.GetHTMLURL())
		}
	}
	return urls, errors.Join(errs...)
}

// issuesDenied gives the refusals of GitHub their own type.
func issuesDenied(err error) error {
	r, ok := errors.AsType[*github.ErrorResponse](err)
	if !ok || r.Response == nil {
		return err
	}
	switch r.Response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return &IssuesDeniedError{Status: r.Response.StatusCode, Message: r.Message}
	}
	return err
}

// An IssuesDeniedError says that the token may not keep issues, or that the
// repository has none.
type IssuesDeniedError struct {
	Status  int
	Message string // GitHub's
}

func (e *IssuesDeniedError) Error() string {
	if e.Status == http.StatusGone {
		return fmt.Sprintf("GitHub refused (%d %s); switch issues on in the repository's settings, or set drift-issues to false", e.Status, e.Message)
	}
	return fmt.Sprintf("GitHub refused (%d %s); give the job the permission issues: write, or set drift-issues to false", e.Status, e.Message)
}

// A keeper keeps the issues of one repository.
type keeper struct {
	*client
	owner, repo string
	opt         Options
	open        []*github.Issue // ours, oldest first
}

// issueMarker is the first line of an issue about a subject.
func issueMarker(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return issueMark + hex.EncodeToString(sum[:12]) + " -->"
}

const issueMark = "<!-- cdkd-action issue "

// read finds the open issues that are ours. Anybody can copy a marker into an
// issue; see wroteIt.
func (k *keeper) read(ctx context.Context) error {
	opt := &github.IssueListByRepoOptions{State: "open", Sort: "created", Direction: "asc", ListOptions: github.ListOptions{PerPage: 100}}
	k.open = nil
	for {
		next := 0
		page, err := again(ctx, true, func() ([]*github.Issue, error) {
			page, resp, err := k.rest.Issues.ListByRepo(ctx, k.owner, k.repo, opt)
			if err == nil {
				next = resp.NextPage
			}
			return page, err
		})
		if err != nil {
			return err
		}
		for _, i := range page {
			if !i.IsPullRequest() && strings.HasPrefix(i.GetBody(), issueMark) && wroteIt(k.self(ctx), i.GetUser()) {
				k.open = append(k.open, i)
			}
		}
		if next == 0 {
			return nil
		}
		opt.Page = next
	}
}

// about returns our issues about a subject, oldest first.
func (k *keeper) about(marker string) (found []*github.Issue) {
	for _, i := range k.open {
		if first, _, _ := strings.Cut(i.GetBody(), "\n"); strings.TrimSpace(first) == marker {
			found = append(found, i)
		}
	}
	return found
}

// keep brings the issue about a subject to what there is to say. It returns it
// while it is open.
//
// Two jobs may open one each at the same time. Whoever opened one therefore
// looks again, a little later than another's request can still be under way: the
// oldest stays.
func (k *keeper) keep(ctx context.Context, i Issue) (*github.Issue, error) {
	marker := issueMarker(i.Subject)
	found := k.about(marker)
	if i.Over {
		for _, f := range found {
			if err := k.close(ctx, f, i.Body, "completed"); err != nil {
				return f, err
			}
		}
		return nil, nil
	}
	text := marker + "\n" + report.Fit(i.Body, report.CommentLimit-len(marker)-1, k.opt.Rest)
	if len(found) == 0 {
		made, err := again(ctx, false, func() (*github.Issue, error) {
			made, _, err := k.rest.Issues.Create(ctx, k.owner, k.repo, &github.IssueRequest{Title: &i.Title, Body: &text})
			return made, err
		})
		if err != nil || !pause(ctx, cmp.Or(k.opt.Settling, settling)) || k.read(ctx) != nil {
			return made, err // there is no time to make sure, or it is not to be had
		}
		if found = k.about(marker); len(found) == 0 || found[0].GetNumber() == made.GetNumber() {
			return made, nil
		}
	}
	first := found[0]
	for _, f := range found[1:] {
		if err := k.close(ctx, f, fmt.Sprintf("The same is in #%d.", first.GetNumber()), "not_planned"); err != nil {
			return first, err
		}
	}
	if first.GetBody() == text && first.GetTitle() == i.Title {
		return first, nil
	}
	return again(ctx, true, func() (*github.Issue, error) {
		edited, _, err := k.rest.Issues.Edit(ctx, k.owner, k.repo, first.GetNumber(), &github.IssueRequest{Title: &i.Title, Body: &text})
		return edited, err
	})
}

// close closes an issue, with a last word. Should only the word be missing,
// that is no reason to leave it open.
func (k *keeper) close(ctx context.Context, issue *github.Issue, why, reason string) error {
	_, _ = again(ctx, false, func() (any, error) {
		_, _, err := k.rest.Issues.CreateComment(ctx, k.owner, k.repo, issue.GetNumber(), &github.IssueComment{Body: &why})
		return nil, err
	})
	closed := "closed"
	_, err := again(ctx, true, func() (any, error) {
		_, _, err := k.rest.Issues.Edit(ctx, k.owner, k.repo, issue.GetNumber(), &github.IssueRequest{State: &closed, StateReason: &reason})
		return nil, err
	})
	return err
}

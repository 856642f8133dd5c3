package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/go-github/v60/github"
)

// A DeniedError says that the token may not write the comment.
type DeniedError struct {
	Status int
	// Message is GitHub's.
	Message string
	Fork    bool
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("GitHub refused (%d %s); %s; the report is in the step summary", e.Status, e.Message, e.Remedy())
}

// Remedy says what to do about it.
func (e *DeniedError) Remedy() string {
	switch {
	case e.Status == http.StatusUnauthorized:
		return "it knows no such token; look at the secret that github-token is, or leave github-token away, which takes the job's own"
	case e.Fork:
		return "on a pull request from a fork the token can only read"
	}
	return "give the job the permission pull-requests: write, or set comment to off"
}

// explained gives the refusals of GitHub their own type.
func explained(err error, pr PullRequest) error {
	if r, ok := errors.AsType[*github.ErrorResponse](err); ok && r.Response != nil {
		switch r.Response.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
			return &DeniedError{Status: r.Response.StatusCode, Message: r.Message, Fork: pr.Fork}
		}
	}
	return err
}

func gone(err error) bool {
	r, ok := errors.AsType[*github.ErrorResponse](err)
	return ok && r.Response != nil && r.Response.StatusCode == http.StatusNotFound
}

// again makes a call, and makes it once more when GitHub asks for patience
// that the context has. It does so too when GitHub fails on its side, if the
// call is safe to repeat although it may have had its effect.
func again[T any](ctx context.Context, safe bool, call func() (T, error)) (T, error) {
	v, err := call()
	wait, ok := patience(err)
	if !ok && safe && failedThere(err) {
		wait, ok = time.Second, true
	}
	if !ok {
		return v, err
	}
	if deadline, has := ctx.Deadline(); has && time.Now().Add(wait).After(deadline) {
		return v, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return v, err
	case <-timer.C:
		return call()
	}
}

// patience is how long to wait before a call is worth another try.
func patience(err error) (time.Duration, bool) {
	if e, ok := errors.AsType[*github.AbuseRateLimitError](err); ok {
		if e.RetryAfter != nil {
			return *e.RetryAfter, true
		}
		return time.Minute, true // what GitHub asks for where it says nothing
	}
	if e, ok := errors.AsType[*github.RateLimitError](err); ok {
		return time.Until(e.Rate.Reset.Time), true
	}
	if e, ok := errors.AsType[*github.ErrorResponse](err); ok && e.Response != nil && e.Response.StatusCode == http.StatusTooManyRequests {
		return limited(e.Response.Header), true
	}
	return 0, false
}

// limited is how long an answer with the status 429, which the client library does
// not tell from others, asks to wait.
// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
func limited(h http.Header) time.Duration {
	if after, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return time.Duration(after) * time.Second
	}
	if reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil && h.Get("X-RateLimit-Remaining") == "0" {
		return time.Until(time.Unix(reset, 0))
	}
	return time.Minute
}

func failedThere(err error) bool {
	e, ok := errors.AsType[*github.ErrorResponse](err)
	return ok && e.Response != nil && e.Response.StatusCode >= 500
}

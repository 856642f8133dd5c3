package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

// Remedy is what to do about an error, "" when nobody said. That something was
// called off is no fault of what it was asked for.
func Remedy(err error) string {
	if errors.Is(err, context.Canceled) {
		return ""
	}
	r, ok := errors.AsType[interface {
		error
		Remedy() string
	}](err)
	if !ok {
		return ""
	}
	return r.Remedy()
}

// Classify says what an error means for the outcome of a run.
func Classify(err error) (result.Outcome, result.Reason) {
	if stopped(err) {
		return result.Cancelled, ""
	}
	for _, k := range kinds {
		if k.reason == "" || !k.is(err) {
			continue
		}
		switch k.reason {
		case result.ReasonLock:
			return result.Locked, k.reason
		case result.ReasonApproval:
			return result.ApprovalRequired, k.reason
		case result.ReasonPlanChanged:
			return result.PlanChanged, k.reason
		}
		return result.Failed, k.reason
	}
	if page := Page(err); page != "" && page != guide.Internal {
		return result.Failed, result.ReasonResource // something in AWS, and no fault of the program
	}
	return result.Failed, result.ReasonInternal
}

// stopped tells whether a signal is all that went wrong.
func stopped(err error) bool {
	return errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled)
}

// An InputError is something that was asked for and cannot be had: a stack that
// the app does not have, an account that is another one.
type InputError struct {
	What string
	Next string
	Page guide.Page // "" for the one about inputs
}

func (e *InputError) Error() string { return e.What }

// Remedy says what to do about it.
func (e *InputError) Remedy() string { return e.Next }

// A SynthError says that the app could not be turned into an assembly.
type SynthError struct {
	What string
	Next string
	Err  error
}

func (e *SynthError) Error() string {
	if e.Err == nil {
		return e.What
	}
	return fmt.Sprintf("%s: %v", e.What, e.Err)
}

func (e *SynthError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *SynthError) Remedy() string { return e.Next }

// fault puts an error that ended a stack's work into its result.
func (e *Engine) fault(s *result.Stack, err error) {
	s.Outcome, s.Reason = Classify(err)
	s.Message = e.config.Secrets.Mask(err.Error())
	e.explain(err)
	if is[*ResourcesError](err) && len(s.Failures) > 0 {
		s.Message = "" // each is listed by itself
	}
	if len(s.Failures) == 0 {
		s.Remedy, s.Page = Remedy(err), e.page(err)
	}
	if held, ok := errors.AsType[*state.HeldError](err); ok {
		s.Lock = &result.Lock{
			Owner: held.Owner, Operation: held.Operation, Stack: held.Stack, Region: held.Region,
			RunURL: e.runURL(held.Owner),
		}
		if !held.ExpiresAt.IsZero() {
			s.Lock.ExpiresAt = held.ExpiresAt.UnixMilli()
		}
	}
}

// runURL is the page of the workflow run that an owner names, "" for others:
// owners of this program on GitHub Actions are user@gha-<run id>-<attempt>-….
func (e *Engine) runURL(owner string) string {
	_, host, ok := strings.Cut(owner, "@gha-")
	parts := strings.SplitN(host, "-", 3)
	if !ok || len(parts) < 3 || e.config.RunsURL == "" || strings.Trim(parts[0], "0123456789") != "" || strings.Trim(parts[1], "0123456789") != "" {
		return ""
	}
	u, err := url.JoinPath(e.config.RunsURL, parts[0], "attempts", parts[1])
	if err != nil {
		return ""
	}
	return u
}

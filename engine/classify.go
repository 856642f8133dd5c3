package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/macro"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/synth"
	"github.com/org/cdkd-action/engine/template"
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
	switch {
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return result.Cancelled, ""
	case is[*state.HeldError](err), is[*state.BucketLockedError](err), is[*LockedError](err):
		return result.Locked, result.ReasonLock
	case is[*ApprovalError](err):
		return result.ApprovalRequired, result.ReasonApproval
	case is[*PlanChangedError](err):
		return result.PlanChanged, result.ReasonPlanChanged
	case errors.Is(err, errLost), is[*state.ConflictError](err), is[*state.DifferingError](err):
		return result.Failed, result.ReasonStateConflict
	case is[*CredentialsError](err), credentialsRefused(err):
		return result.Failed, result.ReasonCredentials
	case is[*RecordError](err):
		return result.Failed, result.ReasonStateConflict
	case is[*state.RegisteredError](err), is[*state.UnansweredError](err), is[*FormedError](err):
		return result.Failed, result.ReasonRegistry
	case is[*state.NameHeldError](err):
		return result.Failed, result.ReasonNameHeld
	case is[*ResourcesError](err), is[*asset.BucketError](err):
		return result.Failed, result.ReasonResource
	case is[*OutputsError](err):
		return result.Failed, result.ReasonOutput
	case is[*provider.PreflightError](err), is[*template.Error](err), is[*template.Faults](err), is[*template.MacroError](err), is[*macro.Error](err),
		is[*graph.CycleError](err), is[*asset.SourcesError](err), is[*ExportInUseError](err), is[*ExportTakenError](err), is[*ImportError](err), is[*assembly.Faults](err), is[*assembly.MissingError](err):
		return result.Failed, result.ReasonTemplate
	case is[*state.NoBucketError](err), is[*state.RegionError](err), is[*state.AccessError](err), is[*InputError](err), is[*ImportRefusedError](err),
		is[*ExportRefusedError](err), is[*ReferencesError](err), is[*UsedError](err), is[*StorageError](err):
		return result.Failed, result.ReasonInput
	case is[*SynthError](err), is[*synth.AppError](err), is[*synth.TimeoutError](err), is[*synth.NoAssemblyError](err),
		is[*synth.LookupError](err), is[*synth.NoProgramError](err):
		return result.Failed, result.ReasonSynth
	case is[*synth.NoAppError](err), is[*synth.ContextEntryError](err), is[*assembly.SelectionError](err):
		return result.Failed, result.ReasonInput
	case is[*ExportError](err), is[*RetireError](err): // by CloudFormation, with nothing said above
		return result.Failed, result.ReasonResource
	}
	return result.Failed, result.ReasonInternal
}

func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// credentialsRefused tells whether AWS did not accept who is calling.
// https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html
func credentialsRefused(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	switch api.ErrorCode() {
	case "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException",
		"InvalidAccessKeyId", "SignatureDoesNotMatch", "MissingAuthenticationToken", "IncompleteSignature":
		return true
	}
	return false
}

// An InputError is something that was asked for and cannot be had: a stack that
// the app does not have, an account that is another one.
type InputError struct {
	What string
	Next string
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
		s.Remedy = Remedy(err)
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

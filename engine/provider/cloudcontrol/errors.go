package cloudcontrol

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/provider"
)

// A FailedError is an operation that its handler failed. As an API error it
// has the handler's code and message, by which it is retried or not.
type FailedError struct {
	LogicalID, Type string
	Operation       types.Operation
	Code            types.HandlerErrorCode
	Message         string
	RequestToken    string
	Identifier      string // of what the handler had made by then, "" for nothing
	// Remnant is what a failed create left and could not be deleted, "" for
	// nothing.
	Remnant string
}

var _ smithy.APIError = (*FailedError)(nil)

func failure(r *provider.Request, e *types.ProgressEvent) *FailedError {
	return &FailedError{LogicalID: r.LogicalID, Type: r.Type, Operation: e.Operation, Code: e.ErrorCode,
		Message: aws.ToString(e.StatusMessage), RequestToken: aws.ToString(e.RequestToken), Identifier: aws.ToString(e.Identifier)}
}

// handlerDenied finds a 403 that another service than Cloud Control gave.
var handlerDenied = regexp.MustCompile(`\(Service: ([\w ]+), Status Code: 403`)

func (e *FailedError) Error() string {
	message := e.Message
	if message == "" {
		message = string(e.Code)
	}
	s := fmt.Sprintf("%s failed for %s: %s", e.Operation, e.LogicalID, message)
	if m := handlerDenied.FindStringSubmatch(message); m != nil && !strings.Contains(strings.ToLower(m[1]), "cloudcontrol") {
		s += fmt.Sprintf(" (the resource handler of %s was refused by %s, not this run by Cloud Control: the deploying role needs that permission too)", e.Type, m[1])
	}
	if e.Remnant != "" {
		s += fmt.Sprintf("; it left %s behind, which could not be deleted", e.Remnant)
	}
	return s
}

// ErrorCode and the two after it make it an API error.
func (e *FailedError) ErrorCode() string             { return string(e.Code) }
func (e *FailedError) ErrorMessage() string          { return e.Message }
func (e *FailedError) ErrorFault() smithy.ErrorFault { return smithy.FaultUnknown }

// HandlerErrorCode tells the code of a handler from one of a service.
func (e *FailedError) HandlerErrorCode() string { return string(e.Code) }

// Terminal is true for what another attempt cannot change: an update that did
// not stabilize has been made. Nor is a create sent again beside what it left: it
// would be refused, or make a second one.
func (e *FailedError) Terminal() bool {
	return e.Remnant != "" || e.Code == types.HandlerErrorCodeNotStabilized && e.Operation == types.OperationUpdate
}

// An OpenError says that a wait was let go while the operation went on. It is
// provider.ErrDraining, unless the context ended.
type OpenError struct {
	LogicalID, Type           string
	Operation                 types.Operation
	RequestToken, ClientToken string
	Identifier                string // "" when not known yet
	Err                       error
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("%s of %s (%s) goes on in AWS: %v", strings.ToLower(string(e.Operation)), e.LogicalID, e.Type, e.Err)
}

func (e *OpenError) Unwrap() error { return e.Err }

// Terminal is always true: the operation may still succeed.
func (e *OpenError) Terminal() bool { return true }

// A TimeoutError is an operation that was cancelled because it took too long.
type TimeoutError struct {
	LogicalID, Type          string
	Operation                types.Operation
	RequestToken, Identifier string
	After                    time.Duration
}

func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("%s of %s (%s) was cancelled: not finished after %s", strings.ToLower(string(e.Operation)), e.LogicalID, e.Type, e.After)
	if e.Identifier != "" {
		s += "; look at " + e.Identifier
	}
	return s
}

// Terminal is always true: the cancelled operation may have had its effect.
func (e *TimeoutError) Terminal() bool { return true }

// A CancelledError is an operation that was cancelled. It may have had its
// effect, or half of it.
type CancelledError struct {
	LogicalID, Type string
	Identifier      string // of what there may be, "" when none is known
}

func (e *CancelledError) Error() string {
	s := fmt.Sprintf("the Cloud Control request for %s (%s) was cancelled", e.LogicalID, e.Type)
	if e.Identifier != "" {
		s += "; look at " + e.Identifier
	}
	return s
}

// An UnsupportedTypeError is a type that neither layer can provision.
type UnsupportedTypeError struct {
	LogicalID, Type string
	Err             error
}

func (e *UnsupportedTypeError) Error() string {
	return fmt.Sprintf("%s: type %s has no SDK provider here, and Cloud Control does not support it: %v", e.LogicalID, e.Type, e.Err)
}

func (e *UnsupportedTypeError) Unwrap() error { return e.Err }

func unsupported(r *provider.Request, err error) error {
	if provider.HasCode(err, "UnsupportedActionException", "TypeNotFoundException") {
		return &UnsupportedTypeError{LogicalID: r.LogicalID, Type: r.Type, Err: err}
	}
	return err
}

// RemnantOf is what a failed create left and could not be deleted, "" for nothing.
func RemnantOf(err error) string {
	if f, ok := errors.AsType[*FailedError](err); ok {
		return f.Remnant
	}
	return ""
}

// refused tells whether a handler failed an operation with a code.
func refused(err error, code types.HandlerErrorCode) bool {
	f, ok := errors.AsType[*FailedError](err)
	return ok && f.Code == code
}

// parted tells whether a patch failed because the resource is not what the
// record says.
func parted(err error) bool {
	if refused(err, types.HandlerErrorCodeNotUpdatable) || provider.HasCode(err, "NotUpdatableException") {
		return true
	}
	if !refused(err, types.HandlerErrorCodeInvalidRequest) && !provider.HasCode(err, "InvalidRequestException", "ValidationException") {
		return false
	}
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "patch") || strings.Contains(text, "path")
}

func verb(e *types.ProgressEvent) string { return strings.ToLower(string(e.Operation)) }

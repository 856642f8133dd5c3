// Package retry says which failures of AWS calls are worth another attempt,
// after how long, and how often.
//
// It is the one place that sleeps between attempts. A failure has a class, a
// class has a schedule, and both are tables here: what is not in a table is
// not retried. Message patterns are compared only with text that AWS sent,
// never with our own words or with names of the user's that stand in them.
//
// One loop counts attempts over all classes, so that nested loops and their
// multiplied waits cannot come about. What the schedules mean for a deploy is
// a promise: about 47 seconds for anything that passes by itself, and a second
// attempt within a quarter of a second for a role that IAM has not spread yet.
package retry

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
)

// A Class is a kind of failure.
type Class int

const (
	Final       Class = iota // not worth another attempt
	Throttle                 // too many requests
	Server                   // HTTP 5xx
	Transient                // passes by itself: a dependency being deleted, a concurrent change
	Propagation              // a role, policy or principal that is not everywhere yet
	Cooldown                 // a name that was freed moments ago
	Collision                // a name that is taken; retried only when told to
)

func (c Class) String() string {
	return [...]string{"final", "throttled", "server error", "transient", "IAM propagation", "name cooldown", "name taken"}[c]
}

// Terminal marks an error as never to be retried, whatever its text says.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ error }

func (e *terminalError) Unwrap() error  { return e.error }
func (e *terminalError) Terminal() bool { return true }

// A Classifier decides a failure's class. The zero value is for creates and
// updates by an identity that is not known.
type Classifier struct {
	// Deleting is set for deletes, where "does not exist" will not change.
	Deleting bool
	// Caller is the ARN of the caller's own identity: a denial of that one is
	// final. "" if unknown.
	Caller string
	// Made tells whether this run made the role of an ARN, so that the caller
	// may not be able to pass it yet. nil: it made none.
	Made func(roleARN string) bool
}

// Of returns the class of a failure, decided by the first of its causes that
// any table knows.
func (c Classifier) Of(err error) Class {
	if t, ok := errors.AsType[interface {
		error
		Terminal() bool
	}](err); ok && t.Terminal() {
		return Final
	}
	links := chain(err)
	for _, l := range links {
		if c.throttled(l) {
			return Throttle
		}
	}
	for _, l := range links {
		if l.status >= 500 && slices.Contains(serverStatuses, l.status) {
			return Server
		}
	}
	for _, l := range links {
		if class := c.byText(l); class != Final {
			return class
		}
	}
	return Final
}

func (c Classifier) throttled(l link) bool {
	if l.status == http.StatusServiceUnavailable {
		return false // counted as a server error
	}
	if l.code == "LimitExceededException" && l.status != http.StatusTooManyRequests {
		return limitThatPasses.MatchString(l.message)
	}
	return l.status == http.StatusTooManyRequests || slices.Contains(throttleCodes, l.code) || strings.Contains(l.message, "Too Many Requests")
}

func (c Classifier) byText(l link) Class {
	if l.code == "" && l.message == "" {
		return Final
	}
	text := l.code + ": " + l.message
	has := func(pattern string) bool { return strings.Contains(text, pattern) }
	if class, ok := handlerCodes[l.code]; ok && l.handler {
		return class
	}
	switch {
	case slices.ContainsFunc(cooldownPatterns, has):
		return Cooldown
	case slices.ContainsFunc(propagationPatterns, has):
		if c.ownDenial(l.message) {
			return Final
		}
		return Propagation
	case slices.ContainsFunc(transientPatterns, has):
		return Transient
	case has("does not exist") && !c.Deleting && !has("NoSuchKey"): // S3 shows at once what was written
		return Transient
	case taken(text):
		return Collision
	}
	return Final
}

// ownDenial tells whether AWS denied the caller itself, which no waiting
// changes, except where a role of this run is to be passed.
func (c Classifier) ownDenial(message string) bool {
	if c.Caller == "" || !strings.Contains(message, "not authorized to perform") {
		return false
	}
	denied, rest, _ := strings.Cut(message, "is not authorized to perform")
	if !strings.Contains(denied, c.Caller) {
		return false
	}
	if action, resource, ok := strings.Cut(rest, "on resource:"); ok && strings.Contains(action, "iam:PassRole") && c.Made != nil {
		if fields := strings.Fields(resource); len(fields) > 0 {
			return !c.Made(strings.Trim(fields[0], `".,`))
		}
	}
	return true
}

// NameTaken tells whether AWS refused a create because the name is in use.
func NameTaken(err error) bool {
	return slices.ContainsFunc(chain(err), func(l link) bool {
		return l.code+l.message != "" && taken(l.code+": "+l.message)
	})
}

func taken(text string) bool {
	if strings.Contains(text, "AlreadyExists") {
		return true
	}
	for _, m := range alreadyExists.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(notACollision, strings.ToLower(m[1])) {
			return true
		}
	}
	return false
}

// A link is what one error of a chain says about an AWS call.
type link struct {
	code, message string
	status        int
	requestID     string
	handler       bool // a Cloud Control handler's code, not a service's
}

// chain returns what the error and its causes say, outermost first. A
// response's status and its error code are in different links of the SDK's.
func chain(err error) []link {
	var links []link
	var walk func(error)
	walk = func(err error) {
		for err != nil {
			var l link
			if e, ok := err.(smithy.APIError); ok {
				l.code, l.message = e.ErrorCode(), e.ErrorMessage()
			}
			if e, ok := err.(interface{ HTTPStatusCode() int }); ok {
				l.status = e.HTTPStatusCode()
			}
			if e, ok := err.(interface{ ServiceRequestID() string }); ok {
				l.requestID = e.ServiceRequestID()
			}
			if e, ok := err.(interface{ HandlerErrorCode() string }); ok {
				l.handler = e.HandlerErrorCode() != ""
			}
			if l != (link{}) {
				links = append(links, l)
			}
			if many, ok := err.(interface{ Unwrap() []error }); ok {
				for _, e := range many.Unwrap() {
					walk(e)
				}
				return
			}
			err = errors.Unwrap(err)
		}
	}
	walk(err)
	// The status belongs to the code below it.
	for i := range links[:max(len(links)-1, 0)] {
		if links[i].code == "" && links[i+1].status == 0 {
			links[i+1].status = links[i].status
		}
	}
	return links
}

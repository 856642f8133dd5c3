package cloudcontrol

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/org/cdkd-action/engine/schema"
)

// tokenLife is how long a client token stands for one request.
const tokenLife = 36 * time.Hour

// A request is one asynchronous operation.
type request struct {
	token       string
	clientToken string
	input       string // to compare with another under the same client token
	started     time.Time
	due         time.Time
	finish      func() *handlerError

	region, operation string
	t                 *schema.Type
	id                string // known from the start, told later
	told              bool

	status  string
	code    string
	message string
	changed time.Time
}

// A handlerError is how a resource handler fails.
type handlerError struct {
	code, message string
	remnant       bool // the resource is there all the same
}

// A Failure makes a handler fail, for tests.
type Failure struct {
	TypeName  string // "" any
	Operation string // CREATE, UPDATE, DELETE; "" any
	Code      string // HandlerErrorCode: NotStabilized, Throttling, …
	Message   string
	// Remnant lets the operation have its effect and fail then.
	Remnant bool
	Times   int // 0 is once
}

// Fail arranges for the next operations that match to fail.
func (s *Server) Fail(f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = max(f.Times, 1)
	s.failures = append(s.failures, &f)
}

func (s *Server) failure(q *request) *Failure {
	for _, f := range s.failures {
		if f.Times > 0 && (f.TypeName == "" || f.TypeName == q.t.Name) && (f.Operation == "" || f.Operation == q.operation) {
			f.Times--
			return f
		}
	}
	return nil
}

// start begins an operation, or returns the one that the client token already
// stands for. Finish is called when it is due and carries out its effect.
func (s *Server) start(region, operation string, t *schema.Type, id string, in *input, finish func() *handlerError) (any, error) {
	text, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if in.ClientToken != "" {
		if q := s.byClientToken(region, in.ClientToken, now); q != nil {
			if q.input != string(text) || q.operation != operation {
				return nil, exceptionf("ClientTokenConflictException", "The specified client token has already been used in another resource request")
			}
			return progress(q), nil
		}
	}
	for _, q := range s.requests {
		if q.running() && q.region == region && q.t.Name == t.Name && q.id == id && id != "" {
			return nil, exceptionf("ConcurrentOperationException", "There is already a resource operation in progress for %s with identifier %s", t.Name, id)
		}
	}
	q := &request{
		token: rand.Text(), clientToken: in.ClientToken, input: string(text), started: now, due: now.Add(s.delay), finish: finish,
		region: region, operation: operation, t: t, id: id, told: operation != "CREATE", status: "IN_PROGRESS", changed: now,
	}
	s.requests = append(s.requests, q)
	answer := progress(q)
	q.told = true
	return answer, nil
}

func (s *Server) byClientToken(region, token string, now time.Time) *request {
	for _, q := range slices.Backward(s.requests) {
		if q.clientToken == token && q.region == region && now.Sub(q.started) < tokenLife {
			return q
		}
	}
	return nil
}

func (q *request) running() bool { return q.status == "IN_PROGRESS" }

// settle finishes what is due.
func (s *Server) settle() {
	now := s.now()
	for _, q := range s.requests {
		if !q.running() || q.due.After(now) {
			continue
		}
		var failed *handlerError
		if f := s.failure(q); f != nil {
			failed = &handlerError{f.Code, f.Message, f.Remnant}
			if f.Remnant {
				if real := q.finish(); real != nil {
					failed = real
				}
			}
		} else {
			failed = q.finish()
		}
		q.status, q.changed = "SUCCESS", now
		if failed != nil {
			q.status, q.code, q.message = "FAILED", failed.code, failed.message
			if q.operation == "CREATE" && !failed.remnant && failed.code != "AlreadyExists" {
				q.id = "" // nothing was made that it could name
			}
		}
	}
}

func (s *Server) request(token string) (*request, error) {
	for _, q := range s.requests {
		if q.token == token {
			return q, nil
		}
	}
	return nil, exceptionf("RequestTokenNotFoundException", "Request with token %s was not found", token)
}

type event struct {
	TypeName        string
	Identifier      string `json:",omitempty"`
	RequestToken    string
	Operation       string
	OperationStatus string
	EventTime       float64
	StatusMessage   string `json:",omitempty"`
	ErrorCode       string `json:",omitempty"`
}

type progressEvent struct{ ProgressEvent event }

func progress(q *request) progressEvent {
	e := event{
		TypeName: q.t.Name, RequestToken: q.token, Operation: q.operation, OperationStatus: q.status,
		EventTime: float64(q.changed.UnixMilli()) / 1000, StatusMessage: q.message, ErrorCode: q.code,
	}
	if q.told {
		e.Identifier = q.id
	}
	return progressEvent{e}
}

func (s *Server) cancel(in *input) (any, error) {
	q, err := s.request(in.RequestToken)
	if err != nil {
		return nil, err
	}
	if !q.running() {
		return nil, exceptionf("ConcurrentModificationException", "The request is %s and cannot be cancelled", q.status)
	}
	q.status, q.changed = "CANCEL_COMPLETE", s.now()
	return progress(q), nil
}

func (s *Server) listRequests(in *input) (any, error) {
	f := in.ResourceRequestStatusFilter
	var all []event
	for _, q := range slices.Backward(s.requests) {
		if (len(f.OperationStatuses) == 0 || slices.Contains(f.OperationStatuses, q.status)) &&
			(len(f.Operations) == 0 || slices.Contains(f.Operations, q.operation)) {
			all = append(all, progress(q).ProgressEvent)
		}
	}
	page, next, err := pageOf(all, in)
	return struct {
		ResourceRequestStatusSummaries []event
		NextToken                      string `json:",omitempty"`
	}{page, next}, err
}

// pageOf cuts a page out of a listing; the token is the index of its first row.
func pageOf[T any](all []T, in *input) (page []T, next string, err error) {
	from, size := 0, in.MaxResults
	if size <= 0 || size > 100 {
		size = 20
	}
	if in.NextToken != "" {
		if from, err = strconv.Atoi(in.NextToken); err != nil || from > len(all) {
			return nil, "", exceptionf("ValidationException", "NextToken is invalid")
		}
	}
	to := min(from+size, len(all))
	if to < len(all) {
		next = fmt.Sprint(to)
	}
	return append([]T{}, all[from:to]...), next, nil
}

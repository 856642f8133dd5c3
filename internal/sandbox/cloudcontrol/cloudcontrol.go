// Package cloudcontrol is an emulator of AWS Cloud Control API for every
// resource type of which there is a schema.
//
// A resource is its properties and nothing more: no service behind it knows of
// it. What was made by other means is read, and no more, as Options.Elsewhere
// tells of it. What the schema says is enforced (names, scalar types, required,
// create-only, read-only and write-only properties), what only a service knows
// is made up (ARNs, ids, addresses) or not checked.
//
// Operations take time, Options.Delay, and have their effect at its end.
// Nothing runs meanwhile: whatever is due is settled when somebody next asks.
package cloudcontrol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/schema"
)

// Options say whose Cloud Control it is.
type Options struct {
	AccountID string           // "" is 123456789012
	Region    string           // of requests that do not name one; "" is us-east-1
	Now       func() time.Time // nil is time.Now
	// Types finds a resource type's schema; nil is schema.Lookup.
	Types func(name string) (*schema.Type, bool)
	// Delay is how long an operation is in progress. The first answer is always
	// IN_PROGRESS.
	Delay time.Duration
	// Elsewhere, when set, is the model of a resource that was made by other
	// means, nil when there is none.
	Elsewhere func(region, typeName, id string) map[string]any
}

// A Server is one account's Cloud Control in all regions. It is an
// http.Handler and safe for concurrent use.
type Server struct {
	account, region string
	now             func() time.Time
	types           func(string) (*schema.Type, bool)
	elsewhere       func(region, typeName, id string) map[string]any

	mu        sync.Mutex
	delay     time.Duration
	resources map[where]*resource
	requests  []*request // in the order in which they came
	failures  []*Failure
}

// where is the place of one resource.
type where struct{ region, typeName, id string }

type resource struct {
	model map[string]any // with write-only properties
}

// New returns a Cloud Control without resources.
func New(o Options) *Server {
	s := &Server{account: o.AccountID, region: o.Region, now: o.Now, types: o.Types, delay: o.Delay, elsewhere: o.Elsewhere, resources: map[where]*resource{}}
	if s.account == "" {
		s.account = "123456789012"
	}
	if s.region == "" {
		s.region = "us-east-1"
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.types == nil {
		s.types = schema.Lookup
	}
	return s
}

// SetDelay changes how long operations take that start from now on.
func (s *Server) SetDelay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Finish makes operations due that are in progress.
func (s *Server) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.requests {
		if q.running() {
			q.due = s.now()
		}
	}
}

// An exception is an error answer of the API itself; what goes wrong in a
// handler is in a progress event instead.
type exception struct{ name, message string }

func (e *exception) Error() string { return e.name + ": " + e.message }

func exceptionf(name, format string, args ...any) error {
	return &exception{name, fmt.Sprintf(format, args...)}
}

// input is the union of what the eight operations take.
type input struct {
	TypeName      string
	Identifier    string
	DesiredState  string
	PatchDocument string
	ClientToken   string
	RequestToken  string
	NextToken     string
	MaxResults    int
	ResourceModel string

	ResourceRequestStatusFilter struct {
		OperationStatuses []string
		Operations        []string
	}

	TypeVersionId string
	RoleArn       string
}

// ServeHTTP answers one request in the JSON protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in input
	var out any
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(&in)
	if err != nil {
		err = exceptionf("SerializationException", "%v", err)
	} else {
		out, err = s.serve(regionOf(r, s.region), strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "CloudApiService."), &in)
	}
	status := http.StatusOK
	if err != nil {
		name := "ServiceInternalErrorException"
		status = http.StatusInternalServerError
		if e, ok := err.(*exception); ok {
			name, status = e.name, http.StatusBadRequest
			err = fmt.Errorf("%s", e.message)
		}
		w.Header().Set("x-amzn-ErrorType", name)
		out = map[string]string{"__type": "com.amazon.cloudapiservice#" + name, "Message": err.Error()}
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(out); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	w.Write(text.Bytes())
}

func regionOf(r *http.Request, fallback string) string {
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if parts := strings.Split(scope, "/"); len(parts) >= 5 && parts[2] != "" {
		return parts[2]
	}
	return fallback
}

func (s *Server) serve(region, action string, in *input) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	switch action {
	case "GetResourceRequestStatus":
		q, err := s.request(in.RequestToken)
		if err != nil {
			return nil, err
		}
		return progress(q), nil
	case "ListResourceRequests":
		return s.listRequests(in)
	case "CancelResourceRequest":
		return s.cancel(in)
	}
	t, ok := s.types(in.TypeName)
	if !ok {
		return nil, exceptionf("TypeNotFoundException", "The type %s was not found", in.TypeName)
	}
	if action == "GetResource" && s.elsewhere != nil && s.resources[where{region, t.Name, in.Identifier}] == nil {
		if model := s.elsewhere(region, t.Name, in.Identifier); model != nil {
			return described(t, in.Identifier, model)
		}
	}
	if !t.Provisionable {
		return nil, exceptionf("UnsupportedActionException", "Resource type %s does not support %s action", in.TypeName, strings.ToUpper(strings.TrimSuffix(action, "Resource")))
	}
	switch action {
	case "CreateResource":
		return s.create(region, t, in)
	case "UpdateResource":
		return s.update(region, t, in)
	case "DeleteResource":
		return s.delete(region, t, in)
	case "GetResource":
		return s.get(region, t, in)
	case "ListResources":
		return s.list(region, t, in)
	}
	return nil, exceptionf("UnknownOperationException", "%s", action)
}

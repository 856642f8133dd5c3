package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// A Handler is a Lambda function written in Go. The payload is encoded as
// JSON; an error is what a function that threw answers.
type Handler func(ctx context.Context, event map[string]any) (payload any, err error)

type handler struct {
	pattern string
	run     Handler
}

// Handle answers invocations of the functions whose names match a pattern of
// path.Match. The handler added last counts.
//
// A function without one is run from its code, if Options.RunCode says so.
// Otherwise it returns null, and if it was called as a custom resource, it
// first reports success for it.
func (s *Sandbox) Handle(pattern string, run Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = append([]handler{{pattern, run}}, s.handlers...)
}

func (s *Sandbox) handlerOf(name string) Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.handlers {
		if ok, err := path.Match(h.pattern, name); ok && err == nil {
			return h.run
		}
	}
	return nil
}

// lambda answers the calls of Lambda: Invoke here, the rest by the upstream,
// with an eye on the functions' code.
func (s *Sandbox) lambda(w http.ResponseWriter, c *call) {
	switch c.Action {
	case "Invoke", "InvokeAsync":
		s.invoke(w, c)
		return
	case "CreateFunction", "UpdateFunctionCode", "PublishLayerVersion":
		if err := s.takeCode(c); err != nil {
			refuse(w, c, http.StatusBadRequest, "InvalidParameterValueException", err.Error())
			return
		}
	}
	out := newAnswer()
	s.forward(out, c)
	if out.status < 300 {
		s.follow(c)
	}
	out.send(w)
}

// functionName reduces a name, partial ARN or ARN to the name.
func functionName(ref string) string {
	if _, rest, ok := strings.Cut(ref, "function:"); ok {
		ref = rest
	}
	name, _, _ := strings.Cut(ref, ":")
	return name
}

func (s *Sandbox) invoke(w http.ResponseWriter, c *call) {
	name := functionName(c.Resource)
	if !s.functionExists(c, name) {
		refuse(w, c, http.StatusNotFound, "ResourceNotFoundException",
			fmt.Sprintf("Function not found: arn:aws:lambda:%s:%s:function:%s", c.Region, s.account, name))
		return
	}
	event := map[string]any{}
	if len(c.body) > 0 {
		if err := json.Unmarshal(c.body, &event); err != nil {
			refuse(w, c, http.StatusBadRequest, "InvalidRequestContentException", "Could not parse request body into json: "+err.Error())
			return
		}
	}
	kind := c.http.Header.Get("X-Amz-Invocation-Type")
	switch {
	case kind == "DryRun":
		w.WriteHeader(http.StatusNoContent)
		return
	case kind == "Event" || c.Action == "InvokeAsync":
		s.spawn(func(ctx context.Context) {
			s.call(ctx, c.Region, name, event) // nobody hears of the result
		})
		w.WriteHeader(http.StatusAccepted)
		return
	}
	ctx, cancel := context.WithCancel(c.http.Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	payload, err := s.call(ctx, c.Region, name, event)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		payload = functionError(err)
	}
	text, err := json.Marshal(payload)
	if err != nil {
		refuse(w, c, http.StatusInternalServerError, "ServiceException", err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amz-Executed-Version", "$LATEST")
	w.Write(text)
}

// A FunctionError is what a function threw, as the caller of Invoke sees it.
type FunctionError struct{ Type, Message string }

func (e *FunctionError) Error() string { return e.Message }

func functionError(err error) map[string]any {
	kind := "Error"
	if e, ok := errors.AsType[*FunctionError](err); ok {
		kind = e.Type
	}
	return map[string]any{"errorType": kind, "errorMessage": err.Error(), "trace": []string{}}
}

// functionExists asks the upstream, and Cloud Control for functions made there.
// Where there is no upstream to make functions, all exist.
func (s *Sandbox) functionExists(c *call, name string) bool {
	if s.CloudControl.Resource(c.Region, "AWS::Lambda::Function", name) != nil {
		return true
	}
	if s.upstream == nil {
		return true
	}
	out, err := s.upstream.ask(c.http.Context(), http.MethodGet, "/2015-03-31/functions/"+url.PathEscape(name), "lambda", c.Region, nil)
	return err == nil && out.status == http.StatusOK
}

// call runs a function.
func (s *Sandbox) call(ctx context.Context, region, name string, event map[string]any) (any, error) {
	if run := s.handlerOf(name); run != nil {
		return run(ctx, event)
	}
	if f := s.code(region, name); f != nil && s.runCode {
		return s.runFunction(ctx, region, name, f, event)
	}
	if IsCustomResource(event) {
		return nil, Respond(ctx, event, nil)
	}
	return nil, nil
}

// publish answers sns:Publish. A message to a topic that is a custom resource's
// service token is answered as its subscriber would.
func (s *Sandbox) publish(w http.ResponseWriter, c *call) {
	out := newAnswer()
	s.forward(out, c)
	event := map[string]any{}
	if out.status == http.StatusOK && json.Unmarshal([]byte(c.form.Get("Message")), &event) == nil && IsCustomResource(event) {
		s.spawn(func(ctx context.Context) {
			Respond(ctx, event, nil) // nobody hears of the result
		})
	}
	out.send(w)
}

package githubtest

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// The documents are those of npm's @octokit/openapi (MIT, see LICENSE beside
// them), trimmed by trim.go to what is called.
//
//go:embed openapi/*.json
var documents embed.FS

// Versions are the documents that a server can be held to.
var Versions = []string{"api.github.com", "ghes-3.19", "ghes-3.17"}

// A contract is GitHub's OpenAPI document: what may be asked, and what may be
// answered.
type contract struct{ router routers.Router }

func newContract(version string) (*contract, error) {
	text, err := documents.ReadFile("openapi/" + version + ".json")
	if err != nil {
		return nil, fmt.Errorf("there is no document of GitHub %q", version)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	router, err := legacy.NewRouter(doc)
	return &contract{router}, err
}

// check passes a request on and returns its answer, with everything in which
// one of them breaks the contract.
func (c *contract) check(w http.ResponseWriter, r *http.Request, root string, next http.Handler) (faults []string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil // the client went away
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	plain := r.Clone(context.Background())
	plain.URL.Path = strings.TrimPrefix(r.URL.Path, root)
	plain.URL.Scheme, plain.URL.Host, plain.Body = "", "", io.NopCloser(bytes.NewReader(body))
	fault := func(what string, err error) {
		first, _, _ := strings.Cut(err.Error(), "\n")
		faults = append(faults, fmt.Sprintf("%s %s: %s: %s", r.Method, plain.URL.Path, what, first))
	}
	route, params, err := c.router.FindRoute(plain)
	if err != nil {
		fault("no such operation", err)
		refuse(w, http.StatusNotFound, "Not Found")
		return faults
	}
	in := &openapi3filter.RequestValidationInput{Request: plain, Route: route, PathParams: params,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if err := openapi3filter.ValidateRequest(plain.Context(), in); err != nil {
		fault("the request", err)
		refuse(w, http.StatusBadRequest, "Invalid request")
		return faults
	}
	if r.Header.Get("User-Agent") == "" {
		fault("the request", fmt.Errorf("it has no User-Agent, without which GitHub answers 403"))
	}

	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	if r.Context().Err() != nil {
		return faults // nobody waits for the answer any more
	}
	text := answer.Body.Bytes()
	if _, documented := route.Operation.Responses.Map()[strconv.Itoa(answer.Code)]; documented {
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: answer.Code, Header: answer.Header(),
			Body: io.NopCloser(bytes.NewReader(text)), Options: in.Options}
		if err := openapi3filter.ValidateResponse(plain.Context(), out); err != nil {
			fault(fmt.Sprintf("the answer %d", answer.Code), err)
		}
	} else if !slices.Contains(undocumented, answer.Code) && answer.Code < 500 {
		fault("the answer", fmt.Errorf("%d is no answer of this operation", answer.Code))
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(text) // a client that went away reads no answer
	return faults
}

// undocumented are answers that every operation can give and no document has.
var undocumented = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusTemporaryRedirect}

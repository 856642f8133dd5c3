// Package githubtest is a GitHub for tests: the part of its APIs that we call,
// over HTTP.
//
// Every request and every answer is held against GitHub's own OpenAPI document;
// what breaks it is in [Server.Faults]. The rules that the document lacks are
// here: pages of 30 or up to 100 with Link headers, 422 for a body that is too
// long, 403 for what a token was not granted, 404 for what is not there, and rate
// limits on demand.
package githubtest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// A Server holds one GitHub.
type Server struct {
	// URL is what GITHUB_API_URL says, GraphQL what GITHUB_GRAPHQL_URL does.
	URL, GraphQL string

	contract *contract

	mu       sync.Mutex
	faults   []string
	pulls    map[string][]int   // pull requests by commit
	states   map[pullKey]string // of pull requests
	deploys  []*Deployment
	http     *httptest.Server
	tokens   map[string]token
	comments []*Comment
	issues   []*Issue
	lastID   int64
	answers  []func(http.ResponseWriter, *http.Request) bool
	requests []string
}

type token struct {
	user    User
	granted Permissions
}

// Permissions are what a workflow grants its token, as its permissions say: a level,
// read or write, by scope. What is not named is not granted. The repository is a
// private one: without a scope even reading is refused.
type Permissions map[string]string

// everything is the scopes of what is called here.
func everything(level string) Permissions {
	return Permissions{"issues": level, "pull-requests": level, "deployments": level}
}

// allow tells whether one of the scopes is granted, at the level that the method
// needs.
func (p Permissions) allow(method string, scopes []string) bool {
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(scope string) bool {
		return p[scope] == "write" || p[scope] == "read" && method == http.MethodGet
	})
}

// New starts a server on this machine that is github.com. Close ends it.
func New() *Server { return NewVersion(Versions[0]) }

// NewVersion starts one of [Versions].
func NewVersion(version string) *Server {
	c, err := newContract(version)
	if err != nil {
		panic(err) // the documents are part of the program
	}
	s := &Server{tokens: map[string]token{}, pulls: map[string][]int{}, states: map[pullKey]string{}, contract: c}
	mux := http.NewServeMux()
	const repo = "/api/v3/repos/{owner}/{repo}"
	mux.HandleFunc("GET /api/v3/user", s.as(s.user))
	mux.HandleFunc("GET "+repo+"/issues/{number}/comments", s.as(s.list, "issues", "pull-requests"))
	mux.HandleFunc("POST "+repo+"/issues/{number}/comments", s.as(s.create, "issues", "pull-requests"))
	mux.HandleFunc("PATCH "+repo+"/issues/comments/{id}", s.as(s.edit, "issues", "pull-requests"))
	mux.HandleFunc("DELETE "+repo+"/issues/comments/{id}", s.as(s.remove, "issues", "pull-requests"))
	mux.HandleFunc("GET "+repo+"/issues", s.as(s.listIssues, "issues"))
	mux.HandleFunc("POST "+repo+"/issues", s.as(s.createIssue, "issues"))
	mux.HandleFunc("PATCH "+repo+"/issues/{number}", s.as(s.editIssue, "issues"))
	mux.HandleFunc("GET "+repo+"/commits/{sha}/pulls", s.as(s.pullsOf, "pull-requests"))
	mux.HandleFunc("GET "+repo+"/pulls/{number}", s.as(s.pull, "pull-requests"))
	mux.HandleFunc("POST "+repo+"/deployments", s.as(s.deploy, "deployments"))
	mux.HandleFunc("POST "+repo+"/deployments/{id}/statuses", s.as(s.deployStatus, "deployments"))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "Not Found") })
	minimize := s.as(s.minimize, "issues", "pull-requests")
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/graphql" {
			minimize(w, r)
			return
		}
		faults := s.contract.check(w, r, "/api/v3", mux)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = append(s.faults, faults...)
	}))
	s.URL, s.GraphQL = s.http.URL+"/api/v3", s.http.URL+"/api/graphql"
	return s
}

// Faults returns in what requests and answers broke the contract.
func (s *Server) Faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// Close ends the server.
func (s *Server) Close() { s.http.Close() }

// Token makes the server accept a token. Without write it can only read.
func (s *Server) Token(value string, user User, write bool) {
	level := "read"
	if write {
		level = "write"
	}
	s.Grant(value, user, everything(level))
}

// Grant makes the server accept a token for what is granted to it.
func (s *Server) Grant(value string, user User, granted Permissions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[value] = token{user, granted}
}

// Next lets answer decide the next request; false passes it on.
func (s *Server) Next(answer func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answer)
}

// Requests returns what was asked, as "METHOD /path", without the API's root.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// as checks the token, as GitHub does before anything else: one of the scopes has to
// be granted.
func (s *Server) as(handle func(http.ResponseWriter, *http.Request, token), scopes ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), "/api/v3"))
		var answer func(http.ResponseWriter, *http.Request) bool
		if len(s.answers) > 0 {
			answer, s.answers = s.answers[0], s.answers[1:]
		}
		t, known := s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		switch {
		case answer != nil && answer(w, r):
		case !known:
			refuse(w, http.StatusUnauthorized, "Bad credentials")
		case !t.granted.allow(r.Method, scopes):
			refuse(w, http.StatusForbidden, "Resource not accessible by integration")
		default:
			s.mu.Lock()
			defer s.mu.Unlock()
			handle(w, r, t)
		}
	}
}

// Package githubtest is a GitHub for tests: the part of its APIs that we call,
// over HTTP.
//
// Every request and every answer is held against GitHub's own OpenAPI document;
// what breaks it is in [Server.Faults]. The rules that the document lacks are
// here: pages of 30 or up to 100 with Link headers, 422 for a body that is too
// long, 403 for a token that may only read, 404 for what is not there, and rate
// limits on demand.
package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// MaxBody is the longest body of a comment, in UTF-16 units.
const MaxBody = 65_536

// A User is who a token belongs to, or who wrote a comment.
type User struct {
	Login string
	ID    int64
	Type  string // User or Bot
}

// MarshalJSON writes all that GitHub says of a user.
func (u User) MarshalJSON() ([]byte, error) {
	at := "https://api.github.com/users/" + url.PathEscape(u.Login)
	all := map[string]any{
		"login": u.Login, "id": u.ID, "type": u.Type, "node_id": fmt.Sprint("U_", u.ID), "site_admin": false, "gravatar_id": "",
		"avatar_url": "https://avatars.githubusercontent.com/u/" + fmt.Sprint(u.ID), "html_url": "https://github.com/" + url.PathEscape(u.Login), "url": at,
	}
	for _, list := range []string{"followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events", "received_events"} {
		name := list
		if list == "organizations" {
			name = "orgs"
		}
		all[list+"_url"] = at + "/" + name
	}
	return json.Marshal(all)
}

// Actions is the user of a workflow's own token.
var Actions = User{Login: "github-actions[bot]", ID: 41898282, Type: "Bot"}

// A Comment is one on a pull request.
type Comment struct {
	ID        int64     `json:"id"`
	NodeID    string    `json:"node_id"`
	URL       string    `json:"url"`
	HTMLURL   string    `json:"html_url"`
	IssueURL  string    `json:"issue_url"`
	Body      string    `json:"body"`
	User      User      `json:"user"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// Minimized tells that it was folded away.
	Minimized bool `json:"-"`

	issue string // owner/repo/number
}

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

// A Deployment is one that was made, with the statuses that it was given.
type Deployment struct {
	ID               int64
	Ref, Environment string
	Statuses         []DeploymentStatus
}

// A DeploymentStatus is what a deployment was said to be.
type DeploymentStatus struct{ State, Description, LogURL, EnvironmentURL string }

// A pullKey names a pull request.
type pullKey struct {
	repo   string
	number int
}

type token struct {
	user  User
	write bool
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
	mux.HandleFunc("GET "+repo+"/issues/{number}/comments", s.as(s.list))
	mux.HandleFunc("POST "+repo+"/issues/{number}/comments", s.as(s.create))
	mux.HandleFunc("PATCH "+repo+"/issues/comments/{id}", s.as(s.edit))
	mux.HandleFunc("DELETE "+repo+"/issues/comments/{id}", s.as(s.remove))
	mux.HandleFunc("GET "+repo+"/issues", s.as(s.listIssues))
	mux.HandleFunc("POST "+repo+"/issues", s.as(s.createIssue))
	mux.HandleFunc("PATCH "+repo+"/issues/{number}", s.as(s.editIssue))
	mux.HandleFunc("GET "+repo+"/commits/{sha}/pulls", s.as(s.pullsOf))
	mux.HandleFunc("GET "+repo+"/pulls/{number}", s.as(s.pull))
	mux.HandleFunc("POST "+repo+"/deployments", s.as(s.deploy))
	mux.HandleFunc("POST "+repo+"/deployments/{id}/statuses", s.as(s.deployStatus))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "Not Found") })
	minimize := s.as(s.minimize)
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

// Merge makes a commit one of a pull request.
func (s *Server) Merge(repo, commit string, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulls[repo+"@"+commit] = append(s.pulls[repo+"@"+commit], number)
}

// Deployments returns what was deployed, in the order in which it was made.
func (s *Server) Deployments() []Deployment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Deployment
	for _, d := range s.deploys {
		c := *d
		c.Statuses = slices.Clone(d.Statuses)
		all = append(all, c)
	}
	return all
}

// Pull makes a pull request that is "open" or "closed".
func (s *Server) Pull(repo string, number int, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[pullKey{repo, number}] = state
}

// Close ends the server.
func (s *Server) Close() { s.http.Close() }

// Token makes the server accept a token. Without write it can only read.
func (s *Server) Token(value string, user User, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[value] = token{user, write}
}

// Add puts a comment on a pull request ("owner/repo", number) and returns its
// id.
func (s *Server) Add(repo string, number int, user User, body string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(fmt.Sprintf("%s/%d", repo, number), user, body).ID
}

// Delete takes a comment away.
func (s *Server) Delete(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.comments = slices.DeleteFunc(s.comments, func(c *Comment) bool { return c.ID == id })
}

// Comments returns the comments of a pull request, oldest first.
func (s *Server) Comments(repo string, number int) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Comment
	for _, c := range s.comments {
		if c.issue == fmt.Sprintf("%s/%d", repo, number) {
			out = append(out, *c)
		}
	}
	return out
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

// as checks the token, as GitHub does before anything else.
func (s *Server) as(handle func(http.ResponseWriter, *http.Request, token)) http.HandlerFunc {
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
		case r.Method != http.MethodGet && !t.write:
			refuse(w, http.StatusForbidden, "Resource not accessible by integration")
		default:
			s.mu.Lock()
			defer s.mu.Unlock()
			handle(w, r, t)
		}
	}
}

func (s *Server) user(w http.ResponseWriter, _ *http.Request, t token) {
	if t.user.Type == "Bot" {
		refuse(w, http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	text, _ := json.Marshal(t.user)
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		panic("a user is no JSON object")
	}
	for _, n := range []string{"public_repos", "public_gists", "followers", "following"} {
		all[n] = 0
	}
	for _, n := range []string{"name", "company", "blog", "location", "email", "hireable", "bio"} {
		all[n] = nil
	}
	all["user_view_type"] = "public"
	all["blog"], all["created_at"], all["updated_at"] = "", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"
	reply(w, http.StatusOK, all)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, _ token) {
	var all []*Comment
	for _, c := range s.comments {
		if c.issue == issueOf(r) {
			all = append(all, c)
		}
	}
	reply(w, http.StatusOK, paged(s, w, r, all))
}

// paged is the page of a list that a request asks for, with the links to others.
func paged[T any](s *Server, w http.ResponseWriter, r *http.Request, all []T) []T {
	size, page := atoi(r.URL.Query().Get("per_page"), 30), atoi(r.URL.Query().Get("page"), 1)
	size = min(size, 100)
	from := min((page-1)*size, len(all))
	to := min(from+size, len(all))
	var links []string
	link := func(page int, rel string) {
		q := r.URL.Query()
		q.Set("per_page", strconv.Itoa(size))
		q.Set("page", strconv.Itoa(page))
		links = append(links, fmt.Sprintf("<%s%s?%s>; rel=%q", s.http.URL, r.URL.Path, q.Encode(), rel))
	}
	if to < len(all) {
		link(page+1, "next")
		link((len(all)+size-1)/size, "last")
	}
	if page > 1 {
		link(1, "first")
		link(page-1, "prev")
	}
	if len(links) > 0 {
		w.Header().Set("Link", strings.Join(links, ", "))
	}
	return append([]T{}, all[from:to]...)
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, t token) {
	if body, ok := bodyOf(w, r); ok {
		reply(w, http.StatusCreated, s.add(issueOf(r), t.user, body))
	}
}

func (s *Server) edit(w http.ResponseWriter, r *http.Request, _ token) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	i := slices.IndexFunc(s.comments, func(c *Comment) bool {
		return c.ID == id && strings.HasPrefix(c.issue, r.PathValue("owner")+"/"+r.PathValue("repo")+"/")
	})
	if i < 0 {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	if body, ok := bodyOf(w, r); ok {
		s.comments[i].Body, s.comments[i].UpdatedAt = body, time.Now().UTC()
		reply(w, http.StatusOK, s.comments[i])
	}
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request, _ token) {
	before := len(s.comments)
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	s.comments = slices.DeleteFunc(s.comments, func(c *Comment) bool { return c.ID == id })
	if len(s.comments) == before {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	w.Header().Del("Content-Type")
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) pullsOf(w http.ResponseWriter, r *http.Request, _ token) {
	repo := r.PathValue("owner") + "/" + r.PathValue("repo")
	out := []map[string]any{}
	for _, number := range s.pulls[repo+"@"+r.PathValue("sha")] {
		pull := examplePull()
		pull["number"], pull["merge_commit_sha"], pull["merged_at"], pull["state"] = number, r.PathValue("sha"), "2026-11-29T12:00:00Z", "closed"
		out = append(out, pull)
	}
	reply(w, http.StatusOK, out)
}

// pull answers for those that [Server.Pull] made.
func (s *Server) pull(w http.ResponseWriter, r *http.Request, _ token) {
	number := atoi(r.PathValue("number"), 0)
	state := s.states[pullKey{r.PathValue("owner") + "/" + r.PathValue("repo"), number}]
	if state == "" {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	pull := examplePull()
	pull["number"], pull["state"] = number, state
	// A single pull request says more than one in a list.
	for _, name := range []string{"additions", "changed_files", "comments", "commits", "deletions", "review_comments"} {
		pull[name] = 1
	}
	pull["mergeable"], pull["mergeable_state"], pull["merged"], pull["maintainer_can_modify"], pull["merged_by"] = nil, "unknown", false, false, nil
	reply(w, http.StatusOK, pull)
}

func examplePull() (pull map[string]any) {
	text, err := documents.ReadFile("openapi/pull-request.json")
	if err != nil || json.Unmarshal(text, &pull) != nil {
		panic("the example of a pull request cannot be read")
	}
	pull["requested_teams"] = []any{} // that of the example breaks the document
	return pull
}

func (s *Server) deploy(w http.ResponseWriter, r *http.Request, _ token) {
	var in struct{ Ref, Environment string }
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		invalid(w, "Problems parsing JSON")
		return
	}
	s.lastID++
	d := &Deployment{ID: s.lastID, Ref: in.Ref, Environment: in.Environment}
	s.deploys = append(s.deploys, d)
	reply(w, http.StatusCreated, map[string]any{
		"url": s.URL, "id": d.ID, "node_id": "D", "sha": in.Ref, "ref": in.Ref, "task": "deploy", "payload": map[string]any{},
		"environment": in.Environment, "creator": nil, "description": nil, "created_at": "2026-11-29T12:00:00Z", "updated_at": "2026-11-29T12:00:00Z",
		"statuses_url": s.URL, "repository_url": s.URL,
	})
}

func (s *Server) deployStatus(w http.ResponseWriter, r *http.Request, _ token) {
	var in struct {
		State, Description string
		LogURL             string `json:"log_url"`
		EnvironmentURL     string `json:"environment_url"`
	}
	i := slices.IndexFunc(s.deploys, func(d *Deployment) bool { return strconv.FormatInt(d.ID, 10) == r.PathValue("id") })
	switch {
	case i < 0:
		refuse(w, http.StatusNotFound, "Not Found")
		return
	case json.NewDecoder(r.Body).Decode(&in) != nil || len([]rune(in.Description)) > 140:
		invalid(w, "Validation Failed")
		return
	}
	s.deploys[i].Statuses = append(s.deploys[i].Statuses, DeploymentStatus(in))
	s.lastID++
	reply(w, http.StatusCreated, map[string]any{
		"url": s.URL, "id": s.lastID, "node_id": "S", "state": in.State, "creator": nil, "description": in.Description, "target_url": "",
		"created_at": "2026-11-29T12:00:00Z", "updated_at": "2026-11-29T12:00:00Z", "deployment_url": s.URL, "repository_url": s.URL,
	})
}

// minimize is the one mutation of the GraphQL API that is known here.
func (s *Server) minimize(w http.ResponseWriter, r *http.Request, _ token) {
	var in struct {
		Query     string
		Variables struct{ ID string }
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || !strings.HasPrefix(in.Query, "mutation($id:ID!){minimizeComment(input:{subjectId:$id,classifier:OUTDATED})") {
		s.faults = append(s.faults, "GraphQL: unknown query "+in.Query)
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	for _, c := range s.comments {
		if c.NodeID == in.Variables.ID {
			c.Minimized = true
			reply(w, http.StatusOK, map[string]any{"data": map[string]any{"minimizeComment": map[string]any{"minimizedComment": map[string]bool{"isMinimized": true}}}})
			return
		}
	}
	reply(w, http.StatusOK, map[string]any{"errors": []any{map[string]string{"type": "NOT_FOUND", "message": "Could not resolve to a node"}}})
}

func (s *Server) add(issue string, user User, body string) *Comment {
	s.lastID++
	parts := strings.Split(issue, "/")
	repo := parts[0] + "/" + parts[1]
	now := time.Now().UTC()
	c := &Comment{
		ID: s.lastID, NodeID: fmt.Sprintf("IC_%d", s.lastID), Body: body, User: user, CreatedAt: now, UpdatedAt: now,
		URL:      fmt.Sprintf("%s/repos/%s/issues/comments/%d", s.URL, repo, s.lastID),
		HTMLURL:  fmt.Sprintf("%s/%s/pull/%s#issuecomment-%d", s.http.URL, repo, parts[2], s.lastID),
		IssueURL: fmt.Sprintf("%s/repos/%s/issues/%s", s.URL, repo, parts[2]),
		issue:    issue,
	}
	s.comments = append(s.comments, c)
	return c
}

func issueOf(r *http.Request) string {
	return r.PathValue("owner") + "/" + r.PathValue("repo") + "/" + r.PathValue("number")
}

func bodyOf(w http.ResponseWriter, r *http.Request) (string, bool) {
	var in struct {
		Body *string `json:"body"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return "", false
	}
	switch {
	case in.Body == nil || strings.TrimSpace(*in.Body) == "":
		invalid(w, "Body cannot be blank")
	case len(utf16.Encode([]rune(*in.Body))) > MaxBody:
		invalid(w, fmt.Sprintf("Body is too long (maximum is %d characters)", MaxBody))
	default:
		return *in.Body, true
	}
	return "", false
}

func atoi(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return otherwise
}

func reply(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	// A client that went away reads no answer; there is nobody to tell.
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)})
}

func invalid(w http.ResponseWriter, message string) {
	reply(w, http.StatusUnprocessableEntity, map[string]any{
		"message":           "Validation Failed",
		"errors":            []map[string]string{{"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message}},
		"documentation_url": "https://docs.github.com/rest/issues/comments",
		"status":            "422",
	})
}

package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// An Issue is one of a repository. A pull request is one, too.
type Issue struct {
	Number      int
	Title, Body string
	User        User
	Closed      bool
	Reason      string // why it is closed: completed, not_planned
	PullRequest bool

	repo      string
	made, set time.Time
}

// AddIssue opens an issue and returns its number.
func (s *Server) AddIssue(repo string, i Issue) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addIssue(repo, i).Number
}

// Issues returns the issues of a repository, oldest first.
func (s *Server) Issues(repo string) []Issue {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Issue
	for _, i := range s.issues {
		if i.repo == repo {
			out = append(out, *i)
		}
	}
	return out
}

func (s *Server) addIssue(repo string, i Issue) *Issue {
	i.repo, i.made, i.set = repo, time.Now().UTC(), time.Now().UTC()
	i.Number = 100 + len(s.issues)
	s.issues = append(s.issues, &i)
	return &i
}

func (s *Server) listIssues(w http.ResponseWriter, r *http.Request, _ token) {
	all := []map[string]any{}
	for _, i := range s.issues {
		state := r.URL.Query().Get("state")
		if i.repo == repoOf(r) && (state == "all" || i.Closed == (state == "closed")) {
			all = append(all, s.issueJSON(i))
		}
	}
	if r.URL.Query().Get("direction") != "asc" {
		slices.Reverse(all)
	}
	reply(w, http.StatusOK, paged(s, w, r, all))
}

// An issueEdit is what a request says of an issue.
type issueEdit struct {
	Title  *string
	Body   *string
	State  *string
	Reason *string `json:"state_reason"`
}

func (s *Server) createIssue(w http.ResponseWriter, r *http.Request, t token) {
	var in issueEdit
	if !readIssue(w, r, &in) {
		return
	}
	if in.Title == nil || in.Body == nil {
		invalid(w, "title is missing")
		return
	}
	reply(w, http.StatusCreated, s.issueJSON(s.addIssue(repoOf(r), Issue{Title: *in.Title, Body: *in.Body, User: t.user})))
}

func (s *Server) editIssue(w http.ResponseWriter, r *http.Request, _ token) {
	i := slices.IndexFunc(s.issues, func(i *Issue) bool { return i.repo == repoOf(r) && fmt.Sprint(i.Number) == r.PathValue("number") })
	if i < 0 {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	var in issueEdit
	if !readIssue(w, r, &in) {
		return
	}
	issue := s.issues[i]
	issue.set = time.Now().UTC()
	if in.Title != nil {
		issue.Title = *in.Title
	}
	if in.Body != nil {
		issue.Body = *in.Body
	}
	if in.State != nil {
		issue.Closed = *in.State == "closed"
	}
	if in.Reason != nil {
		issue.Reason = *in.Reason
	}
	reply(w, http.StatusOK, s.issueJSON(issue))
}

func readIssue(w http.ResponseWriter, r *http.Request, in *issueEdit) bool {
	if err := json.NewDecoder(r.Body).Decode(in); err != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return false
	}
	if in.Body != nil && len(utf16.Encode([]rune(*in.Body))) > MaxBody {
		invalid(w, fmt.Sprintf("body is too long (maximum is %d characters)", MaxBody))
		return false
	}
	return true
}

func repoOf(r *http.Request) string { return r.PathValue("owner") + "/" + r.PathValue("repo") }

func (s *Server) issueJSON(i *Issue) map[string]any {
	at := fmt.Sprintf("%s/repos/%s/issues/%d", s.URL, i.repo, i.Number)
	page := fmt.Sprintf("%s/%s/issues/%d", s.http.URL, i.repo, i.Number)
	o := map[string]any{
		"id": i.Number, "node_id": fmt.Sprint("I_", i.Number), "url": at, "repository_url": s.URL + "/repos/" + i.repo,
		"labels_url": at + "/labels{/name}", "comments_url": at + "/comments", "events_url": at + "/events", "html_url": page,
		"number": i.Number, "state": "open", "state_reason": nil, "title": i.Title, "body": i.Body, "user": i.User, "labels": []any{},
		"assignee": nil, "assignees": []any{}, "milestone": nil, "locked": false, "comments": 0, "closed_at": nil, "closed_by": nil,
		"created_at": i.made, "updated_at": i.set, "author_association": "CONTRIBUTOR",
	}
	if i.Closed {
		o["state"], o["closed_at"], o["state_reason"] = "closed", i.set, i.Reason
	}
	if i.PullRequest {
		o["pull_request"] = map[string]any{"url": strings.Replace(at, "/issues/", "/pulls/", 1), "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch"}
	}
	return o
}

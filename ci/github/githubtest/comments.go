package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// MaxBody is the longest body of a comment, in UTF-16 units.
const MaxBody = 65_536

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

func (s *Server) list(w http.ResponseWriter, r *http.Request, _ token) {
	var all []*Comment
	for _, c := range s.comments {
		if c.issue == issueOf(r) {
			all = append(all, c)
		}
	}
	reply(w, http.StatusOK, paged(s, w, r, all))
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

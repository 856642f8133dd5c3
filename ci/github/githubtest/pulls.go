package githubtest

import (
	"encoding/json"
	"net/http"
)

// A pullKey names a pull request.
type pullKey struct {
	repo   string
	number int
}

// Merge makes a commit one of a pull request.
func (s *Server) Merge(repo, commit string, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulls[repo+"@"+commit] = append(s.pulls[repo+"@"+commit], number)
}

// Pull makes a pull request that is "open" or "closed".
func (s *Server) Pull(repo string, number int, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[pullKey{repo, number}] = state
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

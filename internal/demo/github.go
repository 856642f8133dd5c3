package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
)

const (
	repository = "acme/shop"
	number     = 7
)

// A pullRequest is as much of GitHub as a comment needs.
type pullRequest struct {
	server *httptest.Server

	mu       sync.Mutex
	comments []comment
}

type comment struct {
	ID   int    `json:"id"`
	URL  string `json:"html_url"`
	Body string `json:"body"`
	User user   `json:"user"`
}

type user struct {
	Login string `json:"login"`
	Type  string `json:"type"`
}

// https://docs.github.com/en/rest/issues/comments
func openPullRequest() *pullRequest {
	p := &pullRequest{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repos/"+repository+"/issues/{number}/comments", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		answer(w, http.StatusOK, append([]comment{}, p.comments...))
	})
	mux.HandleFunc("POST /repos/"+repository+"/issues/{number}/comments", func(w http.ResponseWriter, r *http.Request) {
		c := comment{User: user{"github-actions[bot]", "Bot"}}
		if json.NewDecoder(r.Body).Decode(&c) != nil {
			http.Error(w, `{"message":"Problems parsing JSON"}`, http.StatusBadRequest)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		c.ID = len(p.comments) + 1
		c.URL = fmt.Sprintf("https://github.com/%s/pull/%d#issuecomment-%d", repository, number, c.ID)
		p.comments = append(p.comments, c)
		answer(w, http.StatusCreated, c)
	})
	mux.HandleFunc("PATCH /repos/"+repository+"/issues/comments/{id}", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i := range p.comments {
			if fmt.Sprint(p.comments[i].ID) != r.PathValue("id") {
				continue
			}
			if json.NewDecoder(r.Body).Decode(&p.comments[i]) != nil {
				http.Error(w, `{"message":"Problems parsing JSON"}`, http.StatusBadRequest)
				return
			}
			answer(w, http.StatusOK, p.comments[i])
			return
		}
		http.Error(w, `{"message":"Not Found"}`, http.StatusNotFound)
	})
	p.server = httptest.NewServer(mux)
	return p
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // a client that is gone hears nothing
}

func (p *pullRequest) url() string { return p.server.URL }
func (p *pullRequest) close()      { p.server.Close() }

// event is what started the workflow.
func (p *pullRequest) event() string {
	repo := fmt.Sprintf(`{"full_name":%q}`, repository)
	return fmt.Sprintf(`{"action":"synchronize","number":%d,"pull_request":{"number":%d,"head":{"repo":%s},"base":{"repo":%s}}}`, number, number, repo, repo)
}

// comment is the body of the only comment, "" when there is none.
func (p *pullRequest) comment() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.comments) != 1 {
		return ""
	}
	return p.comments[0].Body
}

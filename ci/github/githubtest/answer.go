package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

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

package githubtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// A Deployment is one that was made, with the statuses that it was given.
type Deployment struct {
	ID               int64
	Ref, Environment string
	Statuses         []DeploymentStatus
}

// A DeploymentStatus is what a deployment was said to be.
type DeploymentStatus struct{ State, Description, LogURL, EnvironmentURL string }

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

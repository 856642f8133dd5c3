package cloudcontrol

import (
	"errors"
	"maps"
)

// Clone returns a Cloud Control with the same resources and finished requests.
// What happens to one of them does not show in the other. It fails while an
// operation is in progress.
func (s *Server) Clone() (*Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	c := New(Options{AccountID: s.account, Region: s.region, Now: s.now, Types: s.types, Delay: s.delay, Elsewhere: s.elsewhere})
	c.resources = maps.Clone(s.resources) // a resource is exchanged, not changed
	for _, q := range s.requests {
		if q.running() {
			return nil, errors.New("clone Cloud Control: " + q.operation + " of " + q.t.Name + " is in progress")
		}
		copied := *q
		c.requests = append(c.requests, &copied)
	}
	return c, nil
}

package sandbox

import (
	"context"
	"net"
	"net/http"
	"slices"
)

// Log returns the requests so far, in the order in which they came.
func (s *Sandbox) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.log))
	for i, r := range s.log {
		out[i] = *r
	}
	return out
}

// ClearLog forgets the requests that are done.
func (s *Sandbox) ClearLog() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = slices.DeleteFunc(s.log, func(r *Request) bool { return r.State == Done })
}

// Await waits until n requests in the log are as wanted, and returns them.
func (s *Sandbox) Await(ctx context.Context, n int, wanted func(Request) bool) ([]Request, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		found := slices.DeleteFunc(s.Log(), func(r Request) bool { return !wanted(r) })
		if len(found) >= n {
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return found, ctx.Err()
		}
	}
}

// Connections is how many connections clients have.
func (s *Sandbox) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Left waits until clients have no more than n connections. What a process that was
// killed had sent has come to its effect when its own are closed.
func (s *Sandbox) Left(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		changed, open := s.changed, s.open
		s.mu.Unlock()
		if open <= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Sandbox) connection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.edit(func() { s.open++ })
	case http.StateClosed, http.StateHijacked:
		s.edit(func() { s.open-- })
	}
}

// edit changes the log under the mutex and wakes those who wait for it.
func (s *Sandbox) edit(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

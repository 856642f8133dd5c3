package graph

import "sync"

// A Share limits what several runs do at once, all together. A task that calls no API
// takes no part in it: it may be one that runs others.
type Share struct {
	limit, each int

	mu      sync.Mutex
	running int
	calling map[string]int // tasks under way, by API
	freed   chan struct{}  // closed when a task ends
}

// NewShare shares tasks out: limit at once, and each of them that call the same API; 0
// is no limit.
func NewShare(limit, each int) *Share {
	return &Share{limit: limit, each: each, calling: map[string]int{}, freed: make(chan struct{})}
}

// take tells whether a task may start, and counts it if so.
func (s *Share) take(t Task) bool {
	if s == nil || t.API == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit > 0 && s.running >= s.limit || s.each > 0 && s.calling[t.API] >= s.each {
		return false
	}
	s.running++
	s.calling[t.API]++
	return true
}

// give counts a task that has ended.
func (s *Share) give(t Task) {
	if s == nil || t.API == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.calling[t.API]--
	close(s.freed)
	s.freed = make(chan struct{})
}

// changed is closed when the next task ends.
func (s *Share) changed() <-chan struct{} {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.freed
}

package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// A Fault is what goes wrong with calls. What is not set does not happen; the
// order is Delay, Hold, then Drop or Status. A Fault without any of them marks
// calls in the log.
//
// A client that loses a connection may repeat a call by itself: Go's transport
// does so for GET and HEAD on a connection used before, and the SDKs retry.
// Count 0 outlasts them.
type Fault struct {
	ID string // made up when ""

	// Which calls: all that match, from the Nth on (0 is the first), Count of
	// them (0 is all).
	Service  string // signing name, "" any
	Action   string // "" any
	Mentions string // text that path, query or body must have: a key, a name
	Nth      int
	Count    int
	// Rate, when set, spares as many calls a second, and Burst of them at once.
	Rate  rate.Limit
	Burst int

	// After lets the call take effect first.
	After bool
	Delay time.Duration
	Hold  bool // until Release
	Drop  bool // close the connection without an answer
	// Status, with Code and Message, is an error in the service's own protocol.
	Status  int
	Code    string
	Message string
	// Replace rewrites the real answer: what stands there, and what is to stand
	// there instead.
	Replace [2]string
}

type fault struct {
	Fault
	seen     int
	spared   *rate.Limiter // nil when none is
	released chan struct{}
}

func (f *fault) matches(c *call) bool {
	return (f.Service == "" || f.Service == c.Service) && (f.Action == "" || f.Action == c.Action) &&
		(f.Mentions == "" || c.mentions(f.Mentions))
}

// AddFault adds a fault and returns its id. Of several that match a call, the
// one added first applies.
func (s *Sandbox) AddFault(f Fault) string {
	if f.Status == 0 && f.Code != "" {
		f.Status = http.StatusBadRequest
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faultCount++
	if f.ID == "" {
		f.ID = fmt.Sprintf("fault-%d", s.faultCount)
	}
	added := &fault{Fault: f, released: make(chan struct{})}
	if f.Rate > 0 {
		added.spared = rate.NewLimiter(f.Rate, max(f.Burst, 1))
	}
	s.faults = append(s.faults, added)
	return f.ID
}

// RemoveFault ends a fault and lets go what it holds; "" ends all. It reports
// whether there was one.
func (s *Sandbox) RemoveFault(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.faults)
	s.faults = slices.DeleteFunc(s.faults, func(f *fault) bool {
		gone := id == "" || f.ID == id
		if gone {
			close(f.released)
		}
		return gone
	})
	return len(s.faults) < before
}

// Release lets the calls go on that a fault holds and will hold: the fault is
// removed. "" releases all faults that hold.
func (s *Sandbox) Release(id string) bool {
	s.mu.Lock()
	var held []string
	for _, f := range s.faults {
		if f.Hold && (id == "" || f.ID == id) {
			held = append(held, f.ID)
		}
	}
	s.mu.Unlock()
	for _, id := range held {
		s.RemoveFault(id)
	}
	return len(held) > 0
}

// faultFor returns the fault that strikes a call, and counts the call for all
// that match it.
func (s *Sandbox) faultFor(c *call) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var strikes *fault
	for _, f := range s.faults {
		if !f.matches(c) {
			continue
		}
		f.seen++
		first := max(f.Nth, 1)
		if strikes == nil && f.seen >= first && (f.Count == 0 || f.seen < first+f.Count) && (f.spared == nil || !f.spared.Allow()) {
			strikes = f
		}
	}
	if strikes != nil {
		c.Fault = strikes.ID
	}
	return strikes
}

// A latency is how long calls take on top of what they need.
type latency struct {
	service, action string
	d               time.Duration
}

// SetLatency makes calls take longer: those of one action, of one service
// (action ""), or all (both ""). The most specific setting counts.
func (s *Sandbox) SetLatency(service, action string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latencies = slices.DeleteFunc(s.latencies, func(l latency) bool { return l.service == service && l.action == action })
	s.latencies = append(s.latencies, latency{service, action, d})
}

func (s *Sandbox) latencyOf(c *call) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	best, d := -1, time.Duration(0)
	for _, l := range s.latencies {
		if l.service != "" && l.service != c.Service || l.action != "" && l.action != c.Action {
			continue
		}
		weight := 0
		if l.service != "" {
			weight++
		}
		if l.action != "" {
			weight += 2
		}
		if weight > best {
			best, d = weight, l.d
		}
	}
	return d
}

package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Waiter polls until a resource has settled.
type Waiter struct {
	// From is the wait mode from which on it waits: WaitNone is always.
	From WaitMode
	// What is awaited, for messages: "table ACTIVE".
	What string
	// Read gives the state, with a detail for messages ("" for none).
	Read func(ctx context.Context, r *Request) (state, detail string, err error)
	// OK and Failed are the states that end the wait; all others go on.
	OK, Failed []string

	First, Cap time.Duration // delays between reads; 1 s and 10 s when zero
	Growth     float64       // of the delay; 1.5 when zero
	Timeout    time.Duration // 10 minutes when zero
	// TimeoutWarns makes running out of time a notice instead of an error.
	TimeoutWarns bool
	// Command tells how to look at the state by hand, for a wait not made.
	Command func(r *Request) string
}

// A SettleError says that a resource was made and then failed, or did not
// settle in time.
type SettleError struct {
	What, State, Detail string
	After               time.Duration // not zero: out of time
}

func (e *SettleError) Error() string {
	var b strings.Builder
	if e.After > 0 {
		fmt.Fprintf(&b, "wait for %s: still %s after %s", e.What, e.State, e.After)
	} else {
		fmt.Fprintf(&b, "wait for %s: it became %s", e.What, e.State)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Applies tells whether a mode makes this wait.
func (w *Waiter) Applies(mode WaitMode) bool {
	rank := func(m WaitMode) int { return slices.Index([]WaitMode{WaitNone, WaitDefault, WaitFull}, m) }
	return w != nil && rank(mode) >= rank(w.From)
}

// leaving tells whether a state that the wait goes on in is one of a resource that
// is being deleted, by the words that services have for it.
func (w *Waiter) leaving(state string) bool {
	if slices.Contains(w.OK, state) || slices.Contains(w.Failed, state) {
		return false
	}
	state = strings.ToLower(state)
	return slices.ContainsFunc([]string{"delet", "terminat", "shutting", "drain"}, func(word string) bool { return strings.Contains(state, word) })
}

// Wait polls until the resource has settled, failed or ran out of time. It
// returns ErrDraining as soon as r.Draining closes.
func (w *Waiter) Wait(ctx context.Context, r *Request) error {
	delay := or(w.First, time.Second)
	limit := or(w.Timeout, 10*time.Minute)
	growth := or(w.Growth, 1.5)
	start := time.Now()
	beat := Heartbeat{Of: r.LogicalID, What: "waiting for " + w.What}
	for {
		state, detail, err := w.Read(ctx, r)
		switch {
		case err != nil:
			return fmt.Errorf("wait for %s: %w", w.What, err)
		case slices.Contains(w.OK, state):
			return nil
		case slices.Contains(w.Failed, state):
			return &SettleError{What: w.What, State: state, Detail: detail}
		}
		left := limit - time.Since(start)
		if left <= 0 {
			err := &SettleError{What: w.What, State: state, Detail: detail, After: limit}
			if w.TimeoutWarns {
				r.notice(err.Error())
				return nil
			}
			return err
		}
		if detail != "" {
			state += ": " + detail
		}
		beat.Tell(r, state)
		if err := Sleep(ctx, r.Draining, min(delay, left)); err != nil {
			return err
		}
		delay = min(time.Duration(float64(delay)*growth), or(w.Cap, 10*time.Second))
	}
}

// Sleep waits for d, or until the context ends or draining closes: then it
// returns the context's error or ErrDraining.
func Sleep(ctx context.Context, draining <-chan struct{}, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-draining:
		return ErrDraining
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// A Heartbeat tells once a minute that something is still waited for. The zero
// value starts counting when it is first asked.
type Heartbeat struct {
	Of, What    string // Of is what waits
	start, last time.Time
}

// Tell says what is waited for, with a line for the log when a minute has passed.
func (h *Heartbeat) Tell(r *Request, state string) {
	now := time.Now()
	if h.start.IsZero() {
		h.start, h.last = now, now
	}
	line := ""
	if now.Sub(h.last) >= time.Minute {
		h.last = now
		line = fmt.Sprintf("%s: %s for %s (%s)", h.Of, h.What, now.Sub(h.start).Round(time.Second), state)
	}
	r.waiting(fmt.Sprintf("%s (%s)", h.What, state), line)
}

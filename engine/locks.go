package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// heldLocks are the locks of a run, for who has to let go of all of them.
type heldLocks struct {
	mu    sync.Mutex
	locks []*state.Lock
}

func (h *heldLocks) add(l *state.Lock) {
	if l == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.locks = append(h.locks, l)
}

func (h *heldLocks) drop(l *state.Lock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.locks = slices.DeleteFunc(h.locks, func(o *state.Lock) bool { return o == l })
}

// ReleaseLocks begins to release every lock that the engine holds, without
// waiting for what is under way beneath them, and returns them as they were:
// for a person who does not want to wait, and may have to unlock by hand. done
// closes when all were answered. Nothing may be started after it.
func (e *Engine) ReleaseLocks(ctx context.Context) (held []*state.HeldError, done <-chan struct{}) {
	e.locks.mu.Lock()
	locks := slices.Clone(e.locks.locks)
	e.locks.mu.Unlock()
	answered := make(chan struct{})
	var wg routine.Group
	for _, l := range locks {
		held = append(held, l.Held())
		wg.Go(func() { _ = l.GiveUp(ctx) }) // how to unlock by hand is said in any case
	}
	go func() {
		defer close(answered)
		_ = routine.Try(func() error {
			wg.Wait()
			return nil
		})
	}()
	return held, answered
}

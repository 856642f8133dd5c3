package main

import (
	"sync"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/routine"
)

// observing keeps a fault in telling what happens from disturbing what happens.
// It is told when everything else is done.
type observing struct {
	mu    sync.Mutex
	first error
}

// guard returns observe without its panics.
func (o *observing) guard(observe func(engine.Event)) func(engine.Event) {
	return func(ev engine.Event) {
		err := routine.Try(func() error {
			observe(ev)
			return nil
		})
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.first == nil {
			o.first = err
		}
	}
}

// fault is the first fault, nil when there was none.
func (o *observing) fault() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

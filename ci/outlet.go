package ci

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/org/cdkd-action/ci/progress"
)

// How much an outlet holds for a reader that is slow. Who stops a terminal to
// read what is on it does not mean to stop the deploy.
const (
	outletBytes   = 1 << 20
	terminalBytes = 64 << 20
)

// lastWait is how long the last words of a process that was told to end wait
// for a reader.
const lastWait = 500 * time.Millisecond

// An outlet keeps whoever reads what the process prints from holding it up. It
// takes what is written to its streams at once and passes it on in that order.
// A reader that is slow slows the process down once the outlet is full; but from
// the moment on that hurry closes nothing waits for a reader any more, and what
// does not fit is lost: a save must not hang on a log that nobody reads.
//
// The table of what is under way is drawn by the outlet, too, below what it passes
// on, and only when a terminal takes it: drawings do not queue.
type outlet struct {
	hurry <-chan struct{}
	most  int
	ended chan struct{} // everything is passed on, and nothing more comes

	mu     sync.Mutex
	below  *progress.Screen // nil: no table
	around <-chan os.Signal // of the table's terminal
	parts  []part
	held   int
	closed bool
	more   chan struct{} // holds a token when parts, or closed, changed
	room   chan struct{} // closes when some were passed on; then there is another
}

type part struct {
	to   io.Writer
	text []byte
}

func newOutlet(hurry <-chan struct{}, most int) *outlet {
	o := &outlet{hurry: hurry, most: most, ended: make(chan struct{}), more: make(chan struct{}, 1), room: make(chan struct{})}
	go o.run()
	return o
}

// stream returns a writer whose text the outlet passes on to w.
func (o *outlet) stream(w io.Writer) io.Writer { return &stream{o, w} }

type stream struct {
	o  *outlet
	to io.Writer
}

// Write never fails: what the reader makes of it is not the writer's business.
func (s *stream) Write(p []byte) (int, error) {
	s.o.add(part{s.to, append([]byte(nil), p...)})
	return len(p), nil
}

func (o *outlet) add(p part) {
	for {
		o.mu.Lock()
		if o.closed {
			o.mu.Unlock()
			return
		}
		if o.held == 0 || o.held+len(p.text) <= o.most {
			o.parts, o.held = append(o.parts, p), o.held+len(p.text)
			o.mu.Unlock()
			o.wake()
			return
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-o.hurry:
			select {
			case <-room:
			default:
				return // lost
			}
		}
	}
}

func (o *outlet) wake() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// show puts a table below what is passed on from now on. What happens around
// its terminal is told by signals.
func (o *outlet) show(table *progress.Screen, around <-chan os.Signal) {
	o.mu.Lock()
	o.below, o.around = table, around
	o.mu.Unlock()
	o.wake()
}

func (o *outlet) run() {
	defer close(o.ended)
	var (
		table  *progress.Screen
		around <-chan os.Signal
		again  <-chan time.Time // nil: the table is as it should be
	)
	for {
		select {
		case <-o.more:
		case <-again:
		case change := <-around:
			if progress.Stopped(change) {
				table.Forget()
			}
		}
		o.mu.Lock()
		parts, closed := o.parts, o.closed
		o.parts, table, around = nil, o.below, o.around
		o.mu.Unlock()
		for _, p := range parts {
			if table != nil {
				table.Above(p.to, p.text)
			} else {
				_, _ = p.to.Write(p.text) // a reader that is gone is no reason to stop
			}
			o.mu.Lock()
			o.held -= len(p.text)
			close(o.room)
			o.room = make(chan struct{})
			o.mu.Unlock()
		}
		again = nil
		switch {
		case closed && table != nil:
			table.Clear()
			return
		case closed:
			return
		case table != nil:
			if wait := table.Draw(); wait > 0 {
				again = time.After(wait)
			}
		}
	}
}

// close waits until everything is passed on. Once there is a hurry it waits a
// moment only, and the reader may still be at it.
func (o *outlet) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.wake()
	select {
	case <-o.ended:
		return
	case <-o.hurry:
	}
	select {
	case <-o.ended:
	case <-time.After(lastWait):
	}
}

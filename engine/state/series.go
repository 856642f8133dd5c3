package state

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/routine"
)

// gatherWindow is how long the first of several changes waits for the others.
const gatherWindow = 5 * time.Millisecond

// A document is a body that is changed by copy. One that is empty is no object.
type document[D any] interface {
	clone() D
	marshal() ([]byte, error)
	empty() bool
}

// A series is what one run writes to one object. Changes that are asked for
// within a few milliseconds, or while a write is under way, share a write. Each
// write is guarded by the version before it; once another process's version was
// met, all that follows is refused.
//
// Whoever asked for a change that could not be written is told, and it is
// undone, so that a later write does not carry it.
type series[D document[D]] struct {
	store *Store
	key   string
	ctx   context.Context // of values: who waits leaves, the write goes on until it is called off

	mu      sync.Mutex
	doc     D // as last written
	next    *round[D]
	busy    chan struct{} // closes when nothing is under way; nil when nothing is
	callOff func()        // what is under way
	refused error         // sticky

	// Of the goroutine that writes.
	writing    context.Context
	etag       ETag
	unanswered [][sha256.Size]byte // digests of what may have been written
	mayBeGone  bool                // by a delete without an answer
}

// A round is the changes of one write.
type round[D any] struct {
	edits []func(D) (changed bool)
	done  chan struct{}
	err   error
}

func newSeries[D document[D]](ctx context.Context, s *Store, key string, doc D, etag ETag) *series[D] {
	return &series[D]{store: s, key: key, ctx: context.WithoutCancel(ctx), doc: doc, etag: etag}
}

// current is the document as last written. It is not to be changed.
func (s *series[D]) current() D {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc
}

// change has the document changed, and waits until that is written.
func (s *series[D]) change(ctx context.Context, edit func(D) (changed bool)) error {
	r, err := s.ask(edit)
	if err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask is change without the wait.
func (s *series[D]) ask(edit func(D) (changed bool)) (*round[D], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused != nil {
		return nil, s.refused
	}
	if s.next == nil {
		s.next = &round[D]{done: make(chan struct{})}
	}
	s.next.edits = append(s.next.edits, edit)
	if s.busy == nil {
		s.busy = make(chan struct{})
		s.writing, s.callOff = context.WithCancel(s.ctx)
		go s.run(s.busy, s.callOff)
	}
	return s.next, nil
}

// idle waits until no write is under way.
func (s *series[D]) idle(ctx context.Context) error {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if busy == nil {
		return nil
	}
	select {
	case <-busy:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end returns when no write is under way. What is when ctx ends is called off.
func (s *series[D]) end(ctx context.Context) {
	if s.idle(ctx) == nil {
		return
	}
	s.mu.Lock()
	busy, callOff := s.busy, s.callOff
	s.mu.Unlock()
	if busy != nil {
		callOff()
		<-busy
	}
}

// run writes until nothing is waiting.
func (s *series[D]) run(busy chan struct{}, done func()) {
	defer close(busy)
	defer done()
	time.Sleep(gatherWindow)
	for {
		s.mu.Lock()
		r, doc, refused := s.next, s.doc, s.refused
		s.next = nil
		if r == nil {
			s.busy = nil
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()

		if r.err = refused; r.err == nil {
			before := doc
			r.err = routine.Try(func() (err error) {
				doc, err = s.apply(before, r.edits)
				return err
			})
			if fault, ok := errors.AsType[*routine.PanicError](r.err); ok {
				s.store.warn(fmt.Sprintf("write %s: %v", s.key, fault)) // maybe nobody waits
			}
		}
		s.mu.Lock()
		s.doc = doc
		if isConflict(r.err) {
			s.refused = r.err
		}
		s.mu.Unlock()
		close(r.done)
	}
}

// apply writes the changed document and returns it, or else the one before.
func (s *series[D]) apply(doc D, edits []func(D) bool) (D, error) {
	next, changed := doc.clone(), false
	for _, edit := range edits {
		changed = edit(next) || changed
	}
	if !changed {
		return doc, nil
	}
	if err := s.write(next); err != nil {
		return doc, err
	}
	return next, nil
}

// write makes the object what the document says. It may meet an earlier write
// of its own, of which it never had the answer, and goes on from that.
func (s *series[D]) write(next D) error {
	body, err := next.marshal()
	if err != nil {
		return err
	}
	if next.empty() && s.etag == Absent && len(s.unanswered) == 0 {
		return nil // there is none
	}
	etag, err := s.send(next, body, s.etag)
	if isConflict(err) && (len(s.unanswered) > 0 || s.mayBeGone) {
		found, e, readErr := s.store.get(s.writing, s.key)
		switch {
		case readErr == nil && slices.Contains(s.unanswered, sha256.Sum256(found)):
			etag, err = s.send(next, body, e)
		case errors.Is(readErr, errAbsent) && next.empty():
			etag, err = Absent, nil
		case errors.Is(readErr, errAbsent) && s.mayBeGone:
			etag, err = s.send(next, body, Absent)
		case readErr != nil && !errors.Is(readErr, errAbsent):
			err = readErr // not known to be a conflict
		}
	}
	switch {
	case err == nil:
		s.etag, s.unanswered, s.mayBeGone = etag, nil, false
	case passing(err) && next.empty():
		s.mayBeGone = true
	case passing(err):
		s.unanswered = append(s.unanswered, sha256.Sum256(body))
	}
	return err
}

func (s *series[D]) send(next D, body []byte, etag ETag) (ETag, error) {
	if !next.empty() {
		written, err := s.store.persist(s.writing, s.key, body, etag)
		if errors.Is(err, errUnsupported) {
			written, err = s.store.persist(s.writing, s.key, body, Legacy) // on no condition: the lock alone guards it here
		}
		return written, err
	}
	if etag == Absent { // though a write without an answer may have made it
		return Absent, &ConflictError{Key: s.key, ETag: etag}
	}
	err := s.store.removeIf(s.writing, s.key, etag)
	if errors.Is(err, errUnsupported) {
		err = s.store.remove(s.writing, s.key) // the lock alone guards it here
	}
	if errors.Is(err, errAbsent) {
		err = nil
	}
	if err == nil {
		s.store.purgeOrWarn(s.writing, s.key)
	}
	return Absent, err
}

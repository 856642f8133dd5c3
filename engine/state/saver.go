package state

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/routine"
)

// A Saver writes the record of one stack, one write at a time: while one is
// under way the next collects everything since, and each waits a moment for what
// ends at the same time. Each write is guarded by the version that the one before
// it made.
//
// A write that meets another's version is refused, and so is every later one:
// the record is then somebody else's. A write that fails otherwise is reported
// and the next one is tried with the same version.
type Saver struct {
	stack *Stack
	ctx   context.Context // of values: a save is worth more than the run
	opt   SaverOptions

	conflict chan struct{}

	// Of the goroutine that writes.
	writing    context.Context
	unanswered [][sha256.Size]byte // digests of what may have been written
	warned     bool                // since the last write that succeeded

	mu      sync.Mutex
	etag    ETag
	written *Record       // as last written or read
	next    *Record       // waiting to be written
	sent    *Record       // as last sent
	busy    chan struct{} // closes when nothing is; nil when nothing is now
	awaited int           // who waits for what was given to Save
	hurry   func()        // ends the wait for more; nil when there is none
	callOff func()        // what is being written
	err     error         // of the latest write; sticky when a conflict
	turn    chan struct{} // closes with the next write; nil when nobody waits for it
	stopped bool
}

// SaverOptions may be zero.
type SaverOptions struct {
	// Read is the record of the version that is continued from.
	Read *Record
	// Warn, when set, takes a save that failed although a later one may do, once
	// until one does.
	Warn func(text string)
	// Gather is how long a write waits for what else is to be saved, while nobody
	// waits for it.
	Gather time.Duration
	// Saved, when set, is called after every write, one call at a time.
	Saved func(ETag)
}

// NewSaver continues from the version that Read returned. ctx gives values
// only: saves go on when it is cancelled, until End.
func NewSaver(ctx context.Context, k *Stack, read ETag, opt SaverOptions) *Saver {
	return &Saver{stack: k, ctx: context.WithoutCancel(ctx), opt: opt, etag: read, written: opt.Read, conflict: make(chan struct{})}
}

// Save has the record written as it is now, and does not wait. The record is
// the caller's again when Save returns. It fails only after a conflict.
func (s *Saver) Save(r *Record) error {
	next := r.Clone()
	next.StackName, next.Region = s.stack.Name, s.stack.Region
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return s.err
	}
	s.next = next
	if s.busy == nil {
		s.busy = make(chan struct{})
		s.writing, s.callOff = context.WithCancel(s.ctx)
		go s.run(s.busy, s.callOff)
	}
	return nil
}

// Says tells whether what was sent last, written or about to be, is what r says,
// so that r need not be saved.
func (s *Saver) Says(r *Record) bool {
	s.mu.Lock()
	sent, other := s.sent, s.next != nil || s.err != nil
	s.mu.Unlock()
	if sent == nil || other {
		return false
	}
	next := r.Clone()
	next.StackName, next.Region, next.LastModified = sent.StackName, sent.Region, sent.LastModified
	a, errA := next.Marshal()
	b, errB := sent.Marshal()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Flush waits until everything given to Save is written, and returns nil only
// if it is.
func (s *Saver) Flush(ctx context.Context) error {
	s.mu.Lock()
	s.awaited++
	s.hasten()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.awaited--
		s.mu.Unlock()
	}()
	for {
		s.mu.Lock()
		busy, err := s.busy, s.err
		s.mu.Unlock()
		if busy == nil {
			return err
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return s.saving(context.Cause(ctx))
		}
	}
}

// Wrote waits until a record is written of which ok holds, and has what waits to be
// written go at once. It fails with the context only.
func (s *Saver) Wrote(ctx context.Context, ok func(*Record) bool) error {
	for {
		s.mu.Lock()
		if s.written != nil && ok(s.written) {
			s.mu.Unlock()
			return nil
		}
		s.hasten()
		if s.turn == nil {
			s.turn = make(chan struct{})
		}
		turn := s.turn
		s.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hasten has what is waiting written now. It is called with the lock.
func (s *Saver) hasten() {
	if s.hurry != nil {
		s.hurry()
	}
}

// gather gives what is to be saved at nearly the same time a moment to go along.
func (s *Saver) gather() {
	s.mu.Lock()
	if s.opt.Gather <= 0 || s.next == nil || s.awaited > 0 {
		s.mu.Unlock()
		return
	}
	wait, hurry := context.WithTimeout(s.writing, s.opt.Gather)
	s.hurry = hurry
	s.mu.Unlock()
	<-wait.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurry = nil
	hurry()
}

// Discard drops what waits to be written and waits for the write under way, for
// a record that is about to be deleted.
func (s *Saver) Discard(ctx context.Context) error {
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	return s.Flush(ctx)
}

// End calls off what is still being written, once nobody waits for it any more,
// and returns when nothing is.
func (s *Saver) End() {
	s.mu.Lock()
	busy, callOff := s.busy, s.callOff
	s.next = nil
	s.mu.Unlock()
	if busy != nil {
		callOff()
		<-busy
	}
}

// Conflict closes when a save was refused because another process wrote the
// record.
func (s *Saver) Conflict() <-chan struct{} { return s.conflict }

// ETag is the version last written or read.
func (s *Saver) ETag() ETag {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.etag
}

// Written is the record as it was last written, or else read: what the bucket
// is known to say. It is not to be changed.
func (s *Saver) Written() *Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// run writes until nothing is waiting.
func (s *Saver) run(busy chan struct{}, done func()) {
	defer close(busy)
	defer done()
	for {
		s.gather()
		s.mu.Lock()
		next, etag := s.next, s.etag
		s.next = nil
		if next == nil || s.stopped {
			s.busy = nil
			s.mu.Unlock()
			return
		}
		next.LastModified = time.Now().UnixMilli()
		s.sent = next
		s.mu.Unlock()

		var written ETag
		err := routine.Try(func() (err error) {
			written, err = s.write(next, etag)
			return err
		})
		if err != nil {
			err = s.saving(err)
		}
		s.mu.Lock()
		s.err = err
		if err == nil {
			s.etag, s.written = written, next
		}
		s.stopped = isConflict(err)
		if s.turn != nil {
			close(s.turn)
			s.turn = nil
		}
		s.mu.Unlock()

		switch {
		case err == nil:
			s.warned = false
			if etag == Legacy {
				s.dropLegacy()
			}
			if s.opt.Saved != nil {
				s.opt.Saved(written)
			}
		case isConflict(err):
			close(s.conflict)
		case !s.warned && s.writing.Err() == nil: // else whoever called it off has said so
			s.warned = true
			s.warn(err.Error())
		}
	}
}

// write saves the record once. It may meet an earlier save of its own, of
// which it never had the answer, and goes on from that.
func (s *Saver) write(r *Record, etag ETag) (ETag, error) {
	body, err := r.Marshal()
	if err != nil {
		return "", err
	}
	written, err := s.stack.saveRecord(s.writing, body, etag)
	if isConflict(err) && len(s.unanswered) > 0 {
		found, e, readErr := s.stack.store.get(s.writing, s.stack.key(recordName))
		switch {
		case readErr == nil && slices.Contains(s.unanswered, sha256.Sum256(found)):
			written, err = s.stack.saveRecord(s.writing, body, e)
		case readErr != nil && !errors.Is(readErr, errAbsent):
			err = readErr // not known to be a conflict
		}
	}
	switch {
	case err == nil:
		s.unanswered = nil
	case passing(err):
		s.unanswered = append(s.unanswered, sha256.Sum256(body))
	}
	return written, err
}

func (s *Saver) warn(text string) {
	if s.opt.Warn != nil {
		s.opt.Warn(text)
	}
}

func (s *Saver) saving(err error) error {
	return fmt.Errorf("save the record of stack %s in %s: %w", s.stack.Name, s.stack.Region, err)
}

// dropLegacy removes the record's old copy once the new one is written.
func (s *Saver) dropLegacy() {
	key := s.stack.legacyKey(recordName)
	if err := s.stack.store.remove(s.writing, key); err != nil {
		s.warn(fmt.Sprintf("the record was moved, but its old copy is still there: %v", err))
	}
}

// saveRecord writes the record.
func (k *Stack) saveRecord(ctx context.Context, body []byte, etag ETag) (ETag, error) {
	return k.store.persist(ctx, k.key(recordName), body, etag)
}

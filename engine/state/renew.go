package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/routine"
)

const (
	renewalTimeout = 20 * time.Second // of one renewal
	renewalGrace   = time.Second      // that a release leaves to one under way
)

// Record is what the lock says now.
func (l *Lock) Record() LockRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record
}

// Lost closes when somebody else has the lock, or it is gone. Nothing new may
// be started then; what is saved is still guarded by the record's version.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// Assure returns nil when the lock is certainly held: it has not expired, or was
// renewed after it had. A process that stood still, or was cut off from the
// bucket, for so long that another may have the lock learns so here, before it
// changes anything. A lock that cannot be renewed then is given up.
func (l *Lock) Assure(ctx context.Context) error {
	for renewing := true; ; {
		select {
		case <-l.lost:
			return ErrLost
		default:
		}
		if !renewing || !l.Record().Expired(time.Now()) {
			return nil
		}
		select {
		case l.hurry <- struct{}{}: // who looks whether that is still needed
		case <-l.stopped: // lost, or the store gives no versions to renew with
			renewing = false
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Announce has the lock say what is done under it from now on, and returns when
// others can read that. A store without versions keeps what the lock said first.
func (l *Lock) Announce(ctx context.Context, operation string) error {
	l.mu.Lock()
	l.record.Operation = operation
	l.mu.Unlock()
	answer := make(chan error, 1)
	select {
	case l.tell <- answer:
	case <-l.stopped:
		return l.announced(errStopRenewing)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ErrLost says that the lock is somebody else's.
var ErrLost = errors.New("the lock is no longer held")

// renew starts the renewal: one request at a time, on the interval, each done
// or given up before the next.
func (l *Lock) renew(ctx context.Context) {
	stopping, stop := context.WithCancel(ctx)
	ctx, abort := context.WithCancel(ctx)
	l.stop, l.abort, l.stopped = stop, abort, make(chan struct{})
	go func() {
		defer close(l.stopped)
		if l.etag == Absent {
			return // the store gives no versions to go on from
		}
		tick := time.NewTicker(renewalInterval(LockTTL))
		defer tick.Stop()
		warned := false
		for {
			hurried, answer := false, chan error(nil)
			select {
			case <-stopping.Done():
				return
			case <-tick.C:
			case answer = <-l.tell:
			case <-l.hurry:
				if hurried = true; !l.Record().Expired(time.Now()) {
					continue // it was renewed for another who asked
				}
			}
			err := routine.Try(func() error { return l.renewOnce(ctx) })
			if answer != nil {
				answer <- l.announced(err)
			}
			switch {
			case errors.Is(err, errStopRenewing):
				return
			case err == nil:
				warned = false
			case hurried:
				l.warn("the lock of %s %s in %s has expired and could not be renewed; nothing new is started: %v", err)
				l.loose()
				return
			case !warned && l.Record().Expired(time.Now()):
				warned = true
				l.warn("the lock of %s %s in %s could not be renewed and has expired; another process may take it: %v", err)
			}
		}
	}()
}

// announced is what the end of a renewal means to who wanted something said.
func (l *Lock) announced(err error) error {
	if !errors.Is(err, errStopRenewing) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return ErrLost
	}
	return nil // it is written, and cannot be again
}

// renewalInterval leaves room for several missed renewals.
func renewalInterval(ttl time.Duration) time.Duration {
	return min(max(ttl/4, time.Second), LockInterval)
}

func (l *Lock) warn(format string, more ...any) {
	l.opt.Warn(fmt.Sprintf(format, append([]any{l.opt.Subject, printable(l.stack.Name), printable(l.stack.Region)}, more...)...))
}

var errStopRenewing = errors.New("the lock is not renewed any more")

// renewOnce writes the lock again with a later expiry.
func (l *Lock) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewalTimeout)
	defer cancel()
	k := l.stack
	next := l.Record()
	next.Expires = time.Now().Add(LockTTL)
	body := next.marshal()
	next, _ = parseLock(body)
	l.sent = append(l.sent, next)
	etag, err := k.store.put(ctx, k.key(lockName), body, typeJSON, when(l.etag))
	if isConflict(err) {
		found, e, readErr := k.peek(ctx)
		switch {
		case readErr != nil:
			return readErr // not known; the next renewal tells
		case found != nil && slices.ContainsFunc(l.sent, found.same):
			// A request had arrived although its answer did not.
			next, etag, err = *found, e, nil
		default:
			l.taken(found)
			l.loose()
			return errStopRenewing
		}
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record, l.sent = next, nil
	if etag == Absent {
		return errStopRenewing // the store gives no versions to go on with
	}
	l.etag = etag
	return nil
}

// loose notes that the lock is not ours to delete any more.
func (l *Lock) loose() {
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	close(l.lost)
}

// taken says who has the lock now.
func (l *Lock) taken(holder *LockRecord) {
	if holder != nil {
		l.warn("the lock of %s %s in %s was lost to %s (%s); nothing new is started", orUnnamed(holder.Owner), orUnnamed(holder.Operation))
	} else {
		l.warn("the lock of %s %s in %s was removed by somebody else; nothing new is started")
	}
}

// Leave ends the renewal and lets the lock expire.
func (l *Lock) Leave() {
	l.stop()
	select {
	case <-l.stopped:
	case <-time.After(renewalGrace):
	}
	l.abort()
	<-l.stopped
}

// Release ends the renewal and removes the lock if it still is this one. An
// error says what was left behind; it does not change what the run achieved.
// Calling it again returns the same.
func (l *Lock) Release(ctx context.Context) error {
	l.once.Do(func() {
		l.Leave()
		if err := l.remove(ctx); err != nil {
			l.releaseErr = fmt.Errorf("release the lock of %s %s in %s: %w", l.opt.Subject, l.stack.Name, l.stack.Region, err)
			if !isConflict(err) && !errors.Is(err, errNotOurs) {
				l.releaseErr = fmt.Errorf("%w; it is in the way until %s, and force-unlock removes it sooner", l.releaseErr, l.record.Expires.UTC().Format(time.RFC3339))
			}
		}
	})
	return l.releaseErr
}

// GiveUp is Release for who ends before what is under way beneath the lock does, or
// could not save what it did: what a destroy may have deleted is written down first.
func (l *Lock) GiveUp(ctx context.Context) error {
	var err error
	select {
	case <-l.lost: // another has begun
	default:
		err = l.stack.noteDestroy(ctx, l.Record())
	}
	return errors.Join(err, l.Release(ctx))
}

var errNotOurs = errors.New("it is not this run's any more")

func (l *Lock) remove(ctx context.Context) error {
	if l.gone {
		return nil // somebody else's, and said so
	}
	k := l.stack
	key := k.key(lockName)
	err := k.store.removeIf(ctx, key, l.etag)
	if isConflict(err) && len(l.sent) > 0 {
		if found, etag, readErr := k.peek(ctx); readErr == nil && found != nil && slices.ContainsFunc(l.sent, found.same) {
			err = k.store.removeIf(ctx, key, etag) // the last renewal had arrived
		}
	}
	if errors.Is(err, errAbsent) {
		return nil
	}
	if !errors.Is(err, errUnsupported) && !is[*AccessError](err) {
		return err
	}
	// The store deletes on no condition, so the lock itself must say that it is
	// this one.
	found, _, err := k.peek(ctx)
	if err != nil {
		return fmt.Errorf("whose it is cannot be read: %w", err)
	}
	if found == nil || found.Owner != l.record.Owner || !found.Acquired.Equal(l.record.Acquired) {
		return errNotOurs
	}
	return k.store.remove(ctx, key)
}

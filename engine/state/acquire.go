package state

import (
	"context"
	"errors"
	"fmt"
	"time"
)

func (k *Stack) acquire(ctx context.Context, opt LockOptions) (*Lock, error) {
	var (
		attempts, counted, extras int

		waiting  bool // beyond the ordinary attempts
		deadline time.Time
		reported time.Time
	)
	for {
		attempts++
		l, held, err := k.attempt(ctx, opt)
		if err != nil {
			return nil, fmt.Errorf("lock %s %s in %s: %w", opt.Subject, k.Name, k.Region, err)
		}
		if l != nil {
			l.Contended = attempts > 1 || l.TookOver != nil
			return l, nil
		}
		held.Attempts = attempts
		if opt.FailFast {
			return nil, held
		}
		// A lock that was gone when looked at is asked for again at once; an
		// endless series of such locks is not.
		if !held.Readable && extras < lockExtras {
			extras++
			continue
		}
		gap := lockPause
		if counted == lockRetries {
			now := time.Now()
			if !waiting {
				waiting, deadline, reported = true, now.Add(opt.Wait), now.Add(-lockReport)
			}
			if !now.Before(deadline) {
				return nil, held
			}
			if opt.Waiting != nil && now.Sub(reported) >= lockReport {
				reported = now
				opt.Waiting(held)
			}
			gap = min(lockLongPause, deadline.Sub(now))
		} else {
			counted++
		}
		if err := pause(ctx, gap); err != nil {
			return nil, fmt.Errorf("wait for the lock of %s %s in %s: %w", opt.Subject, k.Name, k.Region, err)
		}
	}
}

// attempt asks once, and once more when the lock that it met had expired.
func (k *Stack) attempt(ctx context.Context, opt LockOptions) (*Lock, *HeldError, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	// A lock that was written must be known of, or nobody releases it.
	writing, cancel := answered(ctx)
	defer cancel()
	l, met, err := k.claim(writing, opt)
	if met == nil {
		return l, nil, err
	}
	held := k.heldBy(opt, met.record)
	old := met.record
	if old == nil || !old.Expired(held.Seen) {
		return nil, held, nil
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	err = k.store.removeIf(writing, k.key(lockName), met.etag)
	switch {
	case contended(err), errors.Is(err, errAbsent):
		return nil, held, nil // somebody else was faster
	case errors.Is(err, errUnsupported), is[*AccessError](err):
		held.Refused = "it could not be taken over safely, because the store does not delete on a condition"
		return nil, held, nil
	case err != nil:
		return nil, nil, err
	}
	l, met, err = k.claim(writing, opt)
	switch {
	case met != nil:
		return nil, k.heldBy(opt, met.record), nil
	case err != nil:
		return nil, nil, err
	}
	l.TookOver = old
	opt.Warn(fmt.Sprintf("took over the expired lock of %s %s in %s from %s (%s)", opt.Subject,
		printable(k.Name), printable(k.Region), orUnnamed(old.Owner), orUnnamed(old.Operation)))
	return l, nil, nil
}

func orUnnamed(s string) string {
	if s == "" {
		return "unnamed"
	}
	return printable(s)
}

// contended tells whether somebody else had the better of a conditional
// request.
func contended(err error) bool { return isConflict(err) || errors.Is(err, errBusy) }

// A meeting is what stands where a lock was to be written; its record is nil
// when that is no lock, or gone again.
type meeting struct {
	record *LockRecord
	etag   ETag
}

// claim writes the lock if there is none, or else says what it met.
func (k *Stack) claim(ctx context.Context, opt LockOptions) (*Lock, *meeting, error) {
	now := time.Now()
	r := LockRecord{Owner: opt.Owner, Operation: opt.Operation, Acquired: now, Expires: now.Add(LockTTL)}
	body := r.marshal()
	r, _ = parseLock(body) // to the millisecond, as it will be compared
	etag, err := k.store.put(ctx, k.key(lockName), body, typeJSON, when(Absent))
	if err != nil {
		if !contended(err) && !passing(err) {
			return nil, nil, err
		}
		// It may be the lock itself, written by a request without an answer.
		met := &meeting{}
		var readErr error
		met.record, met.etag, readErr = k.peek(ctx)
		switch {
		case readErr == nil && met.record != nil && met.record.same(r):
			etag = met.etag
		case !contended(err):
			if ctx.Err() != nil {
				opt.Warn(fmt.Sprintf("S3 did not say whether the lock of %s %s in %s is taken: if it is, it frees itself at %s, and force-unlock removes it sooner",
					opt.Subject, printable(k.Name), printable(k.Region), r.Expires.UTC().Format(time.RFC3339)))
			}
			return nil, nil, err
		case readErr != nil:
			return nil, nil, readErr
		default:
			return nil, met, nil
		}
	}
	return &Lock{stack: k, opt: opt, record: r, etag: etag, lost: make(chan struct{}), hurry: make(chan struct{}), tell: make(chan chan error)}, nil, nil
}

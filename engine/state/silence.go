package state

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// lockSilence is how long a lock must not be renewed before its holder is
	// taken for dead: an interval, and some for a slow request.
	lockSilence = LockInterval + 30*time.Second

	silencePoll = 10 * time.Second
)

// ReleaseDead removes the lock of a run that can no longer do it itself, and
// first bounds its creates in the ledger by the end of the run. ended, when not
// zero, is when the run's process was gone; without that proof the lock must be
// silent for longer than a living holder leaves it. A lock whose owner is
// another, or that is gone, is left alone.
//
// It returns whether the lock was removed. When ctx ends first, the error says
// what the lock waits for.
func (k *Stack) ReleaseDead(ctx context.Context, owner string, ended time.Time) (released bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("release the lock of stack %s in %s for %s: %w", k.Name, k.Region, printable(owner), err)
		}
	}()
	dead := !ended.IsZero()
	var last LockRecord
	var since time.Time
	for {
		r, etag, err := k.peek(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && !passing(err):
			return false, err
		case err != nil: // asked again
		case r == nil || r.Owner != owner:
			return false, nil
		case !dead && !r.same(last):
			last, since = *r, time.Now()
		case dead || time.Since(since) >= lockSilence:
			// While the lock is there nobody else works with the ledger.
			if err := k.endDead(ctx, *r, ended); err != nil {
				k.store.warn(err.Error())
			}
			err := k.store.removeIf(ctx, k.key(lockName), etag)
			if errors.Is(err, errAbsent) {
				return false, nil
			}
			if !isConflict(err) {
				return err == nil, err
			} // else renewed this moment
		}
		if err := pause(ctx, silencePoll); err != nil {
			return false, errors.Join(err, stillHeld(last))
		}
	}
}

// endDead notes in the ledger when a dead run ended: when its process did, or at
// the latest when it would have renewed its lock. What a destroy may have deleted is
// written down, too.
func (k *Stack) endDead(ctx context.Context, lock LockRecord, ended time.Time) error {
	if ended.IsZero() {
		return k.abandon(ctx, &lock)
	}
	return errors.Join(k.abandonAt(ctx, ended), k.noteDestroy(ctx, lock))
}

// stillHeld says until when a lock that was seen is in the way.
func stillHeld(r LockRecord) error {
	if r.Expires.IsZero() {
		return nil
	}
	return fmt.Errorf("its process may still be alive; the lock frees itself at %s", r.Expires.UTC().Format(time.RFC3339))
}

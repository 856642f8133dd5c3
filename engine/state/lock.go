package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/value"
)

// The figures of a lock. They are part of its format: other writers of the
// bucket count on them.
const (
	LockTTL      = 30 * time.Minute
	LockInterval = 2 * time.Minute // between renewals

	lockRetries = 3 // after the first attempt
	lockExtras  = 3 // more of them for locks that were gone when looked at
	lockPause   = 2 * time.Second

	// Beyond the ordinary attempts, when the caller wants to wait.
	lockLongPause = 5 * time.Second
	lockReport    = 30 * time.Second
)

// A LockRecord is what a lock says of its holder: lock.json.
type LockRecord struct {
	Owner     string
	Operation string
	// Acquired is when the lock was taken; Expires when it may be taken over.
	// Zero is not known.
	Acquired, Expires time.Time
}

// Expired tells whether the lock may be taken over. One that does not say when
// it expires has expired.
func (r LockRecord) Expired(now time.Time) bool { return !now.Before(r.Expires) }

// parseLock reads a lock; ok is false for a body that is not one.
func parseLock(body []byte) (r LockRecord, ok bool) {
	o, err := value.ParseObject(body)
	if err != nil {
		return r, false
	}
	return LockRecord{
		Owner:     o.String("owner"),
		Operation: o.String("operation"),
		Acquired:  moment(o.Value("timestamp")),
		Expires:   moment(o.Value("expiresAt")),
	}, true
}

func (r LockRecord) marshal() []byte {
	o := value.NewObject(
		"owner", r.Owner,
		"timestamp", value.Int(r.Acquired.UnixMilli()),
		"expiresAt", value.Int(r.Expires.UnixMilli()))
	if r.Operation != "" {
		o.Set("operation", r.Operation)
	}
	b, _ := value.MarshalIndent(o) // strings and numbers cannot fail
	return b
}

// same tells whether two locks are one writer's same write.
func (r LockRecord) same(o LockRecord) bool {
	return r.Owner == o.Owner && r.Acquired.Equal(o.Acquired) && r.Expires.Equal(o.Expires)
}

// moment reads Unix milliseconds, the zero time for anything else.
func moment(v any) time.Time {
	n, ok := v.(json.Number)
	if !ok {
		return time.Time{}
	}
	f, err := n.Float64()
	if err != nil || math.Abs(f) > 1<<53 {
		return time.Time{}
	}
	return time.UnixMilli(int64(f))
}

// LockOptions say who wants a lock and how long it may take.
type LockOptions struct {
	Owner     string // from NewOwner
	Operation string // what other processes are told: "deploy", "destroy", …
	Subject   string // what messages call the stack; "" is "stack"

	// FailFast makes one attempt only.
	FailFast bool
	// Wait goes on for this long after the ordinary attempts. Waiting, when
	// set, is told the holder every half minute of it.
	Wait    time.Duration
	Waiting func(*HeldError)

	// Warn, when set, takes what should be read by a person: a lock that was
	// taken over, a renewal that fails, a lock that was lost.
	Warn func(text string)
}

// A Lock is held until Release. It is renewed all the while.
type Lock struct {
	stack *Stack
	opt   LockOptions

	// TookOver is the expired lock that this one replaced, nil when there was
	// none.
	TookOver *LockRecord

	lost    chan struct{}
	stop    context.CancelFunc
	stopped chan struct{} // the renewal is over

	once       sync.Once
	releaseErr error

	mu     sync.Mutex // the renewal and a reader of Record
	record LockRecord
	etag   ETag
	gone   bool // lost: not ours to delete

	sent []LockRecord // renewals without an answer
}

// Lock takes the stack's lock, or returns a *HeldError. It ends at once when
// ctx does. The lock itself does not end with ctx, only with Release.
func (k *Stack) Lock(ctx context.Context, opt LockOptions) (*Lock, error) {
	if opt.Subject == "" {
		opt.Subject = "stack"
	}
	if opt.Warn == nil {
		opt.Warn = func(string) {}
	}
	l, err := k.acquire(ctx, opt)
	if err != nil {
		return nil, err
	}
	l.renew(context.WithoutCancel(ctx))
	return l, nil
}

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
	l, err := k.claim(ctx, opt)
	if err == nil || !contended(err) {
		return l, nil, err
	}
	old, etag, err := k.peek(ctx)
	held := k.heldBy(opt, old)
	if err != nil || old == nil || !old.Expired(held.Seen) {
		return nil, held, err
	}
	err = k.store.removeIf(ctx, k.key(lockName), etag)
	switch {
	case contended(err), errors.Is(err, errAbsent):
		return nil, held, nil // somebody else was faster
	case errors.Is(err, errUnsupported), is[*AccessError](err):
		held.Refused = "it could not be taken over safely, because the store does not delete on a condition"
		opt.Warn(held.Error() + "\n" + held.Remedy())
		return nil, held, nil
	case err != nil:
		return nil, nil, err
	}
	l, err = k.claim(ctx, opt)
	if contended(err) {
		return nil, held, nil
	}
	if err != nil {
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

// claim writes the lock if there is none.
func (k *Stack) claim(ctx context.Context, opt LockOptions) (*Lock, error) {
	now := time.Now()
	r := LockRecord{Owner: opt.Owner, Operation: opt.Operation, Acquired: now, Expires: now.Add(LockTTL)}
	body := r.marshal()
	r, _ = parseLock(body) // to the millisecond, as it will be compared
	etag, err := k.store.put(ctx, k.key(lockName), body, typeJSON, when(Absent))
	if err != nil && (contended(err) || passing(err)) {
		// The write may have arrived although its answer did not.
		found, e, readErr := k.peek(context.WithoutCancel(ctx))
		if readErr == nil && found != nil && found.same(r) {
			etag, err = e, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &Lock{stack: k, opt: opt, record: r, etag: etag, lost: make(chan struct{})}, nil
}

// Peek reads the lock without taking it: nil when there is none. A body that
// is not a lock is a *MalformedError.
func (k *Stack) Peek(ctx context.Context) (*LockRecord, error) {
	body, _, err := k.store.get(ctx, k.key(lockName))
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock of stack %s in %s: %w", k.Name, k.Region, err)
	}
	r, ok := parseLock(body)
	if !ok {
		return nil, fmt.Errorf("read the lock of stack %s in %s: %w", k.Name, k.Region, k.notALock())
	}
	return &r, nil
}

func (k *Stack) notALock() error {
	return &MalformedError{
		Key:      k.key(lockName),
		Problems: []string{"the body is not a lock"},
		Hint:     "remove it with force-unlock",
	}
}

// peek is Peek for an attempt, to which a lock that cannot be read is none.
func (k *Stack) peek(ctx context.Context) (*LockRecord, ETag, error) {
	body, etag, err := k.store.get(ctx, k.key(lockName))
	if errors.Is(err, errAbsent) {
		return nil, Absent, nil
	}
	if err != nil {
		return nil, Absent, err
	}
	if r, ok := parseLock(body); ok {
		return &r, etag, nil
	}
	return nil, etag, nil
}

// Held describes the holder of a lock that Peek found, for a command that
// takes none itself.
func (k *Stack) Held(r LockRecord) *HeldError { return k.heldBy(LockOptions{Subject: "stack"}, &r) }

func (k *Stack) heldBy(opt LockOptions, r *LockRecord) *HeldError {
	e := &HeldError{
		Subject: opt.Subject, Stack: k.Name, Region: k.Region, Seen: time.Now(), Attempts: 1,
		bucket: k.store.bucket, prefix: k.store.prefix, profile: k.store.profile,
	}
	if r != nil {
		e.Readable, e.Owner, e.Operation, e.ExpiresAt = true, r.Owner, r.Operation, r.Expires
	}
	return e
}

// ForceUnlock removes the lock whoever holds it, and its oldest form. It
// returns the holder, nil when there was no lock that could be read.
func (k *Stack) ForceUnlock(ctx context.Context) (*LockRecord, error) {
	r, _, readErr := k.peek(ctx)
	for _, key := range []string{k.key(lockName), k.legacyKey(lockName)} {
		if err := k.store.remove(ctx, key); err != nil {
			return r, fmt.Errorf("unlock stack %s in %s: %w", k.Name, k.Region, err)
		}
	}
	if readErr != nil {
		return nil, nil // an unreadable lock can be removed all the same
	}
	return r, nil
}

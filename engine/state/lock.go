package state

import (
	"context"
	"errors"
	"fmt"
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

// Withdrawing is the operation of a deploy that takes exports away, or changes
// them: see [Lock.Announce].
const Withdrawing = "deploy, which takes exports away or changes them"

// Withdraws tells whether the holder may be taking away what its stack exports.
func (r LockRecord) Withdraws() bool { return r.Operation == Destroying || r.Operation == Withdrawing }

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
	// Contended tells whether somebody had it when it was first asked for: what
	// was read beside may be older than what they left.
	Contended bool

	lost    chan struct{}
	hurry   chan struct{}      // asks for a renewal at once
	tell    chan chan error    // asks for one that says a new operation, and for what came of it
	stop    context.CancelFunc // no further renewal
	abort   context.CancelFunc // nor the one under way
	stopped chan struct{}      // the renewal is over

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
	ctx = context.WithoutCancel(ctx)
	l.renew(ctx)
	if l.TookOver != nil {
		if err := k.abandon(ctx, l.TookOver); err != nil {
			opt.Warn(err.Error())
		}
	}
	return l, nil
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

// Held describes the lock as others see it.
func (l *Lock) Held() *HeldError {
	r := l.Record()
	return l.stack.heldBy(l.opt, &r)
}

func (k *Stack) heldBy(opt LockOptions, r *LockRecord) *HeldError {
	e := &HeldError{
		Subject: opt.Subject, Stack: k.Name, Region: k.Region, Seen: time.Now(),
		bucket: k.store.bucket, prefix: k.prefix, profile: k.store.profile,
	}
	if r != nil {
		e.Readable, e.Owner, e.Operation, e.ExpiresAt = true, r.Owner, r.Operation, r.Expires
	}
	return e
}

// ForceUnlock removes the lock whoever holds it, and its oldest form. there
// tells whether something stood in the lock's place; holder is nil where it
// could not be read as a lock. The ledger is told when the holder must have
// stopped, and what a destroy may have deleted is written down; where that fails, a
// warning says so.
func (k *Stack) ForceUnlock(ctx context.Context) (holder *LockRecord, there bool, err error) {
	r, etag, readErr := k.peek(ctx)
	there = r != nil || etag != Absent || readErr != nil
	if r != nil || etag != Absent {
		if err := k.abandon(ctx, r); err != nil {
			k.store.warn(err.Error())
		}
	}
	for _, key := range []string{k.key(lockName), k.legacyKey(lockName)} {
		if err := k.store.remove(ctx, key); err != nil {
			return r, there, fmt.Errorf("unlock stack %s in %s: %w", k.Name, k.Region, err)
		}
	}
	k.store.purgeOrWarn(ctx, k.key(lockName))
	return r, there, nil // what cannot be read can be removed all the same
}

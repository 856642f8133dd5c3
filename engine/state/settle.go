package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

// A Fate is what became of a create.
type Fate int

const (
	// FateUnknown: it failed, and may have made something all the same.
	FateUnknown Fate = iota
	// FateNothing: it was not sent, or was refused outright.
	FateNothing
	// FateOver: what it made is recorded, or gone again.
	FateOver
	// FateOpen: it had no answer when the run had to end.
	FateOpen
)

// FateOf reads a create's fate out of its error.
func FateOf(err error) Fate {
	switch {
	case err == nil:
		return FateOver
	case refusedOutright(err):
		return FateNothing
	}
	return FateUnknown
}

// refusedOutright tells whether a service answered that it did nothing: a 4xx
// that is neither throttling nor a timeout, with nothing else in the chain that
// leaves it open. An earlier attempt without an answer does.
func refusedOutright(err error) bool {
	answered, open := false, false
	var walk func(error)
	walk = func(err error) {
		// Not all services' errors of a response are of one type.
		if re, ok := err.(interface{ HTTPStatusCode() int }); ok {
			answered = true
			switch s := re.HTTPStatusCode(); {
			case s < 400, s >= 500, s == http.StatusRequestTimeout, s == http.StatusTooManyRequests:
				open = true
			}
		}
		if api, ok := err.(smithy.APIError); ok {
			if _, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]; throttled {
				open = true
			}
		}
		if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
			open = true
		}
		switch w := err.(type) {
		case interface{ Unwrap() error }:
			if inner := w.Unwrap(); inner != nil {
				walk(inner)
			}
		case interface{ Unwrap() []error }:
			for _, inner := range w.Unwrap() {
				walk(inner)
			}
		}
	}
	walk(err)
	return answered && !open
}

// A Settlement is how a run ended, for its ledger.
type Settlement struct {
	// Record is what is recorded at the end. Entries that it answers go.
	Record *Record
	// Fates are those of this run's creates, by logical id. A create of it that
	// is neither recorded nor named here counts as FateUnknown.
	Fates map[string]Fate
	// Keep, when not nil, tells which of the entries that the record answers stay:
	// a rollback to come has to know what their creates made.
	Keep func(logicalID string, row *Resource) bool
	// Sealed, when not zero, is when the run let go of what is FateOpen.
	Sealed time.Time
}

// Settle brings the ledger up to date at the end of a run, with the lock still
// held: one write, none when nothing changes. When that fails twice it writes
// at least when the run ended. The error is for a person to read; the run's
// result stands.
func (l *Ledger) Settle(ctx context.Context, s Settlement) error {
	if l.unusable != nil {
		return nil // said to whoever wanted something of it
	}
	now := time.Now()
	var err error
	for range 2 {
		err = l.series.change(ctx, func(d *ledgerDoc) bool { return d.settle(s, l.answered, now) })
		if err == nil || isConflict(err) || ctx.Err() != nil {
			break
		}
	}
	if err == nil {
		return nil
	}
	if !isConflict(err) && ctx.Err() == nil {
		endErr := l.series.change(ctx, func(d *ledgerDoc) bool { return d.end(now) })
		if endErr == nil {
			return fmt.Errorf("the ledger of stack %s in %s only says when this run ended: %w", l.stack.Name, l.stack.Region, err)
		}
		err = errors.Join(err, endErr)
	}
	return fmt.Errorf("the ledger of stack %s in %s still names creates of this run as if it were under way, "+
		"so a later run may ask for an import of what it would else have recognised: %w", l.stack.Name, l.stack.Region, err)
}

// Settles tells whether such an end leaves nothing open.
func (l *Ledger) Settles(s Settlement) bool {
	if l.unusable != nil {
		return false
	}
	d := l.series.current().clone()
	d.settle(s, l.answered, time.Now())
	return len(d.sent) == 0
}

// SettleAhead is Settle by a run that may have to undo its creates after all: what
// was sent is told by Sent as before.
func (l *Ledger) SettleAhead(ctx context.Context, s Settlement) error {
	if l.unusable == nil {
		l.ahead.Store(l.series.current())
	}
	return l.Settle(ctx, s)
}

// Unanswered names the creates of earlier runs that such an end leaves open.
// Nothing is written. A ledger that cannot be read may name some.
func (l *Ledger) Unanswered(s Settlement) (logicalIDs []string, err error) {
	if l.unusable != nil {
		return nil, l.unusable
	}
	d := l.series.current().clone()
	d.settle(s, l.answered, time.Now())
	for id, e := range l.before.Load().sent {
		if left, ok := d.sent[id]; ok && left.Token == e.Token {
			logicalIDs = append(logicalIDs, id)
		}
	}
	slices.Sort(logicalIDs)
	return logicalIDs, nil
}

// answered tells whether the record named what an entry is about when the ledger
// was opened.
func (l *Ledger) answered(logicalID string, e Entry) bool {
	open, ok := l.before.Load().sent[logicalID]
	return !ok || open.Token != e.Token
}

// settle leaves what an earlier run wrote and this one kept as it is, unless
// its resource is accounted for: it is recorded, or was, and was let go since.
func (d *ledgerDoc) settle(s Settlement, answered func(string, Entry) bool, now time.Time) (changed bool) {
	before := d.clone()
	maps.DeleteFunc(d.sent, func(id string, e Entry) bool {
		fate, named := s.Fates[id]
		row := s.Record.Row(id)
		if e.done(row) && s.Keep != nil && s.Keep(id, row) {
			return false
		}
		letGo := !d.fresh[id] && row == nil && answered(id, e)
		return e.done(row) || letGo || named && fate == FateOver || d.fresh[id] && fate == FateNothing
	})
	for id, e := range d.sent {
		if d.fresh[id] && s.Fates[id] == FateUnknown && e.FailedAt == 0 && !e.done(s.Record.Row(id)) {
			e.FailedAt = now.UnixMilli()
			d.sent[id] = e
		}
	}
	d.recorded = d.recorded || d.there && s.Record != nil
	if !s.Sealed.IsZero() && len(d.sent) > 0 {
		d.end(s.Sealed)
	}
	if len(d.sent) == 0 {
		d.abandonedAt = 0 // there is nothing left to bound
	}
	return d.recorded != before.recorded || d.abandonedAt != before.abandonedAt || !maps.Equal(d.sent, before.sent)
}

// end bounds the entries by the end of the run, unless a later one stands.
func (d *ledgerDoc) end(at time.Time) (changed bool) {
	if ms := at.UnixMilli(); ms > d.abandonedAt {
		d.abandonedAt = ms
		return true
	}
	return false
}

// abandon notes when the run that held a lock can last have worked: an
// interval after it last renewed it. A lock that does not say when that was
// stopped being anybody's now. What a destroy may have deleted is written down, too.
func (k *Stack) abandon(ctx context.Context, lock *LockRecord) error {
	at := time.Now()
	if lock != nil && !lock.Expires.IsZero() {
		at = lock.Expires.Add(-LockTTL + LockInterval)
	}
	err := k.abandonAt(ctx, at)
	if lock != nil {
		err = errors.Join(err, k.noteDestroy(ctx, *lock))
	}
	return err
}

// abandonAt notes that the run before this one did nothing after a moment.
func (k *Stack) abandonAt(ctx context.Context, at time.Time) error {
	d, etag, err := k.readLedger(ctx)
	if err != nil || d == nil || !d.adopts() {
		return err
	}
	ledger := newSeries(ctx, k.store, k.key(ledgerName), d, etag)
	defer ledger.end(ctx)
	if err := ledger.change(ctx, func(d *ledgerDoc) bool { return d.end(at) }); err != nil {
		return fmt.Errorf("note in the ledger of stack %s in %s when its earlier run ended: %w", k.Name, k.Region, err)
	}
	return nil
}

// adopts tells whether an entry vouches for a name.
func (d *ledgerDoc) adopts() bool {
	for _, e := range d.sent {
		if e.ByName() {
			return true
		}
	}
	return false
}

package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"
)

// A Ledger vouches for creates that may not be sent twice blindly, or whose
// name another may hold: create-tokens.json. Each is written down before it is
// sent, so that a later run can tell what an earlier one may have made.
//
// What earlier runs left in it is the evidence, and stays what it was when the
// ledger was opened; what this run intends is none for itself.
type Ledger struct {
	stack    *Stack
	unusable error
	before   atomic.Pointer[ledgerDoc] // what earlier runs left open
	series   *series[*ledgerDoc]
	recorded atomic.Bool               // by this run
	untagged bool                      // see Untag
	ahead    atomic.Pointer[ledgerDoc] // as it was when this run settled it ahead; nil unless it did
}

// OpenLedger reads the ledger, with the lock held. there is what Presence says
// of it: without one, no request is made. r is the record as read, nil when
// there is none: a ledger that outlived its record proves nothing and is begun
// anew.
//
// A ledger that cannot be read refuses every Intend with the reason, and no
// write replaces it; nothing but creates depends on it.
func (k *Stack) OpenLedger(ctx context.Context, there bool, r *Record) *Ledger {
	l := &Ledger{stack: k}
	doc, etag := newLedgerDoc(), Absent
	if there {
		found, e, err := k.readLedger(ctx)
		switch {
		case err != nil:
			l.unusable = err
		case found != nil:
			if etag, doc.there = e, true; r != nil || !found.recorded {
				doc = found
			}
		}
	}
	l.series = newSeries(ctx, k.store, k.key(ledgerName), doc, etag)
	before := doc.clone()
	maps.DeleteFunc(before.sent, func(id string, e Entry) bool { return e.done(r.Row(id)) })
	l.before.Store(before)
	return l
}

// Untag has creates that are written down from now on be sent without the tag
// that proves whose the resource is. One that an earlier run began stays what it
// was. It comes before any Intend.
func (l *Ledger) Untag() { l.untagged = true }

// End returns when nothing is being written. What is when ctx ends is called off.
func (l *Ledger) End(ctx context.Context) { l.series.end(ctx) }

// readLedger returns nil when there is no ledger.
func (k *Stack) readLedger(ctx context.Context) (*ledgerDoc, ETag, error) {
	key := k.key(ledgerName)
	body, etag, err := k.store.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return nil, Absent, nil
	}
	var d *ledgerDoc
	if err == nil {
		d, err = parseLedger(key, body)
	}
	if err != nil {
		return nil, Absent, fmt.Errorf("read the ledger of stack %s in %s: %w", k.Name, k.Region, err)
	}
	return d, etag, nil
}

// Err says why the ledger refuses intents, nil when it does not.
func (l *Ledger) Err() error { return l.unusable }

// Nonce tells one ledger from another of the same stack.
func (l *Ledger) Nonce() string {
	if l.unusable != nil {
		return ""
	}
	return l.series.current().nonce
}

// Open returns what earlier runs intended and no record answers, by logical id.
func (l *Ledger) Open() map[string]Entry { return maps.Clone(l.before.Load().sent) }

// Sent returns what is written down of a create, also of one that a row answers,
// and the value of the tag that it gave. Of nothing it is the zero Entry.
func (l *Ledger) Sent(logicalID string) (e Entry, ownerTag string) {
	if l.unusable != nil {
		return Entry{}, ""
	}
	d := l.series.current()
	e, ok := d.sent[logicalID]
	if was := l.ahead.Load(); !ok && was != nil {
		e, ok = was.sent[logicalID]
	}
	if !ok {
		return Entry{}, ""
	}
	return e, e.OwnerTag(d.nonce, logicalID)
}

// Abandoned is the latest moment at which the run that left the open entries
// can have made something; the zero time when that is not known.
func (l *Ledger) Abandoned() time.Time {
	if at := l.before.Load().abandonedAt; at != 0 {
		return time.UnixMilli(at)
	}
	return time.Time{}
}

// A Ticket is what an intended create is sent with.
type Ticket struct {
	Token    string // makes the create safe to repeat; for an Intent with a name, that name
	OwnerTag string // the value of the tag that proves whose the resource is, "" for none
}

// Intend writes creates down, and returns when they may be sent. Calls that
// come within a few milliseconds, or while another is being written, share a
// write. After an error none of them may be sent.
func (l *Ledger) Intend(ctx context.Context, intents ...Intent) ([]Ticket, error) {
	err := l.unusable
	tickets := make([]Ticket, len(intents))
	if err == nil && len(intents) > 0 {
		err = l.series.change(ctx, func(d *ledgerDoc) (changed bool) {
			for i, intent := range intents {
				changed = d.enter(intent, l.untagged) || changed
				e := d.sent[intent.LogicalID]
				tickets[i] = Ticket{Token: e.Token}
				if !l.untagged || !e.ByName() {
					tickets[i].OwnerTag = e.OwnerTag(d.nonce, intent.LogicalID)
				}
			}
			d.there = d.there || changed
			d.recorded = d.recorded || l.recorded.Load()
			return changed
		})
	}
	if err != nil {
		return nil, fmt.Errorf("write down the creates of stack %s in %s before they are sent: %w", l.stack.Name, l.stack.Region, err)
	}
	return tickets, nil
}

// enter puts an intent into the document, unless it keeps what is there.
func (d *ledgerDoc) enter(i Intent, bare bool) (changed bool) {
	if old, ok := d.sent[i.LogicalID]; ok && i.Keep && old.Answers(i) {
		return false
	}
	e := Entry{Base: i.base(), Token: i.Name, FirstSentAt: time.Now().UnixMilli(), Called: i.Called}
	if e.Token == "" {
		e.Token = randomHex(16)
		if bare {
			e.Token = untagged + e.Token[len(untagged):]
		}
	}
	d.sent[i.LogicalID], d.fresh[i.LogicalID] = e, true
	return true
}

// SetAside moves entries of earlier runs out of the way of other creates under
// the same logical ids, so that what they may have made is not forgotten. They
// stay open, by other names: see Subject.
func (l *Ledger) SetAside(ctx context.Context, logicalIDs ...string) error {
	err := l.amend(ctx, func(d *ledgerDoc) bool { return d.setAside(logicalIDs) })
	if err == nil {
		before := l.before.Load().clone()
		before.setAside(logicalIDs)
		l.before.Store(before)
	}
	return err
}

func (d *ledgerDoc) setAside(logicalIDs []string) (changed bool) {
	for _, id := range logicalIDs {
		if e, ok := d.sent[id]; ok {
			delete(d.sent, id)
			d.sent[aside(id, e)] = e
			changed = true
		}
	}
	return changed
}

// Recorded notes that a record was saved, and has that written when there is a
// ledger. It does not wait: nothing but a later run reads it.
func (l *Ledger) Recorded() {
	if l.recorded.Swap(true) || l.unusable != nil {
		return
	}
	l.series.ask(func(d *ledgerDoc) bool {
		changed := d.there && !d.recorded
		d.recorded = true
		return changed
	})
}

// Begin has the ledger written if there is none yet, for what is proved by its
// nonce alone.
func (l *Ledger) Begin(ctx context.Context) error {
	if l.unusable == nil && l.series.current().there {
		return nil
	}
	return l.amend(ctx, func(d *ledgerDoc) bool {
		changed := !d.there
		d.there, d.recorded = true, d.recorded || l.recorded.Load()
		return changed
	})
}

// Drop takes entries out: what they were about is recorded, deleted, or let go.
func (l *Ledger) Drop(ctx context.Context, logicalIDs ...string) error {
	return l.amend(ctx, func(d *ledgerDoc) bool { return d.drop(logicalIDs) })
}

// Renew is Drop for resources that were let go on purpose. It changes the nonce
// too, so that a create to come does not repeat a token that already made one.
func (l *Ledger) Renew(ctx context.Context, logicalIDs ...string) error {
	return l.amend(ctx, func(d *ledgerDoc) bool {
		d.drop(logicalIDs)
		d.nonce = newLedgerDoc().nonce
		return d.there
	})
}

func (d *ledgerDoc) drop(logicalIDs []string) (changed bool) {
	for _, id := range logicalIDs {
		if _, ok := d.sent[id]; ok {
			delete(d.sent, id)
			changed = true
		}
	}
	return changed
}

func (l *Ledger) amend(ctx context.Context, edit func(*ledgerDoc) bool) error {
	err := l.unusable
	if err == nil {
		err = l.series.change(ctx, edit)
	}
	if err != nil {
		return fmt.Errorf("update the ledger of stack %s in %s: %w", l.stack.Name, l.stack.Region, err)
	}
	return nil
}

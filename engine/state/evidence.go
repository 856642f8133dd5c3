package state

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A Holder is who has the name that a create would take.
type Holder struct {
	LogicalID, Type string // of the create
	Name            string // the generated physical name

	PhysicalID string
	Created    time.Time // zero: the service does not tell, or may not be asked
	OwnerTag   string    // the value of its ownership tag, "" when it has none
}

// A Proof is what accounts for a Holder.
type Proof string

// The proofs, in the order in which they are looked for: what is at hand first.
const (
	ProvedByRecord   Proof = "record"
	ProvedByOrphan   Proof = "rollback orphan"
	ProvedByJournal  Proof = "journal"
	ProvedByTag      Proof = "ownership tag"
	ProvedByIntent   Proof = "intent"
	ProvedByRetained Proof = "retained list"
	ProvedByHistory  Proof = "history"
)

// A Verdict says whether a create may take the holder of its name.
type Verdict struct {
	// Proof is what makes the holder this stack's own; "" when nothing does, and
	// the create is to be refused.
	Proof Proof
	// Own is set on a refusal when an earlier create of this stack probably made
	// the holder, without that being proved.
	Own bool
	// Unread is the evidence that could not be read.
	Unread []error
}

// Evidence accounts for holders of names. Nothing is read before the first
// holder that needs it, and everything once.
type Evidence struct {
	stack  *Stack
	record *Record
	ledger *Ledger

	journal  once[*Journal]
	retained once[*Retained]
	history  once[*history]

	mu   sync.Mutex
	made []Holder
}

// Evidence gathers what is known under this run's lock. r is the record as it
// was read; it must not change any more.
func (k *Stack) Evidence(r *Record, l *Ledger) *Evidence {
	return &Evidence{stack: k, record: r, ledger: l}
}

// Made adds a resource that this run made itself.
func (e *Evidence) Made(typ, physicalID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.made = append(e.made, Holder{Type: typ, PhysicalID: physicalID})
}

// License says whether a holder is the stack's own. It is safe for concurrent
// use.
func (e *Evidence) License(ctx context.Context, h Holder) Verdict {
	var v Verdict
	unread := func(err error) bool {
		if err != nil {
			v.Unread = append(v.Unread, err)
		}
		return err != nil
	}
	switch {
	case e.record.names(h.Type, h.PhysicalID), e.isMade(h):
		return Verdict{Proof: ProvedByRecord}
	case e.record.orphaned(h.Type, h.PhysicalID):
		return Verdict{Proof: ProvedByOrphan}
	case e.ledger.tagged(h):
		return Verdict{Proof: ProvedByTag}
	}
	var licensed bool
	if licensed, v.Own = e.ledger.licenses(h); licensed {
		return Verdict{Proof: ProvedByIntent}
	}
	unread(e.ledger.Err())

	journal, err := e.journal.get(ctx, func() (*Journal, error) { return e.stack.ReadJournal(ctx) })
	if !unread(err) && journal.names(h.Type, h.PhysicalID) {
		return Verdict{Proof: ProvedByJournal}
	}
	retained, err := e.retained.get(ctx, func() (*Retained, error) {
		r, _, err := e.stack.readRetained(ctx)
		return r, err
	})
	switch {
	case unread(err): // which is not to say that there is none
		return v
	case retained != nil:
		if retained.licenses(h) {
			return Verdict{Proof: ProvedByRetained}
		}
		return v
	}
	past, _ := e.history.get(ctx, func() (*history, error) { return e.stack.readHistory(ctx), nil })
	if past.licenses(h) {
		return Verdict{Proof: ProvedByHistory}
	}
	v.Unread = append(v.Unread, past.unread...)
	return v
}

func (e *Evidence) isMade(h Holder) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.made {
		if m.Type == h.Type && SameResource(h.Type, m.PhysicalID, h.PhysicalID) {
			return true
		}
	}
	return false
}

// once is a value that is read when first wanted, and again only if that was
// cut short.
type once[T any] struct {
	mu   sync.Mutex
	done bool
	v    T
	err  error
}

func (o *once[T]) get(ctx context.Context, read func() (T, error)) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.done {
		o.v, o.err = read()
		o.done = ctx.Err() == nil
	}
	return o.v, o.err
}

// orphaned tells whether a rollback kept a resource.
func (r *Record) orphaned(typ, physicalID string) bool {
	if r == nil {
		return false
	}
	for _, o := range r.Orphans {
		if o.State.ResourceType == typ && SameResource(typ, o.State.PhysicalID, physicalID) {
			return true
		}
	}
	return false
}

// names tells whether the journal is about a resource that should exist: one
// that was made or changed, or that something failed on after its id was known.
func (j *Journal) names(typ, physicalID string) bool {
	if j == nil {
		return false
	}
	named := func(op *Operation) bool {
		return op.ResourceType == typ && SameResource(typ, op.PhysicalID, physicalID)
	}
	for _, g := range j.Segments {
		for _, op := range g.Operations {
			if op.ChangeType != OpDelete && named(op) {
				return true
			}
		}
		for _, op := range g.Failed {
			if named(op) {
				return true
			}
		}
	}
	return false
}

// tagged tells whether a holder carries the tag of this resource's own create,
// by an earlier run, of which no end is recorded.
func (l *Ledger) tagged(h Holder) bool {
	before := l.before.Load()
	for id, e := range before.sent {
		if Subject(id) == Subject(h.LogicalID) && h.OwnerTag != "" && e.Type() == h.Type && h.OwnerTag == e.OwnerTag(before.nonce, id) {
			return true
		}
	}
	return false
}

// licenses tells whether an earlier run's intent accounts for a holder, and, if
// none does, whether one was for this name all the same. What has the tag of
// another create was not made by that one, whenever it was made.
func (l *Ledger) licenses(h Holder) (licensed, own bool) {
	before := l.before.Load()
	for id, e := range before.sent {
		if e.ByName() && e.Type() == h.Type && e.Token == h.Name {
			anothers := h.OwnerTag != "" && h.OwnerTag != e.OwnerTag(before.nonce, id)
			if !anothers && e.licenses(h.Created, before.abandonedAt) {
				return true, true
			}
			own = true
		}
	}
	return false, own
}

// A NameHeldError says that a create was refused because the name that it would
// take is held by what the stack cannot account for. Nothing was changed.
type NameHeldError struct {
	Stack, Region string
	Holder        Holder
	Own           bool
	Unread        []error
}

// Refusal is the error of a create whose verdict has no proof.
func (e *Evidence) Refusal(h Holder, v Verdict) *NameHeldError {
	return &NameHeldError{Stack: e.stack.Name, Region: e.stack.Region, Holder: h, Own: v.Own, Unread: v.Unread}
}

func (e *NameHeldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s was not created: its name is held by %s, which nothing that stack %s in %s knows accounts for",
		e.Holder.Type, e.Holder.LogicalID, printable(e.Holder.PhysicalID), e.Stack, e.Region)
	if e.Own {
		b.WriteString("; an earlier create of this stack, whose outcome is not known, probably made it")
	} else {
		b.WriteString("; the stack is probably deployed under another state bucket or prefix too")
	}
	for _, err := range e.Unread {
		fmt.Fprintf(&b, "; not looked at: %v", err)
	}
	return b.String()
}

// Remedy says what to do about it.
func (e *NameHeldError) Remedy() string {
	return "if it is this stack's, " + ImportAdvice(e.Stack, e.Holder.LogicalID, e.Holder.PhysicalID, "")
}

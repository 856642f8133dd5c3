package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

const (
	pendingVersion = 1

	// The limits of the object, and of the properties of one operation.
	pendingBytes      = 1 << 20
	pendingEntries    = 1000
	pendingProperties = 256 << 10
)

// A Pending is what a run had to let go, for another to finish: pending.json.
// Without operations and leftovers there is no object.
type Pending struct {
	RunID, Owner   string
	WrittenAt      int64 // Unix milliseconds
	SealedAt       int64 // when the run let go; 0: it did not seal
	LedgerNonce    string
	RecordModified int64 // LastModified of the record saved last, or beside this; 0: none

	Operations []OpenOperation
	Leftovers  []Leftover

	stackName, region string
	read              *value.Object
}

// The stages of an open operation.
const (
	StageSent     = "sent"     // the request may have left, and had no answer
	StageAccepted = "accepted" // somebody works on it
	StageSettling = "settling" // recorded; only the wait for it was let go
)

// An OpenOperation is a call that a run let go of.
type OpenOperation struct {
	LogicalID, ResourceType string
	ChangeType              string // OpCreate, OpUpdate or OpDelete
	ProvisionedBy, Stage    string
	StartedAt               int64 // just before the call was sent
	Replacing               bool  // the create half of a replacement; Previous is the old copy

	RequestToken string // of Cloud Control, once accepted
	ClientToken  string // of the create; equals the ledger's
	PhysicalID   string // as soon as known
	Name         string // what the create asked for
	NameOrigin   string // generated or declared

	ResponseKey, RequestID string // of a custom resource
	AnswerBy               int64

	// Properties are those sent, secrets as expressions; nil when they were left
	// out, or there are none.
	Properties        *value.Object
	PropertiesOmitted bool
	Previous          *Resource // the row before an update, delete or replacement

	DeletionPolicy, UpdateReplacePolicy string
	Dependencies                        []string
	RoleARN                             string

	// Void is set once the record was removed or handed over: the entry then
	// proves nothing, also when another ledger is begun.
	Void bool

	// Malformed says what of the entry cannot be understood. Such an operation
	// stays open until a person decides.
	Malformed string

	read any
}

// The reasons of a leftover.
const (
	LeftReplaced   = "replaced"   // an old copy, until the clean-up
	LeftRemnant    = "remnant"    // of a create that failed
	LeftSuperseded = "superseded" // another made its row since
)

// A Leftover is a resource that is to be deleted, and never taken back.
type Leftover struct {
	LogicalID, ResourceType, PhysicalID, ProvisionedBy string
	Previous                                           *Resource
	Reason                                             string
	Since                                              int64

	Void      bool   // as for an OpenOperation
	Malformed string // as for an OpenOperation

	read any
}

// By names the run that left it. Of one that wrote nothing down itself only the
// lock's owner is known.
func (p *Pending) By() string {
	if p.RunID == "" {
		return "a run of " + orUnnamed(p.Owner)
	}
	return "run " + p.RunID
}

// Empty tells whether nothing is open.
func (p *Pending) Empty() bool { return len(p.Operations)+len(p.Leftovers) == 0 }

func (p *Pending) empty() bool { return p.Empty() }

// Live tells whether the entries still belong to the stack: the ledger is the
// same one, or nobody saved the record since. Otherwise the record was removed
// or handed over, and they prove nothing.
func (p *Pending) Live(ledgerNonce string, r *Record) bool {
	return p.LedgerNonce != "" && p.LedgerNonce == ledgerNonce ||
		p.RecordModified != 0 && r != nil && r.LastModified == p.RecordModified
}

func (p *Pending) clone() *Pending {
	c := *p
	c.Operations, c.Leftovers = slices.Clone(p.Operations), slices.Clone(p.Leftovers)
	return &c
}

// Avoid marks all entries void.
func (p *Pending) Avoid() {
	for i := range p.Operations {
		p.Operations[i].Void = true
	}
	for i := range p.Leftovers {
		p.Leftovers[i].Void = true
	}
}

// Enter adds an operation, or replaces the one of the same resource and kind.
func (p *Pending) Enter(op OpenOperation) {
	i := slices.IndexFunc(p.Operations, func(o OpenOperation) bool {
		return o.LogicalID == op.LogicalID && o.ChangeType == op.ChangeType && o.Malformed == ""
	})
	if i >= 0 {
		p.Operations[i] = op
	} else {
		p.Operations = append(p.Operations, op)
	}
}

// Leave adds a leftover, or replaces the one of the same resource.
func (p *Pending) Leave(l Leftover) {
	i := slices.IndexFunc(p.Leftovers, func(o Leftover) bool {
		return o.Malformed == "" && o.ResourceType == l.ResourceType && o.PhysicalID == l.PhysicalID
	})
	if i >= 0 {
		p.Leftovers[i] = l
	} else {
		p.Leftovers = append(p.Leftovers, l)
	}
}

// readPending returns nil when nothing is open.
func (k *Stack) readPending(ctx context.Context) (*Pending, ETag, error) {
	key := k.key(pendingName)
	body, etag, err := k.store.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return nil, Absent, nil
	}
	var p *Pending
	if err == nil {
		p, err = ParsePending(key, body)
	}
	if err != nil {
		return nil, Absent, fmt.Errorf("read the open operations of stack %s in %s: %w", k.Name, k.Region, err)
	}
	return p, etag, nil
}

// ReadPending returns what is open, nil when nothing is, for a command that
// only shows it.
func (k *Stack) ReadPending(ctx context.Context) (*Pending, error) {
	p, _, err := k.readPending(ctx)
	return p, err
}

// OpenBelow names the stacks nested in this one, however deep, of which something
// is open, in one request. Where the bucket may not be listed there are none.
func (k *Stack) OpenBelow(ctx context.Context) (names []string, err error) {
	below := k.prefix + "/" + k.Name + "~"
	err = k.store.list(ctx, below, "", func(key string) bool {
		if name, ok := strings.CutSuffix(key, "/"+k.Region+"/"+pendingName); ok {
			names = append(names, strings.TrimPrefix(name, k.prefix+"/"))
		}
		return true
	})
	if is[*AccessError](err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look whether something is open of what is nested in stack %s in %s: %w", k.Name, k.Region, err)
	}
	return names, nil
}

// RemovePending removes the object, whatever is in it. The lock is held.
func (k *Stack) RemovePending(ctx context.Context) error {
	key := k.key(pendingName)
	if err := k.store.remove(ctx, key); err != nil {
		return fmt.Errorf("remove the open operations of stack %s in %s: %w", k.Name, k.Region, err)
	}
	k.store.purgeOrWarn(ctx, key)
	return nil
}

// A PendingFile is the object of open operations while a run changes it.
type PendingFile struct {
	stack  *Stack
	series *series[*Pending]
	found  *Pending
}

// OpenPending reads what is open, with the lock held. there is what Presence
// says of it: without one, no request is made. An object that cannot be
// understood is an error and never overwritten: taken for empty, it could have
// a resource made twice.
func (k *Stack) OpenPending(ctx context.Context, there bool) (*PendingFile, error) {
	f := &PendingFile{stack: k}
	etag := Absent
	if there {
		var err error
		if f.found, etag, err = k.readPending(ctx); err != nil {
			return nil, err
		}
	}
	doc := f.found
	if doc == nil {
		doc = &Pending{}
	}
	doc.stackName, doc.region = k.Name, k.Region
	f.series = newSeries(ctx, k.store, k.key(pendingName), doc, etag)
	return f, nil
}

// End returns when nothing is being written. What is when ctx ends is called off.
func (f *PendingFile) End(ctx context.Context) { f.series.end(ctx) }

// Current is what is open as last written. It is the caller's.
func (f *PendingFile) Current() *Pending { return f.series.current().clone() }

// Found is what an earlier run left open, nil when nothing.
func (f *PendingFile) Found() *Pending {
	if f.found == nil {
		return nil
	}
	return f.found.clone()
}

// Change has the object changed, and returns when that is written. Changes that
// come within a few milliseconds share a write; one that leaves nothing open
// removes the object. edit runs at once or a little later, never beside
// another.
func (f *PendingFile) Change(ctx context.Context, edit func(*Pending)) error {
	err := f.series.change(ctx, func(p *Pending) bool { edit(p); return true })
	if err != nil {
		return fmt.Errorf("write down the open operations of stack %s in %s: %w", f.stack.Name, f.stack.Region, err)
	}
	return nil
}

// Lines are the open operations and leftovers as JSON, one a line and without
// what lets somebody else answer for them, for a log when they could not be
// written.
func (p *Pending) Lines() []string {
	var entries []any
	for _, op := range p.Operations {
		entries = append(entries, op.value())
	}
	for _, l := range p.Leftovers {
		entries = append(entries, l.value())
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		if o, ok := e.(*value.Object); ok {
			o = o.Clone()
			for _, name := range [...]string{"requestToken", "clientToken", "responseKey"} {
				o.Delete(name)
			}
			e = o
		}
		lines[i] = value.JSON(e)
	}
	return lines
}

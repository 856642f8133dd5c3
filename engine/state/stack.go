package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

// A Stack is the place of one stack's objects in one region. A nested stack
// has a place of its own, named parent~logicalId.
type Stack struct {
	store  *Store
	prefix string
	Name   string
	Region string
}

// Stack returns the place of a stack. It sends no request.
func (s *Store) Stack(name, region string) *Stack {
	return &Stack{store: s, prefix: s.prefix, Name: name, Region: region}
}

// root is the place of the top-level stack that a nested stack hangs on.
func (k *Stack) root() *Stack {
	root := *k
	root.Name, _, _ = strings.Cut(k.Name, "~")
	return &root
}

// Top is the name of the top-level stack that this one is or hangs on.
func (k *Stack) Top() string { return k.root().Name }

// under is the place of the stack under another prefix of the bucket.
func (k *Stack) under(prefix string) *Stack {
	other := *k
	other.prefix = prefix
	return &other
}

// The names of a stack's objects, below its folder.
const (
	recordName   = "state.json"
	lockName     = "lock.json"
	journalName  = "rollback-journal.json"
	ledgerName   = "create-tokens.json"
	pendingName  = "pending.json"
	retainedName = "retained.json"
	handoverName = "handover.json"
	eventsFolder = "deployments/"
)

func (k *Stack) key(name string) string {
	return k.prefix + "/" + k.Name + "/" + k.Region + "/" + name
}

// legacyKey is where the oldest writers kept the record and the lock.
func (k *Stack) legacyKey(name string) string {
	return k.prefix + "/" + k.Name + "/" + name
}

// RecordKey is the record's key, for messages.
func (k *Stack) RecordKey() string { return k.key(recordName) }

// A Presence tells which of a stack's objects there are.
type Presence struct {
	// Listed is false when the bucket may not be listed. All objects may then
	// be there, and reading them must tell.
	Listed bool

	Record, Lock, Journal, Ledger, Pending, Retained, Handover, Events bool

	// OpenCreates is true when the ledger is too long for one without entries.
	OpenCreates bool

	// Histories are the ids of the runs that have one, oldest first.
	Histories []string
}

// Presence looks which objects there are, in one request.
func (k *Stack) Presence(ctx context.Context) (Presence, error) {
	p := Presence{Listed: true}
	flags := map[string]*bool{
		recordName: &p.Record, lockName: &p.Lock, journalName: &p.Journal, ledgerName: &p.Ledger,
		pendingName: &p.Pending, retainedName: &p.Retained, handoverName: &p.Handover,
	}
	folder := k.key("")
	err := k.store.listSizes(ctx, folder, "", func(key string, size int64) bool {
		name := strings.TrimPrefix(key, folder)
		if flag := flags[name]; flag != nil {
			*flag = true
		}
		p.OpenCreates = p.OpenCreates || name == ledgerName && size > longestEmptyLedger
		if event, ok := strings.CutPrefix(name, eventsFolder); ok {
			p.Events = true
			if id, ok := strings.CutSuffix(event, eventsSuffix); ok {
				p.Histories = append(p.Histories, id)
			}
		}
		return true
	})
	if is[*AccessError](err) {
		return Presence{Record: true, Lock: true, Journal: true, Ledger: true, Pending: true, Retained: true, Handover: true, Events: true}, nil
	}
	if err != nil {
		return Presence{}, fmt.Errorf("look up stack %s in %s: %w", k.Name, k.Region, err)
	}
	return p, nil
}

// Read returns the record and its version, nil and Absent when there is none.
// With a *MalformedError comes what ParseRecord gives.
func (k *Stack) Read(ctx context.Context) (*Record, ETag, error) {
	r, etag, err := k.ReadProvisional(ctx)
	if r == nil && etag == Absent && err == nil {
		return k.readLegacy(ctx)
	}
	return r, etag, err
}

// ReadProvisional is Read for a reading that Confirm follows: it does not look
// for a record of the oldest form, which Confirm does.
func (k *Stack) ReadProvisional(ctx context.Context) (*Record, ETag, error) {
	key := k.key(recordName)
	body, etag, err := k.store.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return nil, Absent, nil
	}
	if err == nil && etag == Absent {
		err = fmt.Errorf("the answer for %s names no version", key)
	}
	if err != nil {
		return nil, Absent, k.reading(err)
	}
	r, err := ParseRecord(key, body)
	if err != nil {
		err = k.reading(err)
	}
	return r, etag, err
}

func (k *Stack) reading(err error) error {
	return fmt.Errorf("read the record of stack %s in %s: %w", k.Name, k.Region, err)
}

// readLegacy reads the record under the key without a region.
func (k *Stack) readLegacy(ctx context.Context) (*Record, ETag, error) {
	body, err := k.legacyBody(ctx)
	if errors.Is(err, errAbsent) {
		return nil, Absent, nil
	}
	if err != nil {
		return nil, Absent, k.reading(err)
	}
	r, err := ParseRecord(k.legacyKey(recordName), body)
	if err != nil {
		err = k.reading(err)
	}
	return r, Legacy, err
}

// legacyBody is the record under the key without a region, if it is of this
// region or does not say.
func (k *Stack) legacyBody(ctx context.Context) ([]byte, error) {
	body, _, err := k.store.get(ctx, k.legacyKey(recordName))
	if err != nil {
		return nil, err
	}
	if o, err := value.ParseObject(body); err == nil {
		if region := o.String("region"); region != "" && region != k.Region {
			return nil, errAbsent
		}
	}
	return body, nil
}

// Confirm tells whether the record still is the version that was read before
// the lock was held; a *ConflictError says that it is not, and that a plan
// made from it is out of date.
func (k *Stack) Confirm(ctx context.Context, read ETag) error {
	known := read
	if known == Legacy {
		known = Absent
	}
	key := k.key(recordName)
	legacyErr := errAbsent
	var wg routine.Group
	if read == Absent {
		wg.Go(func() { _, legacyErr = k.legacyBody(ctx) })
	}
	_, _, same, err := k.store.getUnless(ctx, key, known)
	wg.Wait()
	if errors.Is(err, errAbsent) && !errors.Is(legacyErr, errAbsent) {
		key, err = k.legacyKey(recordName), legacyErr
	}
	switch {
	case same:
		return nil
	case errors.Is(err, errAbsent) && known == Absent:
		return nil
	case err == nil || errors.Is(err, errAbsent):
		return fmt.Errorf("confirm the record of stack %s in %s: %w", k.Name, k.Region, &ConflictError{Key: key, ETag: known})
	}
	return fmt.Errorf("confirm the record of stack %s in %s: %w", k.Name, k.Region, err)
}

// A Ref names a recorded stack.
type Ref struct {
	Stack  string
	Region string // "" when a record of the oldest form does not say
}

// List returns the stacks that have a record, in the order of their keys.
func (s *Store) List(ctx context.Context) ([]Ref, error) {
	refs, _, err := s.ListAll(ctx)
	return refs, err
}

// A Trace is what there is of a stack without a record: a run is at work on it,
// or ended before it could save anything. One that is on its way from or to
// CloudFormation has a Trace beside its record too.
type Trace struct {
	Ref
	Objects  []string // their names, in order
	Handover bool     // see ReadHandover
}

// ListAll is List, and finds the stacks without a record of which something is
// there all the same that a run goes on from, and those that are being handed over.
func (s *Store) ListAll(ctx context.Context) (refs []Ref, traces []Trace, err error) {
	seen := map[Ref]bool{}
	add := func(r Ref) {
		if !seen[r] {
			seen[r] = true
			refs = append(refs, r)
		}
	}
	var legacy []string
	root := s.prefix + "/"
	err = s.listSizes(ctx, root, "", func(key string, size int64) bool {
		switch parts := strings.Split(strings.TrimPrefix(key, root), "/"); {
		case len(parts) == 2 && parts[1] == recordName:
			legacy = append(legacy, parts[0])
		case len(parts) != 3:
		case parts[2] == recordName:
			add(Ref{parts[0], parts[1]})
		case parts[2] == lockName, parts[2] == journalName, parts[2] == pendingName, parts[2] == handoverName, parts[2] == ledgerName && size > longestEmptyLedger:
			r := Ref{parts[0], parts[1]}
			if n := len(traces); n == 0 || traces[n-1].Ref != r {
				traces = append(traces, Trace{Ref: r})
			}
			last := &traces[len(traces)-1]
			last.Objects = append(last.Objects, parts[2])
			last.Handover = last.Handover || parts[2] == handoverName
		}
		return true
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list the recorded stacks: %w", err)
	}
	for i, region := range s.legacyRegions(ctx, legacy) {
		add(Ref{legacy[i], region})
	}
	return refs, slices.DeleteFunc(traces, func(t Trace) bool { return seen[t.Ref] && !t.Handover }), nil
}

// legacyRegions reads where stacks recorded without a region are; "" for what
// cannot be read.
func (s *Store) legacyRegions(ctx context.Context, stacks []string) []string {
	regions := make([]string, len(stacks))
	parallel(len(stacks), func(i int) {
		body, _, err := s.get(ctx, s.Stack(stacks[i], "").legacyKey(recordName))
		if err != nil {
			return
		}
		if o, err := value.ParseObject(body); err == nil {
			regions[i] = o.String("region")
		}
	})
	return regions
}

// parallel calls f for 0 to n-1, a few at a time, and returns when all are
// done.
func parallel(n int, f func(int)) {
	const most = 16
	var wg routine.Group
	slots := make(chan struct{}, most)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}

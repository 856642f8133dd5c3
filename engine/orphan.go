package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/state"
)

// OrphanOptions say what is to be forgotten.
type OrphanOptions struct {
	Stacks []string
	Region string // "": every region in which they are recorded
	// Resources, when set, are the rows to forget of the only stack, by logical
	// id; the rest of its record stays.
	Resources []string
	// Pending, when set, names what of the stack's open operations to forget, by
	// logical id, or AllPending; its record stays.
	Pending []string
	// Force removes the lock of somebody who is at work on a stack. It never
	// does for single rows.
	Force bool
	// Consent, when set, is asked with what would be forgotten.
	Consent func([]Orphaned) bool
}

// An Orphaned stack is one whose record was removed, or lost rows. Its
// resources stay in AWS.
type Orphaned struct {
	state.Ref
	Recorded  bool     // false: there was no record to remove
	Unread    bool     // the record could not be understood: what it named is not known
	Resources []string // the rows that were, by logical id
	Pending   []string // what was open, for a person

	etag    state.ETag
	exports bool // other stacks may import from it
}

// StateOrphan forgets stacks, or single rows of one: the record goes and AWS is
// not touched. What was done before an error is in the result; nil means that
// nothing was, because nothing is there or somebody declined.
func (e *Engine) StateOrphan(ctx context.Context, opt OrphanOptions) ([]Orphaned, error) {
	reads, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	store, err := e.open(reads)
	if err != nil {
		return nil, err
	}
	if opt.Pending != nil {
		return e.orphanPending(reads, store, opt)
	}
	if opt.Resources != nil {
		return e.orphanRows(reads, store, opt)
	}
	targets, err := e.orphanTargets(reads, store, opt)
	if err != nil || len(targets) == 0 {
		return nil, err
	}
	if err := e.unheld(reads, store, targets, opt.Force); err != nil {
		return nil, err
	}
	if opt.Consent != nil {
		if !opt.Consent(targets) {
			return nil, nil
		}
		// Somebody may have begun to work on them while the question stood.
		if err := e.unheld(reads, store, targets, opt.Force); err != nil {
			return nil, err
		}
	}
	for i, t := range targets {
		if e.config.Window.Interrupted() {
			return targets[:i], errInterrupted
		}
		if err := e.orphan(store, t); err != nil {
			return targets[:i], err
		}
	}
	return targets, nil
}

// orphanTargets finds what there is to forget, and refuses what cannot be told
// apart.
func (e *Engine) orphanTargets(ctx context.Context, store *state.Store, opt OrphanOptions) (targets []Orphaned, err error) {
	refs, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range opt.Stacks {
		var found []state.Ref
		switch {
		case opt.Region != "":
			found = []state.Ref{{Stack: name, Region: opt.Region}}
		default:
			for _, r := range refs {
				if r.Stack == name {
					found = append(found, r)
				}
			}
		}
		if found == nil { // no record, but a journal or a marker may be left
			regions, err := store.Regions(ctx, name)
			if err != nil {
				return nil, err
			}
			for _, region := range regions {
				found = append(found, state.Ref{Stack: name, Region: region})
			}
		}
		recorded := false
		for _, ref := range found {
			t := Orphaned{Ref: ref}
			if err := e.readOrphan(ctx, store, &t, opt.Force); err != nil {
				return nil, err
			}
			if err := e.mayOrphan(ctx, store.Stack(ref.Stack, ref.Region), opt.Force); err != nil {
				return nil, err
			}
			recorded = recorded || t.Recorded
			targets = append(targets, t)
		}
		if !recorded {
			text := "nothing is recorded of the stack"
			if elsewhere := regionsIn(refs, name); opt.Region != "" && len(elsewhere) > 0 {
				text += " in " + opt.Region + "; it is recorded in " + strings.Join(elsewhere, ", ")
			}
			e.observe(Event{Kind: Notice, Stack: name, Text: text})
		}
	}
	e.warnOfNested(refs, targets)
	return targets, e.warnOfImporters(ctx, store, targets)
}

// warnOfImporters names the stacks that import what is going to be forgotten,
// and cannot any more then.
func (e *Engine) warnOfImporters(ctx context.Context, store *state.Store, targets []Orphaned) error {
	for _, t := range targets {
		if !t.exports {
			continue
		}
		consumers, err := store.Consumers(ctx, t.Stack, t.Region)
		if err != nil {
			return err
		}
		for _, c := range consumers {
			if slices.ContainsFunc(targets, func(o Orphaned) bool { return o.Ref == state.Ref{Stack: c.Stack, Region: c.Region} }) {
				continue
			}
			e.warnOf(store.Stack(t.Stack, t.Region), fmt.Sprintf("stack %s in %s imports %s, which cannot be imported any more once the stack is forgotten",
				c.Stack, c.Region, strings.Join(c.Exports, ", ")))
		}
	}
	return nil
}

// An IllegibleError is a record that cannot be understood, and so not be forgotten
// without insistence: nobody would know any more what it named.
type IllegibleError struct{ Err error }

func (e *IllegibleError) Error() string { return e.Err.Error() }
func (e *IllegibleError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *IllegibleError) Remedy() string {
	return Remedy(e.Err) + "; with force it is forgotten all the same, and nothing names its resources any more"
}

// readOrphan reads the version that is to be removed. One that cannot be
// understood is refused, or told when force insists.
func (e *Engine) readOrphan(ctx context.Context, store *state.Store, t *Orphaned, force bool) error {
	place := store.Stack(t.Stack, t.Region)
	record, etag, err := place.Read(ctx)
	if etag == state.Legacy {
		if err := place.OwnLegacy(record, err); err != nil {
			return err
		}
	}
	if is[*state.MalformedError](err) || is[*state.VersionError](err) {
		if !force {
			return &IllegibleError{err}
		}
		t.Unread = true
		e.observe(Event{Kind: Warning, Stack: t.Stack, Region: t.Region, Text: err.Error()})
	} else if err != nil {
		return err
	}
	t.Recorded, t.etag, t.Resources = etag != state.Absent, etag, record.LogicalIDs()
	t.exports = t.Recorded && (record == nil || len(record.Exports()) > 0) // what cannot be read may
	p, err := place.ReadPending(ctx)
	if err != nil {
		e.warnOf(place, err.Error())
	}
	var sent map[string]state.Entry
	if t.Region != "" { // the oldest form had no ledger
		if sent, err = openCreatesOf(ctx, place, record); err != nil {
			e.warnOf(place, err.Error())
		}
	}
	if p != nil || len(sent) > 0 {
		t.Pending, _ = pendingNamed(place, p, sent, []string{AllPending})
	}
	for _, id := range slices.Sorted(maps.Keys(sent)) {
		e.warnOf(place, fmt.Sprintf("an earlier run began to create %s (%s) and recorded no id: it may exist in AWS, and nothing will name it any more", id, sent[id].Type()))
	}
	return nil
}

// warnOfNested names the nested stacks that stay on record without the one that
// they are nested in.
func (e *Engine) warnOfNested(refs []state.Ref, targets []Orphaned) {
	going := func(r state.Ref) bool {
		return slices.ContainsFunc(targets, func(t Orphaned) bool { return t.Ref == r })
	}
	for _, r := range refs {
		i := strings.LastIndex(r.Stack, "~")
		if i < 0 {
			continue
		}
		parent := state.Ref{Stack: r.Stack[:i], Region: r.Region}
		switch {
		case going(parent) && !going(r):
			e.observe(Event{Kind: Warning, Stack: r.Stack, Region: r.Region, Text: fmt.Sprintf("stays on record, though %s, which it is nested in, does not; name it too to forget it", parent.Stack)})
		case going(r) && !going(parent) && slices.Contains(refs, parent):
			e.observe(Event{Kind: Warning, Stack: r.Stack, Region: r.Region, Text: fmt.Sprintf("is forgotten, though %s, which it is nested in, still has a row for it", parent.Stack)})
		}
	}
}

// unheld refuses stacks that somebody is at work on, unless that is overruled.
func (e *Engine) unheld(ctx context.Context, store *state.Store, targets []Orphaned, force bool) error {
	for _, t := range targets {
		place := store.Stack(t.Stack, t.Region)
		lock, err := place.Peek(ctx)
		switch {
		case err != nil && !(force && is[*state.MalformedError](err)):
			return err
		case lock == nil || lock.Expired(now()):
		case !force:
			return place.Held(*lock)
		default:
			e.observe(Event{Kind: Warning, Stack: t.Stack, Region: t.Region, Text: place.Held(*lock).Error() + ", and is removed"})
		}
	}
	return nil
}

// orphan removes everything that names a stack's resources, and then gives its
// name back. Once begun it is not called off.
func (e *Engine) orphan(store *state.Store, t Orphaned) error {
	ctx, cancel := e.config.Window.Cleanup(2 * journalLimit)
	defer cancel()
	place := store.Stack(t.Stack, t.Region)
	if _, _, err := place.ForceUnlock(ctx); err != nil {
		return err
	}
	if err := place.Forget(ctx, t.etag); err != nil {
		return err
	}
	regions := []string{t.Region}
	if t.Region == "" { // of the oldest form: it may have been kept in any of them
		var err error
		if regions, err = store.Regions(ctx, t.Stack); err != nil {
			return err
		}
	}
	for _, region := range regions {
		e.handOver(ctx, store, store.Stack(t.Stack, region))
	}
	if place.Top() == place.Name && t.Region != "" {
		return place.RemoveHandover(ctx)
	}
	return nil
}

// mayOrphan refuses to forget a stack that is on its way from CloudFormation or to
// it, unless that still has all of it, or it is forced.
func (e *Engine) mayOrphan(ctx context.Context, place *state.Stack, force bool) error {
	if place.Region == "" { // of the oldest form, before there were handovers
		return nil
	}
	h, err := place.ReadHandover(ctx)
	if err == nil && h == nil {
		return nil
	}
	if err == nil {
		err = handedOver(place, h)
		if h.Abandonable() && place.Top() == place.Name {
			return nil
		}
	}
	if force {
		e.warnOf(place, err.Error())
		return nil
	}
	return err
}

// handOver removes what is left of a stack whose record is gone and whose
// resources are somebody else's now, and gives its name back.
func (e *Engine) handOver(ctx context.Context, store *state.Store, place *state.Stack) {
	if err := store.Exports(place.Region).Update(ctx, place.Name, nil); err != nil {
		e.warnOf(place, err.Error())
	}
	if err := place.HandOver(ctx, place.Registry()); err != nil {
		e.warnOf(place, err.Error())
	}
}

// orphanRows drops rows of a record, under the stack's lock.
func (e *Engine) orphanRows(ctx context.Context, store *state.Store, opt OrphanOptions) ([]Orphaned, error) {
	place, err := recorded(ctx, store, opt.Stacks[0], opt.Region)
	if err != nil {
		return nil, err
	}
	t := Orphaned{Ref: state.Ref{Stack: place.Name, Region: place.Region}, Recorded: true, Resources: opt.Resources}
	before, etag, err := place.Read(ctx)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, notRecordedIn(ctx, place.Name, place.Region, store)
	}
	if err := rowsThere(place, before, opt.Resources); err != nil {
		return nil, err
	}
	if opt.Consent != nil && !opt.Consent([]Orphaned{t}) {
		return nil, nil
	}
	err = e.amend(ctx, place, state.LockOptions{Operation: "orphan", FailFast: true}, nil,
		func(record *state.Record) (bool, error) {
			return true, dropRows(place, etag, before, record, opt.Resources)
		},
		func(ctx context.Context, record *state.Record) { e.renewTokens(ctx, place, record, opt.Resources) })
	if err != nil {
		return nil, err
	}
	return []Orphaned{t}, nil
}

func rowsThere(place *state.Stack, r *state.Record, ids []string) error {
	for _, id := range ids {
		if r.Row(id) == nil {
			return &InputError{
				What: fmt.Sprintf("stack %s in %s has no resource %s on record", place.Name, place.Region, id),
				Next: "the ones it has are " + strings.Join(r.LogicalIDs(), ", "),
				Page: guide.UnknownResource,
			}
		}
	}
	return nil
}

// dropRows goes by what is recorded now that the lock is held. A row that has
// become another resource since it was looked at stays.
func dropRows(place *state.Stack, etag state.ETag, before, record *state.Record, ids []string) error {
	if err := rowsThere(place, record, ids); err != nil {
		return err
	}
	for _, id := range ids {
		if record.Row(id).PhysicalID != before.Row(id).PhysicalID {
			return fmt.Errorf("forget %s of stack %s: it was replaced a moment ago: %w", id, place.Name, &state.ConflictError{Key: place.RecordKey(), ETag: etag})
		}
	}
	for _, id := range ids {
		record.Remove(id)
	}
	record.Drop("skippedOutputs")
	return nil
}

// renewTokens keeps a create to come from repeating a token that made what was
// let go.
func (e *Engine) renewTokens(ctx context.Context, place *state.Stack, record *state.Record, ids []string) {
	present, err := place.Presence(ctx)
	before, after := "", ""
	if err == nil && present.Ledger {
		ledger := place.OpenLedger(ctx, true, record)
		defer ledger.End(ctx)
		before = ledger.Nonce()
		err = ledger.Renew(ctx, ids...)
		after = ledger.Nonce()
	}
	if err == nil && present.Pending {
		err = forgetOpen(ctx, place, ids, before, after)
	}
	if err != nil {
		e.warnOf(place, err.Error())
	}
}

package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/state"
)

// AllPending names everything that is written down as open of a stack.
const AllPending = "all"

// PendingText says of an open operation what it is and since when:
// "create accepted 12m ago".
func PendingText(op state.OpenOperation, now time.Time) string {
	if op.Malformed != "" {
		return "not understood: " + op.Malformed
	}
	age := now.Sub(time.UnixMilli(op.StartedAt)).Round(time.Second)
	return fmt.Sprintf("%s %s %s ago", strings.ToLower(op.ChangeType), op.Stage, age)
}

// markPending shows in a plan that is not carried out what earlier runs left
// open. AWS is asked nothing about it.
func (d *deployment) markPending(p *state.Pending) {
	if p == nil {
		return
	}
	for _, op := range p.Operations {
		if op.Malformed == "" {
			d.res.Pending = append(d.res.Pending, pendingResult(d.t.Name, op))
		}
		c := d.Plan.Change(op.LogicalID)
		if c == nil {
			d.warn("%s (%s): an earlier run left something open: %s; a deploy settles it first", op.LogicalID, op.ResourceType, PendingText(op, now()))
			continue
		}
		c.Pending = PendingText(op, now())
	}
	for _, l := range p.Leftovers {
		d.warn("%s (%s) %s: an earlier run left it to be deleted (%s); the next deploy that succeeds deletes it", l.LogicalID, l.ResourceType, l.PhysicalID, l.Reason)
	}
	unfinished := slices.ContainsFunc(d.Plan.Changes, func(c *plan.Change) bool { return c.Pending != "" })
	if unfinished {
		d.observe(Event{Kind: Notice, Text: "an earlier run left operations open; what they come to may change this plan"})
	}
}

// orphanPending has what is written down as open of a stack forgotten, under its
// lock. Nothing in AWS is touched, nor is the record.
func (e *Engine) orphanPending(ctx context.Context, store *state.Store, opt OrphanOptions) ([]Orphaned, error) {
	place, err := recorded(ctx, store, opt.Stacks[0], opt.Region)
	if err != nil {
		return nil, err
	}
	t := Orphaned{Ref: state.Ref{Stack: place.Name, Region: place.Region}, Recorded: true}
	all := slices.Contains(opt.Pending, AllPending)
	p, err := place.ReadPending(ctx)
	unreadable := is[*state.MalformedError](err) || is[*state.VersionError](err)
	switch {
	case unreadable && all:
		e.observe(Event{Kind: Warning, Stack: t.Stack, Region: t.Region, Text: err.Error()})
		t.Pending = []string{"everything, unread"}
	case err != nil:
		return nil, err
	default:
		sent, err := openCreates(ctx, place)
		if err != nil {
			return nil, err
		}
		if t.Pending, err = pendingNamed(place, p, sent, opt.Pending); err != nil {
			return nil, err
		}
	}
	if opt.Consent != nil && !opt.Consent([]Orphaned{t}) {
		return nil, nil
	}
	warn := func(text string) { e.observe(Event{Kind: Warning, Stack: t.Stack, Region: t.Region, Text: text}) }
	lock, err := place.Lock(ctx, state.LockOptions{Owner: e.config.Owner, Operation: "orphan", FailFast: true, Warn: warn})
	if err != nil {
		return nil, err
	}
	writes, cancel := e.config.Window.Cleanup(2 * journalLimit)
	defer cancel()
	if unreadable {
		err = place.RemovePending(writes)
	} else {
		err = e.forgetPending(writes, place, opt.Pending)
	}
	if releaseErr := lock.Release(writes); releaseErr != nil {
		warn(releaseErr.Error())
	}
	if err != nil {
		return nil, err
	}
	return []Orphaned{t}, nil
}

// pendingNamed says what of the open entries is meant, and refuses names that
// there are none for.
func pendingNamed(place *state.Stack, p *state.Pending, sent map[string]state.Entry, ids []string) (texts []string, err error) {
	if p == nil {
		p = &state.Pending{}
	}
	var has []string
	for _, op := range p.Operations {
		has = add(has, op.LogicalID)
	}
	for _, l := range p.Leftovers {
		has = add(has, l.LogicalID)
	}
	only := maps.Clone(sent)
	maps.DeleteFunc(only, func(id string, _ state.Entry) bool { return slices.Contains(has, id) })
	has = append(has, slices.Sorted(maps.Keys(only))...)
	for _, id := range ids {
		if id != AllPending && !slices.Contains(has, id) || len(has) == 0 {
			next := "nothing is open"
			if len(has) > 0 {
				next = "what is open is about " + strings.Join(has, ", ")
			}
			return nil, &InputError{What: fmt.Sprintf("stack %s in %s has nothing open about %s", place.Name, place.Region, id), Next: next, Page: guide.UnknownResource}
		}
	}
	for _, op := range p.Operations {
		if meant(ids, op.LogicalID) {
			texts = append(texts, fmt.Sprintf("%s (%s): %s", op.LogicalID, op.ResourceType, PendingText(op, now())))
		}
	}
	for _, l := range p.Leftovers {
		if meant(ids, l.LogicalID) {
			texts = append(texts, fmt.Sprintf("%s (%s): %s, to be deleted (%s)", l.LogicalID, l.ResourceType, l.PhysicalID, l.Reason))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(only)) {
		if meant(ids, id) {
			texts = append(texts, fmt.Sprintf("%s (%s): create sent at %s, not answered", id, only[id].Type(), time.UnixMilli(only[id].FirstSentAt).UTC().Format(time.RFC3339)))
		}
	}
	return texts, nil
}

// openCreates are those that the ledger has and no row answers.
func openCreates(ctx context.Context, place *state.Stack) (map[string]state.Entry, error) {
	record, _, err := place.Read(ctx)
	if err != nil {
		return nil, err
	}
	return openCreatesOf(ctx, place, record)
}

// openCreatesOf is openCreates for who has read the record.
func openCreatesOf(ctx context.Context, place *state.Stack, record *state.Record) (map[string]state.Entry, error) {
	present, err := place.Presence(ctx)
	if err != nil || !present.Ledger {
		return nil, err
	}
	open := maps.Clone(place.OpenLedger(ctx, true, record).Open())
	maps.DeleteFunc(open, func(id string, e state.Entry) bool {
		row := record.Row(id)
		return row != nil && row.ResourceType == e.Type()
	})
	return open, nil
}

func meant(ids []string, logicalID string) bool {
	return slices.Contains(ids, AllPending) || slices.Contains(ids, logicalID)
}

// forgetOpen drops the entries of resources that are forgotten. The others stay
// proved by the ledger, which has another nonce now.
func forgetOpen(ctx context.Context, place *state.Stack, ids []string, before, after string) error {
	file, err := place.OpenPending(ctx, true)
	if err != nil {
		return err
	}
	defer file.End(ctx)
	return file.Change(ctx, func(p *state.Pending) {
		dropEntries(p, ids)
		if before != "" && p.LedgerNonce == before {
			p.LedgerNonce = after
		}
	})
}

// dropCreates takes creates off the ledger.
func dropCreates(ctx context.Context, place *state.Stack, record *state.Record, ids []string) error {
	ledger := place.OpenLedger(ctx, true, record)
	defer ledger.End(ctx)
	return ledger.Drop(ctx, ids...)
}

func dropEntries(p *state.Pending, ids []string) {
	p.Operations = slices.DeleteFunc(p.Operations, func(op state.OpenOperation) bool { return meant(ids, op.LogicalID) })
	p.Leftovers = slices.DeleteFunc(p.Leftovers, func(l state.Leftover) bool { return meant(ids, l.LogicalID) })
}

// forgetPending drops entries, and with those of creates what a create to come
// would be recognised by: it is another one.
func (e *Engine) forgetPending(ctx context.Context, place *state.Stack, ids []string) error {
	file, err := place.OpenPending(ctx, true)
	if err != nil {
		return err
	}
	defer file.End(ctx)
	var creates []string
	for _, op := range file.Current().Operations {
		if meant(ids, op.LogicalID) && op.ChangeType == state.OpCreate && op.Stage != state.StageSettling {
			creates = append(creates, op.LogicalID)
		}
	}
	sent, err := openCreates(ctx, place)
	if err != nil {
		return err
	}
	for id := range sent {
		if meant(ids, id) {
			creates = add(creates, id)
		}
	}
	err = file.Change(ctx, func(p *state.Pending) { dropEntries(p, ids) })
	if err != nil || creates == nil {
		return err
	}
	present, err := place.Presence(ctx)
	if err != nil || !present.Ledger {
		return err
	}
	record, _, err := place.Read(ctx)
	if err != nil {
		return err
	}
	return dropCreates(ctx, place, record, creates)
}

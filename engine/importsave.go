package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/state"
)

// look takes the stack's lock, unless nothing is to be written, reads what is
// recorded, and finds out what would be.
func (i *importing) look(ctx context.Context) error {
	name, _, _ := strings.Cut(i.t.Name, "~")
	i.registry = i.store.Stack(name, i.t.Region).Registry()
	if err := i.read(ctx); err != nil {
		return err
	}
	if err := i.registry.Look(ctx); err != nil {
		return err
	}
	if i.live == nil { // else what is found decides
		if err := i.mayRecord(); err != nil {
			return err
		}
	}
	if i.elsewhere == nil {
		var err error
		if i.elsewhere, err = i.store.Survey(ctx); err != nil {
			return fmt.Errorf("look whether another stack names what is to be imported: %w", err)
		}
	}
	i.next = i.before.record.Clone()
	if i.next == nil {
		i.next = state.NewRecord(i.t.Name, i.t.Region)
	}
	i.next.TerminationProtection = i.t.Protected
	if i.whole {
		for _, id := range i.next.LogicalIDs() {
			i.next.Remove(id)
		}
	}
	for id := range i.given {
		i.next.Remove(id)
	}
	i.next.Drop("skippedOutputs")
	if p := i.t.parent; p != nil {
		i.next.ParentStack, i.next.ParentLogicalID, i.next.ParentRegion = p.t.Name, i.t.parentLogicalID, i.t.Region
	}
	for _, id := range i.next.LogicalIDs() {
		i.taken[i.next.Row(id).ResourceType+" "+i.next.Row(id).PhysicalID] = id
	}
	if err := i.bind(ctx, i.next); err != nil {
		return err
	}
	if err := i.findAll(ctx); err != nil {
		return err
	}
	for _, id := range i.before.record.LogicalIDs() {
		if i.next.Row(id) == nil {
			i.out.Dropped = append(i.out.Dropped, id)
		}
	}
	i.next.Orphans = slices.DeleteFunc(i.next.Orphans, func(o state.Orphan) bool {
		row := i.next.Row(o.LogicalID)
		return row != nil && row.ResourceType == o.State.ResourceType && state.SameResource(row.ResourceType, row.PhysicalID, o.State.PhysicalID)
	})
	if i.live != nil && i.before.record != nil && !i.opt.Force {
		if err := i.recordedBefore(); err != nil {
			return err
		}
	}
	for id := range i.given {
		if i.scope.Resource(id) == nil {
			i.out.Resources = append(i.out.Resources, ImportedResource{LogicalID: id, Type: i.t.Template.Resource(id).Type, PhysicalID: i.given[id],
				Outcome: ImportFailed, Reason: "its condition is false, so the stack has no such resource"})
		}
	}
	return i.readOutputs(ctx)
}

// read reads the stack's record, under its lock unless nothing is to be written.
func (i *importing) read(ctx context.Context) (err error) {
	if i.opt.DryRun {
		if lock, err := i.place.Peek(ctx); err == nil && lock != nil && !lock.Expired(now()) {
			i.observe(Event{Kind: Notice, Text: i.place.Held(*lock).Error()})
		}
	} else {
		i.before, err = i.acquire(ctx, state.LockOptions{Operation: "import", Subject: i.subject(), FailFast: true})
		if err != nil {
			return err
		}
		if i.handover != nil {
			if err := i.handover.Confirm(ctx); err != nil {
				return err
			}
		}
	}
	if i.before.record, i.before.etag, err = i.place.Read(ctx); err != nil {
		return err
	}
	if err := i.place.Own(i.before.record); err != nil || i.opt.DryRun {
		return err
	}
	i.before, err = i.settleOnce(ctx, i.before)
	return err
}

// mayRecord refuses to record anew what is recorded, unless that is forced.
func (i *importing) mayRecord() error {
	if i.before.record == nil || i.opt.Force {
		return nil
	}
	if i.whole {
		return &InputError{
			What: fmt.Sprintf("stack %s in %s is recorded already", i.t.Name, i.t.Region),
			Next: "name what is missing with resource; with force the whole record is made anew, and what is not found is dropped from it",
			Page: guide.RecordedAlready,
		}
	}
	var recorded []string
	for _, id := range sortedKeys(i.given) {
		if row := i.before.record.Row(id); row != nil {
			recorded = append(recorded, fmt.Sprintf("%s as %s", id, row.PhysicalID))
		}
	}
	if recorded == nil {
		return nil
	}
	return &InputError{
		What: fmt.Sprintf("stack %s in %s has on record already: %s", i.t.Name, i.t.Region, strings.Join(recorded, ", ")),
		Next: "leave them out; with force they are recorded as named now, and the resources recorded before are left in AWS",
		Page: guide.RecordedAlready,
	}
}

// readOutputs evaluates the outputs of a stack that is recorded whole, so that
// other stacks can import them. Otherwise those on record stay.
func (i *importing) readOutputs(ctx context.Context) error {
	for _, r := range i.scope.Resources() {
		if i.next.Row(r.LogicalID) == nil {
			return nil
		}
	}
	if err := i.resolveOutputs(ctx); err != nil {
		return err
	}
	i.references(i.next, i.whole)
	return nil
}

// refused are the resources that were asked for by name and cannot be had; of a
// stack that is taken over that is all of them.
func (i *importing) refused() (all []ImportedResource) {
	for _, r := range i.out.Resources {
		_, named := i.given[r.LogicalID]
		nested := i.children[r.LogicalID] != nil // its resources say more
		if r.Outcome != ImportDone && r.Outcome != SkippedOutOfScope && (named || i.live != nil && !nested) {
			all = append(all, r)
		}
	}
	if i.live == nil {
		return all
	}
	for _, id := range sortedKeys(i.children) {
		for _, r := range i.children[id].refused() {
			r.LogicalID = id + "/" + r.LogicalID
			all = append(all, r)
		}
	}
	return all
}

// carryOut writes down what was found, if that is wanted.
func (i *importing) carryOut(ctx context.Context) error {
	if i.opt.Found != nil {
		if err := i.opt.Found(i.out); err != nil {
			return err
		}
	}
	if refused := i.refused(); refused != nil {
		return &ImportRefusedError{Stack: i.t.Name, Region: i.t.Region, Resources: refused, Next: "name the ids as AWS has them, in the account and region of the stack"}
	}
	if i.out.Count(ImportDone) == 0 {
		i.warn("nothing was found that could be imported, so nothing is recorded")
		return nil
	}
	if i.opt.DryRun {
		return nil
	}
	if i.already {
		i.out.Saved = true
	}
	if i.opt.Consent != nil && !i.opt.Consent(i.out) {
		i.out.Declined = true
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if i.handover != nil {
		if err := i.come(ctx, state.Recording); err != nil {
			return err
		}
	}
	return i.save()
}

// save writes the records, those of nested stacks first: a stack's row of one
// then never names what is not there. Once begun it is not called off.
func (i *importing) save() error {
	if i.already {
		return nil
	}
	for _, id := range sortedKeys(i.children) {
		if child := i.children[id]; i.next.Row(id) != nil {
			if err := child.save(); err != nil {
				return err
			}
		}
	}
	if err := i.lock.Assure(context.Background()); err != nil {
		return errors.Join(errLost, err)
	}
	ctx, cancel := i.e.config.Window.Cleanup(2 * journalLimit)
	defer cancel()
	saver := state.NewSaver(ctx, i.place, i.before.etag, state.SaverOptions{Read: i.before.record, Warn: func(text string) { i.warn("%s", text) }})
	defer saver.End()
	if err := saver.Save(i.next); err != nil {
		return err
	}
	if err := saver.Flush(ctx); err != nil {
		return err
	}
	i.out.Saved = true
	i.tidy(ctx)
	return nil
}

// tidy brings up to date what stands beside the record. Nothing of it undoes the
// import.
func (i *importing) tidy(ctx context.Context) {
	check := func(err error) {
		if err != nil {
			i.warn("%v", err)
		}
	}
	var ids []string
	for _, r := range i.out.Resources {
		if r.Outcome == ImportDone {
			ids = append(ids, r.LogicalID)
		}
	}
	if i.t.parent == nil {
		check(i.registry.Check(ctx))
	}
	presence, err := i.place.Presence(ctx)
	check(err)
	if presence.Ledger {
		check(dropCreates(ctx, i.place, i.next, ids))
	}
	if presence.Pending {
		check(i.forgetOpenOf(ctx, ids))
	}
	check(i.place.Retain(ctx, presence.Retained, nil, i.next))
	check(i.store.Exports(i.t.Region).Update(ctx, i.t.Name, i.next))
}

// forgetOpenOf drops what earlier runs left open about resources that are
// recorded now, and names what else they may have made.
func (i *importing) forgetOpenOf(ctx context.Context, ids []string) error {
	file, err := i.place.OpenPending(ctx, true)
	if err != nil {
		return err
	}
	defer file.End(ctx)
	for _, op := range file.Current().Operations {
		if slices.Contains(ids, op.LogicalID) && op.PhysicalID != "" && op.PhysicalID != i.next.Row(op.LogicalID).PhysicalID {
			i.warn("an earlier run made %s for %s (%s), which is not what was imported: look at it, and delete it if nobody needs it", op.PhysicalID, op.LogicalID, op.ResourceType)
		}
	}
	return file.Change(ctx, func(p *state.Pending) { dropEntries(p, ids) })
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// StateList lists the recorded stacks, in the order of their keys.
func (e *Engine) StateList(ctx context.Context) ([]state.Ref, error) {
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	refs, traces, err := store.ListAll(ctx)
	e.tellTraces(ctx, store, traces)
	return refs, err
}

// tellTraces names the stacks that no list of records has, and that somebody may
// be looking for, and those that are not only this program's.
func (e *Engine) tellTraces(ctx context.Context, store *state.Store, traces []state.Trace) {
	for _, t := range traces {
		if t.Handover {
			place := store.Stack(t.Stack, t.Region)
			if err := notHandedOver(ctx, place); err != nil {
				e.warnOf(place, told(err))
			}
			continue
		}
		e.observe(Event{Kind: Notice, Stack: t.Stack, Region: t.Region, Text: fmt.Sprintf(
			"nothing is recorded of the stack in %s, but a run of it is at work or ended before it saved anything: there is %s; deploy or destroy it, or have it forgotten: cdkd-action state orphan %s --stack-region %[1]s",
			t.Region, strings.Join(t.Objects, ", "), t.Stack)})
	}
}

// A Shown stack is what is recorded of it and who holds its lock.
type Shown struct {
	Record *state.Record
	Lock   *state.LockRecord // nil: nobody
	// Pending is what runs let go and nobody settled yet, nil when nothing is.
	Pending *state.Pending
	// Handover is how the stack is on its way from CloudFormation or to it, nil
	// when it is not; of a nested stack, how the one that it is nested in is.
	Handover *HandoverError

	Nested []*Shown // by StateShowNested only
}

// StateShow reads the record and the lock of a stack. region may be "" when the
// name is recorded in one region only. A *state.MalformedError comes with what
// could be read.
func (e *Engine) StateShow(ctx context.Context, stack, region string) (*Shown, error) {
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	place, err := recorded(ctx, store, stack, region)
	if err != nil {
		return nil, err
	}
	shown, err := show(ctx, place)
	if err == nil && shown.Record == nil {
		err = notRecordedIn(ctx, place.Name, place.Region, store)
	}
	return shown, err
}

func show(ctx context.Context, place *state.Stack) (*Shown, error) {
	var shown Shown
	var wg routine.Group
	var lockErr, openErr, handover error
	wg.Go(func() { shown.Lock, lockErr = place.Peek(ctx) })
	wg.Go(func() { shown.Pending, openErr = place.ReadPending(ctx) })
	wg.Go(func() {
		if handover = notHandedOver(ctx, place); errors.As(handover, &shown.Handover) {
			handover = nil
		}
	})
	var err error
	shown.Record, _, err = place.Read(ctx)
	wg.Wait()
	if err == nil {
		err = cmp.Or(lockErr, openErr, handover)
	}
	return &shown, err
}

// StateShowNested is StateShow with the stacks that are nested in the one named,
// and in those. One that is missing is an error: the record names it.
func (e *Engine) StateShowNested(ctx context.Context, stack, region string) (*Shown, error) {
	shown, err := e.StateShow(ctx, stack, region)
	if err != nil {
		return shown, err
	}
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := showNested(ctx, store, stack, cmp.Or(region, shown.Record.Region), shown); err != nil {
		return nil, err
	}
	return shown, nil
}

func showNested(ctx context.Context, store *state.Store, stack, region string, in *Shown) error {
	for _, id := range in.Record.LogicalIDs() {
		if in.Record.Row(id).ResourceType != nestedType {
			continue
		}
		name := stack + "~" + id
		child, err := show(ctx, store.Stack(name, region))
		if err != nil {
			return err
		}
		if child.Record == nil {
			return &InputError{
				What: fmt.Sprintf("stack %s has a nested stack %s, of which nothing is recorded", stack, name),
				Next: "restore its record from the bucket's history; or take the row out with state orphan and resource",
				Page: guide.UnknownStack,
			}
		}
		in.Nested = append(in.Nested, child)
		if err := showNested(ctx, store, name, region, child); err != nil {
			return err
		}
	}
	return nil
}

// recorded is the place of a stack that is there to be read. region may be ""
// when there is only one.
func recorded(ctx context.Context, store *state.Store, stack, region string) (*state.Stack, error) {
	if region != "" {
		return store.Stack(stack, region), nil
	}
	regions, err := regionsOf(ctx, store, stack)
	if err != nil {
		return nil, err
	}
	switch len(regions) {
	case 0:
		return nil, notRecorded(stack, store)
	case 1:
		return store.Stack(stack, regions[0]), nil
	}
	return nil, inSeveral(fmt.Sprintf("stack %s is recorded", stack), regions)
}

// inSeveral asks for a region where there are several to choose from.
func inSeveral(what string, regions []string) error {
	return &InputError{
		What: fmt.Sprintf("%s in several regions: %s", what, strings.Join(regions, ", ")),
		Next: "name one with stack-region",
		Page: guide.SeveralRegions,
	}
}

func notRecorded(stack string, store *state.Store) error {
	return &InputError{
		What: fmt.Sprintf("stack %s is not recorded in state bucket %s", stack, store.Bucket()),
		Next: "state list shows what is",
		Page: guide.UnknownStack,
	}
}

// notRecordedIn is notRecorded for one region, with those where the stack is.
func notRecordedIn(ctx context.Context, stack, region string, store *state.Store) error {
	e := &InputError{
		What: fmt.Sprintf("stack %s is not recorded in %s in state bucket %s", stack, region, store.Bucket()),
		Next: "state list shows what is",
		Page: guide.UnknownStack,
	}
	if regions, err := regionsOf(ctx, store, stack); err == nil && len(regions) > 0 {
		e.What += "; it is in " + strings.Join(regions, ", ")
		e.Next = "name that region with stack-region"
	}
	return e
}

func regionsOf(ctx context.Context, store *state.Store, stack string) ([]string, error) {
	refs, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	return regionsIn(refs, stack), nil
}

// regionsIn are the regions in which a stack is among those listed.
func regionsIn(refs []state.Ref, stack string) (regions []string) {
	for _, r := range refs {
		if r.Stack == stack {
			regions = add(regions, r.Region)
		}
	}
	return regions
}

// An Unlocked stack is one whose lock was removed, or could not be.
type Unlocked struct {
	Stack, Region string
	Holder        *state.LockRecord // nil: there was no lock that could be read
	There         bool              // something stood in the lock's place
	Unknown       bool              // there was no lock, nor is anything recorded of the stack
	Open          int               // how many operations of earlier runs the next deploy has to settle
	Err           error
}

// ForceUnlock removes the locks of stacks and of those nested in them, whoever
// holds them: in region, or, if that is "", in every region where they are
// recorded or have a lock, as a first deploy that was killed has. What is wrong
// with one stack does not keep the others from being unlocked.
func (e *Engine) ForceUnlock(ctx context.Context, stacks []string, region string) ([]Unlocked, error) {
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	var done []Unlocked
	for _, stack := range stacks {
		regions := []string{region}
		if region == "" {
			if regions, err = lockable(ctx, store, stack); err != nil {
				return done, err
			}
			if regions == nil {
				regions = []string{e.defaultRegion()}
			}
		}
		for _, r := range regions {
			place := store.Stack(stack, r)
			u := unlock(ctx, place)
			if u.Err == nil && !u.There {
				present, err := place.Presence(ctx)
				u.Unknown = err == nil && present.Listed && !present.Record
			}
			if errors.Is(u.Err, context.Canceled) {
				return done, u.Err
			}
			done = append(done, u)
			below, err := store.LockedBelow(ctx, stack, r)
			if err != nil {
				return done, err
			}
			for _, name := range below { // whoever works on the stack holds these, too
				done = append(done, unlock(ctx, store.Stack(name, r)))
			}
		}
	}
	return done, nil
}

// lockable returns the regions in which a stack is recorded or has a lock.
func lockable(ctx context.Context, store *state.Store, stack string) ([]string, error) {
	regions, err := regionsOf(ctx, store, stack)
	if err != nil {
		return nil, err
	}
	all, err := store.Regions(ctx, stack)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if slices.Contains(regions, r) {
			continue
		}
		present, err := store.Stack(stack, r).Presence(ctx)
		if err != nil {
			return nil, err
		}
		if present.Lock {
			regions = append(regions, r)
		}
	}
	return regions, nil
}

func unlock(ctx context.Context, place *state.Stack) Unlocked {
	u := Unlocked{Stack: place.Name, Region: place.Region}
	u.Holder, u.There, u.Err = place.ForceUnlock(ctx)
	if u.Err == nil && u.There {
		if open, err := place.ReadPending(ctx); err == nil && open != nil { // only to be mentioned
			u.Open = len(open.Operations)
		}
	}
	return u
}

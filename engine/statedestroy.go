package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

// A RecordSelection says which recorded stacks, for a command that has no app to
// go by.
type RecordSelection struct {
	Stacks []string
	All    bool        // every stack under the prefix
	Refs   []state.Ref // these, as StateList has them
	Region string      // "": the one that a name is recorded in

	// Agree, when set, is asked once for all stacks, before anything is done.
	Agree func([]state.Ref) bool

	remains bool // a name may be of a stack of which there is all but a record
}

// StateDestroy deletes the resources of recorded stacks and their records, as
// Destroy does; the Selection of opt is not used. The stacks that import from
// others go first. The result is never nil.
func (e *Engine) StateDestroy(ctx context.Context, stacks RecordSelection, opt DestroyOptions) (*result.Run, error) {
	start := now()
	run := &result.Run{Command: "destroy", RunID: state.NewRunID(start)}
	defer func() { run.Duration = time.Since(start) }()
	e.observe(Event{Kind: RunStarted, Text: run.RunID})

	work, cancel := e.config.Window.Context(ctx)
	defer cancel()
	reads, cancelReads := e.config.Window.Interruptible(work)
	defer cancelReads()
	store, err := e.open(reads)
	if err != nil {
		return run, e.end(run, err)
	}
	refs, err := e.recordedTargets(reads, store, stacks)
	if err != nil {
		return run, e.end(run, err)
	}
	if stacks.Agree != nil && len(refs) > 0 && !stacks.Agree(refs) {
		e.observe(Event{Kind: Notice, Text: "not destroyed: declined"})
		return run, e.end(run, nil)
	}
	sel, err := e.selectRecorded(reads, store, refs)
	if err != nil {
		return run, e.end(run, err)
	}
	e.alone(sel, store)
	e.takeDownAll(work, sel, run, opt)
	e.config.Window.Seal()
	return run, e.end(run, nil)
}

// recordedTargets is recordedRefs for a destroy: a nested stack goes with the
// one that it is nested in, where that goes too.
func (e *Engine) recordedTargets(ctx context.Context, store *state.Store, stacks RecordSelection) ([]state.Ref, error) {
	stacks.remains = true
	refs, err := e.recordedRefs(ctx, store, stacks)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(refs), func(r state.Ref) bool {
		return slices.ContainsFunc(refs, func(o state.Ref) bool {
			return o.Region == r.Region && strings.HasPrefix(r.Stack, o.Stack+"~")
		})
	}), nil
}

// recordedRefs finds the records that are meant, and refuses what is not there
// before anything is done.
func (e *Engine) recordedRefs(ctx context.Context, store *state.Store, stacks RecordSelection) ([]state.Ref, error) {
	all, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	inRegion := func(r state.Ref) bool { return stacks.Region == "" || r.Region == "" || r.Region == stacks.Region }
	var refs []state.Ref
	for _, r := range all {
		if stacks.All && inRegion(r) || slices.Contains(stacks.Refs, r) {
			refs = append(refs, r)
		}
	}
	for _, name := range stacks.Stacks {
		var found []state.Ref
		var regions []string
		for _, r := range all {
			if r.Stack == name && inRegion(r) {
				found, regions = append(found, r), append(regions, r.Region)
			}
		}
		if found == nil && stacks.remains {
			if found, regions, err = remaining(ctx, store, name, stacks.Region); err != nil {
				return nil, err
			}
		}
		switch len(found) {
		case 0:
			return nil, notRecorded(name, store)
		case 1:
			refs = add(refs, found[0])
		default:
			return nil, inSeveral(fmt.Sprintf("stack %s is recorded", name), regions)
		}
	}
	for _, r := range refs {
		if err := e.CheckNames(r.Stack); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// remaining finds where there is something of a stack that has no record.
func remaining(ctx context.Context, store *state.Store, name, region string) (found []state.Ref, regions []string, err error) {
	all, err := store.Regions(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range all {
		if region != "" && r != region {
			continue
		}
		present, err := store.Stack(name, r).Presence(ctx)
		if err != nil {
			return nil, nil, err
		}
		if remains(present) {
			found, regions = append(found, state.Ref{Stack: name, Region: r}), append(regions, r)
		}
	}
	return found, regions, nil
}

// selectRecorded makes targets of records, and orders them by what they import
// from each other.
func (e *Engine) selectRecorded(ctx context.Context, store *state.Store, refs []state.Ref) (*selected, error) {
	sel := &selected{after: graph.Edges{}}
	for _, r := range refs {
		t := target{Name: r.Stack, Region: r.Region, DisplayName: r.Stack, id: recordKey(r)}
		if t.Region == "" { // of the oldest form
			t.Region = e.defaultRegion()
		}
		sel.targets = append(sel.targets, t)
	}
	if len(refs) < 2 {
		return sel, nil
	}
	all, err := store.Survey(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.Record == nil || !slices.Contains(refs, f.Ref) {
			continue
		}
		for _, i := range f.Record.Imports {
			if producer := (state.Ref{Stack: i.SourceStack, Region: i.SourceRegion}); producer != f.Ref && slices.Contains(refs, producer) {
				sel.after.Add(recordKey(producer), recordKey(f.Ref))
			}
		}
	}
	if sel.after.Check() != nil {
		sel.after = nil // each is refused because of the other, and says so
	}
	return sel, nil
}

func recordKey(r state.Ref) string { return r.Stack + " (" + r.Region + ")" }

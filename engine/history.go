package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/state"
)

// A History is the runs of a stack, newest first.
type History struct {
	Stack, Region string
	Runs          []state.RunSummary
}

// A RunHistory is what happened in one run.
type RunHistory struct {
	Stack, Region, RunID string
	Events               []state.Event
}

// Events lists the runs of a stack, one that is gone too. region may be "" when
// there is a history in one region only.
func (e *Engine) Events(ctx context.Context, stack, region string) (*History, error) {
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	region, ids, err := historyOf(ctx, store, stack, region)
	if err != nil {
		return nil, err
	}
	runs, err := store.Stack(stack, region).Runs(ctx, ids)
	return &History{Stack: stack, Region: region, Runs: runs}, err
}

// RunEvents returns the history of one run.
func (e *Engine) RunEvents(ctx context.Context, stack, region, runID string) (*RunHistory, error) {
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	region, ids, err := historyOf(ctx, store, stack, region)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(ids, runID) {
		return nil, &InputError{
			What: fmt.Sprintf("stack %s has no history of a run %s in %s", stack, runID, region),
			Next: "events without run lists those that it has",
			Page: guide.UnknownStack,
		}
	}
	events, err := store.Stack(stack, region).Events(ctx, runID)
	return &RunHistory{Stack: stack, Region: region, RunID: runID, Events: events}, err
}

// historyOf finds where a stack has a history, and of which runs.
func historyOf(ctx context.Context, store *state.Store, stack, region string) (string, []string, error) {
	found, err := store.Histories(ctx, stack)
	if err != nil {
		return "", nil, err
	}
	regions := sortedKeys(found)
	switch {
	case region == "" && len(regions) == 1:
		region = regions[0]
	case region == "" && len(regions) > 1:
		return "", nil, inSeveral(fmt.Sprintf("stack %s has a history", stack), regions)
	}
	ids, there := found[region]
	if !there {
		missing := &InputError{What: fmt.Sprintf("stack %s has no history in state bucket %s", stack, store.Bucket()), Page: guide.UnknownStack}
		if root, _, nested := strings.Cut(stack, "~"); nested {
			missing.Next = "that of a nested stack is part of its top-level stack's, " + root
		}
		return region, nil, missing
	}
	return region, ids, nil
}

// PruneOptions say which histories are to be deleted.
type PruneOptions struct {
	Region string // "": the one in which there is a history
	Keep   state.Retention
	// Consent, when set, is asked with the runs whose histories would go.
	Consent func(*Pruned) bool
}

// A Pruned history has lost runs.
type Pruned struct {
	Stack, Region string
	Deleted       []string // run ids
	Kept          int
}

// PruneEvents deletes histories of a stack's runs. The result is nil when
// somebody declined.
func (e *Engine) PruneEvents(ctx context.Context, stack string, opt PruneOptions) (*Pruned, error) {
	reads, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	store, err := e.open(reads)
	if err != nil {
		return nil, err
	}
	region, ids, err := historyOf(reads, store, stack, opt.Region)
	// Earlier versions may be left where nothing current is.
	if remains := opt.Keep.Nothing && opt.Region != ""; is[*InputError](err) && remains {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	place := store.Stack(stack, region)
	p := &Pruned{Stack: stack, Region: region, Deleted: place.Prunable(ids, opt.Keep)}
	p.Kept = len(ids) - len(p.Deleted)
	if len(p.Deleted) == 0 && !opt.Keep.Nothing {
		return p, nil
	}
	if opt.Consent != nil && !opt.Consent(p) {
		return nil, nil
	}
	if opt.Keep.Nothing {
		return p, place.PurgeEvents(reads)
	}
	return p, place.PruneRuns(reads, p.Deleted)
}

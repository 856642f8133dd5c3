package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// An Aftermath is what a run that is over left of a stack.
type Aftermath struct {
	state.Ref
	// Released tells that the run's own lock was still there, and is gone now.
	Released bool
	// Unsettled are the operations that the next run has to find out about.
	Unsettled []state.Unsettled
	// Err is why the lock may still be there, or what is unsettled is not known.
	Err error
}

// CleanUpAfter does for a run of another process what it could not do itself:
// it releases the locks that the run left under its owner's name, nested stacks'
// before those they are nested in, and looks what is unsettled. ended is when
// the process was gone; zero asks for another proof, which takes some minutes:
// see [state.Stack.ReleaseDead]. What ctx leaves no time for is said in Err.
func (e *Engine) CleanUpAfter(ctx context.Context, owner string, ended time.Time, stacks []state.Ref) ([]Aftermath, error) {
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	depth := func(r state.Ref) int { return strings.Count(r.Stack, "~") }
	stacks = slices.Clone(stacks)
	slices.SortStableFunc(stacks, func(a, b state.Ref) int { return depth(b) - depth(a) })
	found := make([]Aftermath, len(stacks))
	together := func(from, to int) {
		var wg routine.Group
		for i := from; i < to; i++ {
			wg.Go(func() { found[i] = cleanUp(ctx, store, owner, ended, stacks[i]) })
		}
		wg.Wait()
	}
	if ended.IsZero() {
		together(0, len(stacks)) // each waits for its own silence
		return found, nil
	}
	for from := 0; from < len(stacks); {
		to := from + 1
		for to < len(stacks) && depth(stacks[to]) == depth(stacks[from]) {
			to++
		}
		together(from, to)
		from = to
	}
	return found, nil
}

func cleanUp(ctx context.Context, store *state.Store, owner string, ended time.Time, ref state.Ref) Aftermath {
	place := store.Stack(ref.Stack, ref.Region)
	a := Aftermath{Ref: ref}
	a.Released, a.Err = place.ReleaseDead(ctx, owner, ended)
	// What is unsettled is worth a look although the time for the lock is over.
	reads, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var err error
	if a.Unsettled, err = place.Unsettled(reads); a.Err == nil {
		a.Err = err
	}
	return a
}

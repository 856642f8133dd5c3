package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// A Locked is a stack whose lock a run asked for.
type Locked struct {
	state.Ref
	Account string `json:",omitempty"` // as in Event
}

// An Aftermath is what a run that is over left of a stack.
type Aftermath struct {
	Locked
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
func (e *Engine) CleanUpAfter(ctx context.Context, owner string, ended time.Time, stacks []Locked) ([]Aftermath, error) {
	stores, faults := map[string]*state.Store{}, map[string]error{}
	for _, s := range stacks {
		if stores[s.Account] == nil && faults[s.Account] == nil {
			stores[s.Account], faults[s.Account] = e.storeOf(ctx, s)
		}
	}
	if len(faults) == 1 && len(stacks) > 0 && faults[stacks[0].Account] != nil {
		return nil, faults[stacks[0].Account]
	}
	depth := func(s Locked) int { return strings.Count(s.Stack, "~") }
	stacks = slices.Clone(stacks)
	slices.SortStableFunc(stacks, func(a, b Locked) int { return depth(b) - depth(a) })
	found := make([]Aftermath, len(stacks))
	together := func(from, to int) {
		var wg routine.Group
		for i := from; i < to; i++ {
			if err := faults[stacks[i].Account]; err != nil {
				found[i] = Aftermath{Locked: stacks[i], Err: err}
				continue
			}
			wg.Go(func() { found[i] = cleanUp(ctx, stores[stacks[i].Account], owner, ended, stacks[i]) })
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

// storeOf is the bucket in which the stack was locked.
func (e *Engine) storeOf(ctx context.Context, s Locked) (*state.Store, error) {
	if s.Account != "" && e.others[s.Account] == nil {
		return nil, &InputError{
			What: fmt.Sprintf("stack %s is of account %s, and there are no credentials for that any more", s.Stack, s.Account),
			Next: "name a role of that account in role-arn, as the step did that locked it", Page: guide.WrongAccount,
		}
	}
	return e.in(s.Account).open(ctx)
}

func cleanUp(ctx context.Context, store *state.Store, owner string, ended time.Time, stack Locked) Aftermath {
	place := store.Stack(stack.Stack, stack.Region)
	a := Aftermath{Locked: stack}
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

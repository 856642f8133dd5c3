package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/value"
)

// A Retention says which runs' histories are kept. The zero value keeps as many
// as are kept anyway.
type Retention struct {
	Nothing   bool          // keep none
	Newest    int           // keep so many; 0: not because of their number
	OlderThan time.Duration // keep what is younger; 0: not because of its age
}

// drops picks, of ids in any order, those whose history is to go. What is not
// the name of a run goes only with everything.
func (r Retention) drops(ids []string, now time.Time) []string {
	if r.Nothing {
		return ids
	}
	if r == (Retention{}) {
		r.Newest = runsKept
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return RunBegan(id).IsZero() })
	slices.Sort(ids)
	slices.Reverse(ids)
	ids = ids[min(r.Newest, len(ids)):]
	return slices.DeleteFunc(ids, func(id string) bool { return r.OlderThan > 0 && now.Sub(RunBegan(id)) <= r.OlderThan })
}

// RunBegan is when a run began, by its id; the zero time for other names.
func RunBegan(id string) time.Time {
	stamp, _, _ := strings.Cut(id, "-")
	if len(stamp) != len(runTime)+len("000Z") || !strings.HasSuffix(stamp, "Z") {
		return time.Time{}
	}
	t, err := time.Parse(runTime+".000Z", stamp[:len(runTime)]+"."+stamp[len(runTime):])
	if err != nil {
		return time.Time{}
	}
	return t
}

// Prunable picks, of the runs that have a history, those that a retention does
// not keep.
func (k *Stack) Prunable(ids []string, keep Retention) []string { return keep.drops(ids, time.Now()) }

// PruneRuns deletes the histories of runs, and their entries in the index
// before that.
func (k *Stack) PruneRuns(ctx context.Context, ids []string) error {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = k.key(eventsFolder + id + eventsSuffix)
	}
	err := k.leaveOut(ctx, ids)
	if err == nil {
		err = k.store.removeAll(ctx, keys)
	}
	if err != nil {
		return fmt.Errorf("delete %s of stack %s in %s: %w", amount.Of(len(ids), "run"), k.Name, k.Region, err)
	}
	k.store.purgeFolder(ctx, k.key(eventsFolder), func(key string) bool { return slices.Contains(keys, key) })
	return nil
}

// leaveOut takes runs out of the index. A run that ends at the same time is not
// lost: an index that somebody else wrote since is read again.
func (k *Stack) leaveOut(ctx context.Context, ids []string) error {
	key := k.key(eventsFolder + eventIndexName)
	for tries := 1; ; tries++ {
		body, etag, err := k.store.get(ctx, key)
		if errors.Is(err, errAbsent) {
			return nil
		}
		if err != nil {
			return err
		}
		var index runIndex
		if json.Unmarshal(body, &index) != nil || index.IndexVersion != 1 {
			return nil // the histories tell without it
		}
		before := len(index.Runs)
		index.Runs = slices.DeleteFunc(index.Runs, func(r RunSummary) bool { return slices.Contains(ids, r.RunID) })
		if len(index.Runs) == before {
			return nil
		}
		index.LastModified = time.Now().UnixMilli()
		v, err := value.From(index)
		if err != nil {
			return err
		}
		if body, err = value.MarshalIndent(v); err != nil {
			return err
		}
		_, err = k.store.put(ctx, key, body, typeJSON, when(etag))
		if errors.Is(err, errUnsupported) {
			_, err = k.store.put(ctx, key, body, typeJSON, always)
		}
		if !isConflict(err) || tries == 3 {
			return err
		}
	}
}

package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

const runsKept = 20

// A RunSummary is a run's entry in the index of runs.
type RunSummary struct {
	RunID      string `json:"runId"`
	Command    string `json:"command"`
	Engine     string `json:"cdkdVersion"`
	StartedAt  string `json:"startedAt"`
	FinishedAt string `json:"finishedAt"`
	Result     string `json:"result"` // Succeeded, Failed or Unknown
	Events     int    `json:"eventCount"`
}

// A runIndex names the latest runs, newest first. The last writer wins.
type runIndex struct {
	IndexVersion int          `json:"indexVersion"`
	StackName    string       `json:"stackName"`
	Region       string       `json:"region"`
	Runs         []RunSummary `json:"runs"`
	LastModified int64        `json:"lastModified"`
}

// A RunIndex is a stack's index of runs as it was read; see RunOptions.
type RunIndex struct {
	index  *runIndex
	etag   ETag
	unread error // why it must be left as it is; nil: it need not
}

// RunIndex reads the index of runs; one that is missing or broken is empty.
func (k *Stack) RunIndex(ctx context.Context) (*RunIndex, error) {
	key := k.key(eventsFolder + eventIndexName)
	body, etag, err := k.store.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return &RunIndex{index: &runIndex{}}, nil
	}
	if err != nil {
		return nil, err
	}
	index, err := parseRunIndex(key, body)
	return &RunIndex{index, etag, err}, nil
}

// parseRunIndex returns an empty index with an error.
func parseRunIndex(key string, body []byte) (*runIndex, error) {
	o, err := parseObject(key, body)
	if err == nil {
		_, err = version(key, o, "indexVersion", 0, 1)
	}
	if err != nil {
		return &runIndex{}, err
	}
	index := &runIndex{}
	if json.Unmarshal(body, index) != nil {
		return &runIndex{}, &MalformedError{Key: key, Problems: []string{"it is no index of runs"}}
	}
	return index, nil
}

// enterRun writes the index with one more run and deletes the histories that
// fall out of it. It goes on from what was read before; an index that somebody
// else wrote since is read again.
func (k *Stack) enterRun(ctx context.Context, opt RunOptions, run RunSummary) error {
	read, histories, err := opt.Index, opt.Histories, error(nil)
	if read != nil && read.unread == nil {
		if err = k.writeRunIndex(ctx, read.index, when(read.etag), run, histories); !isConflict(err) && !errors.Is(err, errUnsupported) {
			return err
		}
	}
	if read, err = k.RunIndex(ctx); err != nil {
		return err
	}
	if read.unread != nil {
		return fmt.Errorf("its index is left as it is: %w", read.unread)
	}
	if opt.Index == nil && len(read.index.Runs) >= runsKept-1 {
		if histories, err = k.runIDs(ctx); err != nil {
			return err
		}
	}
	return k.writeRunIndex(ctx, read.index, always, run, histories)
}

// writeRunIndex writes the index while it deletes those of the histories that
// are older than all that it names.
func (k *Stack) writeRunIndex(ctx context.Context, read *runIndex, cond condition, run RunSummary, histories []string) error {
	index := runIndex{IndexVersion: 1, StackName: k.Name, Region: k.Region, LastModified: time.Now().UnixMilli(), Runs: []RunSummary{run}}
	for _, r := range read.Runs {
		if r.RunID != run.RunID && len(index.Runs) < runsKept {
			index.Runs = append(index.Runs, r)
		}
	}
	v, err := value.From(index)
	if err != nil {
		return err
	}
	body, err := value.MarshalIndent(v)
	if err != nil {
		return err
	}
	var old []string
	if len(index.Runs) == runsKept {
		oldest := slices.MinFunc(index.Runs, func(a, b RunSummary) int { return strings.Compare(a.RunID, b.RunID) }).RunID
		for _, id := range histories {
			if id < oldest {
				old = append(old, k.key(eventsFolder+id+eventsSuffix))
			}
		}
	}
	var wg routine.Group
	var purgeErr error
	wg.Go(func() { purgeErr = k.store.removeAll(ctx, old) })
	_, err = k.store.put(ctx, k.key(eventsFolder+eventIndexName), body, typeJSON, cond)
	wg.Wait()
	return errors.Join(err, purgeErr)
}

// runIDs lists the runs that have a history, oldest first.
func (k *Stack) runIDs(ctx context.Context) (ids []string, err error) {
	folder := k.key(eventsFolder)
	err = k.store.list(ctx, folder, "", func(key string) bool {
		if id, ok := strings.CutSuffix(strings.TrimPrefix(key, folder), eventsSuffix); ok {
			ids = append(ids, id)
		}
		return true
	})
	return ids, err
}

// Histories returns in which regions a stack has a history of runs, and of
// which, oldest first. A stack that is gone may still have one.
func (s *Store) Histories(ctx context.Context, stack string) (map[string][]string, error) {
	found := map[string][]string{}
	folder := s.prefix + "/" + stack + "/"
	err := s.list(ctx, folder, "", func(key string) bool {
		region, rest, _ := strings.Cut(strings.TrimPrefix(key, folder), "/")
		if name, ok := strings.CutPrefix(rest, eventsFolder); ok {
			if id, ok := strings.CutSuffix(name, eventsSuffix); ok {
				found[region] = append(found[region], id)
			} else if found[region] == nil {
				found[region] = []string{} // only an index is left
			}
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("look for the history of stack %s: %w", stack, err)
	}
	return found, nil
}

// Runs returns the stack's runs, newest first: those of the index, and those
// of ids (what Histories found) that it does not name, because they are not over
// or were killed, or because there is no index that can be read.
func (k *Stack) Runs(ctx context.Context, ids []string) ([]RunSummary, error) {
	read, err := k.RunIndex(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the runs of stack %s in %s: %w", k.Name, k.Region, err)
	}
	runs := slices.Clone(read.index.Runs)
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(runs, func(r RunSummary) bool { return r.RunID == id })
	})
	more, errs := make([]RunSummary, len(ids)), make([]error, len(ids))
	parallel(len(ids), func(i int) {
		var events []Event
		events, errs[i] = k.Events(ctx, ids[i])
		more[i] = summary(ids[i], events)
	})
	runs = append(runs, more...)
	slices.SortStableFunc(runs, func(a, b RunSummary) int { return strings.Compare(b.RunID, a.RunID) })
	return runs, errors.Join(errs...)
}

func summary(id string, events []Event) RunSummary {
	s := RunSummary{RunID: id, Result: Unknown, Events: len(events)}
	for _, e := range events {
		switch e.EventType {
		case RunStarted:
			s.Command, s.Engine, s.StartedAt = e.Command, e.EngineVersion, e.Timestamp
		case RunFinished:
			s.Result, s.FinishedAt = e.Result, e.Timestamp
		}
	}
	return s
}

// Events returns the history of a run, without lines that cannot be read; none
// when there is no such run.
func (k *Stack) Events(ctx context.Context, runID string) ([]Event, error) {
	body, _, err := k.store.get(ctx, k.key(eventsFolder+runID+eventsSuffix))
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s of stack %s in %s: %w", runID, k.Name, k.Region, err)
	}
	return parseEvents(body), nil
}

func parseEvents(body []byte) (events []Event) {
	for line := range bytes.Lines(body) {
		var e Event
		if json.Unmarshal(line, &e) == nil && e.EventType != "" {
			events = append(events, e)
		}
	}
	return events
}

// PurgeEvents deletes the histories of all runs and their index, earlier
// versions included.
func (k *Stack) PurgeEvents(ctx context.Context) error {
	var keys []string
	err := k.store.list(ctx, k.key(eventsFolder), "", func(key string) bool {
		keys = append(keys, key)
		return true
	})
	if err == nil {
		err = k.store.removeAll(ctx, keys)
	}
	if err != nil {
		return fmt.Errorf("delete the runs of stack %s in %s: %w", k.Name, k.Region, err)
	}
	k.store.purgeFolder(ctx, k.key(eventsFolder), func(string) bool { return true })
	return nil
}

package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// A Surveyed stack is one of all that the bucket knows.
type Surveyed struct {
	Ref
	Record *Record     // nil when it cannot be read
	Lock   *LockRecord // nil when there is none, or none that can be read
	Err    error       // why something of it could not be read
}

// Survey reads the records and the locks of all stacks, in the order of List.
// What cannot be read of one stack does not hide the others.
func (s *Store) Survey(ctx context.Context) ([]Surveyed, error) {
	all, _, err := s.SurveyAll(ctx)
	return all, err
}

// SurveyAll is Survey, with what ListAll finds besides.
func (s *Store) SurveyAll(ctx context.Context) ([]Surveyed, []Trace, error) {
	refs, traces, err := s.ListAll(ctx)
	if err != nil {
		return nil, nil, err
	}
	all := make([]Surveyed, len(refs))
	errs := make([]error, len(refs))
	parallel(2*len(refs), func(i int) {
		n := i / 2
		k := s.Stack(refs[n].Stack, refs[n].Region)
		if i%2 == 0 {
			all[n].Ref = refs[n]
			all[n].Record, _, all[n].Err = k.Read(ctx)
		} else {
			all[n].Lock, errs[n] = k.Peek(ctx)
		}
	})
	for i := range all {
		all[i].Err = errors.Join(all[i].Err, errs[i])
	}
	return all, traces, nil
}

// Locks returns the stacks under the prefix that have a lock, in the order of
// their keys, whether they are recorded or not.
func (s *Store) Locks(ctx context.Context) ([]Surveyed, error) {
	var all []Surveyed
	root := s.prefix + "/"
	err := s.list(ctx, root, "", func(key string) bool {
		rest, ok := strings.CutSuffix(strings.TrimPrefix(key, root), "/"+lockName)
		if parts := strings.Split(rest, "/"); ok && len(parts) == 2 {
			all = append(all, Surveyed{Ref: Ref{parts[0], parts[1]}})
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list the locks: %w", err)
	}
	parallel(len(all), func(i int) { all[i].Lock, all[i].Err = s.Stack(all[i].Stack, all[i].Region).Peek(ctx) })
	return all, nil
}

// Examine reads what a run on each of the stacks would go on from, and returns,
// in their order, why of what it could not.
func (s *Store) Examine(ctx context.Context, refs []Ref) [][]error {
	all := make([][]error, len(refs))
	parallel(len(refs), func(i int) {
		k := s.Stack(refs[i].Stack, refs[i].Region)
		note := func(err error) {
			if err != nil {
				all[i] = append(all[i], err)
			}
		}
		_, _, err := k.Read(ctx)
		note(err)
		if k.Region == "" {
			return // the oldest form had nothing else
		}
		_, err = k.ReadJournal(ctx)
		note(err)
		_, err = k.ReadPending(ctx)
		note(err)
		_, _, err = k.readLedger(ctx)
		note(err)
		_, _, err = k.readRetained(ctx)
		note(err)
	})
	return all
}

// LookUp is [Registry.Look] for many stacks, with their answers in their order.
func (s *Store) LookUp(ctx context.Context, refs []Ref) []error {
	errs := make([]error, len(refs))
	parallel(len(refs), func(i int) {
		if refs[i].Region != "" { // of the oldest form, which knew no registry
			errs[i] = s.Stack(refs[i].Stack, refs[i].Region).Registry().Look(ctx)
		}
	})
	return errs
}

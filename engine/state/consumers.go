package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// A Consumer is a stack that imports another's exports, which cannot go while
// it does.
type Consumer struct {
	Stack, Region string
	Exports       []string
}

// Consumers finds the stacks whose records import exports of a stack. Records
// that cannot be read are passed over.
func (s *Store) Consumers(ctx context.Context, stack, region string) ([]Consumer, error) {
	return s.consumers(ctx, stack, region, func(name string) bool { return name == stack })
}

// ConsumersOfAll is Consumers for a stack and all that are nested in it, whose
// own imports from each other do not count.
func (s *Store) ConsumersOfAll(ctx context.Context, stack, region string) ([]Consumer, error) {
	return s.consumers(ctx, stack, region, func(name string) bool { return name == stack || strings.HasPrefix(name, stack+"~") })
}

func (s *Store) consumers(ctx context.Context, stack, region string, of func(name string) bool) ([]Consumer, error) {
	records, err := s.records(ctx, func(r Ref) bool { return r.Region != region || !of(r.Stack) })
	if err != nil {
		return nil, fmt.Errorf("find what imports from stack %s in %s: %w", stack, region, err)
	}
	var found []Consumer
	for _, f := range records {
		if f.err != nil {
			continue
		}
		c := Consumer{Stack: f.ref.Stack, Region: f.ref.Region}
		for _, i := range f.record.Imports {
			if of(i.SourceStack) && i.SourceRegion == region {
				c.Exports = append(c.Exports, i.ExportName)
			}
		}
		if len(c.Exports) > 0 {
			found = append(found, c)
		}
	}
	return found, nil
}

// Recorded reads the records of all stacks, in the order of List.
func (s *Store) Recorded(ctx context.Context) ([]Surveyed, error) {
	records, err := s.records(ctx, func(Ref) bool { return true })
	if err != nil {
		return nil, err
	}
	all := make([]Surveyed, 0, len(records))
	for _, f := range records {
		if !errors.Is(f.err, errAbsent) { // or it was deleted since it was listed
			all = append(all, Surveyed{Ref: f.ref, Record: f.record, Err: f.err})
		}
	}
	return all, nil
}

type foundRecord struct {
	ref    Ref
	record *Record
	err    error
}

// records reads the records of the stacks wanted, side by side, in the order
// of List.
func (s *Store) records(ctx context.Context, want func(Ref) bool) ([]foundRecord, error) {
	refs, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	var found []foundRecord
	for _, r := range refs {
		if want(r) {
			found = append(found, foundRecord{ref: r})
		}
	}
	parallel(len(found), func(i int) {
		f := &found[i]
		f.record, _, f.err = s.Stack(f.ref.Stack, f.ref.Region).Read(ctx)
		if f.err == nil && f.record == nil {
			f.err = errAbsent // deleted since
		}
	})
	return found, nil
}

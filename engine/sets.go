package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/state"
)

// add appends v unless it is there.
func add[T comparable](list []T, v ...T) []T {
	for _, v := range v {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// joined is errors.Join for errors of which one alone should read as itself.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func nonNil(errs ...error) (some []error) {
	for _, err := range errs {
		if err != nil {
			some = append(some, err)
		}
	}
	return some
}

// oneFault leaves one of several errors when it explains them all: there is no
// bucket, or nothing of it may be read.
func oneFault(errs []error) []error {
	for _, err := range errs {
		if missing, ok := errors.AsType[*state.NoBucketError](err); ok {
			return []error{missing}
		}
	}
	for _, err := range errs {
		if is[*state.RegionError](err) || credentialsRefused(err) || errors.Is(err, context.Canceled) {
			return []error{err}
		}
	}
	return errs
}

// journalLimit is how long one of the closing writes may take. The record has
// its own, longer limit.
const journalLimit = 15 * time.Second

// now is the clock of what is recorded.
func now() time.Time { return time.Now() }

package engine

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"
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

// journalLimit is how long one of the closing writes may take. The record has
// its own, longer limit.
const journalLimit = 15 * time.Second

// now is the clock of what is recorded.
func now() time.Time { return time.Now() }

package main

import (
	"cmp"
	"slices"

	"github.com/org/cdkd-action/internal/sandbox"
)

// chain returns the longest sequence of requests of which each was sent after
// the one before it was answered: with requests that take equally long, it is
// what a run waits for. The requests are in the order of that sequence.
//
// Requests that could have been sent side by side count as a sequence when
// they were not: that is what is to be found out.
func chain(log []sandbox.Request) []sandbox.Request {
	answered := slices.Clone(log)
	slices.SortStableFunc(answered, func(a, b sandbox.Request) int { return a.End.Compare(b.End) })
	length, before := make([]int, len(answered)), make([]int, len(answered))
	last := -1
	for i, r := range answered {
		// All that ended before r began are a prefix, and the longest chain
		// among them goes on with r.
		length[i], before[i] = 1, -1
		for j := range i {
			if !answered[j].End.After(r.Start) && length[j] >= length[i] {
				length[i], before[i] = length[j]+1, j
			}
		}
		if last < 0 || length[i] > length[last] {
			last = i
		}
	}
	var longest []sandbox.Request
	for i := last; i >= 0; i = before[i] {
		longest = append(longest, answered[i])
	}
	slices.SortStableFunc(longest, func(a, b sandbox.Request) int { return cmp.Compare(a.Start.UnixNano(), b.Start.UnixNano()) })
	return longest
}

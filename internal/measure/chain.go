package main

import (
	"cmp"
	"slices"
	"time"

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

// atLeast is how long the longest sequence takes of which each part waits for
// the one before it: a request as long as the network does, one that has Cloud
// Control do something as long as that takes.
func atLeast(log []sandbox.Request) (longest time.Duration) {
	log = slices.Clone(log)
	for i, r := range log {
		if r.Service == "cloudcontrolapi" && change(r) {
			log[i].End = r.End.Add(cloudControlDelay)
		}
	}
	slices.SortStableFunc(log, func(a, b sandbox.Request) int { return a.End.Compare(b.End) })
	total := make([]time.Duration, len(log))
	for i, r := range log {
		for j := range i {
			if !log[j].End.After(r.Start) {
				total[i] = max(total[i], total[j])
			}
		}
		total[i] += latency
		if r.Service == "cloudcontrolapi" && change(r) {
			total[i] += cloudControlDelay
		}
		longest = max(longest, total[i])
	}
	return longest
}

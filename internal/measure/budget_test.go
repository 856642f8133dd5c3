package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/internal/sandbox"
)

// A budget is what a run may cost. Those without a limit of their own are what
// was reached: who has a reason to spend more changes them here.
type budget struct{ requests, chain int }

var budgets = map[string]budget{
	first.name: {requests: 97, chain: 9},
	same.name:  {requests: 12, chain: 4},
	eight.name: {requests: 20, chain: 7},
	gone.name:  {requests: 72, chain: 10},
}

func TestBudgets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the released binary")
	}
	program, err := build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// Slow enough for requests that do not wait for each other to overlap, on a
	// busy machine too.
	const latency = 200 * time.Millisecond
	err = story(t.Context(), program, latency, []chapter{first, same, eight, gone}, func(c chapter, s sample) {
		log := withoutPartial(s.log)
		sequence := chain(log)
		got, want := budget{len(log), len(sequence)}, budgets[c.name]
		t.Logf("%s: %d requests, %d one after another", c.name, got.requests, got.chain)
		if got.requests <= want.requests && got.chain <= want.chain {
			return
		}
		var text strings.Builder
		list(&text, log)
		t.Errorf("%s: %d requests, %d one after another; at most %d and %d are in the budget. All that was sent, with the longest sequence marked:\n%s",
			c.name, got.requests, got.chain, want.requests, want.chain, text.String())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// withoutPartial leaves out what is written while a run goes on, whose number
// depends on how long that takes: the record and the history, except the last
// time.
func withoutPartial(log []sandbox.Request) []sandbox.Request {
	written := map[string]int{}
	for _, r := range log {
		if partial(r) {
			written[r.Resource]++
		}
	}
	return slices.DeleteFunc(slices.Clone(log), func(r sandbox.Request) bool {
		if !partial(r) {
			return false
		}
		written[r.Resource]--
		return written[r.Resource] > 0
	})
}

func partial(r sandbox.Request) bool {
	return r.Action == "PutObject" && strings.HasPrefix(r.Resource, bucket+"/") &&
		(strings.HasSuffix(r.Resource, "/state.json") || strings.HasSuffix(r.Resource, ".jsonl"))
}

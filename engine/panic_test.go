package engine_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A faulty connection panics at its nth request, before that is sent or when its
// answer has come.
type faulty struct {
	unscheduled
	nth   int64
	after bool
	count atomic.Int64
	hit   atomic.Pointer[turn]
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	here := f.count.Add(1) == f.nth
	if here {
		t, err := newTurn("faulty", r)
		if err != nil {
			return nil, err
		}
		f.hit.Store(t)
		if f.after {
			t.ask(f.aws)
		}
		panic("a fault at " + t.String())
	}
	return f.unscheduled.RoundTrip(r)
}

// A panic at any request of a deploy, in whatever goroutine, ends as a failure,
// not with the process: the lock is free, and the next deploy ends as if nothing
// had been (S-191, S-440, P-35).
func TestPanic(t *testing.T) {
	apps := writeVersions(t)
	for _, story := range []struct {
		name, before, app string
		after             bool
	}{
		{"first deploy, before a request", "", "v1", false},
		{"first deploy, after a request", "", "v1", true},
		{"update, before a request", "v1", "v2", false},
		{"update, after a request", "v1", "v2", true},
	} {
		t.Run(story.name, func(t *testing.T) {
			ends := map[string]int{}
			for nth, met := int64(1), true; met && !t.Failed(); nth++ {
				aws, err := sandbox.Start(t.Context(), sandbox.Options{Upstream: sandbox.None})
				if err != nil {
					t.Fatal(err)
				}
				f := &faulty{unscheduled: unscheduled{aws}, nth: nth, after: story.after}
				synctest.Test(t, func(t *testing.T) {
					a := newArena(t, aws, duel{buckets: []string{"state"}, apps: []string{"", story.app}, takeover: true}, apps, 1)
					ends[a.panicked(story.before, story.app, f)]++
				})
				aws.Close()
				if met = f.hit.Load() != nil; t.Failed() {
					t.Errorf("this was request %d", nth)
				}
			}
			t.Logf("%v", ends)
		})
	}
}

// panicked deploys on a faulty connection, and then on a sound one.
func (a *arena) panicked(before, app string, f *faulty) (end string) {
	a.t.Cleanup(func() {
		if a.t.Failed() {
			a.t.Logf("what happened:\n%s", strings.Join(a.story, "\n"))
		}
	})
	if before != "" {
		a.must(a.alone("state", before))
	}
	var got *result.Stack
	if err := routine.Try(func() error {
		got = a.deploy(a.engine("faulty", "state", &http.Client{Transport: f}), app)
		return nil
	}); err != nil { // as main has it
		got = &result.Stack{Outcome: result.Failed, Reason: result.ReasonInternal, Message: err.Error()}
	}
	hit := f.hit.Load()
	if hit == nil {
		a.must(got)
		return "not met"
	}
	a.note("%s: %s %s %s %v", hit, got.Outcome, got.Reason, got.Message, got.Failures)
	story := strings.Join(a.story, "\n")
	switch {
	case !strings.Contains(story, "a fault at "):
		a.t.Error("nothing was said of the fault")
	case !done(got) && got.Outcome != result.Failed:
		a.t.Errorf("outcome %s", got.Outcome)
	}
	if lock := a.object("state", shopKey+"lock.json"); lock != nil && !strings.HasSuffix(hit.about, "lock.json") {
		a.t.Errorf("the lock was left: %s", lock)
	}
	a.checkOneBucket(nil)
	return fmt.Sprint(got.Outcome, " ", got.Reason)
}

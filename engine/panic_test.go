package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A faulty connection goes wrong at its nth request.
type faulty struct {
	unscheduled
	nth   int64
	how   func(*turn, *sandbox.Sandbox) *http.Response
	count atomic.Int64
	hit   atomic.Pointer[turn]

	answered bool
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.count.Add(1) != f.nth {
		return f.unscheduled.RoundTrip(r)
	}
	t, err := newTurn("faulty", r)
	if err != nil {
		return nil, err
	}
	f.hit.Store(t)
	answer := f.how(t, f.aws)
	f.answered = true
	return answer, nil
}

func panicBefore(t *turn, _ *sandbox.Sandbox) *http.Response { panic("a fault at " + t.String()) }

func panicAfter(t *turn, aws *sandbox.Sandbox) *http.Response {
	t.ask(aws)
	panic("a fault at " + t.String())
}

// expired is the answer when credentials are not valid any more.
func expired(t *turn, _ *sandbox.Sandbox) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusForbidden)
	if strings.HasPrefix(t.call, "s3:") {
		fmt.Fprintf(w, `<Error><Code>ExpiredToken</Code><Message>a fault at %s</Message></Error>`, t.call)
	} else {
		fmt.Fprintf(w, `{"__type": "ExpiredTokenException", "message": "a fault at %s"}`, t.call)
	}
	answer := w.Result()
	answer.Request = t.request
	return answer
}

// A panic at any request of a deploy, in whatever goroutine, ends as a failure,
// not with the process: the lock is free, and the next deploy ends as if nothing
// had been (S-191, S-440, P-35). So it does where AWS refuses the request: that
// to follow what Cloud Control does does not end it.
func TestFaultAtEachRequest(t *testing.T) {
	apps := writeVersions(t)
	for _, story := range []struct {
		name, before, app string
		how               func(*turn, *sandbox.Sandbox) *http.Response
	}{
		{"first deploy, panic before a request", "", "v1", panicBefore},
		{"first deploy, panic after a request", "", "v1", panicAfter},
		{"first deploy, credentials expired", "", "v1", expired},
		{"update, panic before a request", "v1", "v2", panicBefore},
		{"update, panic after a request", "v1", "v2", panicAfter},
		{"update, credentials expired", "v1", "v2", expired},
	} {
		t.Run(story.name, func(t *testing.T) {
			ends := map[string]int{}
			for nth, met := int64(1), true; met && !t.Failed(); nth++ {
				aws, err := startSandbox(t, sandbox.Options{Upstream: sandbox.None})
				if err != nil {
					t.Fatal(err)
				}
				f := &faulty{unscheduled: unscheduled{aws}, nth: nth, how: story.how}
				synctest.Test(t, func(t *testing.T) {
					a := newArena(t, aws, duel{buckets: []string{"state"}, apps: []string{"", story.app}, takeover: true}, apps, 1)
					ends[a.faulty(story.before, story.app, f)]++
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

// faulty deploys on a faulty connection, and then on a sound one.
func (a *arena) faulty(before, app string, f *faulty) (end string) {
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
	said := strings.Contains(strings.Join(a.story, "\n"), "a fault at ")
	switch {
	case !said && !(f.answered && done(got)): // what nothing depends on may be refused
		a.t.Error("nothing was said of the fault")
	case f.answered && got.Outcome == result.Partial && len(got.Unaddressed) > 0: // AWS refused a delete
	case !done(got) && got.Outcome != result.Failed:
		a.t.Errorf("outcome %s", got.Outcome)
	}
	if lock := a.object("state", shopKey+"lock.json"); lock != nil && !strings.HasSuffix(hit.about, "lock.json") {
		a.t.Errorf("the lock was left: %s", lock)
	}
	a.checkOneBucket(nil)
	return fmt.Sprint(got.Outcome, " ", got.Reason)
}

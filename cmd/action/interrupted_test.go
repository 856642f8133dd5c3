package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// TestInterrupted sends SIGINT while a request is made, and SIGKILL to what is
// still there six seconds later. The run has to end by itself with its locks
// given back, which it does only once the record is saved (S-189), and with the
// name of a stack of which nothing is left (S-270), and the next run as if nothing
// had been (P-35).
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("interrupts deploys")
	}
	free := make([]tally, len(crashStories))
	everyNth(t, 40, free, func(w *crashWorld, i, n int, want calmEnd) (tried, converged bool) {
		story := crashStories[i]
		if !w.interrupt(story, n) {
			return false, false
		}
		if held := append(w.locks(), w.unusedNames()...); len(held) > 0 {
			w.t.Errorf("left behind: %s", strings.Join(held, ", "))
		} else {
			free[i].free.Add(1)
		}
		return true, w.rerun(story, disturbance{}, want)
	})
	for i := range free {
		t.Logf("%s: after %d of %d signals the lock was free in time, after %d the next run ended as an undisturbed one",
			crashStories[i].name, free[i].free.Load(), free[i].tried.Load(), free[i].converged.Load())
	}
}

// TestCutOff lets every request fail from one on, because there is no network
// any more or because the credentials have expired. A run that fails has to say
// what to do, and the next has to end as an undisturbed one (P-35). Without
// -every-request that is from the first on, because a later one is waited for.
func TestCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("disturbs deploys")
	}
	for _, cut := range []disturbance{
		{name: "no network", fault: sandbox.Fault{Drop: true}, lasts: true},
		{name: "expired credentials", fault: sandbox.Fault{Status: http.StatusForbidden, Code: "ExpiredToken", Message: "The provided token has expired."}, lasts: true},
	} {
		t.Run(cut.name, func(t *testing.T) {
			counts := make([]tally, len(crashStories))
			everyNth(t, 1000, counts, func(w *crashWorld, i, n int, want calmEnd) (tried, converged bool) {
				story, d := crashStories[i], cut
				d.fault.Nth = n
				if !w.disturb(story, d) {
					return false, false
				}
				if said := w.said.String(); w.failed && !strings.Contains(said, "what to do: ") {
					w.t.Errorf("nowhere is said what to do:\n%s", said)
				}
				return true, w.rerun(story, d, want)
			})
			for i := range counts {
				t.Logf("%s: %s", crashStories[i].name, &counts[i])
			}
		})
	}
}

// everyNth tries the first request of each story and each nth after it, or all
// with -every-request, and counts.
func everyNth(t *testing.T, step int, counts []tally, try func(w *crashWorld, story, n int, want calmEnd) (tried, converged bool)) {
	lab := newCrashLab(t)
	if *everyRequest {
		step = 1
	}
	t.Run("", func(t *testing.T) {
		for i, story := range crashStories {
			t.Run(story.name, func(t *testing.T) {
				want := lab.world(t).undisturbed(story)
				for n := 1; n <= len(want.log); n += step {
					if *everyRequest && !share.has(n) {
						continue
					}
					t.Run(fmt.Sprint(n), func(t *testing.T) {
						t.Parallel()
						w := lab.world(t)
						tried, converged := try(w, i, n, want)
						if !tried {
							return // this run had fewer requests
						}
						counts[i].tried.Add(1)
						switch {
						case !converged:
							counts[i].wrong.Add(1)
						case w.refused:
							counts[i].refused.Add(1)
						default:
							counts[i].converged.Add(1)
						}
					})
				}
			})
		}
	})
}

// interrupt runs a story and sends SIGINT at its nth request. It reports whether
// there was such a one.
func (w *crashWorld) interrupt(s crashStory, n int) bool {
	w.t.Helper()
	w.prepare(s.before)
	w.aws.ClearLog()
	cmd, out := w.command(s.run)
	others := w.aws.Connections()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the interrupted run:\n%s", out)
		}
	})
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	sent := w.signalAt(cmd, n, ended)
	w.quiet(others)
	return sent
}

// signalAt waits for the nth request, sends SIGINT, and waits for the end.
func (w *crashWorld) signalAt(cmd *exec.Cmd, n int, ended <-chan error) bool {
	w.t.Helper()
	reached := make(chan error, 1)
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	go func() {
		_, err := w.aws.Await(ctx, n, func(sandbox.Request) bool { return true })
		reached <- err
	}()
	select {
	case <-ended:
		return false
	case err := <-reached:
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		<-ended
		return false // it was done
	}
	select {
	case <-ended:
	case <-time.After(signals.SealTarget):
		w.t.Errorf("still there after %s", signals.SealTarget)
		cmd.Process.Kill()
		<-ended
	}
	return true
}

// locks are the locks in the state bucket.
func (w *crashWorld) locks() (held []string) {
	for _, o := range w.aws.S3.Objects(stateBucket) {
		if strings.HasSuffix(o.Key, "/lock.json") {
			held = append(held, o.Key)
		}
	}
	return held
}

// unusedNames are the markers in the registry of stacks of which the bucket holds
// nothing but their history.
func (w *crashWorld) unusedNames() (unused []string) {
	used := map[string]bool{}
	for _, o := range w.aws.S3.Objects(stateBucket) {
		if stack, object, ok := strings.Cut(strings.TrimPrefix(o.Key, "cdkd/"), "/us-east-1/"); ok && !strings.HasPrefix(object, "deployments/") {
			used["_cdkd-registry/us-east-1/"+stack+".json"] = true
		}
	}
	for _, o := range w.aws.S3.Objects(stateBucket) {
		if strings.HasPrefix(o.Key, "_cdkd-registry/") && !used[o.Key] {
			unused = append(unused, o.Key)
		}
	}
	return unused
}

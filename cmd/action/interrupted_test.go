package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/cdkd-action/internal/sandbox"
)

// TestInterrupted sends SIGINT while a request of a deploy is made, and what the
// runner sends after it, at its times, to a run that is still there. The run has
// to end by itself with its locks given back, which it does only once the record
// is saved (S-189), and the next run as if nothing had been (P-35).
//
// One request in forty is interrupted, or each with -every-request.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("interrupts deploys")
	}
	aws := startMoto(t)
	story := crashStories[0]
	want := newCrashWorld(t, aws).undisturbed(story)
	step := 40
	if *everyRequest {
		step = 1
	}
	var tried, free, converged int
	for n := 1; n <= len(want.log); n += step {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newCrashWorld(t, aws)
			if !w.interrupt(story, n) {
				return // this run had fewer requests
			}
			tried++
			if held := w.locks(); len(held) > 0 {
				t.Errorf("left behind: %s", strings.Join(held, ", "))
			} else {
				free++
			}
			if w.rerun(story, disturbance{}, want) {
				converged++
			}
		})
	}
	t.Logf("%d requests interrupted: after %d the lock was free in time, after %d the next run ended as an undisturbed one", tried, free, converged)
}

// interrupt runs a story and sends SIGINT at its nth request. It reports whether
// there was such a one.
func (w *crashWorld) interrupt(s crashStory, n int) bool {
	w.t.Helper()
	w.prepare(s.before)
	w.aws.ClearLog()
	cmd, out := w.command(s.run)
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
	w.quiet()
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
	terminate := time.AfterFunc(7500*time.Millisecond, func() { cmd.Process.Signal(syscall.SIGTERM) })
	defer terminate.Stop()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		w.t.Error("still there after 10 s")
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

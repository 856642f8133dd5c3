package signals

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A timeline is what happened to a Window, in seconds from its opening; -1 is
// never.
type timeline struct{ draining, sealed, second, deadline float64 }

func TestTimeline(t *testing.T) {
	type event struct {
		at   time.Duration
		sig  os.Signal
		seal bool
	}
	const s, ms = time.Second, time.Millisecond
	tests := []struct {
		name    string
		actions bool
		events  []event
		want    timeline
	}{
		{"no signal: nothing ever happens", true,
			[]event{{at: 2 * s, seal: true}},
			timeline{-1, -1, -1, -1}},
		{"a call that does not answer: sealing at 5 s (S-189)", true,
			[]event{{at: 1 * s, sig: syscall.SIGINT}},
			timeline{1, 6, -1, 11}},
		{"nothing in flight: sealing at once (S-189)", true,
			[]event{{at: 1 * s, sig: syscall.SIGINT}, {at: 1200 * ms, seal: true}},
			timeline{1, 1.2, -1, 11}},
		{"docker stop sends only SIGTERM: it is the first signal (S-189)", true,
			[]event{{at: 1 * s, sig: syscall.SIGTERM}},
			timeline{1, 6, -1, 11}},
		{"the runner's SIGTERM in the window: seal now, no second signal (S-189)", true,
			[]event{{at: 1 * s, sig: syscall.SIGINT}, {at: 3 * s, sig: syscall.SIGTERM}},
			timeline{1, 3, -1, 5.5}},
		{"the runner's SIGTERM at its usual time changes nothing (S-189)", true,
			[]event{{at: 1 * s, sig: syscall.SIGINT}, {at: 8500 * ms, sig: syscall.SIGTERM}},
			timeline{1, 6, -1, 11}},
		{"Actions never has a second signal (S-189)", true,
			[]event{{at: 1 * s, sig: syscall.SIGINT}, {at: 2 * s, sig: syscall.SIGINT}},
			timeline{1, 2, -1, 11}},
		{"terminal: the second Ctrl-C is told (S-182)", false,
			[]event{{at: 1 * s, sig: syscall.SIGINT}, {at: 2 * s, sig: syscall.SIGINT}},
			timeline{1, 6, 2, 11}},
		{"terminal: SIGTERM is as good as SIGINT (S-180)", false,
			[]event{{at: 1 * s, sig: syscall.SIGTERM}, {at: 2 * s, sig: syscall.SIGTERM}},
			timeline{1, 6, 2, 11}},
		{"terminal: a third Ctrl-C is harmless (S-182)", false,
			[]event{{at: 1 * s, sig: syscall.SIGINT}, {at: 2 * s, sig: syscall.SIGINT}, {at: 3 * s, sig: syscall.SIGINT}},
			timeline{1, 6, 2, 11}},
		{"terminal: its end is a signal like SIGTERM (S-180)", false,
			[]event{{at: 1 * s, sig: syscall.SIGHUP}},
			timeline{1, 6, -1, 11}},
		{"terminal: its end is no impatience, however often it is told (S-182)", false,
			[]event{{at: 1 * s, sig: syscall.SIGHUP}, {at: 2 * s, sig: syscall.SIGHUP}},
			timeline{1, 6, -1, 11}},
		{"terminal: a Ctrl-C after its end is told (S-182)", false,
			[]event{{at: 1 * s, sig: syscall.SIGHUP}, {at: 2 * s, sig: syscall.SIGINT}},
			timeline{1, 6, 2, 11}},
		{"terminal: a second signal after the seal is told too (S-182)", false,
			[]event{{at: 1 * s, sig: syscall.SIGINT}, {at: 2 * s, seal: true}, {at: 3 * s, sig: syscall.SIGINT}},
			timeline{1, 2, 3, 11}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				in := make(chan os.Signal)
				w := Open(Options{Actions: tt.actions, Signals: in})

				since := func(at time.Time) float64 { return at.Sub(start).Seconds() }
				got := timeline{-1, -1, -1, -1}
				stop := make(chan struct{})
				var watched []chan struct{}
				for c, at := range map[<-chan struct{}]*float64{
					w.Draining(): &got.draining, w.Sealing(): &got.sealed, w.SecondSignal(): &got.second,
				} {
					done := make(chan struct{})
					watched = append(watched, done)
					go func() {
						defer close(done)
						select {
						case <-c:
							*at = since(time.Now())
						case <-stop:
						}
					}()
				}
				for _, e := range tt.events {
					time.Sleep(e.at - time.Since(start)) // the bubble's time
					if e.seal {
						w.Seal()
					} else {
						in <- e.sig
					}
					synctest.Wait()
				}
				time.Sleep(time.Minute)
				close(stop)
				for _, done := range watched {
					<-done
				}
				if at, ok := w.Deadline(); ok {
					got.deadline = since(at)
				}
				w.Close()
				if got != tt.want {
					t.Errorf("timeline: want %+v, got %+v", tt.want, got)
				}
			})
		})
	}
}

func TestPhasesAndContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan os.Signal)
		w := Open(Options{Actions: true, Signals: in})
		defer w.Close()

		calls, cancelCalls := w.Context(t.Context())
		defer cancelCalls()
		waits, cancelWaits := w.Interruptible(t.Context())
		defer cancelWaits()

		check := func(phase Phase, waitsEnd, callsEnd error) {
			t.Helper()
			synctest.Wait()
			if w.Phase() != phase {
				t.Errorf("phase: want %v, got %v", phase, w.Phase())
			}
			if got := w.Interrupted(); got != (phase != Running) {
				t.Errorf("%v: Interrupted() = %v", phase, got)
			}
			if got := context.Cause(waits); !errors.Is(got, waitsEnd) {
				t.Errorf("%v: end of waits: want %v, got %v", phase, waitsEnd, got)
			}
			if got := context.Cause(calls); !errors.Is(got, callsEnd) {
				t.Errorf("%v: end of calls: want %v, got %v", phase, callsEnd, got)
			}
		}
		check(Running, nil, nil)
		in <- syscall.SIGINT
		check(Draining, ErrInterrupted, nil)
		if w.Signal() != syscall.SIGINT {
			t.Errorf("first signal: %v", w.Signal())
		}
		w.Seal()
		if w.Phase() != Sealed {
			t.Errorf("after Seal returned: want sealed, got %v", w.Phase())
		}
		check(Sealed, ErrInterrupted, ErrSealing)
		w.Seal() // again: nothing to do

		save, cancel := w.Cleanup(3 * time.Second)
		defer cancel()
		in <- syscall.SIGTERM
		synctest.Wait()
		if save.Err() != nil {
			t.Error("a signal ended a clean-up")
		}
	})
}

// A clean-up ends by itself, or two seconds before the runner's SIGKILL (S-189).
func TestCleanupEndsBeforeTheKill(t *testing.T) {
	const s = time.Second
	signal := func(at time.Duration, sig os.Signal) func(in chan<- os.Signal, start time.Time) {
		return func(in chan<- os.Signal, start time.Time) {
			time.Sleep(at - time.Since(start)) // the bubble's time
			in <- sig
		}
	}
	for name, tt := range map[string]struct {
		actions bool
		signals []func(chan<- os.Signal, time.Time)
		want    time.Duration
		cause   error
	}{
		"no signal":                  {true, nil, 20 * s, context.DeadlineExceeded},
		"a signal":                   {true, []func(chan<- os.Signal, time.Time){signal(s, syscall.SIGINT)}, 9 * s, ErrOver},
		"an early SIGTERM follows":   {true, []func(chan<- os.Signal, time.Time){signal(s, syscall.SIGINT), signal(3*s, syscall.SIGTERM)}, 3500 * time.Millisecond, ErrOver},
		"SIGTERM at its usual time":  {true, []func(chan<- os.Signal, time.Time){signal(s, syscall.SIGINT), signal(8500*time.Millisecond, syscall.SIGTERM)}, 9 * s, ErrOver},
		"another SIGINT is no hurry": {true, []func(chan<- os.Signal, time.Time){signal(s, syscall.SIGINT), signal(3*s, syscall.SIGINT)}, 9 * s, ErrOver},
		"on a terminal nobody kills": {false, []func(chan<- os.Signal, time.Time){signal(s, syscall.SIGINT)}, 20 * s, context.DeadlineExceeded},
		"a signal with little to do": {true, []func(chan<- os.Signal, time.Time){signal(15*s, syscall.SIGINT)}, 20 * s, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, in := time.Now(), make(chan os.Signal)
				w := Open(Options{Actions: tt.actions, Signals: in})
				defer w.Close()
				save, cancel := w.Cleanup(20 * s)
				defer cancel()
				for _, send := range tt.signals {
					send(in, start)
				}
				<-save.Done()
				if got := time.Since(start); got != tt.want || !errors.Is(context.Cause(save), tt.cause) {
					t.Errorf("ended after %v with %v, want %v and %v", got, context.Cause(save), tt.want, tt.cause)
				}
				if tt.cause != ErrOver {
					return
				}
				// What comes then has a second, and all that comes leaves half a one.
				for _, want := range []time.Duration{s, s / 2, s / 20} {
					start = time.Now()
					release, cancel := w.Cleanup(20 * s)
					defer cancel()
					<-release.Done()
					if got := time.Since(start); got != want {
						t.Errorf("a later one ended after %v, want %v", got, want)
					}
				}
			})
		})
	}
}

func TestSealBeforeAnySignalDoesNotHaunt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan os.Signal)
		w := Open(Options{Signals: in})
		defer w.Close()
		w.Seal()
		in <- syscall.SIGINT
		synctest.Wait()
		if w.Phase() != Draining {
			t.Errorf("want draining, got %v", w.Phase())
		}
	})
}

func TestSealAndCloseFromEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan os.Signal)
		w := Open(Options{Actions: true, Signals: in})
		in <- syscall.SIGINT
		done := make(chan struct{})
		for i := range 20 {
			go func() {
				defer func() { done <- struct{}{} }()
				if i%2 == 0 {
					w.Seal()
				} else {
					w.Close()
				}
			}()
		}
		for range 20 {
			<-done
		}
	})
}

func TestRealSignal(t *testing.T) {
	w := Open(Options{Actions: true})
	defer w.Close()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		<-w.Draining()
	}
	<-w.Sealing() // long before the limit, because of the SIGTERM
	if at, _ := w.Deadline(); time.Until(at) > killAfterTerm {
		t.Errorf("the deadline did not follow the SIGTERM: %v left", time.Until(at))
	}
}

// A terminal that goes ends a run like SIGTERM, and not where nohup keeps it from
// that (S-180).
func TestHangUp(t *testing.T) {
	hangUp := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	own := make(chan os.Signal, 2)
	signal.Notify(own, syscall.SIGHUP) // the tests may run under nohup themselves
	defer signal.Stop(own)
	w := Open(Options{})
	defer w.Close()
	hangUp()
	<-w.Draining()
	if w.Signal() != syscall.SIGHUP {
		t.Errorf("the first signal is %v", w.Signal())
	}
	w.Close()

	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	w = Open(Options{})
	defer w.Close()
	hangUp()
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil { // which comes after it
		t.Fatal(err)
	}
	<-w.Draining()
	if w.Signal() != syscall.SIGINT {
		t.Errorf("the first signal is %v", w.Signal())
	}
}

// Who reads what we print may be ended by the same Ctrl-C (S-181).
func TestABrokenPipeIsNoEnd(t *testing.T) {
	w := Open(Options{})
	defer w.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	stdout, err := syscall.Dup(1)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(stdout)
	// The runtime dies of a write to a broken pipe only where it is descriptor 1
	// or 2.
	if err := unix.Dup2(int(write.Fd()), 1); err != nil {
		t.Fatal(err)
	}
	_, err = os.Stdout.Write([]byte("into the void"))
	if restored := unix.Dup2(stdout, 1); restored != nil {
		t.Fatal(restored)
	}
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("writing failed with %v, want EPIPE", err)
	}
	if w.Interrupted() {
		t.Error("it was taken for a cancellation")
	}
}

func TestFromEnv(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "": false, "1": false} {
		t.Setenv("GITHUB_ACTIONS", value)
		if got := FromEnv().Actions; got != want {
			t.Errorf("GITHUB_ACTIONS=%q: want %v, got %v", value, want, got)
		}
	}
}

package signals

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// The timeline, counted from the first signal.
const (
	// DrainLimit is when sealing begins although calls are still in flight.
	DrainLimit = 5 * time.Second
	// SealTarget is when everything should be saved and released: before the
	// runner's SIGTERM also on a machine that is slow.
	SealTarget = 6 * time.Second
	// KillAfter is when the runner stops listening to us.
	KillAfter = 10 * time.Second
	// killAfterTerm is what the runner leaves after its SIGTERM.
	killAfterTerm = 2500 * time.Millisecond
	// lastWords is what clean-ups leave of the window, for what comes after them
	// and for saying how it went.
	lastWords = 2 * time.Second
	// afterAll is what a clean-up has that begins only then, while there is so much;
	// exiting is what all of them leave, and atLeast what each has all the same.
	afterAll = time.Second
	exiting  = 500 * time.Millisecond
	atLeast  = 50 * time.Millisecond
)

// The causes of the contexts that a Window ends; see [context.Cause].
var (
	ErrInterrupted error = &interruption{"interrupted by a signal"}
	ErrSealing     error = &interruption{"interrupted by a signal: no time is left to wait for the answer"}
	ErrOver              = errors.New("interrupted by a signal: there was no answer while there was time")
)

// An interruption is a cancellation that says why. To [errors.Is] it is
// [context.Canceled], like that of every context.
type interruption struct{ text string }

func (i *interruption) Error() string        { return i.text }
func (i *interruption) Is(target error) bool { return target == context.Canceled }

// A Phase is where a Window stands. Phases only advance.
type Phase int

// The phases in their order.
const (
	Running Phase = iota
	Draining
	Sealed
)

func (p Phase) String() string {
	switch p {
	case Running:
		return "running"
	case Draining:
		return "draining"
	case Sealed:
		return "sealed"
	}
	return "unknown"
}

// Options says where signals come from and what a second one means.
type Options struct {
	// Actions is true in a workflow step: signals after the first are the
	// runner's escalation, not a person's impatience.
	Actions bool
	// Early is where the process's signals have gone so far, and go on to go; nil
	// when they are taken from now on.
	Early chan os.Signal
	// Signals replaces the process's SIGINT, SIGTERM and, outside of GitHub
	// Actions, SIGHUP.
	Signals <-chan os.Signal
}

// FromEnv returns the options that the process's environment implies.
func FromEnv() Options {
	return Options{Actions: os.Getenv("GITHUB_ACTIONS") == "true"}
}

// A Window follows one process through its cancellation. Its methods are safe
// for concurrent use.
type Window struct {
	actions bool

	drain context.Context
	seal  context.Context
	over  context.Context
	// second is closed by a further signal outside of GitHub Actions.
	second chan struct{}

	sealNow chan struct{} // holds at most one request
	closing chan struct{}
	closed  sync.Once
	done    chan struct{}

	mu       sync.Mutex
	first    os.Signal
	deadline time.Time
}

// Open begins to take signals. It is the first statement of main, and [Options]
// have those that came before.
func Open(opt Options) *Window {
	drain, startDrain := context.WithCancelCause(context.Background())
	seal, startSeal := context.WithCancelCause(context.Background())
	over, giveUp := context.WithCancelCause(context.Background())
	w := &Window{
		actions: opt.Actions,
		drain:   drain,
		seal:    seal,
		over:    over,
		second:  make(chan struct{}),
		sealNow: make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	in := opt.Signals
	stop := func() {}
	if in == nil {
		own := opt.Early
		if own == nil {
			// Room for the ladder of the runner and a few Ctrl-C: Notify drops what
			// does not fit.
			own = make(chan os.Signal, 8)
		}
		signal.Notify(own, syscall.SIGINT, syscall.SIGTERM)
		// Who ignores it, as nohup does, wants to go on without the terminal.
		if !opt.Actions && !signal.Ignored(syscall.SIGHUP) {
			signal.Notify(own, syscall.SIGHUP)
		}
		// A reader that is gone, such as one that a Ctrl-C ended too, is a failed
		// write and no reason to die in the middle of a save. Nobody reads the
		// channel; children get the default back, which they would not if the
		// signal were ignored.
		broken := make(chan os.Signal, 1)
		signal.Notify(broken, syscall.SIGPIPE)
		in, stop = own, func() { signal.Stop(own); signal.Stop(broken) }
	}
	go func() {
		defer close(w.done)
		defer stop()
		w.follow(in, startDrain, startSeal, giveUp)
	}()
	return w
}

func (w *Window) follow(in <-chan os.Signal, startDrain, startSeal, giveUp context.CancelCauseFunc) {
	select {
	case <-w.closing:
		return
	case s := <-in:
		w.mu.Lock()
		w.first, w.deadline = s, time.Now().Add(KillAfter)
		w.mu.Unlock()
	}
	startDrain(ErrInterrupted)

	limit := time.NewTimer(DrainLimit)
	defer limit.Stop()
	end := time.NewTimer(KillAfter - lastWords)
	defer end.Stop()
	impatient := false
	for {
		select {
		case <-w.closing:
			return
		case s := <-in:
			if w.actions {
				end.Reset(w.escalated(s) - lastWords)
				startSeal(ErrSealing)
			} else if !impatient && s != syscall.SIGHUP {
				impatient = true
				close(w.second)
			}
		case <-w.sealNow:
			startSeal(ErrSealing)
		case <-limit.C:
			startSeal(ErrSealing)
		case <-end.C:
			if w.actions { // nobody else kills
				giveUp(ErrOver)
			}
		}
	}
}

// escalated brings the deadline forward: SIGKILL follows the runner's SIGTERM.
// It returns what is left.
func (w *Window) escalated(s os.Signal) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := time.Now().Add(killAfterTerm); s == syscall.SIGTERM && d.Before(w.deadline) {
		w.deadline = d
	}
	return time.Until(w.deadline)
}

// Draining is closed at the first signal.
func (w *Window) Draining() <-chan struct{} { return w.drain.Done() }

// Sealing is closed when what is open must be written down.
func (w *Window) Sealing() <-chan struct{} { return w.seal.Done() }

// SecondSignal is closed by a further signal after the first, on a terminal
// only: the runner's SIGTERM makes sealing begin instead.
func (w *Window) SecondSignal() <-chan struct{} { return w.second }

// Interrupted tells whether a signal has come.
func (w *Window) Interrupted() bool { return w.drain.Err() != nil }

// Phase tells where the window stands.
func (w *Window) Phase() Phase {
	switch {
	case w.seal.Err() != nil:
		return Sealed
	case w.drain.Err() != nil:
		return Draining
	}
	return Running
}

// Signal returns the first signal, nil while there was none.
func (w *Window) Signal() os.Signal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first
}

// Deadline is when the runner will kill what listens to this process. ok is
// false while no signal has come.
func (w *Window) Deadline() (at time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deadline, !w.deadline.IsZero()
}

// Seal says that no call is in flight, so that a drain need not wait any
// longer. Before the first signal it does nothing.
func (w *Window) Seal() {
	if !w.Interrupted() {
		return
	}
	select {
	case w.sealNow <- struct{}{}:
	default: // asked already
	}
	// The caller goes on to save: it must find the phase that it asked for.
	select {
	case <-w.seal.Done():
	case <-w.done:
	}
}

// Context returns a context for calls whose answer matters: it ends, with
// [ErrSealing] as its cause, when sealing begins.
func (w *Window) Context(parent context.Context) (context.Context, context.CancelFunc) {
	return until(w.seal, parent)
}

// Interruptible returns a context for what can be dropped without loss, such
// as reads, waits and synthesis: it ends with [ErrInterrupted] at the first
// signal.
func (w *Window) Interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	return until(w.drain, parent)
}

// Cleanup returns a fresh context for saves and releases. It ends after its
// timeout; under GitHub Actions a signal leaves it until two seconds before the
// runner kills, and then it ends with [ErrOver]. What begins later still has
// one second, as long as half a second stays for the exit.
func (w *Window) Cleanup(timeout time.Duration) (context.Context, context.CancelFunc) {
	if w.over.Err() != nil {
		at, _ := w.Deadline()
		left := max(time.Until(at)-exiting, atLeast)
		return context.WithTimeoutCause(context.Background(), min(timeout, afterAll, left), ErrOver)
	}
	limited, cancel := context.WithTimeout(context.Background(), timeout)
	ctx, done := until(w.over, limited)
	return ctx, func() {
		done()
		cancel()
	}
}

// Close stops taking signals and returns when nothing of the window runs any
// more. The phase stays what it was. Signals after it have their default
// effect again, so it belongs at the very end.
func (w *Window) Close() {
	w.closed.Do(func() { close(w.closing) })
	<-w.done
}

// until returns a child of parent that also ends with phase.
func until(phase, parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(phase, func() { cancel(context.Cause(phase)) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

// Package signals turns a cancellation into the time that it leaves.
//
// A cancelled workflow step gets SIGINT, SIGTERM 7.5 s later and SIGKILL 2.5 s
// after that. A [Window] spends those seconds in three phases:
//
//	Running   until the first SIGINT or SIGTERM, or the terminal's SIGHUP
//	Draining  nothing new starts; waits, polls and retries are dropped at once;
//	          calls in flight may finish
//	Sealed    what is still open is written down, then the locks are released
//
// Draining ends when [Window.Seal] says that no call is in flight, and after
// [DrainLimit] at the latest. Under GitHub Actions any further signal ends it
// too: that is the runner pressing on, and it must not cost the save. On a
// terminal a further signal is a person who will not wait: it closes
// [Window.SecondSignal], and what it means is the command's business. There the
// terminal itself can go, too: SIGHUP is a signal like the others, but that a
// second one is nobody's impatience: several are sent when a session ends.
//
// Work takes its context from the phase that it may not outlive:
// [Window.Interruptible] for what can be dropped without loss, [Window.Context]
// for calls whose answer matters, [Window.Cleanup] for saves and releases,
// which no signal ends.
//
// The package knows neither AWS nor GitHub's API, and never exits.
package signals

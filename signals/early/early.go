// Package early takes the signals that come before main does.
//
// Go initializes some three hundred packages before main, those of the AWS
// services among them. A signal in that time would end the process with Go's own
// code, 2, that here means a partial outcome. Packages are initialized in the order
// of their paths as soon as what they import is: this one needs little and comes
// before all that need net/http.
//
// Only the program imports it. In any other process nobody would take the signals
// that it keeps.
package early

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals are those that have come and that nobody took yet. There is room for the
// ladder of the runner and a few Ctrl-C: what does not fit is dropped.
var Signals = make(chan os.Signal, 8)

func init() { signal.Notify(Signals, syscall.SIGINT, syscall.SIGTERM) }

package engine

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever a command starts has ended when it returns. What the emulator began
// with its packages goes on, and so does, for a second, the clock by which patterns of
// parameters are bounded.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
}

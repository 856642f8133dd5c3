package engine

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever a command starts has ended when it returns. What the emulator began
// with its packages goes on.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

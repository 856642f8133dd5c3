package report

import (
	"testing"

	"github.com/org/cdkd-action/engine/result"
)

// The title counts the stacks that others hold, and not all of the run's (S-103).
func TestTitleOfLockedStacks(t *testing.T) {
	held, done := result.Stack{Name: "Held", Outcome: result.Locked}, result.Stack{Name: "Done", Outcome: result.Success}
	for _, tt := range []struct {
		stacks []*result.Stack
		want   string
	}{
		{[]*result.Stack{&held}, "Held is locked by another run"},
		{[]*result.Stack{&done, &held}, "Held is locked by another run"},
		{[]*result.Stack{&held, &done, &held}, "2 of 3 stacks are locked by another run"},
	} {
		if got := Title(&result.Run{Command: "deploy", Outcome: result.Locked, Stacks: tt.stacks}); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

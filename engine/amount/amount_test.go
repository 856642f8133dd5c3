package amount_test

import (
	"testing"

	"github.com/org/cdkd-action/engine/amount"
)

func TestOneIsSingular(t *testing.T) {
	for n, want := range []string{"0 stacks are", "1 stack is", "2 stacks are"} {
		if got := amount.Of(n, "stack") + " " + amount.Form(n, "is", "are"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

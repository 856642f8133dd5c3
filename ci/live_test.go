package ci

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/cdkd-action/ci/progress"
)

// A stuck terminal does not read at all.
type stuck struct{ io.Writer }

func (stuck) Size() (width, height int) { return 80, 24 }
func (stuck) Foreground() bool          { return true }

// A person who stops the terminal (Ctrl-S) stops neither the deploy nor its
// end after a signal (S-189).
func TestTableNeverWaitsForATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		hurry := make(chan struct{})
		o := newOutlet(hurry, outletBytes)
		terminal := stuck{write}
		table := progress.New(func(text string) string { return text }, o.wake)
		screen := progress.NewScreen(table, terminal, terminal)
		o.show(screen, nil)

		start := time.Now()
		k := progress.Key{Stack: "Shop", LogicalID: "Queue"}
		for range 1000 {
			table.Begin(k, "AWS::SQS::Queue", "create", time.Now())
			table.Note(k, "waiting")
			synctest.Wait() // it is drawn, or is at it
			table.End(k, false)
			o.stream(terminal).Write([]byte("done\n"))
		}
		screen.Hold()(true)
		if took := time.Since(start); took != 0 {
			t.Errorf("what is under way was held up for %s", took)
		}
		close(hurry)
		o.close()
		if took := time.Since(start); took != lastWait {
			t.Errorf("the end came after %s, want %s", took, lastWait)
		}
		read.Close()
		<-o.ended
	})
}

func TestCellsAreMaskedAndDoNotSteerTheTerminal(t *testing.T) {
	s := New(nil, io.Discard, io.Discard)
	s.Mask("hunter2-correct-horse")
	got := s.cell("a\x1b[2J\r\nb\u202e\u009b1m hunter2-correct-horse")
	if want := "a[2J b1m ***"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// All that a table has to show and all that is printed goes through one hand.
func TestOutletTakesTheTableAwayAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		o := newOutlet(make(chan struct{}), outletBytes)
		terminal := stuck{&got}
		table := progress.New(func(text string) string { return text }, o.wake)
		o.show(progress.NewScreen(table, terminal, terminal), nil)
		table.Begin(progress.Key{Stack: "Shop", LogicalID: "Queue"}, "AWS::SQS::Queue", "create", time.Now())
		time.Sleep(2500 * time.Millisecond) // the bubble's time
		o.stream(terminal).Write([]byte("the end\n"))
		o.close()
		if n := strings.Count(got.String(), "AWS::SQS::Queue"); n < 3 || n > 4 {
			t.Errorf("in two and a half seconds it was drawn %d times:\n%q", n, got.String())
		}
		if !strings.HasSuffix(got.String(), "\r\x1b[2A\x1b[J") && !strings.HasSuffix(got.String(), "\x1b[Jthe end\n") {
			t.Errorf("the table stays behind:\n%q", got.String())
		}
	})
}

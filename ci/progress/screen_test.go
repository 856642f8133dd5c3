package progress

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hinshun/vt10x"
)

// A fake is a terminal of which the tests see what a person would.
type fake struct {
	vt         vt10x.Terminal
	background bool
	writes     int
}

func newFake(width, height int) *fake { return &fake{vt: vt10x.New(vt10x.WithSize(width, height))} }

func (f *fake) Write(p []byte) (int, error) {
	f.writes++
	// A terminal's driver returns the carriage.
	_, err := f.vt.Write([]byte(strings.ReplaceAll(string(p), "\n", "\r\n")))
	return len(p), err
}

func (f *fake) Size() (width, height int) { return f.vt.Size() }
func (f *fake) Foreground() bool          { return !f.background }

// sees wants the lines on the terminal and nothing else.
func (f *fake) sees(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(f.vt.String()) {
		got = append(got, strings.TrimRight(line, " \n"))
	}
	for len(got) > 0 && got[len(got)-1] == "" {
		got = got[:len(got)-1]
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("on the terminal (-want +got):\n%s", diff)
	}
	if !f.vt.CursorVisible() {
		t.Error("the cursor is hidden")
	}
}

// screen is the screen of a fake terminal in a bubble, whose time is the tests'.
func screen(t *testing.T, width, height int, do func(t *testing.T, s *Screen, f *fake)) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(width, height)
		do(t, NewScreen(table(), f, f), f)
	})
}

const counts = " done · 1 under way · 0 waiting · "

func queue(s *Screen) { s.table.Begin(shop("Queue"), "AWS::SQS::Queue", "create", time.Now()) }

func TestTextScrollsAboveTheTable(t *testing.T) {
	screen(t, 60, 6, func(t *testing.T, s *Screen, f *fake) {
		say := func(text string) { s.Above(f, []byte(text)); s.Draw() }
		say("one\n")
		f.sees(t, "one")
		queue(s)
		s.Draw()
		f.sees(t, "one", "  Shop  Queue  AWS::SQS::Queue  create  0s", "  0"+counts+"0s")
		say("two\nthree\n")
		say("four\n")
		f.sees(t, "two", "three", "four", "  Shop  Queue  AWS::SQS::Queue  create  0s", "  0"+counts+"0s")
		s.table.End(shop("Queue"), false)
		say("five\n")
		f.sees(t, "two", "three", "four", "five")
	})
}

func TestTableIsDrawnAtAModestRate(t *testing.T) {
	screen(t, 60, 6, func(t *testing.T, s *Screen, f *fake) {
		if again := s.Draw(); again != 0 || f.writes != 0 {
			t.Errorf("an empty table wants to be drawn in %s, and was %d times", again, f.writes)
		}
		queue(s)
		if again := s.Draw(); again != tick || f.writes != 1 {
			t.Errorf("want a drawing now and one in a second; got %d, and one in %s", f.writes, again)
		}
		for range 50 { // much happens at once
			s.table.Note(shop("Queue"), "busy")
			if again := s.Draw(); again != interval {
				t.Fatalf("the next drawing is in %s", again)
			}
		}
		if f.writes != 1 {
			t.Errorf("%d drawings at one moment", f.writes)
		}
		time.Sleep(interval)
		s.Draw()
		f.sees(t, "  Shop  Queue  AWS::SQS::Queue  create  0s  busy", "  0"+counts+"0s")
		before := f.writes
		time.Sleep(tick - time.Millisecond)
		if s.Draw(); f.writes != before {
			t.Error("drawn although nothing changed, and no second has passed")
		}
		time.Sleep(time.Millisecond)
		s.Draw()
		f.sees(t, "  Shop  Queue  AWS::SQS::Queue  create  1s  busy", "  0"+counts+"1s")
	})
}

func TestTableTakesInANewSize(t *testing.T) {
	screen(t, 80, 10, func(t *testing.T, s *Screen, f *fake) {
		s.Above(f, []byte("text\n"))
		for _, id := range []string{"One", "Two", "Three"} {
			s.table.Begin(shop(id), "AWS::SQS::Queue", "create", time.Now())
		}
		s.Draw()
		f.vt.Resize(30, 10)
		if again := s.Draw(); again != interval {
			t.Errorf("drawn again in %s", again)
		}
		time.Sleep(interval)
		s.Draw()
		f.sees(t, "text", "  Shop  One    create  0s", "  Shop  Two    create  0s", "  Shop  Three  create  0s", "  0 done · 3 under way · 0 w…")
		f.vt.Resize(30, 4)
		time.Sleep(interval)
		s.Draw()
		if got := strings.TrimSpace(f.vt.String()); !strings.Contains(got, "and 2 more") || !strings.HasSuffix(got, "0 w…") {
			t.Errorf("on a low terminal:\n%s", got)
		}
		if s.table.Shows(shop("Three")) || !s.table.Shows(shop("One")) {
			t.Error("what is cut off counts as seen, or what is there does not")
		}
	})
}

func TestQuestionsAreNotDrawnOver(t *testing.T) {
	screen(t, 60, 8, func(t *testing.T, s *Screen, f *fake) {
		queue(s)
		s.Draw()
		release := s.Hold()
		s.Above(f, []byte("Delete? [y/N] "))
		s.Draw()
		f.sees(t, "Delete? [y/N]")
		if s.table.Shows(shop("Queue")) {
			t.Error("a table that is away counts as seen")
		}
		f.Write([]byte("y\n")) // the echo
		release(true)
		time.Sleep(interval)
		s.Draw()
		f.sees(t, "Delete? [y/N] y", "  Shop  Queue  AWS::SQS::Queue  create  0s", "  0"+counts+"0s")

		release = s.Hold()
		s.Above(f, []byte("Delete? [y/N] "))
		f.Write([]byte("^C"))
		release(false)
		s.Draw()
		f.sees(t, "Delete? [y/N] y", "Delete? [y/N] ^C")
		s.Above(f, []byte("interrupted\n"))
		s.Draw()
		f.sees(t, "Delete? [y/N] y", "Delete? [y/N] ^Cinterrupted", "  Shop  Queue  AWS::SQS::Queue  create  0s", "  0"+counts+"0s")
	})
}

// In the background the cursor is the shell's, and what it wrote stays.
func TestTheShellIsNotDrawnOver(t *testing.T) {
	screen(t, 60, 8, func(t *testing.T, s *Screen, f *fake) {
		queue(s)
		s.Draw()
		old := []string{"  Shop  Queue  AWS::SQS::Queue  create  0s", "  0" + counts + "0s"}
		f.background = true // Ctrl-Z, and bg
		f.Write([]byte("$ bg\n"))
		s.Above(f, []byte("text\n"))
		time.Sleep(tick)
		s.Draw()
		f.sees(t, append(old, "$ bg", "text")...)
		if s.table.Shows(shop("Queue")) {
			t.Error("a table that is away counts as seen")
		}
		f.background = false // fg
		s.Forget()
		s.Draw()
		f.sees(t, append(old, "$ bg", "text", "  Shop  Queue  AWS::SQS::Queue  create  1s", "  0"+counts+"1s")...)
		f.Write([]byte("$ fg\n")) // stopped and back before anybody looked
		s.Forget()
		s.Clear()
		f.sees(t, append(old, "$ bg", "text", "  Shop  Queue  AWS::SQS::Queue  create  1s", "  0"+counts+"1s", "$ fg")...)
	})
}

func TestOtherStreamsHaveNoTable(t *testing.T) {
	screen(t, 60, 8, func(t *testing.T, s *Screen, f *fake) {
		queue(s)
		s.Draw()
		var file strings.Builder
		s.Above(io.Writer(&file), []byte("a result"))
		if file.String() != "a result" {
			t.Errorf("in the file: %q", file.String())
		}
		f.sees(t, "  Shop  Queue  AWS::SQS::Queue  create  0s", "  0"+counts+"0s")
		s.Clear()
		f.sees(t)
	})
}

package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// The table is drawn at once where text has taken it away, not more often than
// every interval when something changed, and every second for the times in it.
const (
	interval = 100 * time.Millisecond
	tick     = time.Second
)

// A Terminal is where a table can be shown.
type Terminal interface {
	io.Writer
	// Size is how many columns and lines it has.
	Size() (width, height int)
	// Foreground tells whether it is this program's now: in the background a
	// shell has the cursor.
	Foreground() bool
}

// A Screen is a terminal with a table below the text. All methods but Hold
// belong to the goroutine that writes to the terminal.
type Screen struct {
	table    *Table
	terminal Terminal
	streams  []io.Writer

	lines []string // on the terminal; the cursor is below them
	drawn time.Time
	last  state
	taken bool // text took the table away
	open  bool // the last text did not end its line

	held  atomic.Int32
	ended atomic.Bool // somebody else ended the line
}

// A state is what a drawing depends on, but for the time.
type state struct{ version, width, height int }

// NewScreen returns a terminal's screen. The streams are those whose text is
// seen there.
func NewScreen(table *Table, terminal Terminal, streams ...io.Writer) *Screen {
	return &Screen{table: table, terminal: terminal, streams: streams}
}

// Hold keeps the table away, for a question and the answer that is typed to it.
// Whether the answer ended the line is said when the table may come back.
func (s *Screen) Hold() (release func(answered bool)) {
	s.held.Add(1)
	return func(answered bool) {
		if answered {
			s.ended.Store(true)
		}
		s.held.Add(-1)
		s.table.change(func() {})
	}
}

// Above writes text to a stream, above the table where both are seen on the
// terminal. Draw puts the table back.
func (s *Screen) Above(to io.Writer, text []byte) {
	if len(text) > 0 && slices.Contains(s.streams, to) {
		s.open = text[len(text)-1] != '\n'
		s.taken = s.taken || len(s.lines) > 0
		text = append([]byte(s.erasure()), text...)
	}
	_, _ = to.Write(text) // a reader that is gone is no reason to stop
}

// Clear takes the table away.
func (s *Screen) Clear() {
	s.table.see(nil)
	if gone := s.erasure(); gone != "" {
		s.drawn = time.Now()
		_, _ = io.WriteString(s.terminal, gone)
	}
}

// Forget leaves the table where it is: something else was written below it.
func (s *Screen) Forget() { s.lines = nil }

// Draw brings the table up to date. It returns after what time it wants to be
// called again, 0 for when something has changed.
func (s *Screen) Draw() (again time.Duration) {
	if s.ended.Swap(false) {
		s.open = false
	}
	now := time.Now()
	width, height := s.terminal.Size()
	f := s.table.frame(width, height, now)
	if len(f.lines) == 0 {
		s.Clear()
		return 0
	}
	if s.held.Load() > 0 || s.open || !s.terminal.Foreground() {
		s.Clear()
		return tick
	}
	next := tick
	current := state{f.version, width, height}
	if current != s.last {
		next = interval
	}
	if since := now.Sub(s.drawn); since < next && !s.taken {
		return next - since
	}
	if !slices.Equal(f.lines, s.lines) {
		_, _ = io.WriteString(s.terminal, s.top()+strings.Join(f.lines, restOfLine+"\n")+restOfLine+"\n"+below)
	}
	s.lines, s.drawn, s.last, s.taken = f.lines, now, current, false
	s.table.see(f.shown)
	return tick
}

// What follows is understood by everything that calls itself a terminal
// (ECMA-48); TERM says where it is not.
const (
	restOfLine = "\x1b[K"
	below      = "\x1b[J"
)

// top moves to the table's first line. A terminal that became narrower may have
// wrapped the table's lines, which then leave something behind: further up
// stands text, which must not be lost where they were not wrapped.
func (s *Screen) top() string {
	if len(s.lines) == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA", len(s.lines))
}

// erasure takes the table away, unless it is out of reach.
func (s *Screen) erasure() string {
	defer s.Forget()
	if len(s.lines) == 0 || !s.terminal.Foreground() {
		return ""
	}
	return s.top() + below
}

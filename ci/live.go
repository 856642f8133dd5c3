package ci

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"

	"github.com/org/cdkd-action/ci/progress"
	"github.com/org/cdkd-action/ci/report"
)

// A live is the table of what is under way, on the terminal that the log goes
// to.
type live struct {
	table  *progress.Table
	screen *progress.Screen
	tty    progress.TTY
	stop   func()
}

// newLive returns nil where the log is not followed on a terminal, or on one
// that cannot draw.
func newLive(s *Surface) *live {
	if kind := s.Getenv("TERM"); s.InStep() || kind == "" || kind == "dumb" || !isatty.IsTerminal(os.Stderr.Fd()) {
		return nil
	}
	streams := []io.Writer{os.Stderr}
	if isatty.IsTerminal(os.Stdout.Fd()) {
		streams = append(streams, os.Stdout)
	}
	l := &live{tty: progress.TTY{File: os.Stderr}, stop: func() {}}
	l.table = progress.New(s.cell, s.outlet.wake)
	l.screen = progress.NewScreen(l.table, l.tty, streams...)
	return l
}

// cell makes text fit for the table. The masks have a lock of their own: that of
// the surface may be waiting for the terminal.
func (s *Surface) cell(text string) string { return report.Line(s.masks.Mask(text)) }

// Live shows a table of what is under way below the log from now on, and returns
// it; nil where the log is not followed on a terminal.
func (s *Surface) Live() *progress.Table {
	if s.live == nil {
		return nil
	}
	around, stop := s.live.tty.Follow()
	s.live.stop = stop
	s.outlet.show(s.live.screen, around)
	return s.live.table
}

// hold keeps the table away while somebody is asked.
func (l *live) hold() (release func(answered bool)) {
	if l == nil {
		return func(bool) {}
	}
	return l.screen.Hold()
}

func (l *live) close() {
	if l != nil {
		l.stop()
	}
}

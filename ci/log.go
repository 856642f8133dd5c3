package ci

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/org/cdkd-action/ci/report"
)

// Log returns a writer for the log. Lines reach it whole, without what is
// masked, and none of them is taken for a workflow command. It is closed when
// nothing more is to come, which writes an unfinished last line.
func (s *Surface) Log() io.WriteCloser {
	return &logWriter{lineWriter{write: func(line string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log(s.scrub(line))
	}}}
}

type logWriter struct{ lineWriter }

func (l *logWriter) Close() error {
	l.finish()
	return nil
}

// Print writes a result for whoever asked: on a terminal it is standard
// output, apart from the log. In a step its lines are no workflow commands.
func (s *Surface) Print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" {
		return
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if s.step {
		stopped := s.resume != ""
		s.stop()
		defer func() {
			if !stopped {
				s.restart()
			}
		}()
	}
	fmt.Fprint(s.out, s.legible(text))
}

// log writes lines that are not commands, whatever is in them.
func (s *Surface) log(text string) {
	if s.step && s.resume == "" {
		text = disarm(text)
	}
	fmt.Fprint(s.err, report.Plain(text))
}

// disarm changes what the runner would take for a command: "::" at the start
// of a line, and "##[" anywhere.
func disarm(text string) string {
	var b strings.Builder
	for _, line := range splitLines(text) {
		body := strings.TrimLeftFunc(line, unicode.IsSpace)
		b.WriteString(line[:len(line)-len(body)])
		if strings.HasPrefix(body, "::") {
			body = ": :" + body[2:]
		}
		b.WriteString(strings.ReplaceAll(body, "##[", "## ["))
		b.WriteByte('\n')
	}
	return b.String()
}

// splitLines splits as the runner does: a carriage return alone ends a line
// too.
func splitLines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// longestLine is how much is kept of a line that does not end.
const longestLine = 1 << 20

// A lineWriter passes on whole lines.
type lineWriter struct {
	write func(line string) // with its line end

	mu     sync.Mutex
	rest   []byte
	closed bool
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, io.ErrClosedPipe
	}
	l.rest = append(l.rest, p...)
	if i := bytes.LastIndexByte(l.rest, '\n'); i >= 0 {
		l.write(string(l.rest[:i+1]))
		l.rest = append(l.rest[:0], l.rest[i+1:]...)
	}
	if len(l.rest) > longestLine {
		l.write(string(l.rest) + "\n")
		l.rest = l.rest[:0]
	}
	return len(p), nil
}

// finish writes what has no line end yet. It tells whether this was the first
// call.
func (l *lineWriter) finish() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	if len(l.rest) > 0 {
		l.write(string(l.rest) + "\n")
		l.rest = nil
	}
	return true
}

package ci

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"

	"github.com/org/cdkd-action/ci/report"
)

// A Level is how serious an annotation is.
type Level string

// The levels, by the names of the workflow commands.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelNotice  Level = "notice"
)

// What the runner takes of one step; it drops the rest without a word.
const (
	maxAnnotations     = 10   // of each level
	maxAnnotationUnits = 4096 // UTF-16 units of one message
)

// An Annotation is a message that GitHub shows on the run's page and, with a
// file, beside the line.
type Annotation struct {
	Title   string
	Message string
	// File is a file of the repository: by its path in there, or as the machine
	// that ran the app names it; "" for none. It is left out when it is not there.
	File string
	Line int // from 1; 0 for none
	// Page is where more is said about it, "" for nowhere.
	Page string
}

// Error annotates the run with an error. What exceeds the runner's limits still
// stands in the log; on a terminal the log is all there is.
func (s *Surface) Error(a Annotation) { s.annotate(LevelError, a) }

// Warning is like [Surface.Error] for a warning.
func (s *Surface) Warning(a Annotation) { s.annotate(LevelWarning, a) }

// Notice is like [Surface.Error] for a notice.
func (s *Surface) Notice(a Annotation) { s.annotate(LevelNotice, a) }

func (s *Surface) annotate(level Level, a Annotation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.Title, a.Message = report.Clean(s.scrub(a.Title)), report.Clean(s.scrub(a.Message))
	see := ""
	if a.Page != "" {
		see = "\nsee " + a.Page
	}
	s.written[level]++
	if !s.step || s.written[level] > maxAnnotations {
		text := a.Message + see
		if a.Title != "" {
			text = a.Title + ": " + text
		}
		s.log(string(level) + ": " + text + "\n")
		return
	}
	props := githubactions.CommandProperties{}
	if a.Title != "" {
		props["title"] = a.Title
	}
	if file := s.inWorkspace(a.File); file != "" {
		props["file"] = file
		if a.Line > 0 {
			props["line"] = strconv.Itoa(a.Line)
		}
	}
	s.command(string(level), firstUnits(a.Message, maxAnnotationUnits-units(see))+see, props)
}

// inWorkspace returns the path that a file has in the repository, "" for one that
// is not there. The job that ran the app may have had its workspace elsewhere: a
// container sees it at /github/workspace, a runner at …/repository/repository.
func (s *Surface) inWorkspace(file string) string {
	if filepath.IsLocal(file) {
		return filepath.ToSlash(filepath.Clean(file))
	}
	workspace := s.Getenv("GITHUB_WORKSPACE")
	if workspace == "" || file == "" {
		return ""
	}
	_, name, _ := strings.Cut(s.Getenv("GITHUB_REPOSITORY"), "/")
	for _, folder := range []string{workspace, "/github/workspace", "/" + name + "/" + name} {
		_, path, found := strings.Cut(file, folder+"/")
		if !found || !filepath.IsLocal(path) {
			continue
		}
		if info, err := os.Stat(filepath.Join(workspace, path)); err == nil && info.Mode().IsRegular() {
			return filepath.Clean(path)
		}
	}
	return ""
}

// Mask keeps the value out of the log, the annotations and the summary from
// now on, here and in the runner. A value of several lines is masked line by
// line too.
func (s *Surface) Mask(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mask(value)
}

func (s *Surface) mask(value string) {
	parts := []string{value}
	if strings.ContainsAny(value, "\r\n") {
		parts = append(parts, splitLines(value)...)
	}
	for _, v := range parts {
		if strings.TrimSpace(v) != "" {
			s.masks.AddDerived(v)
		}
	}
}

// announceMask tells the runner of a value that is new. Each is told once. The
// runner would take a letter or a digit out of the whole log.
func (s *Surface) announceMask(value string) {
	if s.step && len(value) >= shortestMask {
		s.command("add-mask", value, nil)
	}
}

// Redact returns text without what is masked, for places that the runner does
// not watch, such as a comment.
func (s *Surface) Redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scrub(text)
}

// shortestMask is the length from which a value is masked wherever it stands.
const shortestMask = 4

// scrub replaces what is masked, however it is written there. A very short value
// is not looked for: replacing every "1" would only hide the text.
func (s *Surface) scrub(text string) string { return s.masks.Mask(text) }

// legible is scrub for what people read as it stands: nothing in it steers
// their terminal.
func (s *Surface) legible(text string) string { return report.Plain(s.scrub(text)) }

// Group puts what do logs under a heading that can be folded. Groups do not
// nest.
func (s *Surface) Group(title string, do func()) {
	s.mu.Lock()
	if s.step {
		s.command("group", s.legible(title), nil)
	} else {
		s.log(s.legible(title) + "\n")
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.step {
			s.command("endgroup", "", nil)
		}
	}()
	do()
}

// Child returns a writer for what a child process prints. Until it is closed,
// no line of it is taken for a workflow command. Our own commands still get
// through.
func (s *Surface) Child() io.WriteCloser {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child++
	if s.child == 1 {
		s.stop()
	}
	c := &child{s: s}
	c.write = c.show
	return c
}

// A child is a program that is not ours. What it asks the runner to mask is
// masked, although no other command of it is carried out, and what looks like a
// credential is hidden as it is in reports.
type child struct {
	lineWriter
	s     *Surface
	inKey bool // between the first and the last line of a private key
}

// shortestAsked is the length from which a child may have something masked: a
// word would be taken out of everything that we say.
const shortestAsked = 8

func (c *child) show(lines string) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if secret, ok := strings.CutPrefix(strings.TrimSpace(line), "::add-mask::"); ok {
			if secret = unescaped.Replace(secret); len(secret) >= shortestAsked {
				c.s.mask(secret)
			}
			continue
		}
		begins := strings.Contains(line, "-----BEGIN ") && strings.Contains(line, "PRIVATE KEY-----")
		if c.inKey && !begins {
			c.inKey = !strings.Contains(line, "-----END ")
			continue
		}
		c.inKey = begins && !strings.Contains(line, "-----END ")
		text, ended := strings.CutSuffix(c.s.scrub(line), "\n")
		b.WriteString(report.Discreet(text))
		if ended {
			b.WriteByte('\n')
		}
	}
	fmt.Fprint(c.s.err, b.String())
}

// unescaped undoes what the toolkit does to the value of a command.
var unescaped = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")

func (c *child) Close() error {
	if !c.lineWriter.finish() {
		return nil
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.child--
	if c.s.child == 0 {
		c.s.restart()
	}
	return nil
}

// command writes a workflow command, through a stop if there is one.
func (s *Surface) command(name, message string, props githubactions.CommandProperties) {
	stopped := s.resume != ""
	s.restart()
	cmd := githubactions.Command{Name: name, Message: message, Properties: props}
	fmt.Fprintln(s.out, cmd.String())
	if stopped {
		s.stop()
	}
}

// stop makes the runner ignore commands up to a token that nobody can guess.
// Each stop has a new one, since the one before has been in the log.
func (s *Surface) stop() {
	if !s.step || s.resume != "" {
		return
	}
	s.resume = s.token()
	fmt.Fprintf(s.out, "::stop-commands::%s\n", s.resume)
}

func (s *Surface) restart() {
	if s.resume == "" {
		return
	}
	fmt.Fprintf(s.out, "::%s::\n", s.resume)
	s.resume = ""
}

// firstUnits returns as much of text as fits n UTF-16 units, with a mark where
// it was cut.
func firstUnits(text string, n int) string {
	if units(text) <= n {
		return text
	}
	n-- // for the mark
	for i, r := range text {
		if n -= unitsOf(r); n < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

func units(text string) int {
	n := 0
	for _, r := range text {
		n += unitsOf(r)
	}
	return n
}

func unitsOf(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

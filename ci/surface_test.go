package ci

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A step is a surface with the runner's files, and tokens that tell their
// number.
type step struct {
	*Surface
	dir string
	out *bytes.Buffer
}

func newStep(t *testing.T) step {
	t.Helper()
	dir := t.TempDir()
	environ := []string{"GITHUB_ACTIONS=true"}
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		environ = append(environ, name+"="+path)
	}
	var out bytes.Buffer
	s := New(environ, &out, io.Discard)
	n := 0
	s.token = func() string { n++; return fmt.Sprintf("token%d", n) }
	return step{s, dir, &out}
}

func (s step) file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// readEntries reads a file command as the runner does.
func readEntries(t *testing.T, text string) map[string]string {
	t.Helper()
	got := map[string]string{}
	sc := bufio.NewScanner(strings.NewReader(text))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		name, delimiter, ok := strings.Cut(sc.Text(), "<<")
		if !ok {
			t.Fatalf("no entry: %q in\n%s", sc.Text(), text)
		}
		var lines []string
		for {
			if !sc.Scan() {
				t.Fatalf("entry %s does not end", name)
			}
			if sc.Text() == delimiter {
				break
			}
			lines = append(lines, sc.Text())
		}
		got[name] = strings.Join(lines, "\n")
	}
	return got
}

func TestOutputsAreData(t *testing.T) {
	s := newStep(t)
	want := map[string]string{
		"plain":   "x",
		"empty":   "",
		"lines":   "a\n\nb",
		"hostile": "x\n_GitHubActionsFileCommandDelimeter_\nrole-arn<<end_token1\nstolen\nend_token1\nend_token2\noutcome=success",
	}
	for _, name := range []string{"plain", "empty", "lines", "hostile"} {
		if err := s.SetOutput(name, want[name]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, readEntries(t, s.file(t, "GITHUB_OUTPUT"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := s.SaveState("lock", "a\nb"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"lock": "a\nb"}, readEntries(t, s.file(t, "GITHUB_STATE"))); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	for _, name := range []string{"", "a=b", "a\nb", "a<<b"} {
		if s.SetOutput(name, "x") == nil {
			t.Errorf("name %q was accepted", name)
		}
	}
}

func TestOutputsAreWrittenOnceAndWithinTheBudget(t *testing.T) {
	s := newStep(t)
	for range 3 {
		if err := s.SetOutput("a", "same"); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(s.file(t, "GITHUB_OUTPUT"), "a<<"); n != 1 {
		t.Errorf("the same value was written %d times", n)
	}
	big := strings.Repeat("x", maxOutputUnits/2)
	if err := s.SetOutput("big", big); err != nil {
		t.Fatal(err)
	}
	if err := s.SetOutput("big2", big); !errors.Is(err, ErrOutputBudget) {
		t.Errorf("want ErrOutputBudget, got %v", err)
	}
	if err := s.SetOutput("big", "replaced"); err != nil { // frees what the old value took
		t.Error(err)
	}
	if err := s.SetOutput("big2", big); err != nil {
		t.Error(err)
	}
}

func TestNothingFailsWithoutARunner(t *testing.T) {
	var out, log bytes.Buffer
	s := New(nil, &out, &log)
	s.Mask("secret-value")
	s.Warning(Annotation{Title: "Careful", Message: "x"})
	s.Group("Stack A", func() { s.Notice(Annotation{Message: "secret-value"}) })
	c := s.Child()
	fmt.Fprint(c, "::error::from a child")
	err := errors.Join(c.Close(), s.SetOutput("a", "b"), s.SaveState("a", "b"), s.SetSummary("x"))
	if err != nil {
		t.Error(err)
	}
	s.Print("result")
	if got, want := log.String(), "warning: Careful: x\nStack A\nnotice: ***\n::error::from a child\n"; got != want {
		t.Errorf("log: want %q, got %q", want, got)
	}
	if got := out.String(); got != "result\n" {
		t.Errorf("out: %q", got)
	}
	if s.InStep() || s.Interactive() {
		t.Error("a terminal without a person is neither a step nor interactive")
	}
}

func TestFilesThatCannotBeWrittenAreErrors(t *testing.T) {
	dir := t.TempDir()
	s := New([]string{"GITHUB_OUTPUT=" + dir, "GITHUB_STATE=" + dir, "GITHUB_STEP_SUMMARY=" + dir}, io.Discard, io.Discard)
	for what, err := range map[string]error{"output": s.SetOutput("a", "b"), "state": s.SaveState("a", "b"), "summary": s.SetSummary("x")} {
		if err == nil {
			t.Errorf("%s: want an error", what)
		}
	}
}

func TestSummaryIsReplacedAndStaysBelowTheLimit(t *testing.T) {
	s := newStep(t)
	s.Mask("secret-value")
	for _, text := range []string{"# plan " + strings.Repeat("long ", 100), "# result secret-value\n"} {
		if err := s.SetSummary(text); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.file(t, "GITHUB_STEP_SUMMARY"); got != "# result ***\n" {
		t.Errorf("got %q", got)
	}
	if err := s.SetSummary(strings.Repeat("0123456789\n", 200_000)); err != nil {
		t.Fatal(err)
	}
	got := s.file(t, "GITHUB_STEP_SUMMARY")
	if len(got) > 1<<20 || len(got) < 1<<20-100 || !strings.HasSuffix(got, "The rest is in the log.\n") {
		t.Errorf("%d bytes, ending in %q (G-1.5)", len(got), got[max(0, len(got)-100):])
	}
}

func TestAnnotations(t *testing.T) {
	s := newStep(t)
	s.Error(Annotation{Title: "a, b: c", Message: "100%\n::set-output name=x::y", File: "lib/shop.ts", Line: 7})
	want := "::error file=lib/shop.ts,line=7,title=a%2C b%3A c::100%25%0A::set-output name=x::y\n"
	if got := s.out.String(); got != want {
		t.Errorf("want %q, got %q", want, got)
	}

	s.out.Reset()
	s.Notice(Annotation{Message: strings.Repeat("😀", 3000)})
	text := strings.TrimSuffix(strings.TrimPrefix(s.out.String(), "::notice::"), "\n")
	if n := units(text); n > 4096 || n < 4090 || !strings.HasSuffix(text, "…") {
		t.Errorf("%d units (G-1.5)", n)
	}

	s.out.Reset()
	for i := range 12 {
		s.Warning(Annotation{Message: fmt.Sprintf("w%d", i)})
	}
	if n := strings.Count(s.out.String(), "::warning::"); n != 10 {
		t.Errorf("want 10 annotations, got %d (G-1.5)", n)
	}
	if !strings.HasSuffix(s.out.String(), "warning: w10\nwarning: w11\n") {
		t.Errorf("the rest must stand in the log:\n%s", s.out)
	}
}

func TestMasks(t *testing.T) {
	s := newStep(t)
	s.Mask("")
	s.Mask("line one\r\nline two\n\n")
	s.Mask("line one")
	want := "::add-mask::line one%0D%0Aline two%0A%0A\n::add-mask::line one\n::add-mask::line two\n"
	if got := s.out.String(); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	s.out.Reset()
	log := s.Log()
	fmt.Fprint(log, "a line tw") // a secret that comes in two writes
	fmt.Fprint(log, "o b\nrest line one")
	log.Close()
	if got := s.out.String(); got != "a *** b\nrest ***\n" {
		t.Errorf("got %q", got)
	}
}

func TestLogLinesAreNoCommands(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"an ordinary line", "deployed :: fine", "deployed :: fine\n"},
		{"a command", "::set-output name=outcome::success", ": :set-output name=outcome::success\n"},
		{"after blanks", " \t\u00a0::error::x", " \t\u00a0: :error::x\n"},
		{"the old form, anywhere", "x ##[error]y", "x ## [error]y\n"},
		{"on a second line", "x\n::error::y", "x\n: :error::y\n"},
		{"after a carriage return", "x\r::error::y", "x\n: :error::y\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStep(t)
			log := s.Log()
			fmt.Fprintln(log, tt.line)
			log.Close()
			if got := s.out.String(); got != tt.want {
				t.Errorf("want %q, got %q (G-0.7)", tt.want, got)
			}
		})
	}
}

func TestChildrenPrintBetweenStopCommands(t *testing.T) {
	s := newStep(t)
	a := s.Child()
	fmt.Fprint(a, "::set-output name=outcome::success\nunfin")
	s.Warning(Annotation{Message: "ours"})
	b := s.Child()
	fmt.Fprint(b, "::error::b\n")
	fmt.Fprint(a, "ished")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(b, "##[error]still stopped\n")
	for range 2 { // closing twice must not let the other's output through
		b.Close()
		a.Close()
	}
	s.Notice(Annotation{Message: "after"})
	want := `::stop-commands::token1
::set-output name=outcome::success
::token1::
::warning::ours
::stop-commands::token2
::error::b
unfinished
##[error]still stopped
::token2::
::notice::after
`
	if diff := cmp.Diff(want, s.out.String()); diff != "" {
		t.Errorf("(G-8.11) (-want +got):\n%s", diff)
	}
	if _, err := a.Write([]byte("late\n")); err == nil {
		t.Error("a write after Close was accepted")
	}
}

func TestPrintIsNoCommand(t *testing.T) {
	s := newStep(t)
	s.Print("::error::x ##[y]")
	if got, want := s.out.String(), "::stop-commands::token1\n::error::x ##[y]\n::token1::\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestGroupsEndAlsoAfterAPanic(t *testing.T) {
	s := newStep(t)
	func() {
		defer func() { _ = recover() }()
		s.Group("A\n::error::x", func() { panic("x") })
	}()
	if got, want := s.out.String(), "::group::A%0A::error::x\n::endgroup::\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestManyWritersNeverShareALine(t *testing.T) {
	s := newStep(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			log := s.Log()
			defer log.Close()
			child := s.Child()
			defer child.Close()
			for range 50 {
				fmt.Fprintf(log, "log of %d", i)
				fmt.Fprintf(log, " ends\n")
				fmt.Fprintf(child, "::child %d::\n", i)
				s.Warning(Annotation{Message: "w"})
				if err := s.SetOutput(fmt.Sprintf("o%d", i), "v"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	stopped := ""
	for line := range strings.Lines(s.out.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch token, isStop := strings.CutPrefix(line, "::stop-commands::"); {
		case isStop && stopped == "":
			stopped = "::" + token + "::"
		case line == stopped:
			stopped = ""
		case strings.HasPrefix(line, "::child"):
			if stopped == "" {
				t.Fatal("a child's line stands where commands are read")
			}
		case strings.HasPrefix(line, "::warning"):
			if stopped != "" {
				t.Fatal("a command of ours stands where none are read")
			}
		case strings.HasPrefix(line, "log of ") && strings.HasSuffix(line, " ends"), line == "warning: w":
		default:
			t.Fatalf("a torn line: %q", line)
		}
	}
	if stopped != "" {
		t.Error("commands stay stopped")
	}
}

// A child's secrets are hidden although its commands are stopped (G-8.11).
func TestChildrensSecretsAreHidden(t *testing.T) {
	s := newStep(t)
	c := s.Child()
	fmt.Fprintf(c, "::add-mask::made-by%%25the-app\r\nit is made-by%%the-app\n::add-mask::word\nword stays\n")
	fmt.Fprint(c, "key -----BEGIN EC PRIVATE KEY-----\nAAAABBBB\n")
	fmt.Fprint(c, "CCCCDDDD\n-----END EC PRIVATE KEY-----\nGIT_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ at 3f4ff3c0a91b2c3d4e5f60718293a4b5c6d7e8f9\n")
	c.Close()
	want := `::stop-commands::token1
::token1::
::add-mask::made-by%25the-app
::stop-commands::token2
it is ***
word stays
key (hidden)
GIT_TOKEN=(hidden) at 3f4ff3c0a91b2c3d4e5f60718293a4b5c6d7e8f9
::token2::
`
	if diff := cmp.Diff(want, s.out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The runner would take a short mask out of every word of the log.
func TestShortMasksAreNotAnnounced(t *testing.T) {
	s := newStep(t)
	s.Mask("a")
	s.Print("a banana")
	if got := s.out.String(); strings.Contains(got, "add-mask") || !strings.Contains(got, "a banana") {
		t.Error(got)
	}
}

// The credentials of the step are masked without being told to the runner, which
// has given them.
func TestCredentialsOfTheStepAreMasked(t *testing.T) {
	var out bytes.Buffer
	s := New([]string{"GITHUB_ACTIONS=true", "AWS_SESSION_TOKEN=FwoGZXIvYXdzEXAMPLE/", "ACTIONS_RUNTIME_TOKEN=runtime-token-of-the-job"}, &out, io.Discard)
	s.Notice(Annotation{Message: "FwoGZXIvYXdzEXAMPLE/ FwoGZXIvYXdzEXAMPLE%2F runtime-token-of-the-job"})
	if got, want := out.String(), "::notice::*** *** ***\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

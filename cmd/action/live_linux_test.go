package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"

	"github.com/org/cdkd-action/ci/progress"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/examples"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A terminal is where the program runs and somebody looks and types.
type terminal struct {
	t    *testing.T
	aws  *sandbox.Sandbox
	cmd  *exec.Cmd
	pty  *os.File
	name string        // of the side that the program has
	over chan struct{} // the terminal is closed

	mu   sync.Mutex
	vt   vt10x.Terminal
	raw  bytes.Buffer
	news chan struct{} // closes when there is something new
}

// watch starts a command on a terminal of 100 columns and 20 lines, with the
// creation of the table held.
func watch(t *testing.T, environ []string, args ...string) *terminal {
	t.Helper()
	aws, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(stateBucket, "us-east-1", "")
	aws.AddFault(sandbox.Fault{Service: "dynamodb", Action: "CreateTable", Hold: true})
	w := &terminal{t: t, aws: aws, over: make(chan struct{}), news: make(chan struct{}), vt: vt10x.New(vt10x.WithSize(100, 20))}
	w.cmd = exec.CommandContext(t.Context(), "cdkd-action", args...)
	w.cmd.Dir = t.TempDir()
	if err := os.CopyFS(w.cmd.Dir, examples.Shop); err != nil {
		t.Fatal(err)
	}
	w.cmd.Env = append(append(os.Environ(), aws.Env()...), append([]string{"CDKD_STATE_BUCKET=" + stateBucket, "TERM=xterm", "GITHUB_ACTIONS="}, environ...)...)
	var tty *os.File
	if w.pty, tty, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	w.name = tty.Name()
	w.size(100)
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = tty, tty, tty
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = w.cmd.Start()
	tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	go w.read()
	t.Cleanup(func() {
		w.pty.Close()
		<-w.over
	})
	return w
}

func (w *terminal) read() {
	defer close(w.over)
	buf := make([]byte, 1<<12)
	for {
		n, err := w.pty.Read(buf)
		w.mu.Lock()
		w.raw.Write(buf[:n])
		w.vt.Write(buf[:n])
		close(w.news)
		w.news = make(chan struct{})
		w.mu.Unlock()
		if err != nil {
			return // the program has ended
		}
	}
}

// screen is what is on the terminal, and tells when that is old.
func (w *terminal) screen() (text string, news <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for line := range strings.Lines(w.vt.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n", w.news
}

// sees waits until all of the patterns are on the terminal at once.
func (w *terminal) sees(patterns ...string) {
	w.t.Helper()
	limit := time.After(time.Minute)
	for {
		screen, news := w.screen()
		missing := ""
		for _, p := range patterns {
			if !regexp.MustCompile(p).MatchString(screen) {
				missing = p
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-news:
		case <-limit:
			w.t.Fatalf("%q does not appear on the terminal:\n%s", missing, screen)
		}
	}
}

func (w *terminal) size(columns uint16) {
	w.t.Helper()
	if err := pty.Setsize(w.pty, &pty.Winsize{Cols: columns, Rows: 20}); err != nil {
		w.t.Fatal(err)
	}
}

// flow stops what is written (unix.TCOOFF), as Ctrl-S does, or lets it go on.
func (w *terminal) flow(what int) {
	w.t.Helper()
	tty, err := os.OpenFile(w.name, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer tty.Close()
	if err := unix.IoctlSetInt(int(tty.Fd()), unix.TCXONC, what); err != nil {
		w.t.Fatal(err)
	}
}

func (w *terminal) types(text string) {
	w.t.Helper()
	if _, err := w.pty.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
}

// ends waits for the end, and wants a terminal on which only text is left.
func (w *terminal) ends(code int) string {
	w.t.Helper()
	if err := w.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		w.t.Fatal(err)
	}
	<-w.over
	screen, _ := w.screen()
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("exit %d, want %d:\n%s", got, code, screen)
	}
	if strings.Contains(screen, "under way ·") || strings.Contains(screen, "  ShopStorage  ") {
		w.t.Errorf("something of the table stays behind:\n%s", screen)
	}
	if c := w.vt.Cursor(); !w.vt.CursorVisible() || c.X != 0 {
		w.t.Errorf("the cursor is left in column %d, visible %t", c.X, w.vt.CursorVisible())
	}
	return screen
}

var deployStorage = []string{"deploy", "ShopStorage", "--app", "shop/cdk.out"}

const tableRow = "\n  ShopStorage  OrdersA9B65338  "

// A person sees what is done, and below it what is under way.
func TestDeployOnATerminal(t *testing.T) {
	w := watch(t, nil, deployStorage...)
	w.sees(`(.* create done in .*\n){3}  ShopStorage  OrdersA9B65338 +AWS::DynamoDB::Table +create +\d+s\n  3 done · 1 under way · 0 waiting · \d+s\n$`)
	w.size(50)
	w.sees("\n  ShopStorage  OrdersA9B65338 +create ")
	w.aws.RemoveFault("")
	screen := w.ends(0)
	for _, want := range []string{"OrdersA9B65338 (AWS::DynamoDB::Table) create done in", "Deployed ShopStorage: 4 created"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not on the terminal:\n%s", want, screen)
		}
	}
}

// Ctrl-C takes the table away, whether the person waits then or not (S-182).
func TestInterruptOnATerminal(t *testing.T) {
	t.Run("once", func(t *testing.T) {
		w := watch(t, nil, deployStorage...)
		w.sees(tableRow)
		w.types("\x03")
		w.sees("interrupted: nothing new is started", tableRow)
		w.aws.RemoveFault("")
		w.ends(0) // nothing more had to be started
	})
	t.Run("twice", func(t *testing.T) {
		w := watch(t, nil, deployStorage...)
		w.sees(tableRow)
		w.types("\x03")
		w.sees("interrupted: nothing new is started")
		w.types("\x03")
		w.ends(130)
	})
}

// A terminal that was stopped (Ctrl-S) holds neither the deploy up nor its end
// after a signal (S-189).
func TestTerminalThatDoesNotRead(t *testing.T) {
	released := func(w *terminal) {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		_, err := w.aws.Await(ctx, 1, func(r sandbox.Request) bool {
			return r.Action == "DeleteObject" && strings.HasSuffix(r.Resource, "lock.json") && r.State != sandbox.Open
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	t.Run("deployed all the same, and told when it reads again", func(t *testing.T) {
		w := watch(t, nil, deployStorage...)
		w.sees(tableRow)
		w.flow(unix.TCOOFF)
		w.aws.RemoveFault("")
		released(w)
		w.flow(unix.TCOON)
		w.ends(0)
	})
	t.Run("cancelled in time", func(t *testing.T) {
		w := watch(t, nil, deployStorage...)
		w.sees(tableRow)
		w.flow(unix.TCOOFF)
		if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		released(w)
		w.cmd.Wait() // what it came to is in ProcessState
		if got := w.cmd.ProcessState.ExitCode(); got != 130 {
			t.Errorf("exit %d, want 130", got)
		}
	})
}

// Where nobody can look at a table there is not a trace of it.
func TestNoTableWhereItIsNotWanted(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		args    []string
	}{
		{"it is not wanted", nil, append(deployStorage, "--progress", "plain")},
		{"JSON is", nil, append(deployStorage, "--json")},
		{"the terminal cannot draw", []string{"TERM=dumb"}, deployStorage},
		{"nobody knows the terminal", []string{"TERM="}, deployStorage},
		{"a workflow's runner reads", []string{"GITHUB_ACTIONS=true"}, deployStorage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := watch(t, tt.environ, tt.args...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := w.aws.Await(ctx, 1, func(r sandbox.Request) bool { return r.State == sandbox.Held }); err != nil {
				t.Fatal(err)
			}
			w.aws.RemoveFault("")
			w.ends(0)
			if bytes.ContainsRune(w.raw.Bytes(), '\x1b') {
				t.Errorf("the terminal is steered: %q", w.raw.String())
			}
		})
	}
}

// What the table shows is not said in the log as well.
func TestHeartbeatsAreForThoseWhoSeeNoTable(t *testing.T) {
	var log bytes.Buffer
	s := &step{log: newLog(&log, false)}
	ev := engine.Event{Stack: "Shop", Region: "us-east-1", LogicalID: "Orders", Type: "AWS::DynamoDB::Table", Action: plan.Create, Time: time.Now()}
	beat := func() string {
		log.Reset()
		waiting := ev
		waiting.Kind, waiting.Elapsed = engine.ResourceWaiting, 30*time.Second
		s.observe(waiting)
		waiting.Text = "Orders: waiting for table ACTIVE for 1m0s (CREATING)"
		s.observe(waiting)
		return log.String()
	}
	line := func(text string) string {
		return "Shop: Orders (AWS::DynamoDB::Table) " + text + "\n"
	}
	both := func(text string) bool {
		return strings.Contains(text, line("create goes on, 30s so far")) && strings.Contains(text, line("Orders: waiting for table ACTIVE for 1m0s (CREATING)"))
	}
	if got := beat(); !both(got) {
		t.Errorf("without a table: %q", got)
	}
	s.table = progress.New(func(text string) string { return text }, func() {})
	screen := progress.NewScreen(s.table, lastLine{&bytes.Buffer{}})
	started := ev
	started.Kind = engine.ResourceStarted
	s.observe(started)
	if got := beat(); !both(got) {
		t.Errorf("before the table is drawn: %q", got)
	}
	screen.Draw()
	if got := beat(); got != "" {
		t.Errorf("with a table that shows it: %q", got)
	}
	screen.Clear()
	if got := beat(); !both(got) {
		t.Errorf("when the table is away: %q", got)
	}
}

// A lastLine is a terminal of which nobody sees anything.
type lastLine struct{ *bytes.Buffer }

func (lastLine) Size() (width, height int) { return 80, 24 }
func (lastLine) Foreground() bool          { return true }

//go:build unix

package child_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/org/cdkd-action/engine/child"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sh(script string, arguments ...string) child.Command {
	return child.Command{Args: append([]string{"sh", "-c", script, "sh"}, arguments...), Env: []string{"PATH=" + os.Getenv("PATH")}}
}

// witness tells when no process holds its pipe any more. The command opens it
// by the name that is its first argument.
func witness(t *testing.T) (path string, gone <-chan struct{}) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "witness")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f, err := os.Open(path) // until somebody opens it to write
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		if _, err := io.Copy(io.Discard, f); err != nil {
			t.Error(err)
		}
	}()
	return path, done
}

// on calls do when a line with the text comes.
type on struct {
	text string
	do   func()
}

func (o on) Write(p []byte) (int, error) {
	if strings.Contains(string(p), o.text) {
		o.do()
	}
	return len(p), nil
}

func await(t *testing.T, what string, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not happen", what)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	c := sh(`echo out; echo err >&2; pwd; printf "$GIVEN"; cat`)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &errs
	c.Env = append(c.Env, "GIVEN=no end")
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("out\n"+real+"\nno end\n", out.String()); diff != "" {
		t.Error(diff)
	}
	if errs.String() != "err\n" {
		t.Errorf("stderr %q", errs.String())
	}

	c = sh("cat; echo $HOME")
	out.Reset()
	c.Stdin, c.Stdout = strings.NewReader("secret"), &out
	if err := c.Run(t.Context()); err != nil || out.String() != "secret\n" && out.String() != "secret\n\n" {
		t.Errorf("got %q, %v, want what it reads, and nothing of our environment", out.String(), err)
	}
}

func TestRunSaysHowAProgramFailed(t *testing.T) {
	var exit *child.ExitError
	c := sh("echo first >&2; echo why >&2; exit 3")
	if err := c.Run(t.Context()); !errors.As(err, &exit) || exit.Code != 3 || exit.Tail != "first\nwhy" {
		t.Errorf("got %v", err)
	}
	c = sh("kill -9 $$")
	if err := c.Run(t.Context()); !errors.As(err, &exit) || exit.Code != -1 || exit.Status != "signal: killed" {
		t.Errorf("got %v", err)
	}
	c = child.Command{Args: []string{"no-such-program"}, Env: []string{"PATH=/bin:/usr/bin"}}
	if err := c.Run(t.Context()); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("got %v", err)
	}
	c = sh("true")
	c.Dir = filepath.Join(t.TempDir(), "gone")
	if err := c.Run(t.Context()); err == nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
}

func TestAProgramIsFoundByTheEnvironmentThatItGets(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\nexit 7\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []child.Command{
		{Args: []string{"tool"}, Env: []string{"PATH=/nowhere", "PATH=" + dir}},
		{Args: []string{"tool"}, Env: []string{"PATH=."}, Dir: dir},
		{Args: []string{"./tool"}, Dir: dir},
	} {
		var exit *child.ExitError
		if err := c.Run(t.Context()); !errors.As(err, &exit) || exit.Code != 7 {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestAProgramThatPrintsWithoutEndFillsNoMemory(t *testing.T) {
	const size = 128 << 20
	for name, script := range map[string]string{
		"lines":         "yes 'a line of output' | head -c 134217728",
		"one long line": "head -c 134217728 /dev/zero | tr '\\0' a >&2",
	} {
		t.Run(name, func(t *testing.T) {
			var n count
			c := sh(script + "; echo; echo the end >&2; exit 1")
			c.Stdout, c.Stderr = &n, &n
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := c.Run(t.Context())
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > 4<<20 {
				t.Errorf("%d bytes were allocated", made)
			}
			if n.bytes < size {
				t.Errorf("%d bytes came through, want all %d", n.bytes, size)
			}
			var exit *child.ExitError
			if !errors.As(err, &exit) || len(exit.Tail) > 5000 || !strings.HasSuffix(exit.Tail, "the end") {
				t.Errorf("got %v", err)
			}
		})
	}
}

type count struct{ bytes int }

func (c *count) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}

func TestAnEndedContextInterruptsTheProgram(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	var out bytes.Buffer
	c := sh(`trap 'echo cleaned up; exit 1' INT; echo ready; while :; do sleep 0.05; done`)
	c.Grace = time.Minute
	c.Stdout = io.MultiWriter(&out, on{"ready", func() { cancel(why) }})
	if err := c.Run(ctx); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(out.String(), "cleaned up") {
		t.Errorf("it could not clean up: %q", out.String())
	}
	if err := c.Run(ctx); !errors.Is(err, why) {
		t.Errorf("with a context that ended: %v", err)
	}
}

func TestNothingIsLeftOfAProgram(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		cancel bool
		want   string
	}{
		"that ignores interrupts":    {`exec 3>"$1"; trap '' INT; echo ready; while :; do sleep 1000; done`, true, "context canceled"},
		"whose children do":          {`exec 3>"$1"; (trap '' INT; while :; do sleep 1000; done) & echo ready; wait`, true, "context canceled"},
		"whose child left the group": {`exec 3>"$1"; setsid sh -c 'trap "" INT; echo ready; while :; do sleep 1000; done' & wait`, true, "context canceled"},
		"whose children's child did": {`exec 3>"$1"; trap '' INT; (setsid sh -c 'sleep 1000 & echo ready; wait' & wait) & wait`, true, "context canceled"},
		"that leaves a child":        {`exec 3>"$1"; sleep 1000 & echo ready`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("setsid"); strings.Contains(test.script, "setsid") && (err != nil || runtime.GOOS != "linux") {
				t.Skip("needs setsid and /proc")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			path, gone := witness(t)
			c := sh(test.script, path)
			c.Grace = 100 * time.Millisecond
			c.Stdout = on{"ready", func() {
				if test.cancel {
					cancel()
				}
			}}
			got := ""
			if err := c.Run(ctx); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			await(t, "the end of all processes", gone)
		})
	}
}

func TestOutputThatLeavesTheGroupIsNotWaitedFor(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
	path, gone := witness(t)
	c := sh(`setsid sh -c 'exec 3>"$1"; echo $$ > "$1.pid"; exec sleep 1000' sh "$1" & while ! [ -s "$1.pid" ]; do sleep 0.01; done`, path)
	ran := make(chan error, 1)
	go func() { ran <- c.Run(t.Context()) }()
	select {
	case err := <-ran:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for a process that went away")
	}
	// It is the test's to end.
	text, err := os.ReadFile(path + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("kill", "-9", strings.TrimSpace(string(text))).Run(); err != nil {
		t.Error(err)
	}
	await(t, "its end", gone)
}

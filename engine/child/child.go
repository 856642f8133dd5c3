// Package child runs programs that are not ours: the app, the commands that
// make assets, the container builder.
//
// Every child is the head of a process group. When [Command.Run] returns, the
// group is gone: what a child left running in the background is killed, and a
// child whose context ended is interrupted, and killed when it does not go. On
// Linux that holds for its descendants in groups of their own, too, which a child
// that ends by itself may leave; and a child dies with us.
//
// What a child prints is passed on line by line as it comes. Of all of it only
// the end of its standard error is kept, for the error: a child can print more
// than memory holds.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/routine"
)

// DefaultGrace is how long an interrupted child has to end by itself. It is a
// part of the seconds that a cancelled workflow step has.
const DefaultGrace = 2 * time.Second

// stray is how long output is waited for whose writer left the process group.
const stray = time.Second

// A Command is a program to run.
type Command struct {
	Args []string // the program, looked up in the PATH of Env, and its arguments
	Dir  string   // "" is our own
	Env  []string // nothing of our environment is added

	// Stdin is what the program reads; nil is nothing.
	Stdin io.Reader
	// Stdout and Stderr take whole lines, never two at once; nil drops them. A
	// line longer than 64 KiB comes in pieces, of which the last ends it.
	Stdout, Stderr io.Writer
	// Grace is how long the program has after an interrupt; 0 is DefaultGrace.
	Grace time.Duration
}

// An ExitError says that a program ended with a failure of its own.
type ExitError struct {
	Program string
	Code    int    // -1 when a signal ended it
	Status  string // in words: "exit status 1", "signal: killed"
	Tail    string // the last lines of its standard error
}

func (e *ExitError) Error() string {
	text := e.Program + ": " + e.Status
	if e.Tail != "" {
		text += ":\n" + e.Tail
	}
	return text
}

// Run runs the program to its end. A program that fails gives an *ExitError, a
// context that ends the cause of that.
func (c *Command) Run(ctx context.Context) error {
	if len(c.Args) == 0 {
		return errors.New("run a program: none is named")
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.Dir != "" {
		// Otherwise it is the program that would be said to be missing.
		if _, err := os.Stat(c.Dir); err != nil {
			return fmt.Errorf("start %s: %w", c.Args[0], err)
		}
	}
	path, err := LookPath(c.Args[0], c.Dir, c.Env)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, c.Args[1:]...)
	cmd.Args[0] = c.Args[0]
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, c.Stdin
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would be all of ours
	}
	cmd.SysProcAttr = attributes()
	// A child need not read what it is given, nor close it.
	cmd.WaitDelay = stray

	var one sync.Mutex
	last := &tail{}
	out, err := listen(&cmd.Stdout, &one, c.Stdout)
	if err != nil {
		return err
	}
	errs, err := listen(&cmd.Stderr, &one, c.Stderr, last)
	if err != nil {
		out.close()
		return err
	}
	// On Linux a child that is to die with us dies with the thread that started
	// it, so that thread is kept until then.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	out.started()
	errs.started()
	if err != nil {
		out.close()
		errs.close()
		return fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	var copies routine.Group
	copies.Go(out.copy)
	copies.Go(errs.copy)

	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		c.watch(ctx, cmd.Process, ended)
	}()
	err = cmd.Wait()
	kill(cmd.Process) // what it left behind
	close(ended)
	<-watched
	deadline := time.Now().Add(stray)
	out.until(deadline)
	errs.until(deadline)
	copies.Wait()

	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ExitError{Program: c.Args[0], Code: exit.ExitCode(), Status: exit.Error(), Tail: last.String()}
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it ended well without reading all of its input
	}
	return err
}

// watch ends the child with the context.
func (c *Command) watch(ctx context.Context, p *os.Process, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	left := outside(p.Pid)
	defer func() {
		for _, l := range left {
			l.kill()
		}
	}()
	interrupt(p)
	for _, l := range left {
		l.interrupt()
	}
	grace := c.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		left = append(left, outside(p.Pid)...)
		kill(p)
	}
}

// A listener passes on what comes through one pipe.
type listener struct {
	read, write *os.File
	one         *sync.Mutex // of both pipes of a child
	to          []io.Writer
}

func listen(end *io.Writer, one *sync.Mutex, to ...io.Writer) (*listener, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	*end = write
	return &listener{read, write, one, to}, nil
}

func (l *listener) started()          { l.write.Close() }
func (l *listener) close()            { l.read.Close(); l.write.Close() }
func (l *listener) until(t time.Time) { _ = l.read.SetReadDeadline(t) }

func (l *listener) copy() {
	defer l.read.Close()
	buffer := make([]byte, 64<<10)
	n := 0 // bytes of an unfinished line
	for {
		got, err := l.read.Read(buffer[n:])
		n += got
		done := bytes.LastIndexByte(buffer[:n], '\n') + 1
		switch {
		case err != nil && n > done: // the last line has no end
			l.pass(append(bytes.Clone(buffer[:n]), '\n'))
		case done > 0:
			l.pass(buffer[:done])
			n = copy(buffer, buffer[done:n])
		case n == len(buffer):
			l.pass(buffer)
			n = 0
		}
		if err != nil {
			return
		}
	}
}

// pass writes to whoever still takes it. That nobody does must not block the
// child.
func (l *listener) pass(lines []byte) {
	l.one.Lock()
	defer l.one.Unlock()
	for i, w := range l.to {
		if w == nil {
			continue
		}
		if _, err := w.Write(lines); err != nil {
			l.to[i] = nil
		}
	}
}

// A tail keeps the end of what is written to it.
type tail struct{ last []byte }

const tailBytes = 4000

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p[max(0, len(p)-2*tailBytes):]...)
	if over := len(t.last) - 2*tailBytes; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(p), nil
}

// String is the end, from the beginning of a line where there is one.
func (t *tail) String() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.last), ""))
	if len(text) <= tailBytes {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-tailBytes:], "")
	if _, after, ok := strings.Cut(text, "\n"); ok {
		return "…\n" + after
	}
	// What is left of a secret that was cut would not be known for one.
	if i := strings.IndexAny(text, " \t\"',;&"); i >= 0 && i < tailBytes/2 {
		text = text[i+1:]
	}
	return "…\n" + text
}

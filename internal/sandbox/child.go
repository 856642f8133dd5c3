package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

// launch starts a child process, which ends with this one, and waits until it
// prints its address: the first group of the pattern.
func launch(ctx context.Context, cmd *exec.Cmd, pattern *regexp.Regexp) (address string, stop func(), err error) {
	// A child that reads its input sees it end when this process does.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	output, write, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = write, write, childAttributes()

	started, exited, found := make(chan error, 1), make(chan struct{}), make(chan string, 1)
	var last tail // read after exited
	go func() {
		defer close(exited)
		defer output.Close()
		// On Linux the kernel ends a child with the thread that started it, so
		// this goroutine keeps its thread as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		write.Close()
		started <- err
		if err != nil {
			return
		}
		for lines := bufio.NewScanner(output); lines.Scan(); {
			if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
				break
			}
			last.add(lines.Text())
		}
		io.Copy(io.Discard, output)
		cmd.Wait()
	}()
	if err := <-started; err != nil {
		return "", nil, err
	}
	stop = func() {
		stdin.Close()
		stopChild(cmd.Process)
		<-exited
	}
	select {
	case address = <-found:
		return address, stop, nil
	case <-exited:
		return "", nil, fmt.Errorf("it ended before it listened: %s", last.String())
	case <-ctx.Done():
		stop()
		return "", nil, ctx.Err()
	}
}

// A tail keeps the last lines of an output.
type tail []string

func (t *tail) add(line string) {
	*t = append(*t, line)
	if len(*t) > 10 {
		*t = (*t)[1:]
	}
}

func (t *tail) String() string { return strings.Join(*t, "\n") }

package main

import (
	"bufio"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A signal while Go initializes the packages, before main, counts like a later one (S-180).
func TestSignalBeforeMain(t *testing.T) {
	p := newSignalled(t, "GODEBUG=inittrace=1")
	trace, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	// The trace of all packages has no room: the process stays where it is when
	// nobody reads.
	if _, _, fault := syscall.Syscall(syscall.SYS_FCNTL, write.Fd(), syscall.F_SETPIPE_SZ, 4096); fault != 0 {
		t.Fatal(fault)
	}
	p.cmd.Stderr = write
	p.start()
	write.Close()
	lines := bufio.NewScanner(trace)
	for taken := false; !taken; {
		if !lines.Scan() {
			t.Fatalf("nothing takes the signals before main:\n%s", p.out.String())
		}
		if strings.HasPrefix(lines.Text(), "init main ") {
			t.Fatal("main comes before what takes the signals")
		}
		taken = strings.HasPrefix(lines.Text(), "init github.com/org/cdkd-action/signals/early ")
	}
	p.signal(syscall.SIGINT)
	for lines.Scan() {
	}
	p.wantExit(130)
	p.wantOutcome("cancelled")
	p.wantNoLock()
}

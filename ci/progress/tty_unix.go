//go:build unix

package progress

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Foreground tells whether what is typed goes to this program. Who cannot find
// out has no shell that would be in its way.
func (t TTY) Foreground() bool {
	group, err := unix.IoctlGetInt(int(t.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// Follow tells of changes around the terminal: its size, or that the program
// was stopped and goes on, and then stands below what the shell has written.
func (t TTY) Follow() (changes <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 4) // a size that was missed is seen at the next draw
	signal.Notify(c, syscall.SIGWINCH, syscall.SIGCONT)
	return c, func() { signal.Stop(c) }
}

// Stopped tells whether a change is the program's coming back.
func Stopped(change os.Signal) bool { return change == syscall.SIGCONT }

//go:build unix

package child

import (
	"os"
	"syscall"
)

// A group that is gone already is what is wanted, so errors say nothing here.
func interrupt(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGINT) }
func kill(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

package sandbox

import (
	"os"
	"syscall"
)

// childAttributes put a child into a process group of its own, and end it with
// this process even if that is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// stopChild ends a child and its own children.
func stopChild(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

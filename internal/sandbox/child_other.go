//go:build !linux

package sandbox

import (
	"os"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

func stopChild(p *os.Process) { p.Kill() }

//go:build !unix

package child

import (
	"os"
	"syscall"
)

// Where there are no process groups, the child alone is ended, and at once:
// there is no interrupt to send.
func attributes() *syscall.SysProcAttr { return nil }
func interrupt(p *os.Process)          { _ = p.Kill() }
func kill(p *os.Process)               { _ = p.Kill() }

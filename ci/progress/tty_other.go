//go:build !unix

package progress

import "os"

// Foreground is always true where there are no jobs.
func (t TTY) Foreground() bool { return true }

// Follow never tells anything here.
func (t TTY) Follow() (changes <-chan os.Signal, stop func()) { return nil, func() {} }

// Stopped is never true here.
func Stopped(os.Signal) bool { return false }

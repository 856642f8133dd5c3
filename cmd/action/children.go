package main

import (
	"io"
	"sync"

	"github.com/org/cdkd-action/ci"
)

// children takes what other programs print, container builds above all. Most
// runs have none, so the surface is told only when there is something.
type children struct {
	surface *ci.Surface

	mu   sync.Mutex
	open io.WriteCloser
}

func (c *children) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = c.surface.Child()
	}
	return c.open.Write(p)
}

func (c *children) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		return nil
	}
	open := c.open
	c.open = nil
	return open.Close()
}

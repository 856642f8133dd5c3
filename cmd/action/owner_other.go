//go:build !unix

package main

import "time"

// handOver has nothing to do where files have no such owner.
func handOver(string, time.Time) error { return nil }

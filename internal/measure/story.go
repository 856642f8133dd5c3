package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// The wide stack, before and after the change of 8 of its resources.
var (
	wide    = app{each: 8}
	changed = app{each: 8, changed: true}
)

const (
	latency   = 100 * time.Millisecond
	byDefault = "" // what the input concurrency is without a word
)

// A chapter is one run of the program on the wide stack.
type chapter struct {
	name        string
	command     string
	app         app
	concurrency string

	needs []need // what the result waits for; nil where nobody reviewed it
	limit string // what the figures may be, for the table
}

var (
	first = chapter{"first deploy", "deploy", wide, byDefault, firstDeploy(), "time ≤ 1.3 × needed, memory ≤ 120 MB, first request ≤ 150 ms"}
	same  = chapter{"deploy without a change", "deploy", wide, byDefault, nil, "requests ≤ 12, one after another ≤ 4"}
	eight = chapter{"update of 8 queues", "deploy", changed, byDefault, nil, ""}
	gone  = chapter{"destroy", "destroy", changed, byDefault, nil, ""}
	ten   = chapter{"first deploy, `concurrency: 10`", "deploy", wide, "10", firstDeploy(), ""}
)

// story runs the chapters one after the other, on one AWS.
func story(ctx context.Context, program string, chapters []chapter, tell func(chapter, sample)) error {
	dir, err := os.MkdirTemp("", "cdkd-action-measure-")
	if err != nil {
		return fmt.Errorf("make a folder to measure in: %w", err)
	}
	defer os.RemoveAll(dir)
	g, err := prepare(ctx, program, dir, latency)
	if err != nil {
		return err
	}
	defer g.close()
	for _, c := range chapters {
		s, err := g.play(ctx, c)
		if err != nil {
			return err
		}
		tell(c, s)
	}
	return nil
}

// play lays out the chapter's app and runs the program on it.
func (g *ground) play(ctx context.Context, c chapter) (sample, error) {
	dir, err := os.MkdirTemp(g.dir, "app-")
	if err != nil {
		return sample{}, err
	}
	if err := c.app.write(dir); err != nil {
		return sample{}, err
	}
	s, err := g.run(ctx, c.command, dir, c.concurrency)
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	return s, nil
}

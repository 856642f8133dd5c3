package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/org/cdkd-action/internal/sandbox"
)

// The wide stack, before and after the change of 8 of its resources.
var (
	wide    = app{each: 8}
	changed = app{each: 8, changed: true}
)

const latency = 100 * time.Millisecond

// A source is an app of one stack that can be laid out as a cloud assembly.
type source interface {
	write(dir string) error
	stack() string
	upstream() sandbox.Upstream // the emulator that has all of its types
}

// A chapter is one run of the program on an app.
type chapter struct {
	name        string
	command     string
	app         source
	concurrency string // "" is the default

	needs []need // what the result waits for; nil where nobody reviewed it
	limit string // what the figures may be, for the table

	fails bool // one of its updates of a queue does
}

var (
	first = chapter{name: "first deploy", command: "deploy", app: wide, needs: firstDeploy(), limit: "time ≤ 1.3 × needed, memory ≤ 120 MB, first request ≤ 150 ms"}
	same  = chapter{name: "deploy without a change", command: "deploy", app: wide, limit: "requests ≤ 10, one after another ≤ 3"}
	eight = chapter{name: "update of 8 queues", command: "deploy", app: changed}
	gone  = chapter{name: "destroy", command: "destroy", app: changed}
	ten   = chapter{name: "first deploy, `concurrency: 10`", command: "deploy", app: wide, concurrency: "10", needs: firstDeploy()}
)

// story runs the chapters one after the other, on one AWS.
func story(ctx context.Context, program string, chapters []chapter, tell func(chapter, sample)) error {
	dir, err := os.MkdirTemp("", "cdkd-action-measure-")
	if err != nil {
		return fmt.Errorf("make a folder to measure in: %w", err)
	}
	defer os.RemoveAll(dir)
	g, err := prepare(ctx, program, dir, latency, chapters[0].app.upstream())
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
	if c.fails {
		id := g.aws.AddFault(sandbox.Fault{Service: "sqs", Action: "SetQueueAttributes", Count: 1, Code: "InvalidAttributeValue", Message: "as measured"})
		defer g.aws.RemoveFault(id)
	}
	s, err := g.run(ctx, c, dir)
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	return s, nil
}

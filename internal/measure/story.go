package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/org/cdkd-action/internal/sandbox"
)

// The wide stack, before and after changes of some of its resources, and one of
// more resources than CloudFormation takes.
var (
	wide    = app{each: 8}
	changed = app{each: 8, changed: 8}
	again   = app{each: 8, changed: 7}
	large   = app{each: 84}
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
	limit string // what the figures are to be, for the table

	fails     bool // one of its updates of a queue does
	throttled bool // SQS takes fewer calls than the stack makes
	baselines bool // what drift is told by is read back, too
	// interrupt, when set, tells of which request's answer the process is sent a
	// signal. What is measured is what comes after that, until the lock is free.
	interrupt func(sandbox.Request) bool
}

var (
	first = chapter{name: "first deploy", command: "deploy", app: wide, needs: firstDeploy(), limit: "requests ≤ 110, one after another ≤ 8, time ≤ 1.1 × needed, first request ≤ 100 ms, processor ≤ 600 ms, memory ≤ 100 MB"}
	same  = chapter{name: "deploy without a change", command: "deploy", app: wide, limit: "requests ≤ 10, one after another ≤ 3"}
	eight = chapter{name: "update of 8 queues", command: "deploy", app: changed, limit: "requests ≤ 40, one after another ≤ 7"}
	one   = chapter{name: "update of one queue", command: "deploy", app: again}
	gone  = chapter{name: "destroy", command: "destroy", app: again, limit: "requests ≤ 75, one after another ≤ 7"}
	ten   = chapter{name: "first deploy, `concurrency: 10`", command: "deploy", app: wide, concurrency: "10", needs: firstDeploy()}

	observed = chapter{name: "first deploy, with what drift is told by", command: "deploy", app: wide, baselines: true}
	slowed   = chapter{name: "first deploy, SQS takes 5 calls a second", command: "deploy", app: wide, throttled: true}
	cancel   = chapter{name: "cancel of a deploy that waits for Cloud Control, from the signal to the free lock", command: "deploy", app: waiting{}, fails: true,
		interrupt: func(r sandbox.Request) bool { return r.Action == "GetResourceRequestStatus" }, limit: "time ≤ 500 ms"}
)

// stories are all that is measured. Those of one story come one after the other.
func stories() [][]chapter {
	all := [][]chapter{
		{first, same, eight, one, gone}, {ten}, {observed}, {slowed}, {cancel},
		{
			{name: "504 resources, first deploy", command: "deploy", app: large},
			{name: "504 resources, no change", command: "deploy", app: large},
			{name: "504 resources, destroy", command: "destroy", app: large},
		},
		{{name: "500 resources, plan", command: "diff", app: mesh{resources: 500}}},
		{{name: "5,000 resources, plan", command: "diff", app: mesh{resources: 5000}, limit: "time ≤ 1000 ms, memory ≤ 400 MB"}},
		{{name: "5,000 resources, plan of a change of 1,000", command: "diff", app: mesh{resources: 5000, recorded: true}, limit: "time ≤ 1000 ms, memory ≤ 400 MB"}},
	}
	for _, shape := range shapes {
		all = append(all, shape.chapters())
	}
	return all
}

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
	if source, ok := c.app.(interface {
		record(context.Context) (key string, body []byte, err error)
	}); ok {
		key, body, err := source.record(ctx)
		if err != nil {
			return sample{}, err
		}
		if body != nil {
			g.aws.S3.PutObject(bucket, key, body)
		}
	}
	if c.throttled {
		id := g.aws.AddFault(sandbox.Fault{Service: "sqs", Code: "ThrottlingException", Rate: 5, Burst: 5})
		defer g.aws.RemoveFault(id)
	}
	if c.fails && c.interrupt == nil {
		id := g.aws.AddFault(sandbox.Fault{Service: "sqs", Action: "SetQueueAttributes", Count: 1, Code: "InvalidAttributeValue", Message: "as measured"})
		defer g.aws.RemoveFault(id)
	}
	s, err := g.run(ctx, c, dir)
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	return s, nil
}

package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/routine"
)

// The kinds of event. Readers meet others and keep them.
const (
	RunStarted              = "RUN_STARTED"
	RunFinished             = "RUN_FINISHED"
	ResourceStarted         = "RESOURCE_STARTED"
	ResourceSucceeded       = "RESOURCE_SUCCEEDED"
	ResourceFailed          = "RESOURCE_FAILED"
	ResourceRetained        = "RESOURCE_RETAINED"
	ResourceSkipped         = "RESOURCE_SKIPPED"
	RollbackBegan           = "ROLLBACK_STARTED"
	RollbackFinished        = "ROLLBACK_FINISHED"
	RollbackResourceDone    = "ROLLBACK_RESOURCE_SUCCEEDED"
	RollbackResourceFailed  = "ROLLBACK_RESOURCE_FAILED"
	RollbackResourceSkipped = "ROLLBACK_RESOURCE_SKIPPED"
)

// The results of a run.
const (
	Succeeded = "SUCCEEDED"
	Failed    = "FAILED"
	Unknown   = "UNKNOWN" // it did not say how it ended
)

const (
	eventFlush     = 2 * time.Second
	eventGrace     = time.Second // that the end leaves to a write under way
	eventsBuffered = 50

	eventsSuffix   = ".jsonl"
	eventIndexName = "index.json"

	isoTime = "2006-01-02T15:04:05.000Z"
	runTime = "20060102T150405"
)

// NewRunID names a run; ids sort by the time of their start.
func NewRunID(start time.Time) string {
	start = start.UTC()
	return fmt.Sprintf("%s%03dZ-%s", start.Format(runTime), start.Nanosecond()/1e6, randomHex(4))
}

// An Event is a line of a run's history. It never holds properties.
type Event struct {
	Timestamp string `json:"timestamp"` // set by Emit when empty
	EventType string `json:"eventType"`
	StackName string `json:"stackName"` // a nested stack's own; set by Emit when empty

	// Of RunStarted.
	Command       string `json:"command,omitempty"`
	Region        string `json:"region,omitempty"`
	EngineVersion string `json:"cdkdVersion,omitempty"`

	// Of a resource.
	Operation     string `json:"operation,omitempty"` // OpCreate, OpUpdate or OpDelete
	LogicalID     string `json:"logicalId,omitempty"`
	ResourceType  string `json:"resourceType,omitempty"`
	ProvisionedBy string `json:"provisionedBy,omitempty"`
	PhysicalID    string `json:"physicalId,omitempty"`
	Reason        string `json:"reason,omitempty"`

	// Of RunFinished.
	Result string  `json:"result,omitempty"`
	Counts *Counts `json:"counts,omitempty"`

	DurationMS *int64      `json:"durationMs,omitempty"`
	Error      *EventError `json:"error,omitempty"`
}

// Counts are what a run did.
type Counts struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Deleted int `json:"deleted"`
	Failed  int `json:"failed,omitempty"`
	Skipped int `json:"skipped,omitempty"`
}

// An EventError is why something failed, with no secret in it.
type EventError struct {
	Name         string `json:"name"`
	Message      string `json:"message"`
	AWSErrorCode string `json:"awsErrorCode,omitempty"`
	RequestID    string `json:"requestId,omitempty"`
}

// RunOptions describe a run whose events are kept.
type RunOptions struct {
	ID      string    // from NewRunID
	Command string    // deploy, destroy or rollback
	Engine  string    // name/version
	Start   time.Time // zero: now

	// Index, when set, is what RunIndex returned, and Histories what Presence
	// found: the end of the run then writes without reading first.
	Index     *RunIndex
	Histories []string
}

// A Run writes the history of one command on a top-level stack. It is best
// effort: what cannot be written is warned about once and changes nothing.
//
// The whole history is written again each time: two seconds after an event, at
// once when fifty wait, and at the end.
type Run struct {
	stack *Stack
	opt   RunOptions
	ctx   context.Context // of the writes while the run goes on
	abort context.CancelFunc

	kick chan struct{}
	done chan struct{} // closed by Finish
	over chan struct{} // the writer is gone

	mu       sync.Mutex
	body     bytes.Buffer
	events   int
	unsaved  int
	warned   bool
	finished bool
}

// StartRun begins a run's history with RunStarted. Finish must be called.
func (k *Stack) StartRun(ctx context.Context, opt RunOptions) *Run {
	if opt.Start.IsZero() {
		opt.Start = time.Now()
	}
	ctx, abort := context.WithCancel(context.WithoutCancel(ctx))
	r := &Run{
		stack: k, opt: opt, ctx: ctx, abort: abort,
		kick: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{}),
	}
	go r.write()
	r.Emit(Event{EventType: RunStarted, Command: opt.Command, Region: k.Region, EngineVersion: opt.Engine})
	return r
}

// Emit adds an event. It does not wait.
func (r *Run) Emit(e Event) {
	if e.Timestamp == "" {
		e.Timestamp = time.Now().UTC().Format(isoTime)
	}
	if e.StackName == "" {
		e.StackName = r.stack.Name
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return
	}
	r.finished = e.EventType == RunFinished
	enc := json.NewEncoder(&r.body) // ends with a newline
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return // strings and numbers cannot fail
	}
	r.events++
	r.unsaved++
	if r.unsaved == 1 || r.unsaved == eventsBuffered {
		select {
		case r.kick <- struct{}{}:
		default:
		}
	}
}

// Finish ends the history and enters the run in the stack's index of runs.
func (r *Run) Finish(ctx context.Context, result string, counts *Counts, failure *EventError) {
	end := time.Now()
	ms := end.Sub(r.opt.Start).Milliseconds()
	r.mu.Lock()
	twice := r.finished
	r.mu.Unlock()
	if twice {
		return
	}
	r.Emit(Event{EventType: RunFinished, Result: result, Counts: counts, DurationMS: &ms, Error: failure})
	close(r.done)
	select {
	case <-r.over:
	case <-time.After(eventGrace):
	}
	r.abort() // what it did not get written is written now
	<-r.over
	var wg routine.Group
	var saveErr error
	wg.Go(func() { saveErr = r.save(ctx) })
	err := r.stack.enterRun(ctx, r.opt, RunSummary{
		RunID: r.opt.ID, Command: r.opt.Command, Engine: r.opt.Engine,
		StartedAt: r.opt.Start.UTC().Format(isoTime), FinishedAt: end.UTC().Format(isoTime),
		Result: result, Events: r.events,
	})
	wg.Wait()
	if err := errors.Join(saveErr, err); err != nil {
		r.warn(err)
	}
}

// write is the goroutine that saves while the run goes on.
func (r *Run) write() {
	defer close(r.over)
	var wait <-chan time.Time
	for {
		select {
		case <-r.done:
			return
		case <-r.kick:
			r.mu.Lock()
			full := r.unsaved >= eventsBuffered
			r.mu.Unlock()
			if !full {
				wait = time.After(eventFlush)
				continue
			}
		case <-wait:
		}
		wait = nil
		if err := routine.Try(func() error { return r.save(r.ctx) }); err != nil && r.ctx.Err() == nil {
			r.warn(err)
		}
	}
}

func (r *Run) save(ctx context.Context) error {
	r.mu.Lock()
	body, unsaved := bytes.Clone(r.body.Bytes()), r.unsaved
	r.unsaved = 0
	r.mu.Unlock()
	if unsaved == 0 {
		return nil
	}
	k := r.stack
	_, err := k.store.put(ctx, k.key(eventsFolder+r.opt.ID+eventsSuffix), body, typeLines, always)
	return err
}

func (r *Run) warn(err error) {
	r.mu.Lock()
	first := !r.warned
	r.warned = true
	r.mu.Unlock()
	if first {
		r.stack.store.warn(fmt.Sprintf("the history of this run of stack %s in %s is incomplete: %v", r.stack.Name, r.stack.Region, err))
	}
}

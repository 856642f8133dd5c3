package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A deployment is one stack being brought to what its template says, or being
// taken down: what is known of it, and what was done so far.
type deployment struct {
	e      *Engine
	t      target
	opt    DeployOptions
	router *provider.Router
	cloud  provider.Provider

	cloudControl *cloudcontrol.Provider
	custom       *customresource.Provider

	store     *state.Store
	place     *state.Stack
	runID     string
	run       *selected  // all stacks of the run; nil where they do not matter
	history   *state.Run // of the top-level stack; nil in a dry run
	publisher *asset.Publisher
	assets    *publication
	res       *result.Stack

	lock             *state.Lock
	announced        bool // the lock says that exports are at risk
	registry         *state.Registry
	creates          *creates // nil unless something is changed
	found            []string // strays, which are proved to be the stack's own
	saver            *state.Saver
	saves            chan struct{} // holds a token when a save was answered
	unanswered       bool          // whether the record is saved is not known
	finishing        routine.Group // the history is written
	beside           routine.Group // what only the release waits for
	readBacks        *readBacks    // nil unless resources are read back beside the work
	account, stackID string
	initial          bool // there was no record
	last             bool // it was put off once, and is not again
	journaling       sync.Mutex
	journaled        bool          // this run has written to it
	early            routine.Group // the journal is written before all that it is to say is known
	hands            bool          // the stack from CloudFormation, or to it
	handover         *state.HandoverFile
	whole            bool          // the deploy is done: nothing of it will be undone
	retiring         bool          // the deploy is done but for what goes: nothing is undone any more
	before           *state.Record // as it was when a nested stack's deploy began
	unmaking         bool          // what was created is undone: what is to be retained except on create goes
	unprotect        bool          // switch deletion protection off first
	purge            bool          // delete the histories when the stack is gone
	gone             func()        // the record is; nil where nobody waits for that
	agreed           *state.Record // what somebody saw who agreed to its deletion; nil when nobody was asked

	tolerant  func(error) // a diff's, of conditions that fail
	agreement *agreement  // a rehearsal's, to be filled in

	*planned

	custody   *custody // of the run's resources; nil where names do not matter
	surveying sync.Mutex
	surveyed  []state.Surveyed // what is recorded of all stacks; nil: not looked at

	presence state.Presence // as listed under the lock
	asRead   *state.Record  // as read under it
	pending  pending

	mu        sync.Mutex
	remade    []string        // logical ids of old copies that a rollback made again
	stop      <-chan struct{} // closes when nothing is to be tried again; nil between phases
	stopWork  func()          // closes it; nil where a failure does not
	failure   error           // the first of a resource
	completed []*state.Operation
	counted   map[string]bool // what of them the counts have, nested stacks' too: stack/logical id; the top stack's
	failed    []*state.Operation
	kept      []state.Kept
	released  []string                   // rows let go of that were made by a token, not by a name
	cleared   map[string]bool            // by logical id: the old copy was deleted before the new one was made
	leftovers []leftover                 // old copies of replaced resources
	due       []*due                     // nested stacks in which something is to go
	moved     map[string]*ElsewhereError // rows whose resources are other stacks' by now
	uncertain []string                   // creates that failed without an answer: they may have made something
	handedUp  map[string]*value.Object   // masked outputs of nested stacks, by the row's logical id; never stored
	holders   map[thing]*provider.Holder // what creates on trial were answered with, by physical id, as far as it was looked up
	others    int                        // resources left because they may be somebody else's
}

func (d *deployment) observe(ev Event) {
	ev.Stack, ev.Region = d.t.Name, d.t.Region
	d.e.observe(ev)
}

func (d *deployment) warn(format string, args ...any) {
	text := d.e.config.Secrets.Mask(fmt.Sprintf(format, args...))
	d.mu.Lock()
	d.res.Warnings = add(d.res.Warnings, text)
	d.mu.Unlock()
	d.observe(Event{Kind: Warning, Text: text})
}

// warnOnce warns of one kind of thing once a run, whichever of its stacks meets it
// first.
func (d *deployment) warnOnce(kind, format string, args ...any) {
	if _, said := d.e.warned.LoadOrStore(d.runID+" "+kind, true); !said {
		d.warn(format, args...)
	}
}

// stopping returns a channel that closes when nothing new is to be started, nor
// tried again: a signal came, or the stack is no longer this run's to change,
// or, where one failure ends the phase, a resource failed. done must be called
// when that is of no interest any more.
func (d *deployment) stopping(atFailure bool) (stop <-chan struct{}, done func()) {
	closed, quit, failed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	d.mu.Lock()
	d.stop = closed
	if atFailure {
		d.stopWork = sync.OnceFunc(func() { close(failed) })
	}
	d.mu.Unlock()
	var wg routine.Group
	wg.Go(func() {
		select {
		case <-quit:
			return
		case <-failed:
		case <-d.e.config.Window.Draining():
			if atFailure { // should the run be killed, this is what can be rolled back
				d.early.Go(func() { d.journal(state.Interrupted) })
			}
		case <-d.lock.Lost(): // the lock said who has it now
		case <-d.saver.Conflict():
			d.warn("the record was changed by another process, so nothing new is started")
		}
		close(closed)
	})
	return closed, func() {
		d.mu.Lock()
		d.stop, d.stopWork = nil, nil
		d.mu.Unlock()
		close(quit)
		wg.Wait()
	}
}

// errInterrupted says that a signal stopped work that would have been done.
var errInterrupted = errors.New("interrupted by a signal before everything was done")

// errLost says that the stack stopped being this run's to change.
var errLost = errors.New("the stack's lock was lost, so that another process may have taken it over")

// errNotBegun says that an operation was not begun.
var errNotBegun = errors.New("nothing new is started any more")

// mayBegin tells whether the stack still is this run's to change. That is asked
// before each operation: what waited for its turn may have waited long.
func (d *deployment) mayBegin(ctx context.Context) error {
	err := d.lock.Assure(ctx)
	if errors.Is(err, state.ErrLost) {
		err = errLost
	}
	select {
	case <-d.saver.Conflict():
		err = d.saver.Flush(ctx) // a conflict sticks
	default:
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotBegun, err)
	}
	return nil
}

// stopCause is why work was stopped, nil when it was not.
func (d *deployment) stopCause() error {
	select {
	case <-d.saver.Conflict():
		return d.saver.Flush(context.Background()) // a conflict sticks
	default:
	}
	select {
	case <-d.lock.Lost():
		return errLost
	default:
	}
	if d.e.config.Window.Interrupted() {
		return errInterrupted
	}
	return nil
}

func (d *deployment) emit(ev state.Event) {
	if d.history != nil {
		ev.StackName = d.t.Name
		d.history.Emit(ev)
	}
}

// a reading is what is there before the lock is known to be held.
type reading struct {
	record   *state.Record
	etag     state.ETag
	presence state.Presence
	runs     *state.RunIndex // nil when it could not be read; who writes it tries again
}

// acquire takes the lock and reads the record beside it, so that the reading is
// provisional: confirm it before anything is changed.
func (d *deployment) acquire(ctx context.Context, opt state.LockOptions) (reading, error) {
	var (
		wg                        routine.Group
		r                         reading
		lockErr, readErr, listErr error
	)
	opt.Owner = d.e.config.Owner
	opt.Warn = func(text string) { d.warn("%s", text) }
	d.observe(Event{Kind: LockRequested})
	wg.Go(func() {
		d.lock, lockErr = d.place.Lock(ctx, opt)
		d.e.locks.add(d.lock)
	})
	wg.Go(func() { r.record, r.etag, readErr = d.place.ReadProvisional(ctx) })
	wg.Go(func() { r.presence, listErr = d.place.Presence(ctx) })
	if d.t.parent == nil { // a nested stack's history is part of its parent's
		wg.Go(func() { r.runs, _ = d.place.RunIndex(ctx) })
	}
	wg.Wait()
	if lockErr == nil && listErr == nil && d.lock.Contended {
		// Who held it may have left something since.
		r.presence, listErr = d.place.Presence(ctx)
	}
	d.know(r)
	err := joined(oneFault(nonNil(lockErr, readErr, listErr)))
	if err == nil {
		err = d.mine(ctx, r.presence)
	}
	return r, err
}

// know keeps what was read under the lock.
func (d *deployment) know(r reading) {
	d.presence, d.asRead, d.pending.there = r.presence, r.record, r.presence.Pending
}

// request is what every operation on one of the stack's resources starts from.
func (d *deployment) request(logicalID, typ string) *provider.Request {
	return &provider.Request{
		Session:   d.e.session(d.t.Region).provider,
		Stack:     d.t.place(d.account, d.stackID),
		LogicalID: logicalID,
		Type:      typ,
		Wait:      d.opt.Wait,
		Draining:  d.e.config.Window.Draining(),
		Notice: func(text string) {
			d.observe(Event{Kind: Notice, LogicalID: logicalID, Type: typ, Text: text})
		},
		Waiting: func(what, line string) {
			d.observe(Event{Kind: ResourceAwaits, LogicalID: logicalID, Type: typ, Text: what})
			if line != "" {
				d.observe(Event{Kind: ResourceWaiting, LogicalID: logicalID, Type: typ, Text: line})
			}
		},
		Untagged: func(denied error) {
			d.warnOnce("tag "+typ, "%s (%s) was made without the tag that proves which run made it, and so are others of its type, because tagging was denied: %v",
				logicalID, typ, denied)
		},
	}
}

// A TimeoutError says that an operation on a resource took longer than it may.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("gave up after %s (resource-timeout)", e.After)
}

// operation runs one operation on a resource under its deadline, tells the
// observer and the history, and gives a sign of life while it takes long. It is
// not begun once the stack is not this run's any more.
func (d *deployment) operation(ctx context.Context, ev Event, limit time.Duration, do func(context.Context) (physicalID string, err error)) error {
	if err := d.mayBegin(ctx); err != nil {
		return err
	}
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &TimeoutError{limit})
	defer cancel()

	ev.Kind = ResourceStarted
	d.observe(ev)
	h := state.Event{EventType: state.ResourceStarted, Operation: historyOperation(ev.Action), LogicalID: ev.LogicalID, ResourceType: ev.Type, PhysicalID: ev.PhysicalID}
	if !ev.Rollback {
		d.emit(h)
	}
	beat := heartbeat(func(elapsed time.Duration) {
		w := ev
		w.Kind, w.Elapsed = ResourceWaiting, elapsed
		d.observe(w)
	})
	var id string
	err := routine.Try(func() (err error) {
		id, err = do(ctx)
		return err
	})
	beat()
	if err != nil && ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if id != "" {
		ev.PhysicalID, h.PhysicalID = id, id
	}
	ev.Elapsed = time.Since(start)
	ms := ev.Elapsed.Milliseconds()
	h.DurationMS = &ms
	switch {
	case err == nil && ev.Rollback:
		ev.Kind, h.EventType = ResourceSucceeded, state.RollbackResourceDone
	case err == nil:
		ev.Kind, h.EventType = ResourceSucceeded, state.ResourceSucceeded
	case ev.Rollback:
		ev.Kind, h.EventType = ResourceFailed, state.RollbackResourceFailed
	default:
		ev.Kind, h.EventType = ResourceFailed, state.ResourceFailed
	}
	if err != nil {
		if errors.Is(d.ending(err), errLetGo) {
			ev.Kind = ResourceLetGo
		}
		ev.Text = err.Error()
		h.Error = d.historyError(err)
	}
	d.took(ev, start, err)
	d.observe(ev)
	d.emit(h)
	return err
}

// heartbeat calls beat after half a minute and then every minute until the
// function that it returns is called.
func heartbeat(beat func(elapsed time.Duration)) (stop func()) {
	done := make(chan struct{})
	var wg routine.Group
	start := time.Now()
	wg.Go(func() {
		timer := time.NewTimer(30 * time.Second)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				beat(time.Since(start).Round(time.Second))
				timer.Reset(time.Minute)
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// historyError is an error for the history: who raised it and what it said,
// without secrets.
func (d *deployment) historyError(err error) *state.EventError {
	h := &state.EventError{Name: fmt.Sprintf("%T", err), Message: d.e.config.Secrets.Mask(err.Error())}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		h.Name, h.AWSErrorCode = api.ErrorCode(), api.ErrorCode()
	}
	if answer, ok := errors.AsType[interface {
		error
		ServiceRequestID() string
	}](err); ok {
		h.RequestID = answer.ServiceRequestID()
	}
	return h
}

func historyOperation(a plan.Action) string {
	switch a {
	case plan.Create:
		return state.OpCreate
	case plan.Delete, plan.Retain:
		return state.OpDelete
	}
	return state.OpUpdate
}

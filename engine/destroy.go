package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// DestroyOptions govern a destroy.
type DestroyOptions struct {
	Selection
	// Consent, when set, is asked for each stack with what would be deleted.
	Consent func(stack string, p *plan.Plan) bool

	RemoveProtection bool // of stacks, and of resources that have one
	PurgeEvents      bool // delete the histories of stacks that are gone
	// SkipFinalSnapshot deletes without the snapshot that a policy asks for.
	SkipFinalSnapshot bool

	ResourceTimeout  time.Duration
	TypeTimeouts     map[string]time.Duration // as in DeployOptions
	Concurrency      int
	StackConcurrency int
}

// Destroy deletes the resources of the selected stacks and their records. The
// stacks that depend on others go first. The result is never nil.
func (e *Engine) Destroy(ctx context.Context, opt DestroyOptions) (*result.Run, error) {
	start := now()
	run := &result.Run{Command: "destroy", RunID: state.NewRunID(start)}
	defer func() { run.Duration = time.Since(start) }()
	e.observe(Event{Kind: RunStarted, Text: run.RunID})

	work, cancel := e.config.Window.Context(ctx)
	defer cancel()
	// A stack that others depend on is not destroyed because they are: only the
	// named ones go.
	opt.Exclusively = true
	sel, err := e.start(work, opt.Selection, nil)
	if err != nil {
		return run, e.end(run, err)
	}
	sel.after = sel.after.Reverse()
	e.takeDownAll(work, sel, run, opt)
	e.config.Window.Seal()
	return run, e.end(run, nil)
}

// takeDownAll destroys stacks, each after those that use it.
func (e *Engine) takeDownAll(ctx context.Context, sel *selected, run *result.Run, opt DestroyOptions) {
	together := share(opt.Concurrency)
	var endings sync.Mutex
	e.eachStack(sel, opt.StackConcurrency, run, func(t target, gone func()) *result.Stack {
		var ended func()
		defer func() {
			if ended != nil {
				ended()
			}
		}()
		p := sel.of(t)
		d := &deployment{
			// Those that wait for this one go on; what is left to write of it comes after
			// what was left of the stacks before.
			gone: func() {
				gone()
				endings.Lock()
				ended = endings.Unlock
			},
			e: p.e, t: t, store: p.store, runID: run.RunID, place: p.store.Stack(t.Name, t.Region),
			opt: DeployOptions{SkipFinalSnapshot: opt.SkipFinalSnapshot, ResourceTimeout: opt.ResourceTimeout, TypeTimeouts: opt.TypeTimeouts, Concurrency: opt.Concurrency, share: together},
			res: p.e.resultOf(t),
		}
		d.router = p.e.router(d)
		err := routine.Try(func() error { return d.takeDown(ctx, opt) })
		return d.finished(d.refused(err))
	})
}

// A ProtectedError says that a stack is not to be destroyed.
type ProtectedError struct{ Stack string }

func (e *ProtectedError) Error() string {
	return fmt.Sprintf("stack %s has termination protection", e.Stack)
}

// Remedy says what to do about it.
func (e *ProtectedError) Remedy() string {
	return "set terminationProtection to false in the app and deploy it, or use remove-protection"
}

// An InUseError says that other stacks import what a stack exports.
type InUseError struct {
	Stack     string
	Consumers []state.Consumer
}

func (e *InUseError) Error() string {
	var users []string
	for _, c := range e.Consumers {
		users = append(users, fmt.Sprintf("%s in %s (%s)", c.Stack, c.Region, strings.Join(c.Exports, ", ")))
	}
	return fmt.Sprintf("stack %s exports what other stacks import: %s", e.Stack, strings.Join(users, "; "))
}

// Remedy says what to do about it.
func (e *InUseError) Remedy() string { return "destroy those stacks first, or in the same run" }

// refused takes what speaks against a destroy for what it is: nothing went
// wrong, the stack is as it was, and somebody has to do something first.
func (d *deployment) refused(err error) error {
	switch {
	case is[*state.RegisteredError](err), is[*state.UnansweredError](err):
		d.res.Reason = result.ReasonRegistry
	case is[*ProtectedError](err), is[*InUseError](err):
	default:
		return err
	}
	d.unaddressed("", "", "", err.Error(), Remedy(err))
	d.res.Page = d.e.page(err)
	return nil
}

// takeDown destroys a top-level stack, once everything that speaks against it
// has been asked.
func (d *deployment) takeDown(ctx context.Context, opt DestroyOptions) error {
	start := now()
	defer func() { d.res.Duration = time.Since(start) }()
	d.observe(Event{Kind: StackStarted})
	d.unprotect, d.purge = opt.RemoveProtection, opt.PurgeEvents
	// What is protected is refused before it is locked, and before anybody is asked.
	if d.protected(nil) != nil || opt.Consent != nil {
		record, _, err := d.place.Read(ctx)
		if err != nil {
			return err
		}
		if record == nil {
			record = state.NewRecord(d.t.Name, d.t.Region) // though a dead deploy may have made something
		} else if err := d.protected(record); err != nil {
			return err
		}
		if opt.Consent != nil {
			if len(record.Resources) > 0 && !opt.Consent(d.t.Name, removal(d.t, record)) {
				d.observe(Event{Kind: Notice, Text: "not destroyed: declined"})
				return nil
			}
			d.agreed = record
		}
	}
	return d.destroy(ctx)
}

// nests tells whether a stack has others nested in it.
func nests(record *state.Record) bool {
	for _, row := range record.Resources {
		if row.ResourceType == nestedType {
			return true
		}
	}
	return false
}

// protected refuses a stack with termination protection: by what the app says,
// and where there is none by what it said when the stack was deployed. Of a stack
// that is gone nothing is left to protect.
func (d *deployment) protected(record *state.Record) error {
	on := d.t.Protected
	if d.t.Template == nil && record != nil {
		on = record.TerminationProtection
	}
	if on && !d.unprotect {
		return &ProtectedError{d.t.Name}
	}
	return nil
}

// beyondConsent names what is recorded now and was not when somebody agreed to
// have it deleted.
func (d *deployment) beyondConsent(record *state.Record) error {
	if d.agreed == nil {
		return nil
	}
	for _, id := range record.LogicalIDs() {
		if row := d.agreed.Row(id); row == nil || row.PhysicalID != record.Row(id).PhysicalID {
			return &InputError{
				What: fmt.Sprintf("stack %s in %s has changed since you were asked: %s is new", d.t.Name, d.t.Region, id),
				Next: "destroy it again, and look at what would be deleted",
				Page: guide.PlanChanged,
			}
		}
	}
	return nil
}

// removal is the plan that deletes everything that is recorded.
func removal(t target, record *state.Record) *plan.Plan {
	p := &plan.Plan{Stack: t.Name, Region: t.Region}
	for _, id := range record.LogicalIDs() {
		row := record.Row(id)
		policy := plan.DeletionPolicy(row.ResourceType, row.Properties, row.DeletionPolicy)
		c := &plan.Change{LogicalID: id, Type: row.ResourceType, Action: plan.Delete, PhysicalID: row.PhysicalID, DeletionPolicy: policy}
		if plan.Keeps(policy) {
			c.Action = plan.Retain
		}
		p.Changes = append(p.Changes, c)
	}
	return p
}

// destroy deletes a stack's resources and its record, from lock to release.
func (d *deployment) destroy(ctx context.Context) error {
	reads, cancel := d.e.config.Window.Interruptible(ctx)
	defer cancel()
	defer d.release()
	r, err := d.acquire(reads, state.LockOptions{Operation: state.Destroying, Subject: d.subject(), FailFast: true})
	if err != nil {
		return err
	}
	if r, err = d.settleOpen(reads, r, true); err != nil {
		return err
	}
	d.leaveUnresolved()
	exporting := func() bool {
		if d.t.parent != nil && d.run == nil {
			return false // it goes with the stack that it is nested in, which was asked about
		}
		return r.record != nil && (nests(r.record) || r.record.Outputs.Len() > 0 && (d.t.parent == nil || len(r.record.Exports()) > 0))
	}
	consumers := sync.OnceValues(func() ([]state.Consumer, error) { return d.store.ConsumersOfAll(reads, d.t.Name, d.t.Region) })
	var asking routine.Group
	defer asking.Wait()
	d.registry = d.place.Registry()
	registered := sync.OnceValue(func() error { return d.registry.Check(reads) })
	if r.record != nil {
		asking.Go(func() { registered() })
	}
	if exporting() {
		asking.Go(func() { consumers() })
	}
	before := r
	asking.Go(func() { d.openStrays(reads, before) })
	// Deleting goes by what is recorded now that the lock is held.
	err = d.place.Confirm(reads, r.etag)
	asking.Wait()
	if errors.As(err, new(*state.ConflictError)) {
		r.presence.Journal, r.presence.Ledger = true, true // they may have come with the change
		r.record, r.etag, err = d.place.Read(reads)
		d.openStrays(reads, r)
	}
	if err != nil {
		return err
	}
	if r.record == nil && remains(r.presence) {
		// A first deploy died before it saved anything, or a destroy before its last
		// removal.
		r.record = state.NewRecord(d.t.Name, d.t.Region)
	}
	if r.record == nil {
		// It may be recorded under another prefix than the one that was named.
		if err := d.registry.Look(reads); is[*state.RegisteredError](err) {
			return err
		}
		d.observe(Event{Kind: Notice, Text: "nothing is recorded of the stack"})
		if d.purge && (!r.presence.Listed || len(r.presence.Histories) > 0) { // of an earlier run that did not purge
			d.purgeEvents()
		}
		return nil
	}
	if err := d.protected(r.record); err != nil {
		return err
	}
	if err := d.beyondConsent(r.record); err != nil {
		return err
	}
	if err := d.place.Own(r.record); err != nil {
		return err
	}
	if err := registered(); err != nil {
		return err
	}
	if exporting() {
		users, err := consumers()
		if err != nil {
			return err
		}
		if users != nil {
			return &InUseError{d.t.Name, users}
		}
	}
	if err := d.knowRecord(reads, r.record); err != nil {
		return err
	}
	d.enroll()
	if err := d.setAside(reads); err != nil {
		return err
	}
	d.observe(Event{Kind: StackPlanned, Plan: d.Plan})
	d.res.Plan, d.res.Changed = d.Plan, true
	if d.t.parent == nil {
		d.history = d.place.StartRun(ctx, state.RunOptions{
			ID: d.runID, Command: "destroy", Engine: d.e.config.Version,
			Index: r.runs, Histories: r.presence.Histories,
		})
	}
	d.saveFrom(ctx, r.etag, r.record, nil)
	if r.presence.Journal {
		// What only the journal names would be forgotten with it.
		d.settleJournal(ctx)
	}
	d.tidyLock(ctx)
	if len(d.adoptStrays(ctx, true)) > 0 {
		d.world.mu.Lock()
		d.Plan.Changes = removal(d.t, d.world.record).Changes
		d.world.mu.Unlock()
	}
	err = d.removeAll(ctx)
	d.finishHistory(err)
	if d.purge && err == nil && len(d.res.Unaddressed) == 0 {
		d.finishing.Wait()
		d.purgeEvents()
	}
	return err
}

// purgeEvents deletes the history of a stack that is gone.
func (d *deployment) purgeEvents() {
	purging, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	if err := d.place.PurgeEvents(purging); err != nil {
		d.warn("%v", err)
	}
}

// remains tells whether there is something of a stack that goes with its record.
func remains(p state.Presence) bool {
	return p.Listed && (p.Journal || p.Ledger || p.Pending || p.Handover)
}

// emptyTemplate is what a stack that is taken down is evaluated against:
// recorded properties may hold references to secrets, and nothing else.
var emptyTemplate = []byte(`{"Resources":{"None":{"Type":"AWS::CDK::Metadata"}}}`)

func (d *deployment) knowRecord(ctx context.Context, record *state.Record) error {
	if err := d.identify(ctx, record); err != nil {
		return err
	}
	d.planned = &planned{Plan: removal(d.t, record), world: d.newWorld(record.Clone())}
	d.world.strict = true
	t, err := template.Parse(d.t.Name, emptyTemplate)
	if err != nil {
		return err
	}
	d.scope, err = t.Bind(ctx, d.environment(), nil, d.world, template.Secrets(d.e.config.Secrets))
	d.shareCustody()
	return err
}

// removeAll deletes what is recorded, and the record when everything is gone.
func (d *deployment) removeAll(ctx context.Context) error {
	remains := d.lookForRemains(ctx)
	defer remains()
	rows, order := map[string]*state.Resource{}, []string{}
	for _, c := range d.Plan.Changes {
		rows[c.LogicalID] = d.world.row(c.LogicalID)
		order = append(order, c.LogicalID)
	}
	// Outputs go with the first resource: what they name may be gone.
	d.world.mu.Lock()
	d.world.record.Outputs, d.world.record.ExportNames = &value.Object{}, []string{}
	d.world.record.Imports, d.world.record.OutputReads = nil, nil
	d.world.mu.Unlock()

	stop, done := d.stopping(false)
	opt := d.pace(stop)
	opt.KeepGoing = true
	outcomes := d.remove(ctx, order, rows, opt, retry.ForDestroy(retry.Classifier{Deleting: true}))
	done()
	d.handOverElsewhere()
	err := d.settle(outcomes)
	if err == nil {
		err = d.cleanUp(ctx, d.pace(d.e.config.Window.Draining()))
	}
	d.world.mu.Lock()
	left := d.world.record.LogicalIDs()
	d.world.mu.Unlock()
	if err != nil || len(left) > 0 || len(d.res.Unaddressed) > d.others {
		d.change(func(*state.Record) {})
		var wg routine.Group
		if d.e.config.Window.Interrupted() {
			wg.Go(d.seal) // neither waits for the other in the little time left
		}
		d.saved()
		wg.Wait()
		d.seal()
		d.settleLedgerAtEnd()
		d.tellUnrecorded()
		if failed := (*ResourcesError)(nil); errors.As(err, &failed) {
			// Part of the stack is gone and part is left: that is what 2 says.
			for _, f := range d.res.Failures {
				d.leftOver(f)
			}
			return nil
		}
		return err
	}
	d.seal() // before the record: what is left to remove then is all of this stack's
	if err := d.discard(); err != nil && !errors.As(err, new(*state.RequestError)) && !errors.As(err, new(*state.AccessError)) {
		return err
	}
	cleanup, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	var wg routine.Group
	wg.Go(func() {
		if err := d.store.Exports(d.t.Region).Update(cleanup, d.t.Name, nil); err != nil {
			d.warn("%v", err)
		}
	})
	if err = d.removeRecord(cleanup, remains()); err == nil {
		d.discardResponses(cleanup, d.pending.closing)
	}
	wg.Wait()
	if err != nil && !errors.As(err, new(*state.ConflictError)) {
		// It may still be there, and must not name what is gone.
		d.change(func(*state.Record) {})
		if d.saved() != nil {
			d.tellUnrecorded()
			err = &RecordError{err}
		}
	}
	return err
}

// lookForRemains begins to look what goes with the record, beside the deletes,
// and returns what was found when it is asked, nil when that is not known. What
// this run adds meanwhile goes, too.
func (d *deployment) lookForRemains(ctx context.Context) func() *state.Remains {
	var looking routine.Group
	var found state.Remains
	var err error
	looking.Go(func() { found, err = d.place.Remains(ctx) })
	return func() *state.Remains {
		looking.Wait()
		if err != nil {
			return nil
		}
		d.pending.mu.Lock()
		defer d.pending.mu.Unlock()
		found.Pending = found.Pending || d.pending.file != nil
		found.Ledger = found.Ledger || d.pending.proof != nil || d.creates != nil
		found.Journal = found.Journal || d.journaled
		return &found
	}
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// DeployOptions govern a deploy. The zero value is not useful: time limits and
// how many stacks are worked on at once must be set.
type DeployOptions struct {
	Selection
	Parameters map[string]string // Name=value or Stack:Name=value

	DryRun     bool // say what would be done and write nothing
	NoRollback bool // keep what a failed deploy did
	SkipAssets bool // they are in place
	// MakeStorage makes asset storage of cdkd's own in regions that have none.
	MakeStorage bool
	NoMacros    bool // refuse what only CloudFormation can expand
	// SkipFinalSnapshot deletes without the snapshot that a policy asks for.
	SkipFinalSnapshot bool
	// DeclaredOrder waits for every DependsOn, also where it only orders the network
	// that the resource does not need.
	DeclaredOrder bool
	// NoCloudFormationExports imports nothing from CloudFormation's stacks.
	NoCloudFormationExports bool
	// GiveUpExports warns of exports that are taken away or changed while other stacks
	// import them, which is refused otherwise.
	GiveUpExports bool
	StrictGetAtt  bool // an output that cannot be told fails the deploy
	// Baselines has resources read back as they are done, for CaptureBaselines to
	// have less to do. It must be called, and waits for what is being read.
	Baselines bool
	Wait      provider.WaitMode
	Replacements
	Router provider.RouterOptions

	// Approve, when set, is shown what would be done to all stacks before any is
	// locked or changed. Its error, an *ApprovalError or a *PlanChangedError, is
	// the run's.
	Approve func(rehearsal *result.Run) error
	agreed  map[string]*agreement // by stack; nil when nobody was asked

	LockWait         time.Duration // beyond the ordinary attempts
	ResourceTimeout  time.Duration
	TypeTimeouts     map[string]time.Duration // in its place, by resource type; exact
	share            *graph.Share             // among the stacks of the run; nil: the stack has one of its own
	Concurrency      int                      // resources at once; 0: as many as their services take
	StackConcurrency int
}

// Deploy brings the selected stacks to what the assembly describes.
//
// Stacks are deployed after those that they depend on, and side by side where
// they do not. A stack that fails keeps those that depend on it from starting;
// the others go on. The result is never nil.
func (e *Engine) Deploy(ctx context.Context, opt DeployOptions) (*result.Run, error) {
	start := now()
	run := &result.Run{Command: "deploy", DryRun: opt.DryRun, RunID: state.NewRunID(start)}
	defer func() { run.Duration = time.Since(start) }()
	e.observe(Event{Kind: RunStarted, Text: run.RunID})

	work, cancel := e.config.Window.Context(ctx)
	defer cancel()
	sel, err := e.start(work, opt.Selection, opt.Parameters)
	if err != nil {
		return run, e.end(run, err)
	}
	if !opt.SkipAssets {
		if err := sel.checkAssets(); err != nil {
			return run, e.end(run, err)
		}
	}
	if err := sel.expand(work, opt.NoMacros); err != nil {
		return run, e.end(run, err)
	}
	if err := cmp.Or(opt.check(sel), sel.checkExports()); err != nil {
		return run, e.end(run, err)
	}
	if err := sel.redirect(work, opt.MakeStorage && !opt.DryRun && !opt.SkipAssets); err != nil {
		return run, e.end(run, err)
	}
	if err := sel.checkTemplates(work); err != nil {
		return run, e.end(run, err)
	}
	if err := sel.preflight(work, opt.Router); err != nil {
		return run, e.end(run, err)
	}
	if opt.Approve != nil && !opt.DryRun {
		if err := e.agree(work, sel, &opt, run); err != nil {
			return run, e.end(run, err)
		}
	}
	if err := sel.openPublishers(work); err != nil {
		return run, e.end(run, err)
	}
	defer sel.closePublishers()
	var late sync.Map // the stacks that were put off
	opt.share = share(opt.Concurrency)
	e.eachStack(sel, opt.StackConcurrency, run, func(t target, _ func()) *result.Stack {
		p := sel.of(t)
		d := &deployment{
			e: p.e, t: t, opt: opt, store: p.store, runID: run.RunID, run: p.selected, custody: p.e.custodyOf(run.RunID),
			place: p.store.Stack(t.Name, t.Region), res: p.e.resultOf(t),
		}
		d.router = p.e.router(d)
		d.publisher = p.publisher
		_, d.last = late.LoadOrStore(t.key(), true)
		err := routine.Try(func() error { return d.deploy(work) })
		if errors.Is(err, errPutOff) {
			d.observe(Event{Kind: Notice, Text: err.Error()})
			return nil
		}
		return d.finished(err)
	})
	e.config.Window.Seal()
	return run, e.end(run, nil)
}

// end gives the run its outcome and returns the error of one that failed as a
// whole, before any stack was worked on.
func (e *Engine) end(run *result.Run, err error) error {
	if err == nil {
		if run.Outcome == "" {
			run.Outcome = result.NoChange
		}
		return nil
	}
	if errors.Is(err, errNotPlanned) {
		return err // each stack says why
	}
	if e.config.Window.Interrupted() && letGo(err) {
		err = &InterruptedError{}
	}
	run.Outcome, run.Reason = Classify(err)
	run.Message, run.Remedy, run.Page = e.config.Secrets.Mask(err.Error()), Remedy(err), e.page(err)
	return err
}

// finished closes a stack's result.
func (d *deployment) finished(err error) *result.Stack {
	if err != nil && d.e.config.Window.Interrupted() && letGo(err) {
		err = d.interrupted()
	}
	if err != nil {
		d.e.fault(d.res, err)
	} else {
		d.res.Outcome = result.NoChange
		c := d.res.Counts
		d.res.Changed = d.res.Changed || c.Created+c.Updated+c.Deleted > 0 // what an earlier run left is in no plan
		if d.res.Changed {
			d.res.Outcome = result.Success
		}
		if len(d.res.Unaddressed) > 0 {
			d.res.Outcome = result.Partial
		}
	}
	d.e.pageOfEnd(d.res)
	if d.agreement == nil { // of a plan that is only asked about nothing is finished
		d.observe(Event{Kind: StackFinished, Result: d.res, Elapsed: d.res.Duration})
	}
	return d.res
}

// deploy deploys one stack, from its lock to its release.
func (d *deployment) deploy(ctx context.Context) (err error) {
	start := now()
	defer func() { d.res.Duration = time.Since(start) }()
	if d.agreement == nil {
		d.observe(Event{Kind: StackStarted})
	}
	if d.opt.DryRun {
		return d.rehearse(ctx)
	}
	reads, cancel := d.e.config.Window.Interruptible(ctx)
	defer cancel()
	defer d.release()
	before, err := d.acquire(reads, state.LockOptions{
		Operation: "deploy", Subject: d.subject(), Wait: d.opt.LockWait,
		Waiting: func(held *state.HeldError) { d.observe(Event{Kind: LockWaiting, Text: held.Error()}) },
	})
	if err != nil {
		return err
	}
	if before, err = d.settleOpen(reads, before, false); err != nil {
		return err
	}
	defer d.surveyEarly(reads, before.record)()
	begun := false
	defer func() {
		if !begun {
			d.giveBackName(err)
		}
	}()
	before, err = d.planUnderLock(reads, before)
	defer func() { d.creates.wait() }()
	defer func() { d.readBacks.end(err == nil) }()
	if err != nil {
		return err
	}
	if err := d.stillAgreed(before.etag); err != nil {
		d.res.Plan = d.Plan
		return err
	}
	d.enroll()
	keep := d.keepAllExports(reads, before.record)
	if errors.Is(keep, errPutOff) {
		return keep
	}
	d.observe(Event{Kind: StackPlanned, Plan: d.Plan})
	d.res.Plan = d.Plan
	d.expect()
	if err := cmp.Or(keep, d.refuseUnresolved(), d.refusals()); err != nil {
		return err
	}
	if err := d.setAside(reads); err != nil {
		return err
	}
	d.initial = before.record == nil
	if d.t.parent == nil {
		if d.changing() {
			if err := d.prepare(reads, d.publisher); err != nil {
				return err
			}
		}
		d.history = d.place.StartRun(ctx, state.RunOptions{
			ID: d.runID, Command: "deploy", Engine: d.e.config.Version, Start: start,
			Index: before.runs, Histories: before.presence.Histories,
		})
	} else {
		d.history = d.t.parent.history
	}
	d.emitSettled()
	begun = true
	return d.carryOut(ctx, before)
}

func (d *deployment) subject() string {
	if d.t.parent != nil {
		return "nested stack"
	}
	return "stack"
}

// planUnderLock plans from what was read. When that would change something, or
// another run held the lock meanwhile, it makes sure that it still is what is
// recorded, since the reading began before the lock was held and did not look
// everywhere; if it is not, it reads and plans again.
func (d *deployment) planUnderLock(ctx context.Context, r reading) (reading, error) {
	for provisional := true; ; provisional = false {
		if err := d.makePlan(ctx, r.record); err != nil {
			return r, err
		}
		stale := provisional && d.lock.Contended // who held it may have saved since
		if !d.changing() && !d.readopted && r.record != nil && !d.strayed(r) && !d.unfinished() && !stale {
			return r, nil
		}
		err := d.confirm(ctx, r, provisional)
		if !errors.As(err, new(*state.ConflictError)) {
			return r, err
		}
		if r.record, r.etag, err = d.place.Read(ctx); err != nil {
			return r, err
		}
		if r.presence, err = d.place.Presence(ctx); err != nil {
			return r, err
		}
		d.know(r)
	}
}

func (d *deployment) makePlan(ctx context.Context, record *state.Record) error {
	if err := d.place.Own(record); err != nil {
		return err
	}
	if err := d.identify(ctx, record); err != nil {
		return err
	}
	var err error
	d.planned, err = d.plan(ctx, record.Clone())
	if err != nil {
		return err
	}
	if err := d.nestedImports(ctx); err != nil {
		return err
	}
	if err := d.planNested(ctx, record); err != nil {
		return err
	}
	d.warnings = append(d.warnings, d.notFollowed()...)
	if text := d.untagged(d.t); text != "" {
		d.warnings = append(d.warnings, text)
	}
	if !d.beforehand() {
		for _, n := range d.notices {
			d.observe(Event{Kind: Notice, Text: n})
		}
		for _, w := range d.warnings {
			d.warn("%s", w)
		}
	}
	if record == nil {
		d.world.record = state.NewRecord(d.t.Name, d.t.Region)
	}
	d.world.record.TerminationProtection = d.t.Protected
	if d.t.parent != nil {
		d.world.record.ParentStack, d.world.record.ParentLogicalID, d.world.record.ParentRegion = d.t.parent.t.Name, d.t.parentLogicalID, d.t.Region
	}
	return nil
}

// identify finds out whose stack this is.
func (d *deployment) identify(ctx context.Context, record *state.Record) error {
	account, err := d.e.account(ctx)
	if err != nil {
		return err
	}
	d.account, d.stackID = account, stackID(account, d.t, d.store.Prefix(), record)
	return nil
}

// confirm makes sure of what a plan stands on before it is carried out: that
// the record still is the one that was read, if that is provisional; that the
// stack's name is ours, where something is made or deleted under it; and whose
// the names of new resources are. All is asked at once; who has which name is
// not waited for.
func (d *deployment) confirm(ctx context.Context, r reading, provisional bool) error {
	var wg routine.Group
	var registered, confirmed, formed, free error
	d.registry, d.creates = d.place.Registry(), d.named()
	d.lookUpNames(ctx)
	wg.Go(func() { d.openLedger(ctx, r) })
	if provisional {
		wg.Go(func() { confirmed = d.place.Confirm(ctx, r.etag) })
	}
	switch {
	case r.record == nil:
		wg.Go(func() { registered = d.registry.Claim(ctx) })
		wg.Go(func() { formed = d.formed(ctx) })
	case d.destructive(), d.strayed(r), d.unfinished():
		wg.Go(func() { registered = d.registry.Check(ctx) })
	}
	wg.Go(func() { free = d.exportsAreFree(ctx) })
	wg.Wait()
	if confirmed != nil {
		d.creates.wait() // who plans again looks again
		return confirmed // a plan that is out of date says nothing about the name
	}
	return cmp.Or(registered, formed, free)
}

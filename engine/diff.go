package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// DiffOptions govern a diff.
type DiffOptions struct {
	Selection
	Parameters map[string]string
	Router     provider.RouterOptions
	Replacements
	DeclaredOrder, NoCloudFormationExports bool // as for a deploy
	GiveUpExports                          bool // as for a deploy
	NoMacros                               bool // refuse what only CloudFormation can expand

	StackConcurrency int
}

// Diff says what a deploy of the selected stacks would do. It takes no lock and
// writes nothing. The result is never nil.
func (e *Engine) Diff(ctx context.Context, opt DiffOptions) (*result.Run, error) {
	start := now()
	run := &result.Run{Command: "diff"}
	defer func() { run.Duration = time.Since(start) }()

	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	sel, err := e.start(ctx, opt.Selection, opt.Parameters)
	if err != nil {
		return run, e.end(run, err)
	}
	if err := sel.checkAssets(); err != nil {
		// A deploy may be told to skip them.
		e.observe(Event{Kind: Warning, Text: err.Error()})
	}
	if err := sel.expand(ctx, opt.NoMacros); err != nil {
		return run, e.end(run, err)
	}
	if err := cmp.Or(opt.check(sel), sel.checkExports()); err != nil {
		return run, e.end(run, err)
	}
	if err := sel.redirect(ctx, false); err != nil {
		return run, e.end(run, err)
	}
	if err := sel.preflight(ctx, opt.Router); err != nil {
		return run, e.end(run, err)
	}
	e.planAll(ctx, sel, opt.StackConcurrency, run, DeployOptions{
		Router: opt.Router, Replacements: opt.Replacements, DeclaredOrder: opt.DeclaredOrder, NoCloudFormationExports: opt.NoCloudFormationExports, GiveUpExports: opt.GiveUpExports,
	}, nil)
	return run, e.end(run, nil)
}

// rehearse plans without the lock and writes nothing.
func (d *deployment) rehearse(ctx context.Context) error {
	ctx, cancel := d.e.config.Window.Interruptible(ctx)
	defer cancel()
	var wg routine.Group
	var held *state.LockRecord
	var open *state.Pending
	var openErr, handover error
	wg.Go(func() {
		there, err := d.place.Presence(ctx)
		if err == nil && there.Lock {
			held, _ = d.place.Peek(ctx) // only for the notice below
		}
		if err == nil && there.Pending {
			open, openErr = d.place.ReadPending(ctx)
		}
		if err == nil {
			handover = d.mine(ctx, there)
		}
	})
	record, etag, err := d.place.Read(ctx)
	wg.Wait()
	if err != nil {
		return err
	}
	if openErr != nil {
		d.warn("%v", openErr)
	}
	if handover != nil {
		d.warn("%s", told(handover))
	}
	if held != nil && !held.Expired(now()) {
		d.warn("%v: this plan may be out of date", d.place.Held(*held))
	}
	defer d.surveyEarly(ctx, record)()
	if err := d.makePlan(ctx, record); err != nil {
		return err
	}
	if err := d.foreseeTaken(ctx); err != nil {
		return err
	}
	d.res.Plan, d.res.Changed = d.Plan, d.Plan.Changed()
	d.expect()
	if d.agreement != nil {
		d.agreement.plan, d.agreement.etag = d.Plan, etag
	}
	d.markPending(open)
	d.announceRefusals()
	d.observe(Event{Kind: StackPlanned, Plan: d.Plan})
	return cmp.Or(d.exportsAreFree(ctx), d.keepAllExports(ctx, record))
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/drift"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// DriftOptions govern a look for drift.
type DriftOptions struct {
	Recorded RecordSelection
	App      *Selection // when set, the stacks of an app instead

	Mode   result.DriftMode
	DryRun bool // say what would be done, and do nothing
	// Consent, when set, is asked for each stack that has drifted, before it is
	// accepted or reverted.
	Consent func(*result.DriftedStack) bool

	Concurrency     int                      // resources at once; 0: 4
	ResourceTimeout time.Duration            // 0: half an hour
	TypeTimeouts    map[string]time.Duration // as in DeployOptions
}

// Drift compares recorded stacks with what AWS says of their resources, and, if
// it is asked to, accepts or reverts what differs. Nested stacks are compared
// with the stack that they are nested in. What keeps one stack from being
// compared does not keep the others.
func (e *Engine) Drift(ctx context.Context, opt DriftOptions) *result.DriftRun {
	start := now()
	run := &result.DriftRun{Mode: opt.Mode, DryRun: opt.DryRun}
	defer func() { run.Duration = time.Since(start) }()
	work, cancel := e.config.Window.Context(ctx)
	defer cancel()
	if err := e.drift(work, run, opt); err != nil {
		if e.config.Window.Interrupted() && letGo(err) {
			err = &InterruptedError{}
		}
		run.Outcome, run.Reason = Classify(err)
		run.Message, run.Remedy, run.Page = e.config.Secrets.Mask(err.Error()), Remedy(err), e.page(err)
	}
	run.Outcome = cmp.Or(run.Outcome, result.NoChange)
	e.config.Window.Seal()
	return run
}

func (e *Engine) drift(ctx context.Context, run *result.DriftRun, opt DriftOptions) error {
	reads, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	found, err := e.driftRecords(reads, opt)
	if err != nil {
		return err
	}
	opt.Concurrency = cmp.Or(opt.Concurrency, 4)
	opt.ResourceTimeout = cmp.Or(opt.ResourceTimeout, 30*time.Minute)
	for _, r := range found {
		for _, ref := range r.refs {
			if e.config.Window.Interrupted() {
				return errInterrupted
			}
			c := r.e.comparisonOf(r.store, ref, opt)
			err := c.run(ctx, reads)
			c.finish(err)
			run.Add(c.DriftedStack)
			if e.config.Window.Interrupted() && letGo(err) {
				return errInterrupted
			}
		}
	}
	return nil
}

// driftRecords are records of one account to compare.
type driftRecords struct {
	e     *Engine
	store *state.Store
	refs  []state.Ref
}

// driftRecords finds the records to compare, those of nested stacks among them.
func (e *Engine) driftRecords(ctx context.Context, opt DriftOptions) (found []driftRecords, err error) {
	if opt.App != nil {
		sel, err := e.start(ctx, *opt.App, nil)
		if err != nil {
			return nil, err
		}
		for _, p := range sel.portions {
			refs, err := p.recorded(ctx, opt.App.All)
			if err != nil {
				return nil, err
			}
			found = append(found, driftRecords{p.e, p.store, refs})
		}
		return found, nil
	}
	engines := []*Engine{e}
	if opt.Recorded.All {
		engines = e.all()
	}
	for _, e := range engines {
		store, err := e.open(ctx)
		if err != nil {
			return nil, err
		}
		refs, err := e.recordedRefs(ctx, store, opt.Recorded)
		if err == nil && !opt.Recorded.All {
			refs, err = withNested(ctx, store, refs)
		}
		if err != nil {
			return nil, err
		}
		found = append(found, driftRecords{e, store, refs})
	}
	return found, nil
}

// recorded finds the records of the stacks. One that has none is refused, or, where
// all were asked for, left out.
func (p *portion) recorded(ctx context.Context, any bool) (refs []state.Ref, err error) {
	all, err := p.store.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range p.targets {
		found := slices.IndexFunc(all, func(r state.Ref) bool {
			return r.Stack == t.Name && (r.Region == t.Region || r.Region == "")
		})
		if found < 0 {
			if !any {
				return nil, notRecorded(t.Name, p.store)
			}
			p.e.observe(Event{Kind: Notice, Stack: t.Name, Region: t.Region, Text: "not compared: it was not deployed"})
			continue
		}
		refs = append(refs, all[found])
	}
	return withNested(ctx, p.store, refs)
}

// withNested puts the stacks that are nested in others behind these.
func withNested(ctx context.Context, store *state.Store, refs []state.Ref) ([]state.Ref, error) {
	all, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []state.Ref
	for _, ref := range refs {
		out = add(out, ref)
		for _, r := range all {
			if r.Region == ref.Region && strings.HasPrefix(r.Stack, ref.Stack+"~") {
				out = add(out, r)
			}
		}
	}
	return out, nil
}

// A comparing is one stack that is compared.
type comparing struct {
	*deployment
	*result.DriftedStack
	opt DriftOptions
	raw map[string]*value.Object // what was read, with secrets, by logical id
}

func (e *Engine) comparisonOf(store *state.Store, ref state.Ref, opt DriftOptions) *comparing {
	if ref.Region == "" { // of the oldest form
		ref.Region = e.defaultRegion()
	}
	d := e.recordedDeployment(store, ref)
	d.opt = DeployOptions{ResourceTimeout: opt.ResourceTimeout, TypeTimeouts: opt.TypeTimeouts, Concurrency: opt.Concurrency}
	return &comparing{deployment: d, DriftedStack: &result.DriftedStack{Name: ref.Stack, Region: ref.Region, Account: e.named}, opt: opt, raw: map[string]*value.Object{}}
}

// run compares the stack, and does about what differs what was asked for.
func (c *comparing) run(ctx, reads context.Context) error {
	switch {
	case c.opt.DryRun || c.opt.Mode == result.DriftDetect:
		return c.look(reads)
	case c.opt.Mode == result.DriftAccept:
		return c.acceptAll(reads)
	}
	return c.revertAll(ctx, reads)
}

// finish says how it went.
func (c *comparing) finish(err error) {
	s := c.DriftedStack
	left := 0
	for i := range s.Resources {
		if r := &s.Resources[i]; r.Drifted() && !r.Settled {
			left++
		}
	}
	switch {
	case err != nil:
		if c.e.config.Window.Interrupted() && letGo(err) {
			err = &InterruptedError{}
		}
		s.Outcome, s.Reason = Classify(err)
		s.Message, s.Remedy, s.Page = c.e.config.Secrets.Mask(err.Error()), Remedy(err), c.e.page(err)
	case s.Drifted() && c.opt.Mode == result.DriftDetect:
		s.Outcome, s.Page = result.Drifted, guide.Drifted.URL(c.e.config.Version)
	case s.Incomparable(), left > 0 && !s.Declined:
		s.Outcome, s.Page = result.Partial, guide.Drifted.URL(c.e.config.Version)
	case s.Settled() > 0:
		s.Outcome = result.Success
	default:
		s.Outcome = result.NoChange
	}
}

// look compares without a lock, and says what could be done.
func (c *comparing) look(ctx context.Context) error {
	record, _, err := c.place.Read(ctx)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	pending, err := c.place.ReadPending(ctx)
	if err != nil {
		return err
	}
	if pending != nil {
		for _, op := range pending.Operations {
			open[op.LogicalID] = !op.Void
		}
	}
	if err := c.compare(ctx, record, open); err != nil || c.opt.Mode == result.DriftDetect {
		return err
	}
	for r, row := range c.differing() {
		r.Left = c.refusal(r, row)
		r.Settled = r.Left == ""
	}
	return nil
}

// differing are the resources that are not as recorded, with their rows.
func (c *comparing) differing() iter.Seq2[*result.DriftedResource, *state.Resource] {
	return func(yield func(*result.DriftedResource, *state.Resource) bool) {
		for i := range c.Resources {
			if r := &c.Resources[i]; r.Drifted() && !yield(r, c.world.row(r.LogicalID)) {
				return
			}
		}
	}
}

// compare reads what the rows of a record are like in AWS, and compares.
func (c *comparing) compare(ctx context.Context, record *state.Record, open map[string]bool) error {
	if record == nil {
		return notRecorded(c.Name, c.store)
	}
	if err := c.knowRecord(ctx, record); err != nil {
		return err
	}
	n := len(record.LogicalIDs())
	found, raw := make([]result.DriftedResource, n), make([]*value.Object, n)
	eachRow(ctx, record, c.opt.Concurrency, func(ctx context.Context, i int, id string, row *state.Resource) {
		found[i], raw[i] = c.compareRow(ctx, id, row, open[id])
	})
	for i, r := range found {
		// A nested stack has a record of its own, and metadata is nothing in AWS.
		if r.Type != nestedType && r.Type != "AWS::CDK::Metadata" {
			c.Resources = append(c.Resources, r)
			c.raw[r.LogicalID] = raw[i]
		}
	}
	if c.e.config.Window.Interrupted() {
		return errInterrupted
	}
	return ctx.Err()
}

func (c *comparing) compareRow(ctx context.Context, logicalID string, row *state.Resource, open bool) (result.DriftedResource, *value.Object) {
	r := result.DriftedResource{LogicalID: logicalID, Type: row.ResourceType, PhysicalID: row.PhysicalID, Observed: row.Observed != nil}
	switch {
	case row.ResourceType == nestedType:
		return r, nil
	case open:
		r.Drift, r.Reason = result.DriftOpen, stillOpenText
		return r, nil
	case row.BaselineRefused:
		r.Drift, r.Reason = result.DriftRefused, "the record forbids a baseline: "+row.BaselineRefusalReason
		return r, nil
	}
	found, err := c.readNow(ctx, logicalID, row)
	switch {
	case errors.As(err, new(*NotReadableError)):
		r.Drift = result.DriftUnsupported
	case errors.Is(err, provider.ErrNotFound):
		r.Drift = result.DriftDeleted
		return r, nil
	case err != nil:
		r.Drift = result.DriftFailed
	}
	if err != nil {
		r.Reason = c.e.config.Secrets.Mask(err.Error())
		return r, nil
	}
	found = c.withoutAttached(row, found)
	r.Comparison = drift.Compare(row, found)
	for i := range r.Differences {
		f := &r.Differences[i]
		f.Expected, _ = c.e.config.Secrets.Redact(f.Expected, nil)
		f.Actual, _ = c.e.config.Secrets.Redact(f.Actual, nil)
	}
	if r.Drift = result.InSync; len(r.Differences) > 0 {
		r.Drift = result.DriftFound
	}
	return r, found
}

// withoutAttached leaves the policies out of what was read of a principal that
// other resources of the stack attach to it, unless they were there before.
func (c *comparing) withoutAttached(row *state.Resource, found *value.Object) *value.Object {
	const property = "ManagedPolicyArns"
	read := found.List(property)
	if len(read) == 0 {
		return found
	}
	attached := map[any]bool{}
	c.world.mu.Lock()
	for _, other := range c.world.record.Resources {
		if other.ResourceType == "AWS::IAM::ManagedPolicy" {
			attached[other.PhysicalID] = true
		}
	}
	c.world.mu.Unlock()
	baseline, _ := drift.Baseline(row)
	for _, arn := range baseline.List(property) {
		if text, ok := arn.(string); ok {
			delete(attached, text)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(read), func(arn any) bool {
		text, ok := arn.(string)
		return ok && attached[text]
	})
	if len(kept) == len(read) {
		return found
	}
	out := found.Clone()
	out.Set(property, kept)
	return out
}

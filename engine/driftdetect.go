package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/drift"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A DriftMode says what is done about drift.
type DriftMode int

// The modes.
const (
	DriftDetect DriftMode = iota // nothing
	DriftAccept                  // record what is
	DriftRevert                  // make it what is recorded
)

// DriftOptions govern a look for drift.
type DriftOptions struct {
	Recorded RecordSelection
	App      *Selection // when set, the stacks of an app instead

	Mode   DriftMode
	DryRun bool // say what would be done, and do nothing
	// Consent, when set, is asked for each stack that has drifted, before it is
	// accepted or reverted.
	Consent func(*DriftedStack) bool

	RoleARN         string
	Concurrency     int // resources at once; 0: 4
	ResourceTimeout time.Duration
}

// A Drift is how a resource compares with what is recorded of it.
type Drift string

// What a comparison can come to.
const (
	InSync           Drift = "in-sync"
	Drifted          Drift = "drifted"
	DriftGone        Drift = "deleted"
	DriftUnsupported Drift = "unsupported" // nothing can read the type
	DriftRefused     Drift = "refused"     // the record forbids a comparison
	DriftOpen        Drift = "open"        // an earlier run's operation on it is not over
	DriftFailed      Drift = "failed"      // it could not be read
)

// A DriftedStack is a stack that was compared with what AWS says of it.
type DriftedStack struct {
	state.Ref
	Resources []DriftedResource
	Declined  bool  // nobody agreed to what would have been done
	Err       error // why it was not compared, or nothing was done
}

// Count is how many of the stack's resources are one of these.
func (s *DriftedStack) Count(is ...Drift) (n int) {
	for _, r := range s.Resources {
		if slices.Contains(is, r.Drift) {
			n++
		}
	}
	return n
}

// Drifted tells whether anything is not as it is recorded.
func (s *DriftedStack) Drifted() bool { return s.Count(Drifted, DriftGone) > 0 }

// Incomparable tells whether something could not be compared that should have
// been.
func (s *DriftedStack) Incomparable() bool {
	return s.Err != nil || s.Count(DriftRefused, DriftOpen, DriftFailed) > 0
}

// A DriftedResource is one of a DriftedStack. Values of the comparison may be
// stored and shown, but for what a reader may know by its name to be secret.
type DriftedResource struct {
	LogicalID, Type, PhysicalID string

	Drift    Drift
	Reason   string // why it was not compared
	Observed bool   // it was compared with what was read back, not with the template's properties
	drift.Comparison

	Settled bool   // accepted, reverted or, in a dry run, what would be
	Left    string // why it was not accepted or reverted, and what to do

	raw *value.Object // as read, with secrets
}

// Drift compares recorded stacks with what AWS says of their resources, and, if
// it is asked to, accepts or reverts what differs. Nested stacks are compared
// with the stack that they are nested in. What keeps one stack from being
// compared does not keep the others.
func (e *Engine) Drift(ctx context.Context, opt DriftOptions) ([]*DriftedStack, error) {
	work, cancel := e.config.Window.Context(ctx)
	defer cancel()
	reads, cancelReads := e.config.Window.Interruptible(work)
	defer cancelReads()
	store, err := e.open(reads)
	if err != nil {
		return nil, err
	}
	refs, err := e.driftRefs(reads, store, opt)
	if err != nil {
		return nil, err
	}
	opt.Concurrency = cmp.Or(opt.Concurrency, 4)
	var all []*DriftedStack
	for _, ref := range refs {
		s := &DriftedStack{Ref: ref}
		switch {
		case e.config.Window.Interrupted():
			return all, errInterrupted
		case opt.Mode == DriftRevert && !opt.DryRun:
			s.Err = e.revertDrift(work, store, s, opt)
		default:
			s.Err = e.compareStack(reads, store, s, opt)
		}
		if e.config.Window.Interrupted() && letGo(s.Err) {
			return append(all, s), errInterrupted
		}
		all = append(all, s)
	}
	e.config.Window.Seal()
	return all, nil
}

// driftRefs finds the records to compare, those of nested stacks among them.
func (e *Engine) driftRefs(ctx context.Context, store *state.Store, opt DriftOptions) ([]state.Ref, error) {
	recorded := opt.Recorded
	if opt.App == nil {
		refs, err := recordedRefs(ctx, store, recorded)
		if err != nil || recorded.All {
			return refs, err
		}
		return withNested(ctx, store, refs)
	}
	sel, err := e.selectStacks(*opt.App, nil)
	if err != nil {
		return nil, err
	}
	account, err := e.account(ctx)
	if err != nil {
		return nil, err
	}
	if err := sel.inAccount(account); err != nil {
		return nil, err
	}
	all, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	var refs []state.Ref
	for _, t := range sel.targets {
		found := slices.IndexFunc(all, func(r state.Ref) bool {
			return r.Stack == t.Name && (r.Region == t.Region || r.Region == "")
		})
		if found < 0 {
			if !opt.App.All {
				return nil, notRecorded(t.Name, store)
			}
			e.observe(Event{Kind: Notice, Stack: t.Name, Region: t.Region, Text: "not compared: it was not deployed"})
			continue
		}
		refs = append(refs, all[found])
	}
	return withNested(ctx, store, refs)
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

// compareStack compares one stack, and accepts what differs if that is asked for.
func (e *Engine) compareStack(ctx context.Context, store *state.Store, s *DriftedStack, opt DriftOptions) error {
	d := e.driftDeployment(store, s, opt)
	if opt.Mode == DriftAccept && !opt.DryRun {
		return e.acceptDrift(ctx, d, s, opt)
	}
	record, _, err := d.place.Read(ctx)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	if pending, err := d.place.ReadPending(ctx); err != nil {
		return err
	} else if pending != nil {
		for _, op := range pending.Operations {
			open[op.LogicalID] = !op.Void
		}
	}
	if err := d.compare(ctx, s, record, open, opt.Concurrency); err != nil {
		return err
	}
	for i := range s.Resources {
		if r := &s.Resources[i]; opt.Mode != DriftDetect && (r.Drift == Drifted || r.Drift == DriftGone) {
			r.Left = refusal(r, record.Row(r.LogicalID), opt.Mode)
			r.Settled = r.Left == ""
		}
	}
	return nil
}

func (e *Engine) driftDeployment(store *state.Store, s *DriftedStack, opt DriftOptions) *deployment {
	if s.Region == "" { // of the oldest form
		s.Region = e.defaultRegion()
	}
	d := e.recordedDeployment(store, s.Ref)
	d.opt = DeployOptions{RoleARN: opt.RoleARN, ResourceTimeout: opt.ResourceTimeout, Concurrency: opt.Concurrency}
	return d
}

// compare reads what the rows of a record are like in AWS, and compares.
func (d *deployment) compare(ctx context.Context, s *DriftedStack, record *state.Record, open map[string]bool, atOnce int) error {
	if record == nil {
		return notRecorded(s.Stack, d.store)
	}
	if err := d.knowRecord(ctx, record); err != nil {
		return err
	}
	s.Resources = make([]DriftedResource, len(record.LogicalIDs()))
	eachRow(ctx, record, atOnce, func(ctx context.Context, i int, id string, row *state.Resource) {
		s.Resources[i] = d.compareRow(ctx, id, row, open[id])
	})
	s.Resources = slices.DeleteFunc(s.Resources, func(r DriftedResource) bool {
		return r.Type == nestedType || r.Type == "AWS::CDK::Metadata" // the one has a record of its own, the other is nothing
	})
	if d.e.config.Window.Interrupted() {
		return errInterrupted
	}
	return ctx.Err()
}

func (d *deployment) compareRow(ctx context.Context, logicalID string, row *state.Resource, open bool) DriftedResource {
	r := DriftedResource{LogicalID: logicalID, Type: row.ResourceType, PhysicalID: row.PhysicalID, Observed: row.Observed != nil}
	switch {
	case row.ResourceType == nestedType:
		return r
	case open:
		r.Drift, r.Reason = DriftOpen, stillOpenText
		return r
	case row.BaselineRefused:
		r.Drift, r.Reason = DriftRefused, "the record forbids a baseline: "+row.BaselineRefusalReason
		return r
	}
	found, err := d.readNow(ctx, logicalID, row)
	switch {
	case errors.As(err, new(*NotReadableError)):
		r.Drift = DriftUnsupported
	case errors.Is(err, provider.ErrNotFound):
		r.Drift = DriftGone
		return r
	case err != nil:
		r.Drift = DriftFailed
	}
	if err != nil {
		r.Reason = d.e.config.Secrets.Mask(err.Error())
		return r
	}
	r.raw, r.Comparison = found, drift.Compare(row, found)
	for i := range r.Differences {
		f := &r.Differences[i]
		f.Expected, _ = d.e.config.Secrets.Redact(f.Expected, nil)
		f.Actual, _ = d.e.config.Secrets.Redact(f.Actual, nil)
	}
	if r.Drift = InSync; len(r.Differences) > 0 {
		r.Drift = Drifted
	}
	return r
}

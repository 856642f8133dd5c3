package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/drift"
	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// refusal is why drift of a resource is neither accepted nor reverted, "" when it
// can be.
func refusal(r *DriftedResource, row *state.Resource, mode DriftMode) string {
	switch {
	case r.Drift == DriftGone && mode == DriftAccept:
		return fmt.Sprintf("it is gone: have it forgotten (state orphan --resource %s), and the next deploy makes it again", r.LogicalID)
	case r.Drift == DriftGone:
		return fmt.Sprintf("it is gone and no update brings it back: have it forgotten (state orphan --resource %s), then deploy", r.LogicalID)
	case mode == DriftAccept:
		for _, f := range r.Differences {
			if f.Hidden {
				return f.Path.String() + " holds a secret, which is not recorded as it is: deploy what it is to be"
			}
		}
		return ""
	case hasMasks(row):
		return "it has a NoEcho value, which is not stored and so cannot be sent again: deploy, with the value of the parameter"
	}
	if typ, ok := schema.Lookup(r.Type); ok {
		for _, name := range r.Properties() {
			if typ.Replaces(name) == schema.Replaces {
				return name + " cannot be changed without replacing the resource: deploy under another name, or accept it"
			}
		}
	}
	return ""
}

// acceptDrift records what is, under the stack's lock.
func (e *Engine) acceptDrift(ctx context.Context, d *deployment, s *DriftedStack, opt DriftOptions) error {
	settling := e.recordedDeployment(d.store, s.Ref)
	return e.amend(ctx, d.place, state.LockOptions{Operation: "drift-accept", FailFast: true}, settling, func(record *state.Record) (bool, error) {
		if err := d.compare(ctx, s, record, settling.stillOpen(), opt.Concurrency); err != nil || !d.agreedTo(s, opt) {
			return false, err
		}
		changed := false
		for i := range s.Resources {
			r := &s.Resources[i]
			if r.Drift != Drifted && r.Drift != DriftGone {
				continue
			}
			row := record.Row(r.LogicalID)
			if r.Left = refusal(r, row, DriftAccept); r.Left != "" {
				continue
			}
			d.accept(r, row)
			r.Settled, changed = true, true
		}
		if changed {
			record.Drop("skippedOutputs")
		}
		return changed, nil
	}, nil)
}

// accept makes a row say what was read: as observed, and in what the template
// declared. There the next diff shows what a deploy would change back.
func (d *deployment) accept(r *DriftedResource, row *state.Resource) {
	read := d.storable(r.raw, row.Properties)
	declared := row.Properties
	row.Properties = drift.Apply(declared, read, r.Comparison, func(at drift.Path) bool { return drift.Declares(declared, at) })
	row.Observed = read
}

// agreedTo asks whether what differs is to be accepted or reverted.
func (d *deployment) agreedTo(s *DriftedStack, opt DriftOptions) bool {
	if !s.Drifted() {
		return false
	}
	if opt.Consent == nil || opt.Consent(s) {
		return true
	}
	s.Declined = true
	return false
}

// revertDrift updates what differs back to what is recorded, under the stack's
// lock. Should that be cut short, the journal says what was done, so that it can
// be rolled back, and what was sent without an answer is settled by the next run.
func (e *Engine) revertDrift(ctx context.Context, store *state.Store, s *DriftedStack, opt DriftOptions) error {
	d := e.driftDeployment(store, s, opt)
	d.runID = state.NewRunID(now())
	reads, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	before, err := d.acquire(reads, state.LockOptions{Operation: "drift-revert", FailFast: true})
	defer d.release()
	if err != nil {
		return err
	}
	if before, err = d.reread(reads, before); err != nil {
		return err
	}
	if before, err = d.settleOnce(reads, before); err != nil {
		return err
	}
	if err := d.compare(reads, s, before.record, d.stillOpen(), opt.Concurrency); err != nil || !d.agreedTo(s, opt) {
		return err
	}
	d.saver = state.NewSaver(ctx, d.place, before.etag, state.SaverOptions{Read: before.record, Warn: func(text string) { d.warn("%s", text) }})
	stop, done := d.stopping(false)
	var tasks []graph.Task
	for i := range s.Resources {
		r := &s.Resources[i]
		if r.Drift != Drifted && r.Drift != DriftGone {
			continue
		}
		row := d.world.row(r.LogicalID)
		if r.Left = refusal(r, row, DriftRevert); r.Left != "" {
			continue
		}
		r.Left = "its turn did not come"
		tasks = append(tasks, graph.Task{ID: r.LogicalID, API: service(r.Type), Run: func(ctx context.Context) error {
			err := d.revertRow(ctx, r, row)
			if err == nil {
				r.Settled, r.Left = true, ""
			} else {
				r.Left = e.config.Secrets.Mask(err.Error())
			}
			return err
		}})
	}
	pace := d.pace(stop)
	pace.EachAPI, pace.KeepGoing = min(eachService, pace.Limit), true
	outcomes := graph.Run(ctx, tasks, nil, pace)
	done()
	return d.reverted(outcomes)
}

// reverted writes down how a revert went.
func (d *deployment) reverted(outcomes map[string]graph.Outcome) error {
	whole := true
	for _, o := range outcomes {
		d.e.explain(o.Err)
		whole = whole && o.Status == graph.Succeeded
	}
	interrupted := d.e.config.Window.Interrupted()
	var wg sync.WaitGroup
	if len(d.completed)+len(d.failed) > 0 {
		d.change(func(r *state.Record) { r.Drop("skippedOutputs") })
		if !whole {
			reason := state.NoRollback
			if interrupted {
				reason = state.Interrupted
			}
			wg.Go(func() { d.journal(reason) })
		}
	}
	wg.Go(d.seal)
	err := d.saved()
	wg.Wait()
	if err == nil && interrupted {
		err = errInterrupted
	}
	return err
}

// revertRow updates one resource back, and looks whether that is what it is then.
func (d *deployment) revertRow(ctx context.Context, r *DriftedResource, row *state.Resource) error {
	decision, err := d.router.Recorded(r.LogicalID, row.ResourceType, row.ProvisionedBy)
	if err != nil {
		return err
	}
	recorded, err := d.scope.ResolveRecorded(ctx, row.Properties)
	if err != nil {
		return fmt.Errorf("resolve the references in its recorded properties: %w", err)
	}
	clear := recorded.Clear.(*value.Object)
	baseline, _ := drift.Baseline(row)
	req := d.request(r.LogicalID, row.ResourceType)
	req.PhysicalID, req.Attributes = row.PhysicalID, row.Attributes
	req.Properties = drift.Apply(clear, baseline, r.Comparison, func(at drift.Path) bool { return !drift.Declares(clear, at) })
	req.Previous = drift.Apply(clear, r.raw, r.Comparison, nil)
	d.name(req)

	was := row.Clone()
	was.Observed = d.storable(r.raw, row.Properties)
	was.Properties = drift.Apply(row.Properties, was.Observed, r.Comparison, nil)
	op := &state.Operation{LogicalID: r.LogicalID, ResourceType: r.Type, ChangeType: state.OpUpdate, PhysicalID: row.PhysicalID,
		Previous: was, Properties: row.Properties, ProvisionedBy: row.ProvisionedBy}
	f := d.depart(req, state.OpenOperation{ChangeType: state.OpUpdate, PhysicalID: row.PhysicalID, Previous: was,
		Properties: row.Properties, ProvisionedBy: row.ProvisionedBy, UpdateReplacePolicy: row.UpdateReplacePolicy})
	var updated provider.Updated
	ev := Event{Action: plan.Update, LogicalID: r.LogicalID, Type: r.Type, PhysicalID: row.PhysicalID}
	err = d.operation(ctx, ev, d.limit(r.Type), func(ctx context.Context) (string, error) {
		var err error
		updated, err = d.provider(decision, retry.ForCreate(retry.Classifier{})).Update(ctx, req)
		return updated.PhysicalID, err
	})
	d.arrive(f, err)
	if err != nil {
		d.half(err, op)
		return err
	}
	d.complete(op)
	d.count(func(n *result.Counts) { n.Updated++ })
	if updated.Attributes != nil {
		d.change(func(rec *state.Record) {
			next := row.Clone()
			next.Attributes = d.redact(updated.Attributes)
			rec.Set(r.LogicalID, next)
		})
	}
	return d.revertedTo(ctx, r, row)
}

// revertedTo makes sure of a revert: an update that AWS accepted need not have
// changed everything.
func (d *deployment) revertedTo(ctx context.Context, r *DriftedResource, row *state.Resource) error {
	found, err := d.readNow(ctx, r.LogicalID, row)
	if err != nil {
		return fmt.Errorf("updated, and then: %w", err)
	}
	if left := drift.Compare(row, found).Properties(); len(left) > 0 {
		return errors.New("updated, and still not as recorded: " + strings.Join(left, ", ") + "; look at them by hand, or accept them")
	}
	return nil
}

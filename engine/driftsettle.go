package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/drift"
	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// refusal is why drift of a resource is neither accepted nor reverted, "" when it
// can be.
func (c *comparing) refusal(r *result.DriftedResource, row *state.Resource) string {
	accept := c.opt.Mode == result.DriftAccept
	forget := fmt.Sprintf("cdkd-action state orphan %s --stack-region %s --resource %s", c.Name, c.Region, r.LogicalID)
	switch {
	case r.Drift == result.DriftDeleted && accept:
		return "it is gone: have it forgotten (" + forget + "), and the next deploy makes it again"
	case r.Drift == result.DriftDeleted:
		return "it is gone, and no update brings it back: have it forgotten (" + forget + "), then deploy"
	case accept:
		for _, f := range r.Differences {
			if f.Hidden {
				return f.Path.String() + " holds a secret, which is not recorded as it is. To keep what AWS has, write it into the app and deploy with the value of the NoEcho parameter; to undo it, change it in AWS by hand"
			}
		}
		return ""
	case hasMasks(row):
		return "it has a NoEcho value, which is not stored and so cannot be sent again: deploy, with the value of the parameter"
	}
	if typ, ok := schema.Lookup(r.Type); ok {
		for _, name := range r.Properties() {
			if typ.Replaces(name) == schema.Replaces {
				return name + " cannot be changed without replacing the resource: have it replaced by a deploy, or accept it"
			}
		}
	}
	return ""
}

// agreedTo asks whether what differs is to be accepted or reverted.
func (c *comparing) agreedTo() bool {
	if !c.Drifted() {
		return false
	}
	c.Declined = c.opt.Consent != nil && !c.opt.Consent(c.DriftedStack)
	return !c.Declined
}

// acceptAll records what is, under the stack's lock.
func (c *comparing) acceptAll(ctx context.Context) error {
	settling := c.e.recordedDeployment(c.store, state.Ref{Stack: c.Name, Region: c.Region})
	return c.e.amend(ctx, c.place, state.LockOptions{Operation: "drift-accept", FailFast: true}, settling, func(record *state.Record) (changed bool, err error) {
		if err := c.compare(ctx, record, settling.stillOpen()); err != nil || !c.agreedTo() {
			return false, err
		}
		for r := range c.differing() {
			row := record.Row(r.LogicalID)
			if r.Left = c.refusal(r, row); r.Left == "" {
				c.accept(r, row)
				r.Settled, changed = true, true
			}
		}
		if changed {
			record.Drop("skippedOutputs")
		}
		return changed, nil
	}, nil)
}

// accept makes a row say what was read: as observed, and in what the template
// declared. There the next diff shows what a deploy would change back.
func (c *comparing) accept(r *result.DriftedResource, row *state.Resource) {
	declared := row.Properties
	row.Observed = c.storable(c.raw[r.LogicalID], declared)
	row.Properties = drift.Apply(declared, row.Observed, r.Comparison, func(at drift.Path) bool { return drift.Declares(declared, at) })
}

// revertAll updates what differs back to what is recorded, under the stack's
// lock. Should that be cut short, the journal says what was done, so that it can
// be rolled back, and what was sent without an answer is settled by the next run.
func (c *comparing) revertAll(ctx, reads context.Context) error {
	c.runID = state.NewRunID(now())
	defer c.release()
	before, err := c.acquire(reads, state.LockOptions{Operation: "drift-revert", FailFast: true})
	if err != nil {
		return err
	}
	if before, err = c.reread(reads, before); err != nil {
		return err
	}
	if before, err = c.settleOnce(reads, before); err != nil {
		return err
	}
	if err := c.compare(reads, before.record, c.stillOpen()); err != nil || !c.agreedTo() {
		return err
	}
	c.saver = state.NewSaver(ctx, c.place, before.etag, state.SaverOptions{Read: before.record, Warn: func(text string) { c.warn("%s", text) }})
	stop, done := c.stopping(false)
	var tasks []graph.Task
	for r, row := range c.differing() {
		if r.Left = c.refusal(r, row); r.Left != "" {
			continue
		}
		r.Left = "its turn did not come"
		tasks = append(tasks, graph.Task{ID: r.LogicalID, API: service(r.Type), Run: func(ctx context.Context) error {
			err := c.revertRow(ctx, r, row)
			if err == nil {
				r.Settled, r.Left = true, ""
			} else {
				r.Left = c.e.config.Secrets.Mask(err.Error())
			}
			return err
		}})
	}
	pace := c.pace(stop)
	pace.KeepGoing = true
	outcomes := graph.Run(ctx, tasks, nil, pace)
	done()
	return c.reverted(outcomes)
}

// reverted writes down how a revert went.
func (c *comparing) reverted(outcomes map[string]graph.Outcome) error {
	whole := true
	for _, o := range outcomes {
		c.e.explain(o.Err)
		whole = whole && o.Status == graph.Succeeded
	}
	interrupted := c.e.config.Window.Interrupted()
	var wg routine.Group
	if len(c.completed)+len(c.failed) > 0 {
		c.change(func(r *state.Record) { r.Drop("skippedOutputs") })
		if !whole {
			reason := state.NoRollback
			if interrupted {
				reason = state.Interrupted
			}
			wg.Go(func() { c.journal(reason) })
		}
	}
	wg.Go(c.seal)
	err := c.saved()
	wg.Wait()
	if err == nil && interrupted {
		err = errInterrupted
	}
	return err
}

// revertRow updates one resource back, and looks whether that is what it is then.
func (c *comparing) revertRow(ctx context.Context, r *result.DriftedResource, row *state.Resource) error {
	decision, err := c.router.Recorded(r.LogicalID, row.ResourceType, row.ProvisionedBy)
	if err != nil {
		return err
	}
	recorded, err := c.scope.ResolveRecorded(ctx, row.Properties)
	if err != nil {
		return fmt.Errorf("resolve the references in its recorded properties: %w", err)
	}
	clear := recorded.Clear.(*value.Object)
	baseline, _ := drift.Baseline(row)
	raw := c.raw[r.LogicalID]
	req := c.request(r.LogicalID, row.ResourceType)
	req.PhysicalID, req.Attributes = row.PhysicalID, row.Attributes
	req.Previous, req.Properties = drift.Revert(clear, baseline, raw, r.Comparison)
	c.name(req)

	was := row.Clone()
	was.Observed = c.storable(raw, row.Properties)
	was.Properties = drift.Apply(row.Properties, was.Observed, r.Comparison, nil)
	op := &state.Operation{LogicalID: r.LogicalID, ResourceType: r.Type, ChangeType: state.OpUpdate, PhysicalID: row.PhysicalID,
		Previous: was, Properties: row.Properties, ProvisionedBy: row.ProvisionedBy}
	f := c.depart(req, state.OpenOperation{ChangeType: state.OpUpdate, PhysicalID: row.PhysicalID, Previous: was,
		Properties: row.Properties, ProvisionedBy: row.ProvisionedBy, UpdateReplacePolicy: row.UpdateReplacePolicy})
	var updated provider.Updated
	ev := Event{Action: plan.Update, LogicalID: r.LogicalID, Type: r.Type, PhysicalID: row.PhysicalID}
	err = c.operation(ctx, ev, c.limit(r.Type), func(ctx context.Context) (string, error) {
		var err error
		updated, err = c.provider(decision, retry.ForCreate(retry.Classifier{})).Update(ctx, req)
		return updated.PhysicalID, err
	})
	c.arrive(f, err)
	if err != nil {
		c.half(err, op)
		return err
	}
	c.done(op, func(n *result.Counts) { n.Updated++ })
	if updated.Attributes != nil {
		c.change(func(rec *state.Record) {
			next := row.Clone()
			next.Attributes = c.redact(updated.Attributes)
			rec.Set(r.LogicalID, next)
		})
	}
	return c.revertedTo(ctx, r, row)
}

// revertedTo makes sure of a revert: an update that AWS accepted need not have
// changed everything.
func (c *comparing) revertedTo(ctx context.Context, r *result.DriftedResource, row *state.Resource) error {
	found, err := c.readNow(ctx, r.LogicalID, row)
	if err != nil {
		return fmt.Errorf("updated, and then: %w", err)
	}
	if left := drift.Compare(row, c.withoutAttached(row, found)).Properties(); len(left) > 0 {
		return errors.New("updated, and still not as recorded: " + strings.Join(left, ", ") + "; look at them by hand, or accept them")
	}
	return nil
}

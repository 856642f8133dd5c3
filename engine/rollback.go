package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// segment is this run's part of the journal.
func (d *deployment) segment(reason state.Reason) *state.Segment {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &state.Segment{
		RunID: d.runID, Timestamp: now().UnixMilli(), Reason: reason, InitialDeploy: d.initial,
		RoleARN: d.opt.RoleARN, EngineVersion: d.e.config.Version,
		Operations: slices.Clone(d.completed), Failed: slices.Clone(d.failed),
	}
}

// journal writes this run's segment. Without it nothing can be rolled back
// later, which is said loudly, and changes nothing else.
func (d *deployment) journal(reason state.Reason) {
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	if err := d.place.AppendSegment(ctx, d.segment(reason)); err != nil {
		d.warn("%v: what this run did cannot be rolled back later", err)
	}
}

// rollBack undoes what this run did: updates and replacements first, newest
// first, then creates, each after what depends on it. A failure is reported
// and the rest goes on. It returns whether everything was undone.
func (d *deployment) rollBack(ctx context.Context) (clean bool) {
	d.observe(Event{Kind: RollbackStarted})
	d.emit(state.Event{EventType: state.RollbackBegan})
	defer func() {
		d.observe(Event{Kind: RollbackFinished})
		d.emit(state.Event{EventType: state.RollbackFinished})
	}()
	clean = true
	undone := func(op *state.Operation, err error) {
		if err != nil {
			clean = false
			d.warn("rollback of %s (%s): %v", op.LogicalID, op.ResourceType, err)
		}
	}
	created, order := map[string]*state.Resource{}, []string{}
	for _, op := range slices.Backward(d.completed) {
		if d.e.config.Window.Interrupted() {
			return false
		}
		switch {
		case op.ChangeType == state.OpCreate:
			if row := d.world.row(op.LogicalID); row != nil && row.PhysicalID == op.PhysicalID {
				created[op.LogicalID] = row
				order = append(order, op.LogicalID)
			}
		case op.ChangeType == state.OpDelete:
			undone(op, errors.New("a delete cannot be undone"))
			d.skipped(op, "a delete cannot be undone")
		case op.OldRetained:
			undone(op, d.takeBack(ctx, op))
		default:
			undone(op, d.revert(ctx, op))
		}
	}
	slices.Reverse(order)
	outcomes := graph.Run(ctx, d.uncreate(order, created), deletion(order, created),
		graph.Options{Limit: d.opt.Concurrency, KeepGoing: true, Stop: d.e.config.Window.Draining()})
	for _, id := range order {
		if o := outcomes[id]; o.Status != graph.Succeeded {
			clean = false
			if o.Err != nil {
				d.warn("rollback of %s (%s): %v", id, created[id].ResourceType, o.Err)
			}
		}
	}
	return clean
}

func (d *deployment) skipped(op *state.Operation, reason string) {
	d.emit(state.Event{EventType: state.RollbackResourceSkipped, Operation: op.ChangeType, LogicalID: op.LogicalID,
		ResourceType: op.ResourceType, PhysicalID: op.PhysicalID, Reason: reason})
}

// uncreate makes the tasks that delete what this run created.
func (d *deployment) uncreate(order []string, rows map[string]*state.Resource) []graph.Task {
	var tasks []graph.Task
	for _, id := range order {
		row := rows[id]
		tasks = append(tasks, graph.Task{ID: id, Run: func(ctx context.Context) error {
			if plan.DeletionPolicy(row.ResourceType, row.Properties, row.DeletionPolicy) == "Retain" {
				d.retained(id, row)
				d.change(func(r *state.Record) {
					r.Remove(id)
					r.Orphans = append(r.Orphans, state.Orphan{LogicalID: id, OrphanedAt: now().UnixMilli(), State: row})
				})
				d.warn("%s (%s) was created by this run and stays in AWS, as its DeletionPolicy says: %s", id, row.ResourceType, row.PhysicalID)
				return nil
			}
			skipped, err := d.delete(ctx, id, row, retry.ForDelete(retry.Classifier{}), true)
			if err != nil {
				return err
			}
			if skipped != "" {
				return errors.New("not deleted: " + skipped)
			}
			d.change(func(r *state.Record) { r.Remove(id) })
			return nil
		}})
	}
	return tasks
}

// takeBack undoes a replacement whose old copy still exists: the new one goes,
// the old one's row comes back.
func (d *deployment) takeBack(ctx context.Context, op *state.Operation) error {
	row := d.world.row(op.LogicalID)
	if row == nil || row.PhysicalID != op.PhysicalID {
		return errors.New("the record names another resource by now")
	}
	skipped, err := d.delete(ctx, op.LogicalID, row, retry.ForDelete(retry.Classifier{}), true)
	d.change(func(r *state.Record) { r.Set(op.LogicalID, op.Previous) })
	if err != nil || skipped != "" {
		return fmt.Errorf("the new copy %s was left behind and no record names it: %w", row.PhysicalID, errors.Join(err, text(skipped)))
	}
	return nil
}

func text(s string) error {
	if s == "" {
		return nil
	}
	return errors.New(s)
}

// revert updates a resource back to the properties that it had.
func (d *deployment) revert(ctx context.Context, op *state.Operation) error {
	row := d.world.row(op.LogicalID)
	if row == nil || row.PhysicalID != op.PhysicalID {
		return errors.New("the record names another resource by now")
	}
	if op.ResourceType == nestedType {
		return errors.New("the nested stack was updated, and what it was before is in the previous version of the app: deploy that")
	}
	if value.Equal(row.Properties, op.Previous.Properties) {
		d.change(func(r *state.Record) { r.Set(op.LogicalID, op.Previous) }) // only policies differ
		return nil
	}
	if strings.Contains(value.JSON(op.Previous.Properties), `"`+state.Masked+`"`) {
		return errors.New("it had a NoEcho value, which is not stored and so cannot be put back")
	}
	decision, err := d.router.Recorded(op.LogicalID, op.ResourceType, row.ProvisionedBy)
	if err != nil {
		return err
	}
	before, err := d.scope.ResolveRecorded(ctx, op.Previous.Properties)
	if err != nil {
		return fmt.Errorf("resolve the references in its previous properties: %w", err)
	}
	req := d.request(op.LogicalID, op.ResourceType)
	req.PhysicalID, req.Attributes = row.PhysicalID, row.Attributes
	req.Properties, req.Previous = before.Clear.(*value.Object), row.Properties
	d.name(req)
	var updated provider.Updated
	ev := Event{Action: plan.Update, LogicalID: op.LogicalID, Type: op.ResourceType, PhysicalID: row.PhysicalID, Rollback: true}
	err = d.operation(ctx, ev, d.limit(op.ResourceType), func(ctx context.Context) (string, error) {
		var err error
		updated, err = d.provider(decision, retry.ForCreate(retry.Classifier{})).Update(ctx, req)
		return updated.PhysicalID, err
	})
	if err != nil {
		return err
	}
	d.change(func(r *state.Record) {
		row := op.Previous.Clone()
		if updated.PhysicalID != "" {
			row.PhysicalID = updated.PhysicalID
		}
		if updated.Attributes != nil {
			row.Attributes = d.redact(updated.Attributes)
		}
		r.Set(op.LogicalID, row)
	})
	return nil
}

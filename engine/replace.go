package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/awssdk"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// replace makes a new resource in the place of an old one, which goes in the
// clean-up phase.
func (d *deployment) replace(ctx context.Context, c *plan.Change, resolved template.Resolved, old *state.Resource) error {
	first, err := d.mayReplace(c, resolved.Clear.(*value.Object), old)
	if err != nil {
		return d.fail(c, old.PhysicalID, err)
	}
	if c.Action == plan.MayReplace {
		// Only now is it known that something will be deleted.
		if err := d.registry.Check(ctx); err != nil {
			d.unaddressed(c.LogicalID, c.Type, old.PhysicalID, fmt.Sprintf("it has to be replaced, and was kept: %v", err), Remedy(err))
			return nil
		}
	}
	if first {
		if err := d.clearWay(ctx, c, old); err != nil {
			return d.fail(c, old.PhysicalID, err)
		}
	}
	return d.create(ctx, c, resolved, old)
}

// A ReplacementError says why a resource is not replaced. Nothing was changed
// on it.
type ReplacementError struct {
	LogicalID, Type, PhysicalID string
	Properties                  []string // whose change asks for the replacement
	Because, Next               string
}

func (e *ReplacementError) Error() string {
	return fmt.Sprintf("%s (%s) has to be replaced, because %s cannot be changed in place; it was not, because %s",
		e.LogicalID, e.Type, strings.Join(e.Properties, ", "), e.Because)
}

// Remedy says what to do about it.
func (e *ReplacementError) Remedy() string { return e.Next }

// mayReplace refuses a replacement that would lose data, or that cannot work
// because the new resource would have the old one's name, and tells whether the
// old resource is to be deleted first.
func (d *deployment) mayReplace(c *plan.Change, properties *value.Object, old *state.Resource) (first bool, err error) {
	refuse := &ReplacementError{LogicalID: c.LogicalID, Type: c.Type, PhysicalID: old.PhysicalID}
	for _, p := range c.Properties {
		if p.Replaces || p.MayReplace {
			refuse.Properties = append(refuse.Properties, p.Path)
		}
	}
	if c.UpdateReplacePolicy == "Snapshot" && !d.opt.SkipFinalSnapshot && !d.takesSnapshot(old) {
		refuse.Because = "UpdateReplacePolicy asks for a final snapshot of the old one, and none can be taken"
		refuse.Next = "set UpdateReplacePolicy to Retain to keep the old resource beside the new one"
		return false, refuse
	}
	if plan.Stateful(old.ResourceType) && c.UpdateReplacePolicy != "Retain" && !d.leavesSnapshot(c, old) && !d.opt.mayLoseData(d.t, c.LogicalID) {
		refuse.Because = "its data would be lost"
		refuse.Next = "set UpdateReplacePolicy to Retain to keep the old resource beside the new one, or give the new one another logical id; " +
			"where the data may go, name the resource in force-stateful-recreation"
		return false, refuse
	}
	if c.Recreate != "" && c.UpdateReplacePolicy != "Retain" {
		return true, nil
	}
	if old.ResourceType != c.Type {
		return false, nil
	}
	name := plan.PhysicalName(d.t.Name, c.LogicalID, c.Type, properties)
	if name.Value == "" || name.Value != plan.PhysicalName(d.t.Name, c.LogicalID, c.Type, old.Properties).Value {
		return false, nil
	}
	if d.mayClear(c) {
		return true, nil
	}
	refuse.Because = fmt.Sprintf("the new resource would have the name of the old one, %s", name.Value)
	refuse.Next = fmt.Sprintf("change the declared %s, or leave it out to have a name made", name.Property)
	if name.Generated {
		refuse.Next = fmt.Sprintf("declare another %s, or change the construct's id so that another name is made", name.Property)
	}
	if c.UpdateReplacePolicy != "Retain" {
		refuse.Next += "; or set replace, to have the old resource deleted first"
	}
	return false, refuse
}

// leavesSnapshot tells whether the data of a resource that is replaced is kept in
// a final snapshot.
func (d *deployment) leavesSnapshot(c *plan.Change, old *state.Resource) bool {
	return c.UpdateReplacePolicy == "Snapshot" && !d.opt.SkipFinalSnapshot && d.takesSnapshot(old)
}

// A refusal is why a planned change is not made, and what makes it so.
type refusal interface {
	error
	because() string
}

func (e *ReplacementError) because() string { return e.Because }

// refuse marks the changes of a plan that will not be made. Replacements that a
// deploy may still turn out not to need, or whose names are not known yet, are
// decided when they come.
func (d *deployment) refuse(p *planned, record *state.Record) {
	p.unmade = map[string]refusal{}
	mark := func(c *plan.Change, r refusal) { p.unmade[c.LogicalID], c.Refused = r, r.because() }
	withheld := p.withheld(d.t, record)
	for _, c := range p.Changes {
		if e := withheld[c.LogicalID]; e != nil {
			mark(c, e)
			continue
		}
		if hidden, ok := errors.AsType[*IncomparableError](d.comparable(c, p.scope.Resource(c.LogicalID))); ok {
			mark(c, hidden)
			continue
		}
		if !certain(c) {
			continue
		}
		known := &value.Object{}
		for name, v := range c.Desired.All() {
			if text := value.JSON(v); plan.Unresolved(v) || strings.Contains(text, secret.Masked) || strings.Contains(text, "{{resolve:") {
				v = "\x00" // like no name that is recorded
			}
			known.Set(name, v)
		}
		_, err := d.mayReplace(c, known, record.Row(c.LogicalID))
		if refused, ok := errors.AsType[*ReplacementError](err); ok {
			mark(c, refused)
		}
	}
}

// certain tells of a change that it is a replacement, whatever the values come to
// that are not known yet.
func certain(c *plan.Change) bool {
	return c.Action == plan.Replace && (c.Recreate != "" ||
		slices.ContainsFunc(c.Properties, func(p plan.PropertyChange) bool { return p.Replaces && !p.Propagated }))
}

// announceRefusals says, of a plan that is not carried out, what a deploy will
// refuse.
func (d *deployment) announceRefusals() {
	for _, c := range d.Changes {
		if c.Refused == "" {
			continue
		}
		would := "would have to be replaced"
		if e := (*NotGivenError)(nil); errors.As(d.unmade[c.LogicalID], &e) {
			would = "would be " + e.done()
		} else if c.Action == plan.Create {
			would = "would be created"
		} else if c.Action == plan.MayReplace {
			would = "might have to be replaced"
		}
		d.warn("%s (%s) %s, which a deploy refuses: %s", c.LogicalID, c.Type, would, c.Refused)
	}
	for _, b := range d.below {
		b.announceRefusals()
	}
}

// refusals fails a deploy of which it is known that it would have to stop
// halfway.
func (d *deployment) refusals() error {
	var first error
	for _, c := range d.Changes {
		if r := d.unmade[c.LogicalID]; r != nil {
			first = cmp.Or(first, d.fail(c, c.PhysicalID, r))
		}
	}
	for _, b := range d.below {
		if err := b.refusals(); err != nil {
			(&nested{parent: d}).adopt(b)
			first = cmp.Or(first, err)
		}
	}
	if first == nil {
		return nil
	}
	return &ResourcesError{Stack: d.t.Name, Region: d.t.Region, Failed: len(d.res.Failures), First: first}
}

// replaced notes that op left an old copy behind.
func (d *deployment) replaced(c *plan.Change, op *state.Operation, old *state.Resource) {
	op.ChangeType, op.Previous, op.OldRetained = state.OpUpdate, old, !d.isCleared(c.LogicalID)
	if old.ResourceType != c.Type {
		op.PreviousType = old.ResourceType
	}
	if !op.OldRetained {
		return
	}
	_, policy := d.policies(c.LogicalID)
	old = old.Clone()
	old.UpdateReplacePolicy = policy
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leftovers = append(d.leftovers, leftover{logicalID: c.LogicalID, row: old, retain: policy == "Retain"})
}

// failedCreate takes a create's failure. A resource that was made all the same
// is recorded, and undone with the rest.
func (d *deployment) failedCreate(ctx context.Context, c *plan.Change, resolved template.Resolved, made provider.Created, old *state.Resource, err error) error {
	op := &state.Operation{LogicalID: c.LogicalID, ResourceType: c.Type, ChangeType: state.OpCreate, PhysicalID: made.PhysicalID,
		Properties: resolved.Stored.(*value.Object), ProvisionedBy: d.decisions[c.LogicalID].Route.ProvisionedBy}
	switch {
	case made.PhysicalID != "" && old != nil:
		d.replaced(c, op, old)
		d.complete(op)
	case made.PhysicalID != "":
		d.complete(op)
	default:
		err = d.existing(ctx, c.LogicalID, c.Type, resolved, err)
		if id := failedID(c.LogicalID, err); c.Type != nestedType && id != "" {
			op.PhysicalID, op.IDFromError = id, true
		}
		if isCustom(c.Type) || op.PhysicalID == "" { // no policy keeps what Cloud Control left of a create
			op.DeletionPolicy, _ = d.policies(c.LogicalID)
		}
		if old != nil {
			op.ReplacedID, op.ReplacedType, op.Previous, op.ReplacedDeleted = old.PhysicalID, old.ResourceType, old, d.isCleared(c.LogicalID)
		}
		d.mu.Lock()
		d.failed = append(d.failed, op)
		if provider.Ambiguous(err) || is[*UnresolvedError](err) {
			d.uncertain = append(d.uncertain, c.LogicalID)
		}
		d.mu.Unlock()
	}
	if old != nil && d.isCleared(c.LogicalID) && !errors.Is(err, errNotBegun) {
		err = fmt.Errorf("the old %s is deleted already, and making the new one failed: %w", old.PhysicalID, err)
	}
	return d.fail(c, op.PhysicalID, err)
}

// fail puts a resource's failure into the result. What was let go, or not begun,
// because the run is ending is no failure.
func (d *deployment) fail(c *plan.Change, physicalID string, err error) error {
	if ending := d.ending(err); ending != err {
		return ending
	}
	f := result.Failure{
		LogicalID: c.LogicalID, Type: c.Type, Path: c.Path, Action: c.Action, PhysicalID: physicalID,
		Message: d.e.config.Secrets.Mask(err.Error()), Remedy: Remedy(err), Page: cmp.Or(Page(err), guide.ResourceFailed).URL(d.e.config.Version),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.res.Failures = append(d.res.Failures, f)
	d.res.Counts.Failed++
	d.failure = cmp.Or(d.failure, err)
	if d.stopWork != nil {
		d.stopWork()
	}
	return err
}

// ending marks an error that is there only because the run is ending.
func (d *deployment) ending(err error) error {
	if d.e.config.Window.Interrupted() && letGo(err) || errors.Is(err, errNotBegun) {
		return errors.Join(errLetGo, err)
	}
	return err
}

// half notes an operation that failed and may have been carried out in part.
func (d *deployment) half(err error, op *state.Operation) {
	if errors.Is(err, errNotBegun) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = append(d.failed, op)
}

func letGo(err error) bool {
	return errors.Is(err, provider.ErrDraining) || errors.As(err, new(*retry.InterruptedError)) ||
		errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted)
}

// remove deletes recorded resources, each after what depends on it, and drops
// their rows.
func (d *deployment) remove(ctx context.Context, order []string, rows map[string]*state.Resource, opt graph.Options, policy retry.Policy) map[string]graph.Outcome {
	return graph.Run(ctx, d.removals(order, rows, policy, nil), deletion(order, rows), opt)
}

func deletion(order []string, rows map[string]*state.Resource) graph.Edges {
	known := map[string]graph.Row{}
	for id, row := range rows {
		known[id] = graph.Row{Type: row.ResourceType, PhysicalID: row.PhysicalID, Dependencies: row.Dependencies, Properties: row.Properties}
	}
	return graph.Deletion(order, known)
}

// removals makes the tasks that delete rows, or, where old has them, old copies
// of replaced resources, which have no row of their own any more.
func (d *deployment) removals(order []string, rows map[string]*state.Resource, retries retry.Policy, old map[string]leftover) []graph.Task {
	var tasks []graph.Task
	for _, id := range order {
		row := rows[id]
		tasks = append(tasks, graph.Task{ID: id, API: service(row.ResourceType), Cost: slowTypes[row.ResourceType], Run: func(ctx context.Context) error {
			defer d.observe(Event{Kind: ResourceOver, LogicalID: id, Type: row.ResourceType})
			policy := plan.DeletionPolicy(row.ResourceType, row.Properties, row.DeletionPolicy)
			if old == nil && plan.Keeps(policy) && !(d.unmaking && policy == "RetainExceptOnCreate") {
				d.retained(id, row)
				d.change(func(r *state.Record) { r.Remove(id) })
				return nil
			}
			c := &plan.Change{LogicalID: id, Type: row.ResourceType, Action: plan.Delete}
			if create, tried := d.sentCreate(ctx, id, row); tried && old == nil && !slices.Contains(d.found, id) { // no deploy with it has succeeded
				doubt, err := d.tried(ctx, id, row, create)
				if err != nil {
					return d.fail(c, row.PhysicalID, err)
				}
				if doubt != "" {
					d.leave(id, row, doubt, state.ResourceSkipped, state.OpDelete)
					return nil
				}
			}
			if op := d.pending.settling[id]; op != nil && old == nil {
				if err := d.awaitReady(ctx, op, row); err != nil && d.e.config.Window.Interrupted() && letGo(err) {
					return d.fail(c, row.PhysicalID, err)
				} // one that has failed can go
			}
			doomed := row
			if old != nil {
				doomed = governed(row, row.UpdateReplacePolicy)
			}
			skipped, err := d.delete(ctx, id, doomed, retries, false)
			elsewhere, moved := errors.AsType[*ElsewhereError](err)
			switch {
			case moved && old != nil:
				d.goneLeftover(row)
				d.givenAway(id, row, elsewhere)
			case moved:
				d.giveAway(id, elsewhere)
			case err != nil:
				if old == nil {
					if !is[*SnapshotError](err) { // AWS was asked
						d.half(err, &state.Operation{LogicalID: id, ResourceType: row.ResourceType, ChangeType: state.OpDelete,
							PhysicalID: row.PhysicalID, Previous: row, ProvisionedBy: row.ProvisionedBy})
					}
					if !d.retiring {
						return d.fail(c, row.PhysicalID, err)
					}
				}
				return d.ending(err) // the deploy is done by now
			case skipped != "":
				d.unaddressed(id, row.ResourceType, row.PhysicalID, skipped, "the next deploy or destroy tries again")
				return nil
			case old != nil:
				d.goneLeftover(row)
				d.oldGone(id, row)
				if old[id].earlier { // of this run's own it is part of the replacement
					d.count(func(n *result.Counts) { n.Deleted++ })
				}
			default:
				d.complete(&state.Operation{LogicalID: id, ResourceType: row.ResourceType, ChangeType: state.OpDelete,
					PhysicalID: row.PhysicalID, Previous: row, ProvisionedBy: row.ProvisionedBy})
				d.change(func(r *state.Record) { r.Remove(id) })
				d.count(func(n *result.Counts) { n.Deleted++ })
			}
			return nil
		}})
	}
	return tasks
}

// oldGone notes that a rollback of this run would have to make an old copy
// again.
func (d *deployment) oldGone(logicalID string, row *state.Resource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, op := range d.completed {
		if op.LogicalID == logicalID && op.Previous != nil && op.Previous.PhysicalID == row.PhysicalID {
			op.OldRetained = false
		}
	}
}

func (d *deployment) retained(logicalID string, row *state.Resource) {
	d.keeps(logicalID, row)
	d.observe(Event{Kind: ResourceRetained, LogicalID: logicalID, Type: row.ResourceType, PhysicalID: row.PhysicalID, Action: plan.Retain})
	d.emit(state.Event{EventType: state.ResourceRetained, Operation: state.OpDelete, LogicalID: logicalID,
		ResourceType: row.ResourceType, PhysicalID: row.PhysicalID, ProvisionedBy: row.ProvisionedBy})
}

// delete deletes one recorded resource by the layer that made it.
func (d *deployment) delete(ctx context.Context, id string, row *state.Resource, policy retry.Policy, undoing bool) (skipped string, err error) {
	snapshot := plan.DeletionPolicy(row.ResourceType, row.Properties, row.DeletionPolicy) == "Snapshot" && !d.opt.SkipFinalSnapshot
	if snapshot && !d.takesSnapshot(row) {
		return "", &SnapshotError{LogicalID: id, Type: row.ResourceType}
	}
	decision, err := d.router.Recorded(id, row.ResourceType, row.ProvisionedBy)
	if err != nil {
		return "", err
	}
	var name string
	if n := plan.PhysicalName(d.t.Name, id, row.ResourceType, row.Properties); !n.Generated {
		name = n.Value
	}
	release, err := d.hold(ctx, Event{LogicalID: id, Type: row.ResourceType, Action: plan.Delete, Rollback: undoing}, name)
	if err != nil {
		return "", err
	}
	defer release()
	if err := d.elsewhere(ctx, id, row); err != nil {
		return "", err
	}
	req := d.request(id, row.ResourceType)
	req.PhysicalID, req.Attributes = row.PhysicalID, row.Attributes
	if req.Properties, err = d.reveal(ctx, row); err != nil {
		return "", err
	}
	if snapshot {
		req.FinalSnapshot = plan.FinalSnapshotName(row.ResourceType, row.PhysicalID, time.Now())
	}
	if snapshot && awssdk.TakesSnapshotFirst(row.ResourceType) {
		if err := d.takeSnapshot(ctx, req); err != nil {
			return "", err
		}
	}
	f := d.depart(req, state.OpenOperation{ChangeType: state.OpDelete, PhysicalID: row.PhysicalID, Previous: row, ProvisionedBy: row.ProvisionedBy})
	ev := Event{Action: plan.Delete, LogicalID: id, Type: row.ResourceType, PhysicalID: row.PhysicalID, Rollback: undoing}
	var effect provider.Effect
	err = d.operation(ctx, ev, d.limit(row.ResourceType), func(ctx context.Context) (string, error) {
		if d.unprotect {
			d.removeProtection(ctx, decision, req)
		}
		deleted, err := d.provider(decision, policy).Delete(provider.Observing(ctx, &effect), req)
		skipped = deleted.Skipped
		return "", err
	})
	d.arrive(f, err)
	d.halfDeleted(err, effect.Had(), f)
	return skipped, d.whyKept(row, err)
}

// reveal gives a row's properties with the secrets in them resolved again,
// where the delete may need them: a custom resource's handler is sent them.
func (d *deployment) reveal(ctx context.Context, row *state.Resource) (*value.Object, error) {
	if !isCustom(row.ResourceType) {
		return row.Properties, nil
	}
	r, err := d.scope.ResolveRecorded(ctx, row.Properties)
	if err != nil {
		return nil, fmt.Errorf("resolve the references in the recorded properties: %w", err)
	}
	return r.Clear.(*value.Object), nil
}

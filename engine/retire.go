package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// What a deploy puts out of use goes when all of its creates and updates have
// succeeded, as in CloudFormation: old copies of what was replaced first, then
// what is gone from the template. For a nested stack these are the creates and
// updates of the top-level one. Until then its record goes on to name what is
// gone, and what it replaced is written down as open, so that a rollback of the
// stacks above finds both, and so does the deploy after a run that was killed.
//
// From the first of these deletes on nothing is rolled back: that would take away
// what was made in the place of what is gone. What cannot be deleted stays on
// record and is reported.

const againLater = "the next deploy that succeeds, or a destroy, tries again"

// due is a nested stack in which something is to go. Its turn comes by what its
// row depended on before the deploy.
type due struct {
	*deployment
	row     *state.Resource
	entered bool // as open
}

// putOff leaves what is to go from a nested stack to the one that it is part of.
// row is the stack's row as it was before, nil when there was none.
func (n *nested) putOff(d *deployment, row *state.Resource) {
	p := n.parent
	if row == nil {
		row = &state.Resource{ResourceType: nestedType}
	}
	p.pending.mu.Lock()
	delete(p.pending.children, d.t.parentLogicalID) // what is open in it is this run's to do
	p.pending.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = append(p.due, &due{deployment: d, row: row})
}

// enterDue notes, at the end of a run, the nested stacks in which something is
// still open.
func (d *deployment) enterDue() {
	for _, b := range d.due {
		row := d.world.row(b.t.parentLogicalID)
		if b.entered || row == nil || !b.open() {
			continue
		}
		b.entered = true
		d.pending.mu.Lock()
		d.pending.let = append(d.pending.let, state.OpenOperation{
			LogicalID: b.t.parentLogicalID, ResourceType: nestedType, ChangeType: state.OpUpdate, Stage: state.StageAccepted,
			PhysicalID: row.PhysicalID, Previous: row, ProvisionedBy: row.ProvisionedBy, StartedAt: now().UnixMilli(), RoleARN: d.e.config.RoleARN,
		})
		d.pending.mu.Unlock()
	}
}

// hasOld tells whether old copies are to go, from the stack or what is nested in
// it.
func (d *deployment) hasOld() bool {
	return len(d.leftovers)+len(d.pending.earlier) > 0 || slices.ContainsFunc(d.due, func(b *due) bool { return b.hasOld() })
}

// hasGone tells whether there is something of the stack, or of what is nested in
// it, that the template does not have.
func (d *deployment) hasGone() bool {
	return slices.ContainsFunc(d.Changes, (*plan.Change).Gone) || len(d.strays()) > 0 ||
		slices.ContainsFunc(d.due, func(b *due) bool { return b.hasGone() })
}

// retire deletes what the deploy of a top-level stack put out of use, in all of
// the stacks that are part of it.
func (d *deployment) retire(ctx context.Context, opt graph.Options) error {
	if d.hasOld() || d.hasGone() {
		if err := d.checkOutputs(ctx); err != nil {
			return err
		}
		// The record names what was made before anything else goes.
		if err := d.written(); err != nil {
			return err
		}
	}
	defer d.enterDue()
	if err := d.cleanUp(ctx, opt); err != nil {
		return err
	}
	return d.removeGone(ctx, opt)
}

// removeGone deletes what is gone from the template.
func (d *deployment) removeGone(ctx context.Context, opt graph.Options) error {
	order, rows, heirs := d.goneRows(d.adoptStrays(ctx, false))
	g := outgoing{order: order, rows: maps.Clone(rows), within: map[string]*deployment{}}
	for _, b := range d.due {
		if b.hasGone() {
			id := b.t.parentLogicalID
			g.order, g.rows[id], g.within[id] = append(g.order, id), b.row, b.deployment
		}
	}
	outcomes := d.takeOut(ctx, g, opt)
	d.tellUndeleted(g, outcomes)
	var fault error // of the program
	for _, id := range g.order {
		o := outcomes[id]
		if stopped := d.stopCause(); stopped != nil && o.Status != graph.Succeeded {
			return stopped
		}
		if is[*routine.PanicError](o.Err) {
			fault = cmp.Or(fault, o.Err)
		}
	}
	d.handOver(rows, heirs)
	d.handOverElsewhere()
	return fault
}

// An outgoing is what one phase deletes: rows by logical id, and nested stacks in
// which it is done as well.
type outgoing struct {
	order  []string
	rows   map[string]*state.Resource
	within map[string]*deployment
	old    map[string]leftover // what the rows are old copies of; nil: they are no old copies
}

// takeOut deletes, each after what depends on it. One that will not go does not
// keep the others.
func (d *deployment) takeOut(ctx context.Context, g outgoing, opt graph.Options) map[string]graph.Outcome {
	if len(g.order) == 0 {
		return nil
	}
	d.retiring = true
	own := slices.DeleteFunc(slices.Clone(g.order), func(id string) bool { return g.within[id] != nil })
	if g.old == nil { // old copies are written down already
		d.noteDeletes(ctx, own, g.rows)
	}
	tasks := d.removals(own, g.rows, retry.ForDelete(retry.Classifier{}), g.old)
	for _, id := range g.order {
		b := g.within[id]
		if b == nil {
			continue
		}
		tasks = append(tasks, graph.Task{ID: id, API: service(nestedType), Cost: slowTypes[nestedType], Run: func(ctx context.Context) error {
			phase := b.removeGone
			if g.old != nil {
				phase = b.cleanUp
			}
			err := b.resume(ctx, phase)
			(&nested{parent: d}).adopt(b)
			if err != nil {
				return d.ending(&NestedError{Stack: b.t.Name, Err: err})
			}
			return nil
		}})
	}
	opt.KeepGoing = true
	return graph.Run(ctx, tasks, deletion(g.order, g.rows), opt)
}

// tellUndeleted reports what did not go. The deploy is done by now: that does not
// undo it.
func (d *deployment) tellUndeleted(g outgoing, outcomes map[string]graph.Outcome) {
	for _, id := range g.order {
		o, row := outcomes[id], g.rows[id]
		var reason string
		switch {
		case g.within[id] != nil:
			reason = "what is to go from it was not deleted"
		case g.old != nil:
			reason = "the old copy of a replaced resource was not deleted"
		default:
			reason = "it is gone from the template and was not deleted"
		}
		switch {
		case o.Status == graph.Succeeded:
			continue
		case o.Status == graph.Skipped:
			reason += ": something that depends on it is still there"
		case o.Status == graph.NotStarted || errors.Is(o.Err, errLetGo):
			if g.old == nil {
				continue // it is recorded, and the run says that it ended early
			}
			reason += ": the run ended before"
		default:
			d.e.explain(o.Err)
			reason += ": " + o.Err.Error()
		}
		remedy := againLater
		if first := Remedy(o.Err); first != "" {
			remedy = first + "; " + againLater
		}
		d.unaddressed(id, row.ResourceType, row.PhysicalID, reason, remedy)
	}
}

// resume goes on with a nested stack whose deploy put off what is to go, under its
// lock again.
func (d *deployment) resume(ctx context.Context, phase func(context.Context, graph.Options) error) error {
	reads, cancel := d.e.config.Window.Interruptible(ctx)
	defer cancel()
	defer d.release()
	etag, written := d.saver.ETag(), d.saver.Written()
	if _, err := d.acquire(reads, state.LockOptions{Operation: "deploy", Subject: d.subject(), FailFast: true}); err != nil {
		return err
	}
	var wg routine.Group
	var confirmed, popped error
	wg.Go(func() { confirmed = d.place.Confirm(reads, etag) })
	// The journal says nothing of the run until it is known what went: a rollback
	// would take for there what is not.
	wg.Go(func() { popped = d.place.PopSegment(reads, d.runID) })
	wg.Wait()
	if err := cmp.Or(confirmed, popped); err != nil {
		return err
	}
	d.openSaver(ctx, etag, written)
	d.kept = nil
	stop, done := d.stopping(false)
	err := phase(ctx, d.pace(stop))
	done()
	d.enterDue()
	d.conclude(ctx)
	return err
}

// conclude writes down what went from a nested stack.
func (d *deployment) conclude(ctx context.Context) {
	lost := d.mayBegin(ctx) != nil
	cleanup, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	var wg routine.Group
	if !lost { // else whoever has the stack now goes on from the record
		wg.Go(func() { d.keepForParent(cleanup) })
	}
	if d.e.config.Window.Interrupted() {
		wg.Go(d.seal) // neither waits for the other in the little time left
	}
	if d.saved() != nil {
		d.tellUnrecorded()
	}
	wg.Wait()
	d.seal()
	d.settleLedger(cleanup)
	if len(d.kept) > 0 {
		if err := d.place.Retain(cleanup, d.presence.Retained, d.kept, d.world.record); err != nil {
			d.warn("%v", err)
		}
	}
}

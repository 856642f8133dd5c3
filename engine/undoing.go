package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// An undoing is a rollback under way: what is undone, and how that went.
type undoing struct {
	*deployment
	own    bool     // what is undone is what this run did
	run    string   // the run that did it, "" when the journal does not say
	orphan []string // logical ids to leave in AWS
	// alsoFailed brings back what failed operations may have changed, too.
	alsoFailed bool
	// going are the rows that undoing their creates takes off the record.
	going map[string]*state.Resource
	// forbidden is why nothing may be deleted, nil when it may: the stack may be
	// another prefix's.
	forbidden error

	mu      sync.Mutex
	failed  int
	skipped int
	stopped bool // before everything had its turn
	// foreign are the logical ids of what was left because it may be somebody
	// else's: no journal may say that this stack made it.
	foreign []string
}

// clean tells whether everything was undone.
func (u *undoing) clean() bool { return u.failed == 0 && u.skipped == 0 }

// deletes tells whether undoing the operations deletes something.
func (u *undoing) deletes(completed []*state.Operation) bool {
	return slices.ContainsFunc(completed, func(op *state.Operation) bool {
		return op.ChangeType == state.OpCreate || op.ResourceType == nestedType || op.Previous != nil && op.Previous.PhysicalID != op.PhysicalID
	})
}

// A skip is why an operation was not undone. It is said and counted, and does
// not keep the rest from being undone.
type skip struct {
	reason string
	remedy string // "": deploy what is wanted
}

func (s *skip) Error() string { return s.reason }

// errStopped is why an operation was not undone whose turn did not come.
var errStopped = errors.New("the rollback was stopped before its turn came")

// operations undoes completed operations: updates, replacements and deletes
// first, newest first, then creates, each after what depends on it. A failure
// is reported and the rest goes on. It returns the operations that another
// rollback has to look at: all but those on nested stacks that were undone,
// whose own journals do not name them any more, and on what was left as somebody
// else's.
func (u *undoing) operations(ctx context.Context, completed []*state.Operation) (left []*state.Operation) {
	stop, done := u.stopping(false)
	defer done()
	u.noteUndoing(ctx, completed)
	created, order := map[string]*state.Operation{}, []string{}
	if u.own {
		u.putBack(ctx, stop, false)
	}
	for _, op := range slices.Backward(completed) {
		left = append(left, op)
		if op.ChangeType == state.OpCreate {
			if created[op.LogicalID] == nil {
				order = append(order, op.LogicalID)
			}
			created[op.LogicalID] = op
			continue
		}
		if isClosed(stop) {
			u.report(op, errStopped)
			continue
		}
		err := u.operation(ctx, op)
		u.report(op, err)
		if err != nil {
			continue
		}
		u.undone(op)
		if op.ResourceType == nestedType {
			left = left[:len(left)-1]
		}
	}
	if u.own {
		u.putBack(ctx, stop, true)
	}
	slices.Reverse(left)
	slices.Reverse(order)
	rows := map[string]*state.Resource{}
	var tasks []graph.Task
	for _, id := range order {
		op := created[id]
		row := u.world.row(id)
		if row == nil {
			continue // gone already
		}
		rows[id] = row
		tasks = append(tasks, graph.Task{ID: id, API: service(row.ResourceType), Run: func(ctx context.Context) error {
			err := u.uncreate(ctx, op, row)
			u.report(op, err)
			if errors.As(err, new(*skip)) {
				return nil
			}
			return err
		}})
	}
	order = slices.DeleteFunc(order, func(id string) bool { return rows[id] == nil })
	u.going = rows
	u.lookOver(ctx, u.doomed(rows))
	opt := u.pace(stop)
	opt.KeepGoing = true
	outcomes := graph.Run(ctx, tasks, deletion(order, rows), opt)
	for _, id := range order {
		switch outcomes[id].Status {
		case graph.NotStarted:
			u.report(created[id], errStopped)
		case graph.Skipped:
			u.report(created[id], errors.New("not deleted: something that depends on it is still there"))
		}
	}
	return slices.DeleteFunc(left, func(op *state.Operation) bool { return slices.Contains(u.foreign, op.LogicalID) })
}

// doomed are the rows that undoing their creates deletes, unless they turn out to
// be somebody else's.
func (u *undoing) doomed(rows map[string]*state.Resource) map[string]*state.Resource {
	if u.forbidden != nil {
		return nil
	}
	rows = maps.Clone(rows)
	maps.DeleteFunc(rows, func(id string, row *state.Resource) bool {
		return plan.DeletionPolicy(row.ResourceType, row.Properties, row.DeletionPolicy) == "Retain" || slices.Contains(u.orphan, id)
	})
	return rows
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// report says that an operation was not undone, and what to do about it.
func (u *undoing) report(op *state.Operation, err error) {
	u.notUndone(op, err, "not rolled back", "roll the stack back: command `rollback` of the Action, or `cdkd-action rollback "+u.root()+"`")
}

// reportFailed does so for an operation that failed and may have changed
// something.
func (u *undoing) reportFailed(op *state.Operation, err error) {
	u.notUndone(op, err, "what its failed "+lower(op.ChangeType)+" may have changed was not put back", fmt.Sprintf(
		"roll the stack back with what failed: command `rollback` of the Action with `revert-failed: true`, or `cdkd-action rollback %s --revert-failed`", u.root()))
}

func (u *undoing) notUndone(op *state.Operation, err error, what, again string) {
	if err == nil {
		return
	}
	reason, remedy := what+": "+err.Error(), cmp.Or(Remedy(err), "remove what stands in the way")+", then "+again
	stopped := errors.Is(err, errStopped) || letGo(err)
	if stopped { // nothing stands in the way
		remedy = again
	}
	s, skipped := errors.AsType[*skip](err)
	u.mu.Lock()
	if skipped {
		u.skipped++
		remedy = cmp.Or(s.remedy, "deploy the version of the app that you want")
	} else {
		u.failed++
	}
	u.stopped = u.stopped || stopped
	u.mu.Unlock()
	if skipped {
		u.emit(state.Event{EventType: state.RollbackResourceSkipped, Operation: op.ChangeType, LogicalID: op.LogicalID,
			ResourceType: op.ResourceType, PhysicalID: op.PhysicalID, Reason: u.e.config.Secrets.Mask(s.reason)})
	}
	u.left(op.LogicalID, op.ResourceType, op.PhysicalID, reason, remedy)
}

// root is the stack that a rollback is begun on.
func (u *undoing) root() string { return u.top().t.Name }

// undone counts an operation that was undone. What a deploy undoes of its own
// does not count as done, nor did what failed; a rollback counts what it
// changes.
func (u *undoing) undone(op *state.Operation) {
	create := op.ChangeType == state.OpCreate
	mine := 0
	if u.own {
		mine = u.discount(op, create)
	}
	u.count(func(n *result.Counts) {
		switch {
		case u.own && create:
			n.Created -= mine
		case u.own:
			n.Updated -= mine
		case create:
			n.Deleted++
		default:
			n.Updated++
		}
	})
}

// discount takes an operation out of what is counted, with all that is in a
// nested stack that is gone, and returns how many it took out.
func (u *undoing) discount(op *state.Operation, whole bool) (n int) {
	top := u.top()
	top.mu.Lock()
	defer top.mu.Unlock()
	row, below := u.t.Name+"/"+op.LogicalID, u.t.Name+"~"+op.LogicalID
	for k := range top.counted {
		stack, _, _ := strings.Cut(k, "/")
		if k == row || whole && (stack == below || strings.HasPrefix(stack, below+"~")) {
			delete(top.counted, k)
			n++
		}
	}
	return n
}

// replaced tells whether an operation put another resource in the place of the
// one before.
func replaced(op *state.Operation) bool {
	return op.Previous != nil && op.Previous.PhysicalID != op.PhysicalID && (op.WasReplaced == nil || *op.WasReplaced)
}

// operation undoes an update, a replacement or a delete.
func (u *undoing) operation(ctx context.Context, op *state.Operation) error {
	row := u.world.row(op.LogicalID)
	replaced := replaced(op) || op.OldDeletedFirst
	sameID := op.Previous != nil && op.PhysicalID == op.Previous.PhysicalID
	switch {
	case op.ChangeType == state.OpDelete:
		return &skip{reason: "a delete cannot be undone"}
	case slices.Contains(u.orphan, op.LogicalID):
		return nil
	case row == nil && op.OldDeletedFirst && op.Previous != nil && op.ResourceType != nestedType:
		return u.revive(ctx, op, nil)
	case row == nil:
		return &skip{reason: "it is not recorded any more"}
	case op.Previous == nil:
		return &skip{reason: "what it was before is not in the journal"}
	case op.ResourceType == nestedType:
		return u.revertNested(ctx, op)
	case replaced && row.PhysicalID == op.Previous.PhysicalID && (!sameID || value.Equal(row.Properties, op.Previous.Properties)):
		return nil // undone already
	case row.PhysicalID != op.PhysicalID && value.Equal(row.Properties, op.Previous.Properties):
		return nil
	case row.PhysicalID != op.PhysicalID:
		return &skip{reason: fmt.Sprintf("the record names another resource by now, %s", row.PhysicalID)}
	case replaced && u.forbidden != nil:
		return &skip{reason: fmt.Sprintf("its new copy was kept: %v", u.forbidden)}
	case replaced && op.OldRetained:
		return u.takeBack(ctx, op, row)
	case replaced:
		return u.revive(ctx, op, row)
	}
	return u.revert(ctx, op, row, false)
}

// uncreate deletes what was created, or lets it go where it is to stay.
func (u *undoing) uncreate(ctx context.Context, op *state.Operation, row *state.Resource) error {
	if row.PhysicalID != op.PhysicalID {
		return &skip{reason: fmt.Sprintf("the record names another resource by now, %s", row.PhysicalID)}
	}
	if u.forbidden != nil {
		return &skip{reason: fmt.Sprintf("it was kept: %v", u.forbidden)}
	}
	if heir := u.heir(op.LogicalID, row, nil); heir != "" { // what it was answered with was there before
		err := u.giveBack(ctx, row, u.heir(op.LogicalID, row, u.going))
		if err == nil || is[*skip](err) {
			u.change(func(r *state.Record) { r.Remove(op.LogicalID) })
		}
		return err
	}
	if err := u.elsewhere(ctx, op.LogicalID, row); err != nil {
		return u.letElsewhere(op, row, err)
	}
	policy := plan.DeletionPolicy(row.ResourceType, row.Properties, row.DeletionPolicy)
	if policy == "Retain" || slices.Contains(u.orphan, op.LogicalID) {
		u.retained(op.LogicalID, row)
		var displaced *state.Orphan
		u.change(func(r *state.Record) {
			if row.ResourceType == nestedType { // that has a record of its own
				r.Remove(op.LogicalID)
			} else {
				displaced = r.Orphan(op.LogicalID, row, now())
			}
		})
		if displaced != nil {
			u.setAside(ctx, *displaced)
		}
		return nil
	}
	doubt, err := u.doubt(ctx, op.LogicalID, row, state.RunBegan(u.run))
	if err != nil {
		return err
	}
	if doubt != "" {
		u.mu.Lock()
		u.foreign = append(u.foreign, op.LogicalID)
		u.mu.Unlock()
		u.leave(op.LogicalID, row, doubt, state.RollbackResourceSkipped, op.ChangeType)
		if u.own {
			u.undone(op) // it is no longer a resource that was made
		}
		return nil
	}
	if row.ResourceType == nestedType {
		if whole, err := u.madeByRun(ctx, op); !whole || err != nil {
			return err
		}
	}
	skipped, err := u.delete(ctx, op.LogicalID, row, retry.ForDelete(retry.Classifier{}), true)
	if err != nil {
		return u.letElsewhere(op, row, err)
	}
	if skipped != "" {
		return &skip{reason: skipped}
	}
	u.change(func(r *state.Record) { r.Remove(op.LogicalID) })
	u.undone(op)
	return nil
}

// setAside tells of a resource that an earlier rollback left, and that the record
// has no room for beside the one that is left now.
func (u *undoing) setAside(ctx context.Context, o state.Orphan) {
	kept := state.Kept{LogicalID: o.LogicalID, ResourceType: o.State.ResourceType, PhysicalID: o.State.PhysicalID, KeptAt: o.OrphanedAt}
	u.warn("%s (%s, %s), which an earlier rollback left, is on the stack's list of kept resources now: delete it, or import it", kept.LogicalID, kept.ResourceType, kept.PhysicalID)
	if err := u.place.Retain(ctx, true, []state.Kept{kept}, state.NewRecord(u.t.Name, u.t.Region)); err != nil {
		u.warn("%v", err)
	}
}

// letElsewhere drops the row of a create that was answered with what another
// stack has, and passes every other error on.
func (u *undoing) letElsewhere(op *state.Operation, row *state.Resource, err error) error {
	e, ok := errors.AsType[*ElsewhereError](err)
	if !ok {
		return err
	}
	u.givenAway(op.LogicalID, row, e)
	u.change(func(r *state.Record) { r.Remove(op.LogicalID) })
	if u.own {
		u.undone(op)
	}
	return nil
}

var errNoEcho = &skip{
	reason: "it had a NoEcho value, which is not stored and so cannot be put back",
	remedy: "deploy the version of the app that you want, with the value that the parameter is to have",
}

// hasMasks tells whether properties of a row were NoEcho values. They are equal
// whatever they stand for.
func hasMasks(row *state.Resource) bool {
	return len(row.NoEchoLeaves) > 0 || strings.Contains(value.JSON(row.Properties), `"`+state.Masked+`"`)
}

// back is the request that brings a resource back to what it was before op.
func (u *undoing) back(ctx context.Context, op *state.Operation, row *state.Resource) (*provider.Request, provider.Decision, error) {
	if hasMasks(op.Previous) {
		return nil, provider.Decision{}, errNoEcho
	}
	decision, err := u.router.Recorded(op.LogicalID, op.Previous.ResourceType, op.Previous.ProvisionedBy)
	if err != nil {
		return nil, decision, err
	}
	before, err := u.scope.ResolveRecorded(ctx, op.Previous.Properties)
	if err != nil {
		return nil, decision, fmt.Errorf("resolve the references in its previous properties: %w", err)
	}
	req := u.request(op.LogicalID, op.Previous.ResourceType)
	req.PhysicalID, req.Attributes = row.PhysicalID, row.Attributes
	req.Properties, req.Previous = before.Clear.(*value.Object), row.Properties
	u.name(req)
	return req, decision, nil
}

// revert updates a resource back to the properties that it had. Where the update
// failed, AWS may have either.
func (u *undoing) revert(ctx context.Context, op *state.Operation, row *state.Resource, unsure bool) error {
	if !hasMasks(op.Previous) && value.Equal(row.Properties, op.Previous.Properties) {
		u.change(func(r *state.Record) { r.Set(op.LogicalID, previous(op, row.PhysicalID)) }) // only policies differ
		return nil
	}
	req, decision, err := u.back(ctx, op, row)
	if err != nil {
		return err
	}
	req.Unsure = unsure
	var updated provider.Updated
	ev := Event{Action: plan.Update, LogicalID: op.LogicalID, Type: op.ResourceType, PhysicalID: row.PhysicalID, Rollback: true}
	err = u.deployment.operation(ctx, ev, u.limit(op.ResourceType), func(ctx context.Context) (string, error) {
		var err error
		updated, err = u.provider(decision, retry.ForCreate(retry.Classifier{})).Update(ctx, req)
		return updated.PhysicalID, err
	})
	if err != nil {
		return err
	}
	if err := u.noteSuperseded(ctx, op, row, updated.PhysicalID); err != nil {
		u.warn("%v", err)
	}
	u.change(func(r *state.Record) {
		row := previous(op, cmp.Or(updated.PhysicalID, row.PhysicalID))
		if updated.Attributes != nil {
			row.Attributes = u.redact(updated.Attributes)
		}
		r.Set(op.LogicalID, row)
	})
	return u.superseded(ctx, op, row)
}

// previous is the row before an operation, with the id that the resource has
// now.
func previous(op *state.Operation, physicalID string) *state.Resource {
	row := op.Previous.Clone()
	row.PhysicalID = physicalID
	return row
}

package engine

import (
	"slices"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

func (d *deployment) complete(op *state.Operation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cleared[op.LogicalID] {
		// The replacement began when its old copy was deleted.
		op.OldDeletedFirst = true
		d.completed = slices.DeleteFunc(d.completed, func(o *state.Operation) bool { return o.LogicalID == op.LogicalID && o.OldDeletedFirst })
	}
	d.completed = append(d.completed, op)
}

// done is complete for an operation that succeeded, which the result counts.
func (d *deployment) done(op *state.Operation, edit func(*result.Counts)) {
	d.complete(op)
	d.count(edit)
	top := d.top()
	top.mu.Lock()
	defer top.mu.Unlock()
	if top.counted == nil {
		top.counted = map[string]bool{}
	}
	top.counted[d.t.Name+"/"+op.LogicalID] = true
}

// top is the deployment of the stack that a nested one is part of.
func (d *deployment) top() *deployment {
	for d.t.parent != nil {
		d = d.t.parent
	}
	return d
}

func (d *deployment) count(edit func(*result.Counts)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	edit(&d.res.Counts)
}

// unaddressed says that a resource was left, and why, and tells the history.
func (d *deployment) unaddressed(logicalID, typ, physicalID, reason, remedy string) {
	d.left(logicalID, typ, physicalID, reason, remedy)
	d.emit(state.Event{EventType: state.ResourceSkipped, LogicalID: logicalID, ResourceType: typ, PhysicalID: physicalID, Reason: d.e.config.Secrets.Mask(reason)})
}

func (d *deployment) left(logicalID, typ, physicalID, reason, remedy string) {
	d.mu.Lock()
	d.res.Unaddressed = append(d.res.Unaddressed, result.Unaddressed{
		Stack: d.t.Name, LogicalID: logicalID, Type: typ, PhysicalID: physicalID,
		Reason: d.e.config.Secrets.Mask(reason), Remedy: remedy,
	})
	d.res.Counts.Skipped++
	d.mu.Unlock()
	d.observe(Event{Kind: ResourceSkipped, LogicalID: logicalID, Type: typ, PhysicalID: physicalID, Text: reason})
}

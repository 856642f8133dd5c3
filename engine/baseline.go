package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// stacksAtOnce is how many stacks' baselines are captured side by side.
const stacksAtOnce = 4

// withoutBaseline notes that a stack was deployed whose record does not say of
// everything what it is like in AWS.
func (e *Engine) withoutBaseline(d *deployment) {
	if len(d.unread()) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deployed = append(e.deployed, d)
}

// unread are the rows that were not read back since they were made or changed,
// and can be.
func (d *deployment) unread() []string {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	record := d.world.record
	return slices.DeleteFunc(record.LogicalIDs(), func(id string) bool {
		return !d.readable(id, record.Row(id))
	})
}

// readable tells whether a row has no baseline and can have one.
func (d *deployment) readable(id string, row *state.Resource) bool {
	if row.Observed != nil || row.BaselineRefused {
		return false
	}
	decision, err := d.router.Recorded(id, row.ResourceType, row.ProvisionedBy)
	return err == nil && !decision.Direct
}

// CaptureBaselines reads back what the resources of the stacks that were deployed
// are like, where that is not on record, and records it for drift to be told by.
// It comes after a deploy was reported and its locks are free, so that nothing
// waits for it; a lock is taken again only to write. What cannot be captured now
// is left to the next deploy: nothing depends on it.
func (e *Engine) CaptureBaselines(ctx context.Context) {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	var deployed []*deployment
	for _, e := range e.all() {
		e.mu.Lock()
		deployed = append(deployed, e.deployed...)
		e.deployed = nil
		e.mu.Unlock()
	}
	var tasks []graph.Task
	for i, d := range deployed {
		tasks = append(tasks, graph.Task{ID: strconv.Itoa(i), Run: func(ctx context.Context) error {
			if err := d.captureBaseline(ctx); err != nil && !letGo(err) {
				d.observe(Event{Kind: Detail, Text: fmt.Sprintf("what drift is told by is not recorded whole: %v", err)})
			}
			return nil
		}})
	}
	graph.Run(ctx, tasks, nil, graph.Options{Limit: stacksAtOnce, KeepGoing: true, Stop: e.config.Window.Draining()})
}

func (d *deployment) captureBaseline(ctx context.Context) error {
	d.readBacks.wait()
	ids := d.unread()
	rows := state.NewRecord(d.t.Name, d.t.Region)
	for _, id := range ids {
		rows.Set(id, d.world.row(id))
	}
	found, errs := make([]*value.Object, len(ids)), make([]error, len(ids))
	eachRow(ctx, rows, readsAtOnce, func(ctx context.Context, i int, id string, row *state.Resource) {
		var known bool
		if found[i], errs[i], known = d.readBacks.of(id, row); !known {
			found[i], errs[i] = d.observed(ctx, id, row)
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, err := range errs {
		if errors.As(err, new(*NotReadableError)) || errors.Is(err, provider.ErrNotFound) {
			errs[i] = nil // nothing will ever tell, or drift will
		}
	}
	unread := joined(nonNil(errs...))
	if !slices.ContainsFunc(found, func(o *value.Object) bool { return o != nil }) {
		return unread
	}
	err := d.e.amend(ctx, d.place, state.LockOptions{Operation: "state-refresh-observed", FailFast: true}, nil, func(record *state.Record) (changed bool, err error) {
		for i, id := range ids {
			row, was := record.Row(id), rows.Row(id)
			if row == nil || found[i] == nil || row.PhysicalID != was.PhysicalID || row.BaselineRefused || !value.Equal(row.Properties, was.Properties) {
				continue // another run was at work meanwhile
			}
			row.Observed, changed = found[i], true
		}
		return changed, nil
	}, nil)
	return errors.Join(unread, err)
}

package engine

import (
	"context"
	"time"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/template"
)

// work is what the plan creates and changes, as tasks, and what they wait for.
// What an earlier run made and did not wait for is work too.
func (d *deployment) work() ([]graph.Task, graph.Edges) {
	var tasks []graph.Task
	changing := map[string]bool{}
	for _, c := range d.Changes {
		if c.Gone() || c.Action == plan.NoChange && d.pending.settling[c.LogicalID] == nil {
			continue
		}
		changing[c.LogicalID] = true
		tasks = append(tasks, graph.Task{ID: c.LogicalID, API: service(c.Type), Cost: cost(c), Run: func(ctx context.Context) error {
			defer d.observe(Event{Kind: ResourceOver, LogicalID: c.LogicalID, Type: c.Type})
			if c.Action == plan.NoChange {
				_, err := d.ready(ctx, c, template.Resolved{})
				return err
			}
			return d.perform(ctx, c)
		}})
	}
	return tasks, d.waits.Restrict(func(id string) bool { return changing[id] })
}

// expect says in the result what the plan's work waits for, and which chain of
// it is expected to take longest.
func (d *deployment) expect() {
	tasks, after := d.work()
	d.res.After = after
	d.res.Chain = nil
	ids, _ := graph.Longest(tasks, after)
	for _, id := range ids {
		d.res.Chain = append(d.res.Chain, result.Link{LogicalID: id, Expected: cost(d.Plan.Change(id))})
	}
}

// took adds an operation that ended to the result's timeline.
func (d *deployment) took(ev Event, start time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.res.Timeline = append(d.res.Timeline, result.Span{
		LogicalID: ev.LogicalID, Type: ev.Type, Action: ev.Action, Rollback: ev.Rollback, Failed: err != nil, Start: start, Took: ev.Elapsed,
	})
}

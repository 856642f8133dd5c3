package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// Resources are read back, for drift to be told by, while others are still being
// worked on. Nothing waits for it: what is not read when the record is saved for
// good is left to CaptureBaselines.
//
// A resource is read once everything that waits for it is done, too: a policy
// that is attached to a role shows in the role. For the same reason nothing is
// read early where the plan deletes something.
type readBacks struct {
	d       *deployment
	ctx     context.Context
	cancel  context.CancelFunc
	reading routine.Group
	slots   chan struct{}

	mu    sync.Mutex
	left  map[string]int // of a resource: itself and those that wait for it, as far as they are not done
	found map[string]readBack
}

// A readBack is what a resource was like when its row was so, or that nothing can
// read it.
type readBack struct {
	row        *state.Resource
	observed   *value.Object
	unreadable error
}

// readBackBeside has the resources that the tasks work on read back as they are
// done.
func (d *deployment) readBackBeside(ctx context.Context, tasks []graph.Task, after graph.Edges) {
	if !d.opt.Baselines || d.Plan.Destructive() || len(d.strays()) > 0 || d.unfinished() {
		return
	}
	atOnce := readsAtOnce
	if d.opt.Concurrency > 0 {
		atOnce = min(atOnce, d.opt.Concurrency)
	}
	b := &readBacks{d: d, slots: make(chan struct{}, atOnce), left: map[string]int{}, found: map[string]readBack{}}
	b.ctx, b.cancel = d.e.config.Window.Interruptible(context.WithoutCancel(ctx))
	for i, t := range tasks {
		b.left[t.ID]++
		for _, producer := range after[t.ID] {
			b.left[producer]++
		}
		tasks[i].Run = func(ctx context.Context) error {
			err := t.Run(ctx)
			if err == nil {
				b.done(t.ID, after[t.ID])
			}
			return err
		}
	}
	d.readBacks = b
}

// done begins to read what nothing that is still to be done can change.
func (b *readBacks) done(id string, producers []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range append(slices.Clone(producers), id) {
		if b.left[id]--; b.left[id] == 0 {
			b.reading.Go(func() { b.read(id) })
		}
	}
}

func (b *readBacks) read(id string) {
	select {
	case b.slots <- struct{}{}:
	case <-b.ctx.Done():
		return
	}
	defer func() { <-b.slots }()
	row := b.d.world.row(id)
	if row == nil || !b.d.readable(id, row) {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, readLimit)
	defer cancel()
	observed, err := b.d.observed(ctx, id, row)
	if err != nil && !is[*NotReadableError](err) {
		return // CaptureBaselines tries again, and says what it cannot read
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.found[id] = readBack{row, observed, err}
}

// into puts into a record what was read so far.
func (b *readBacks) into(r *state.Record) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, found := range b.found {
		if row := r.Row(id); found.observed != nil && found.tells(row) {
			next := row.Clone()
			next.Observed = found.observed
			r.Set(id, next)
		}
	}
}

// of is what was read of a resource; known is false when that is nothing, or the
// resource has changed since.
func (b *readBacks) of(id string, row *state.Resource) (observed *value.Object, err error, known bool) {
	if b == nil {
		return nil, nil, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.found[id]
	return found.observed, found.unreadable, found.tells(row)
}

// tells whether what was read is about a row as it is now.
func (r readBack) tells(row *state.Resource) bool {
	return row != nil && r.row != nil && row.PhysicalID == r.row.PhysicalID && value.Equal(row.Properties, r.row.Properties)
}

// wait returns when nothing is being read any more.
func (b *readBacks) wait() {
	if b != nil {
		b.reading.Wait()
	}
}

// end gives up reading, unless the deploy succeeded, after which CaptureBaselines
// comes.
func (b *readBacks) end(succeeded bool) {
	if b != nil && !succeeded {
		b.cancel()
		b.reading.Wait()
	}
}

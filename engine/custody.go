package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A resource with a declared name may move from one stack to another: the new
// owner's create is answered with what is there. It then has two rows, and must
// not be deleted for the one that goes. Within a stack that is the heir's
// affair; here it is that of all stacks, nested ones included.

// A custody is what the stacks of one run know of each other's resources. What
// bears one name is created by one stack, or deleted by one, at a time: the
// other waits, and sees then what has become of it.
type custody struct {
	mu   sync.Mutex
	live map[state.Ref]member // as far as the run has come
	held map[thing]*hold

	reading  sync.Mutex
	others   map[state.Ref]*state.Record // of stacks that are not live, as they were first read
	surveyed []state.Surveyed            // the records of all stacks; nil: not read
}

// A member is a stack with what it was about when it enrolled: it may come to
// plan anew while others look at it.
type member struct {
	*deployment
	is *planned
}

// A thing is what a name stands for.
type thing struct{ region, typ, name string }

// A hold is by one stack, which may have several operations on it.
type hold struct {
	by   state.Ref
	n    int
	free chan struct{}
}

// custodyOf returns what the stacks of a run share.
func (e *Engine) custodyOf(runID string) *custody {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.custodies[runID]
	if c == nil {
		c = newCustody()
		e.custodies[runID] = c
	}
	return c
}

func newCustody() *custody {
	return &custody{live: map[state.Ref]member{}, held: map[thing]*hold{}, others: map[state.Ref]*state.Record{}}
}

func (d *deployment) ref() state.Ref { return state.Ref{Stack: d.t.Name, Region: d.t.Region} }

// shareCustody has the stack know what the others of its run have, and wait for
// them.
func (d *deployment) shareCustody() {
	if d.custody == nil {
		d.custody = d.e.custodyOf(d.runID)
	}
}

// enroll lets the other stacks of the run see what the stack has, and means to
// do with it, from now on.
func (d *deployment) enroll() {
	d.shareCustody()
	d.custody.mu.Lock()
	defer d.custody.mu.Unlock()
	d.custody.live[d.ref()] = member{d, d.planned}
}

// hold waits with an operation until no other stack of the run has one on what
// bears the name, and keeps the others waiting until release is called.
func (d *deployment) hold(ctx context.Context, ev Event, name string) (release func(), err error) {
	if name == "" || d.custody == nil {
		return func() {}, nil
	}
	key := thing{d.t.Region, ev.Type, name}
	if global(ev.Type) {
		key.region = ""
	}
	c := d.custody
	for said := false; ; said = true {
		c.mu.Lock()
		h := c.held[key]
		if h == nil {
			h = &hold{by: d.ref(), free: make(chan struct{})}
			c.held[key] = h
		}
		if h.by == d.ref() {
			h.n++
			c.mu.Unlock()
			return func() { c.release(key, h) }, nil
		}
		c.mu.Unlock()
		if !said {
			ev.Text = fmt.Sprintf("waiting for stack %s, which is at work on %s", h.by.Stack, name)
			d.observe(Event{Kind: Detail, Type: ev.Type, Text: ev.Text})
			ev.Kind = ResourceAwaits
			d.observe(ev)
		}
		select {
		case <-h.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-d.e.config.Window.Draining():
			return nil, errInterrupted
		}
	}
}

func (c *custody) release(key thing, h *hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.n--; h.n == 0 {
		delete(c.held, key)
		close(h.free)
	}
}

// An ElsewhereError says that a resource is not deleted because another stack
// has it by now.
type ElsewhereError struct {
	PhysicalID, Stack, LogicalID string
}

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("not deleted: %s is %s of stack %s now", e.PhysicalID, e.LogicalID, e.Stack)
}

// movable tells whether another stack's create may have been answered with a
// row's resource: one whose name is the template's choice, or that is put where
// it belongs, whatever is there.
func (d *deployment) movable(logicalID string, row *state.Resource) bool {
	if isCustom(row.ResourceType) || row.ResourceType == nestedType {
		return false
	}
	name := plan.PhysicalName(d.t.Name, logicalID, row.ResourceType, row.Properties)
	if name.Property != "" {
		return !name.Generated
	}
	why, ok := resendable[row.ResourceType]
	return ok && why != byKnownToken
}

// elsewhere returns an *ElsewhereError when another stack has a row's resource,
// by what the stacks of this run have come to and by what is recorded of all
// others.
func (d *deployment) elsewhere(ctx context.Context, logicalID string, row *state.Resource) error {
	if !d.movable(logicalID, row) || d.custody == nil {
		return nil
	}
	seen := map[state.Ref]bool{d.ref(): true}
	for _, other := range d.custody.stacks() {
		if ref := other.ref(); !seen[ref] {
			seen[ref] = true
			if err := other.has(row, d.t.Region); err != nil {
				return err
			}
		}
	}
	all, err := d.recordedElsewhere(ctx)
	if err != nil {
		return fmt.Errorf("look whether another stack has it: %w", err)
	}
	for _, s := range all {
		if s.Record == nil || seen[s.Ref] || s.Region != d.t.Region && !global(row.ResourceType) {
			continue
		}
		for _, id := range s.Record.LogicalIDs() {
			if sameThing(row, s.Record.Row(id)) {
				return &ElsewhereError{row.PhysicalID, s.Stack, id}
			}
		}
	}
	return nil
}

func (c *custody) stacks() (all []member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.live {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.t.Name, b.t.Name) })
	return all
}

// has returns an *ElsewhereError when the stack has another's resource.
func (m member) has(row *state.Resource, region string) error {
	if m.t.Region != region && !global(row.ResourceType) {
		return nil
	}
	w := m.is.world
	w.mu.Lock()
	defer w.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range w.record.LogicalIDs() {
		if m.moved[id] == nil && sameThing(row, w.record.Row(id)) {
			return &ElsewhereError{row.PhysicalID, m.t.Name, id}
		}
	}
	return nil
}

// recordedElsewhere are the records of all stacks, read once a deployment.
// Who may not read them goes without.
func (d *deployment) recordedElsewhere(ctx context.Context) ([]state.Surveyed, error) {
	d.surveying.Lock()
	defer d.surveying.Unlock()
	if d.surveyed != nil {
		return d.surveyed, nil
	}
	all, err := d.store.Recorded(ctx)
	if is[*state.AccessError](err) {
		d.warn("whether another stack has by now what is deleted was not checked: %v", err)
		all, err = []state.Surveyed{}, nil
	}
	d.surveyed = all
	return all, err
}

// sameThing tells whether rows of two stacks stand for one resource.
func sameThing(a, b *state.Resource) bool {
	return a.ResourceType == b.ResourceType && state.SameResource(a.ResourceType, a.PhysicalID, b.PhysicalID) &&
		sameScope(a, b) && samePlace(a.ResourceType, a.Properties, b.Properties)
}

// samePlace tells apart resources that have one name in different places, such as
// the hooks of two groups. What names the place may be an ARN in one of them.
func samePlace(typ string, a, b *value.Object) bool {
	shape, ok := schema.Lookup(typ)
	if !ok {
		return true
	}
	for _, property := range shape.PrimaryIdentifier {
		v, _ := a.Value(property).(string)
		w, _ := b.Value(property).(string)
		if v != "" && w != "" && !strings.HasSuffix(v, w) && !strings.HasSuffix(w, v) {
			return false
		}
	}
	return true
}

// giveAway notes that a row's resource is another stack's now. The row goes with
// those that have an heir.
func (d *deployment) giveAway(logicalID string, e *ElsewhereError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.moved == nil {
		d.moved = map[string]*ElsewhereError{}
	}
	d.moved[logicalID] = e
}

// handOverElsewhere drops the rows of what other stacks have by now.
func (d *deployment) handOverElsewhere() {
	d.mu.Lock()
	moved := d.moved
	d.moved = nil
	d.mu.Unlock()
	for _, id := range sortedKeys(moved) {
		d.givenAway(id, d.world.row(id), moved[id])
		d.change(func(r *state.Record) { r.Remove(id) })
	}
}

// givenAway says to whom a resource went that is not deleted.
func (d *deployment) givenAway(logicalID string, row *state.Resource, e *ElsewhereError) {
	d.observe(Event{Kind: Notice, LogicalID: logicalID, Type: row.ResourceType, PhysicalID: row.PhysicalID,
		Text: fmt.Sprintf("not deleted: the same resource is %s of stack %s now", e.LogicalID, e.Stack)})
}

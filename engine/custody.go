package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
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
	live map[state.Ref]*deployment // as far as the run has come
	held map[thing]*hold

	reading sync.Mutex
	others  map[state.Ref]*state.Record // of the run's stacks that are not live
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
		c = &custody{live: map[state.Ref]*deployment{}, held: map[thing]*hold{}, others: map[state.Ref]*state.Record{}}
		e.custodies[runID] = c
	}
	return c
}

func (d *deployment) ref() state.Ref { return state.Ref{Stack: d.t.Name, Region: d.t.Region} }

// enroll lets the other stacks of the run see what the stack has from now on.
func (d *deployment) enroll() {
	d.custody = d.e.custodyOf(d.runID)
	d.custody.mu.Lock()
	defer d.custody.mu.Unlock()
	d.custody.live[d.ref()] = d
}

// hold waits until no other stack of the run has an operation on what bears the
// name, and keeps the others waiting until release is called.
func (d *deployment) hold(ctx context.Context, typ, name string) (release func(), err error) {
	if name == "" || d.custody == nil {
		return func() {}, nil
	}
	key := thing{d.t.Region, typ, name}
	if global(typ) {
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
			d.observe(Event{Kind: Detail, Type: typ, Text: fmt.Sprintf("waiting for stack %s, which is at work on %s", h.by.Stack, name)})
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

func (c *custody) stacks() (all []*deployment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.live {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *deployment) int { return strings.Compare(a.t.Name, b.t.Name) })
	return all
}

// has returns an *ElsewhereError when the stack has another's resource.
func (d *deployment) has(row *state.Resource, region string) error {
	if d.t.Region != region && !global(row.ResourceType) {
		return nil
	}
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range d.world.record.LogicalIDs() {
		if d.moved[id] == nil && sameThing(row, d.world.record.Row(id)) {
			return &ElsewhereError{row.PhysicalID, d.t.Name, id}
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

// A NameTakenError says that a resource was not created because another stack
// has one of that name, and keeps it. Nothing was changed.
type NameTakenError struct {
	LogicalID, Type, Name   string
	Stack, HolderID, Region string
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("%s %s was not created: stack %s in %s has the resource of the name %q as %s, and its template keeps it",
		e.Type, e.LogicalID, e.Stack, e.Region, e.Name, e.HolderID)
}

// Remedy says what to do about it.
func (e *NameTakenError) Remedy() string {
	return fmt.Sprintf("give one of the two another name; to move the resource, take %s out of stack %s in the same deploy", e.HolderID, e.Stack)
}

// takeName waits until the declared name of a create is nobody else's to work
// with, and refuses the create when another stack keeps it.
func (d *deployment) takeName(ctx context.Context, c *plan.Change, properties *value.Object) (release func(), err error) {
	name := plan.PhysicalName(d.t.Name, c.LogicalID, c.Type, properties)
	if name.Generated || name.Value == "" {
		return func() {}, nil
	}
	if release, err = d.hold(ctx, c.Type, name.Value); err != nil {
		return nil, err
	}
	if err := d.mayTakeName(ctx, c.LogicalID, c.Type, name, properties); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// mayTakeName refuses a create under a declared name that another stack of the
// run has and keeps. Where that row is about to go, the create takes the resource
// over.
func (d *deployment) mayTakeName(ctx context.Context, logicalID, typ string, name plan.Name, properties *value.Object) error {
	if d.custody == nil {
		return nil
	}
	wanted := &state.Resource{ResourceType: typ, Properties: properties}
	named := func(row *state.Resource) bool {
		return row.ResourceType == typ && state.NameIn(typ, row.PhysicalID) == name.Value &&
			sameScope(wanted, row) && samePlace(typ, properties, row.Properties) &&
			value.Equal(properties.Value("EventBusName"), row.Properties.Value("EventBusName"))
	}
	refuse := func(r state.Ref, id string) error {
		return &NameTakenError{LogicalID: logicalID, Type: typ, Name: name.Value, Stack: r.Stack, Region: r.Region, HolderID: id}
	}
	near := func(r state.Ref) bool { return r != d.ref() && (r.Region == d.t.Region || global(typ)) }
	live := map[state.Ref]*deployment{}
	for _, other := range d.custody.stacks() {
		live[other.ref()] = other
	}
	for _, other := range live {
		if near(other.ref()) {
			if id := other.keeping(named); id != "" {
				return refuse(other.ref(), id)
			}
		}
	}
	// The others, those nested in what there is included, are as recorded.
	var waiting []idle
	if d.run != nil {
		for _, t := range d.run.targets {
			waiting = append(waiting, idle{state.Ref{Stack: t.Name, Region: t.Region}, t.Template, t.Nested})
		}
	}
	for len(waiting) > 0 {
		waiting = slices.DeleteFunc(waiting, func(s idle) bool { return s.ref.Region != d.t.Region && !global(typ) })
		records, err := d.custody.records(ctx, d.store, live, waiting)
		if err != nil {
			return err
		}
		var next []idle
		for i, s := range waiting {
			for _, id := range records[i].LogicalIDs() {
				row := records[i].Row(id)
				switch {
				case row.ResourceType == nestedType:
					n := idle{ref: state.Ref{Stack: s.ref.Stack + "~" + id, Region: s.ref.Region}}
					if t := s.nested[id]; t != nil {
						n.template, n.nested = t.Template, t.Nested
					}
					next = append(next, n)
				case live[s.ref] == nil && near(s.ref) && named(row) && keptBy(s.template, id, typ, name):
					return refuse(s.ref, id)
				}
			}
		}
		waiting = next
	}
	return nil
}

// An idle stack is one of the run whose turn may not have come, or may not come.
type idle struct {
	ref      state.Ref
	template *template.Template
	nested   map[string]*assembly.Nested
}

// keeping returns which row of the stack is one that is looked for and not about
// to go, "" for none.
func (d *deployment) keeping(wanted func(*state.Resource) bool) string {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range d.world.record.LogicalIDs() {
		if !wanted(d.world.record.Row(id)) {
			continue
		}
		if c := d.Plan.Change(id); c != nil && !c.Gone() && c.Action != plan.Replace {
			return id
		}
	}
	return ""
}

// keptBy tells whether a template goes on to have a resource, as far as it says
// so by itself.
func keptBy(t *template.Template, logicalID, typ string, name plan.Name) bool {
	if t == nil {
		return false
	}
	r := t.Resource(logicalID)
	if r == nil || r.Type != typ || r.Condition != "" {
		return false
	}
	declared, literal := r.Properties.Value(name.Property).(string)
	return !literal || declared == name.Value
}

// records are what is recorded of stacks of the run; of those that are not live
// it is read, once.
func (c *custody) records(ctx context.Context, store *state.Store, live map[state.Ref]*deployment, all []idle) ([]*state.Record, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	records, errs := make([]*state.Record, len(all)), make([]error, len(all))
	var wg routine.Group
	for i, s := range all {
		if d := live[s.ref]; d != nil {
			d.world.mu.Lock()
			records[i] = d.world.record.Clone()
			d.world.mu.Unlock()
		} else if record, ok := c.others[s.ref]; ok {
			records[i] = record
		} else {
			wg.Go(func() { records[i], _, errs[i] = store.Stack(s.ref.Stack, s.ref.Region).Read(ctx) })
		}
	}
	wg.Wait()
	for i, s := range all {
		if errs[i] != nil {
			return nil, fmt.Errorf("look whether another stack of the run has the name: %w", errs[i])
		}
		if live[s.ref] == nil {
			c.others[s.ref] = records[i]
		}
	}
	return records, nil
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

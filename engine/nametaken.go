package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A NameTakenError says that a resource was not created because another stack
// has one of that name, and keeps it. Nothing was changed.
type NameTakenError struct {
	LogicalID, Type, Name   string
	Stack, HolderID, Region string
	OfApp                   bool // the app has that stack, too
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("%s %s was not created: %s", e.Type, e.LogicalID, e.because())
}

func (e *NameTakenError) because() string {
	text := fmt.Sprintf("stack %s in %s has the resource of the name %q as %s", e.Stack, e.Region, e.Name, e.HolderID)
	if e.OfApp {
		text += ", and its template keeps it"
	}
	return text
}

// Remedy says what to do about it.
func (e *NameTakenError) Remedy() string {
	move := fmt.Sprintf("take %s out of stack %s in the same deploy", e.HolderID, e.Stack)
	if !e.OfApp {
		move = fmt.Sprintf("have %s forget it with: state orphan %s --stack-region %s --resource %s", e.Stack, e.Stack, e.Region, e.HolderID)
	}
	return "give one of the two another name; to move the resource, " + move
}

// takeName waits until the declared name of a create is nobody else's to work
// with, and refuses the create when another stack keeps it.
func (d *deployment) takeName(ctx context.Context, c *plan.Change, properties *value.Object) (release func(), err error) {
	name := plan.PhysicalName(d.t.Name, c.LogicalID, c.Type, properties)
	if name.Generated || name.Value == "" {
		return func() {}, nil
	}
	if release, err = d.hold(ctx, Event{LogicalID: c.LogicalID, Type: c.Type, Action: c.Action}, name.Value); err != nil {
		return nil, err
	}
	if err := d.mayTakeName(ctx, c.LogicalID, c.Type, name, properties); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// mayTakeName refuses a create under a declared name that another stack has and
// keeps: one of the run, or any of the bucket where AWS would answer the create
// with what is there. Where that row is about to go, the create takes the resource
// over.
func (d *deployment) mayTakeName(ctx context.Context, logicalID, typ string, name plan.Name, properties *value.Object) error {
	if d.custody == nil {
		return nil
	}
	wanted := &state.Resource{ResourceType: typ, Properties: properties, ProvisionedBy: d.decisions[logicalID].Route.ProvisionedBy}
	named := func(row *state.Resource) bool {
		return row.ResourceType == typ && state.NameIn(typ, row.PhysicalID) == name.Value &&
			sameScope(wanted, row) && samePlace(typ, properties, row.Properties) &&
			value.Equal(properties.Value("EventBusName"), row.Properties.Value("EventBusName"))
	}
	held := func(by state.Ref, id string, ofApp bool) error {
		return &NameTakenError{LogicalID: logicalID, Type: typ, Name: name.Value, Stack: by.Stack, Region: by.Region, HolderID: id, OfApp: ofApp}
	}
	near := func(r state.Ref) bool { return r != d.ref() && (r.Region == d.t.Region || global(typ)) }
	live := map[state.Ref]member{}
	for _, other := range d.custody.stacks() {
		live[other.ref()] = other
		if !near(other.ref()) {
			continue
		}
		if id := other.keeping(named); id != "" {
			return held(other.ref(), id, true)
		}
	}
	// The others, those nested in what there is included, are as recorded.
	var waiting []idle
	if d.run != nil {
		for _, t := range d.run.targets {
			waiting = append(waiting, t.idle())
		}
	}
	var all []state.Surveyed
	if d.onTrial(wanted) {
		var err error
		if all, err = d.custody.survey(ctx, d.store, d.warn); err != nil {
			return err
		}
		if d.run != nil {
			waiting = append(waiting, d.run.apart...)
		}
	}
	waiting = slices.DeleteFunc(waiting, func(s idle) bool { return s.ref.Region != d.t.Region && !global(typ) })
	var taken error
	ofApp := map[state.Ref]bool{d.ref(): true}
	err := d.eachIdle(ctx, live, waiting, func(s idle, record *state.Record) {
		ofApp[s.ref] = true
		if _, isLive := live[s.ref]; isLive || !near(s.ref) {
			return
		}
		for _, id := range record.LogicalIDs() {
			if taken == nil && named(record.Row(id)) && keptBy(s.template, id, typ, name) {
				taken = held(s.ref, id, true)
			}
		}
	})
	if err = cmp.Or(err, taken); err != nil {
		return err
	}
	for _, s := range all {
		if _, isLive := live[s.Ref]; isLive || ofApp[s.Ref] || !near(s.Ref) {
			continue
		}
		for _, id := range s.Record.LogicalIDs() {
			if named(s.Record.Row(id)) {
				return held(s.Ref, id, false)
			}
		}
	}
	return nil
}

// eachIdle visits stacks of the app, and those nested in them, with what is
// recorded of each.
func (d *deployment) eachIdle(ctx context.Context, live map[state.Ref]member, waiting []idle, visit func(idle, *state.Record)) error {
	for len(waiting) > 0 {
		records, err := d.custody.records(ctx, d.store, live, waiting)
		if err != nil {
			return err
		}
		var nested []idle
		for i, s := range waiting {
			visit(s, records[i])
			for _, id := range records[i].LogicalIDs() {
				if records[i].Row(id).ResourceType != nestedType {
					continue
				}
				n := idle{ref: state.Ref{Stack: s.ref.Stack + "~" + id, Region: s.ref.Region}}
				if t := s.nested[id]; t != nil {
					n.template, n.nested = t.Template, t.Nested
				}
				nested = append(nested, n)
			}
		}
		waiting = nested
	}
	return nil
}

// surveyEarly begins to read the records of the bucket for a stack that is new and
// declares a name that may be another's: beside the planning it costs no time. wait
// returns when that is over.
func (d *deployment) surveyEarly(ctx context.Context, record *state.Record) (wait func()) {
	d.custody.note(d.ref(), record)
	var wg routine.Group
	declares := func(r *template.Resource) bool {
		return d.onTrial(&state.Resource{ResourceType: r.Type}) && !plan.PhysicalName(d.t.Name, r.LogicalID, r.Type, r.Properties).Generated
	}
	if record == nil && slices.ContainsFunc(d.t.Template.Resources, declares) {
		wg.Go(func() {
			// Whoever needs it asks again, and is told of the error.
			_, _ = d.custody.survey(ctx, d.store, d.warn)
		})
	}
	return wg.Wait
}

// foreseeTaken marks, in a plan that is not carried out, the creates that a deploy
// will refuse because another stack has the name.
func (d *deployment) foreseeTaken(ctx context.Context) error {
	for _, c := range d.Changes {
		if c.Action != plan.Create && c.Action != plan.Replace || c.Refused != "" || c.Type == nestedType {
			continue
		}
		name := plan.PhysicalName(d.t.Name, c.LogicalID, c.Type, c.Desired)
		if name.Generated || name.Value == "" || plan.Unresolved(c.Desired.Value(name.Property)) {
			continue
		}
		err := d.mayTakeName(ctx, c.LogicalID, c.Type, name, c.Desired)
		taken, ok := errors.AsType[*NameTakenError](err)
		if err != nil && !ok {
			return err
		}
		if ok {
			d.unmade[c.LogicalID], c.Refused = taken, taken.because()
		}
	}
	for _, b := range d.below {
		if b.planned == nil {
			continue
		}
		if err := b.foreseeTaken(ctx); err != nil {
			return err
		}
	}
	return nil
}

// An idle stack is one of the app whose turn may not have come, or may not come.
type idle struct {
	ref      state.Ref
	template *template.Template
	nested   map[string]*assembly.Nested
}

func (t target) idle() idle {
	return idle{state.Ref{Stack: t.Name, Region: t.Region}, t.Template, t.Nested}
}

// keeping returns which row of the stack is one that is looked for and not about
// to go, "" for none.
func (m member) keeping(wanted func(*state.Resource) bool) string {
	w := m.is.world
	w.mu.Lock()
	defer w.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range w.record.LogicalIDs() {
		if !wanted(w.record.Row(id)) {
			continue
		}
		if c := m.is.Plan.Change(id); c != nil && !c.Gone() && c.Action != plan.Replace {
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

// records are what is recorded of stacks; of those that are not live it is read,
// once.
func (c *custody) records(ctx context.Context, store *state.Store, live map[state.Ref]member, all []idle) ([]*state.Record, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	records, errs := make([]*state.Record, len(all)), make([]error, len(all))
	var wg routine.Group
	for i, s := range all {
		if m, ok := live[s.ref]; ok {
			m.is.world.mu.Lock()
			records[i] = m.is.world.record.Clone()
			m.is.world.mu.Unlock()
		} else if record, ok := c.others[s.ref]; ok {
			records[i] = record
		} else {
			wg.Go(func() { records[i], _, errs[i] = store.Stack(s.ref.Stack, s.ref.Region).Read(ctx) })
		}
	}
	wg.Wait()
	for i, s := range all {
		if errs[i] != nil {
			return nil, fmt.Errorf("look whether another stack has the name: %w", errs[i])
		}
		if _, ok := live[s.ref]; !ok {
			c.others[s.ref] = records[i]
		}
	}
	return records, nil
}

// note keeps a record that was read elsewhere, so that it is not read again.
func (c *custody) note(ref state.Ref, record *state.Record) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.others[ref] = record
}

// survey are the records of all stacks of the bucket, read once a run. Of those
// that nobody may read, or that cannot be understood, it says so once.
func (c *custody) survey(ctx context.Context, store *state.Store, warn func(format string, args ...any)) ([]state.Surveyed, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.surveyed != nil {
		return c.surveyed, nil
	}
	const unchecked = "whether another stack has what is created under a declared name was not checked: %v"
	all, err := store.Recorded(ctx)
	if is[*state.AccessError](err) {
		warn(unchecked, err)
		all, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look whether another stack has the name: %w", err)
	}
	c.surveyed = []state.Surveyed{}
	for _, s := range all {
		switch {
		case s.Record != nil:
			c.surveyed = append(c.surveyed, s)
			c.others[s.Ref] = s.Record
		default:
			warn(unchecked, s.Err)
		}
	}
	return c.surveyed, nil
}

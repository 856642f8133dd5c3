package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// execute carries the plan out: creates and updates, and when all of them have
// succeeded, those of the stacks around it and in it included, what is to go. A
// nested stack leaves that to the one that it is part of.
func (d *deployment) execute(ctx context.Context) error {
	stop, done := d.stopping(true)
	defer done()
	opt := d.pace(stop)

	for _, c := range d.Changes {
		if c.Action == plan.NoChange {
			d.res.Counts.Unchanged++
		}
	}
	tasks, after := d.work()
	d.readBackBeside(ctx, tasks, after)
	if err := d.settle(graph.Run(ctx, tasks, after, opt)); err != nil {
		return err
	}
	if err := d.holdExports(ctx); err != nil {
		return err
	}
	if d.t.parent == nil {
		return d.retire(ctx, opt)
	}
	if stopped := d.stopCause(); !errors.Is(stopped, errInterrupted) { // else the signal found all of the work begun
		return stopped
	}
	return nil
}

// settle turns the outcomes of a phase into an error: that of the resource that
// failed first, or why work was stopped.
func (d *deployment) settle(outcomes map[string]graph.Outcome) error {
	var first error
	var waiting []string
	unfinished := false
	for _, id := range sortedKeys(outcomes) {
		switch o := outcomes[id]; o.Status {
		case graph.Failed:
			d.e.explain(o.Err)
			if !errors.Is(o.Err, errLetGo) {
				first = cmp.Or(first, o.Err) // of a fault of the program, no more is known
			}
			unfinished = true
		case graph.NotStarted, graph.Skipped:
			unfinished = true
			waiting = append(waiting, id)
		}
	}
	if !unfinished {
		return nil
	}
	if stopped := d.stopCause(); stopped != nil {
		return stopped
	}
	if first = cmp.Or(d.failure, first); first == nil {
		first = fmt.Errorf("nothing failed, and these wait for each other: %s", strings.Join(waiting, ", "))
	}
	return &ResourcesError{Stack: d.t.Name, Region: d.t.Region, Failed: len(d.res.Failures), First: first}
}

// A ResourcesError says that operations on resources failed. Each is in the
// result.
type ResourcesError struct {
	Stack, Region string
	Failed        int
	First         error
}

func (e *ResourcesError) Error() string {
	if e.Failed == 1 {
		return fmt.Sprintf("stack %s in %s: a resource failed: %v", e.Stack, e.Region, e.First)
	}
	return fmt.Sprintf("stack %s in %s: %d resources failed, among them: %v", e.Stack, e.Region, e.Failed, e.First)
}

func (e *ResourcesError) Unwrap() error { return e.First }

// errLetGo is the failure of an operation that was not waited for because the
// run is ending.
var errLetGo = errors.New("not waited for: the run is ending")

// perform does what the plan says about one resource, with the values that are
// known now that everything before it is done.
func (d *deployment) perform(ctx context.Context, c *plan.Change) error {
	resolved, err := d.scope.ResolvedProperties(ctx, c.LogicalID)
	if err != nil {
		return d.fail(c, "", err)
	}
	if err := d.t.redirection.Missed(resolved.Clear); err != nil {
		return d.fail(c, "", err)
	}
	resolved = sent(resolved, d.decisions[c.LogicalID])
	row := d.sentRow(d.world.row(c.LogicalID))
	if row != nil {
		if c, err = d.decide(ctx, c, row, resolved); err != nil {
			return d.fail(c, "", err)
		}
	}
	publishing, cancel := d.e.config.Window.Interruptible(ctx)
	defer cancel()
	if d.assets.needed(resolved.Clear) {
		d.observe(Event{Kind: ResourceAwaits, LogicalID: c.LogicalID, Type: c.Type, Action: c.Action, Text: "its assets are published"})
	}
	if err := d.assets.wait(publishing, resolved.Clear); err != nil {
		return d.fail(c, "", err)
	}
	if remade, err := d.ready(ctx, c, resolved); remade || err != nil {
		return err
	}
	switch {
	case c.Action == plan.NoChange:
		d.count(func(n *result.Counts) { n.Unchanged++ })
		return nil
	case c.MetadataOnly():
		d.change(func(r *state.Record) {
			next := row.Clone()
			next.DeletionPolicy, next.UpdateReplacePolicy = d.policies(c.LogicalID)
			r.Set(c.LogicalID, next)
		})
		d.done(&state.Operation{LogicalID: c.LogicalID, ResourceType: c.Type, ChangeType: state.OpUpdate,
			PhysicalID: row.PhysicalID, Previous: row, Properties: row.Properties, ProvisionedBy: row.ProvisionedBy},
			func(n *result.Counts) { n.Updated++ })
		return nil
	case c.Action == plan.Create:
		return d.create(ctx, c, resolved, nil)
	case c.Action == plan.Replace:
		return d.replace(ctx, c, resolved, row)
	}
	err = d.update(ctx, c, resolved, row)
	if c.Action == plan.MayReplace && errors.As(err, new(*provider.UnsupportedUpdateError)) {
		return d.replace(ctx, c, resolved, row)
	}
	return err
}

// decide looks at a planned update again, now that its values are known: what
// it refers to may have turned out the same, or different.
func (d *deployment) decide(ctx context.Context, c *plan.Change, row *state.Resource, resolved template.Resolved) (*plan.Change, error) {
	r := d.scope.Resource(c.LogicalID)
	only := state.NewRecord(d.t.Name, d.t.Region)
	only.Set(c.LogicalID, row)
	p, err := plan.Compute(plan.Input{
		Stack: d.t.Name, Region: d.t.Region, Current: only,
		Desired: []plan.Resource{{
			LogicalID: c.LogicalID, Type: c.Type, Path: c.Path,
			Properties:     resolved.Stored.(*value.Object),
			DeletionPolicy: r.DeletionPolicy, UpdateReplacePolicy: r.UpdateReplacePolicy, Recreate: c.Recreate,
			Supplied: append(d.supplied(ctx, r, d.t), follows(c, resolved)...), Uncertain: d.planned.doubtful[c.LogicalID],
		}},
		Route:  func(*plan.Resource, *value.Object, *state.Resource) (plan.Route, error) { return c.Route, nil },
		Schema: d.router.Schema,
	})
	if err != nil {
		return c, err
	}
	now := p.Changes[0]
	if err := d.comparable(now, r); err != nil {
		return c, err
	}
	if c.ChildChanged && now.Action == plan.NoChange {
		now.Action, now.ChildChanged = plan.Update, true
	}
	return now, nil
}

// follows names the properties that hold a secret and read what changed in this
// run. They cannot be compared: both sides are masks.
func follows(c *plan.Change, resolved template.Resolved) (properties []string) {
	for _, p := range c.Properties {
		if p.Carried || p.Propagated {
			if slices.ContainsFunc(resolved.Masked, func(path secret.Path) bool { return path[0] == p.Path }) {
				properties = append(properties, p.Path)
			}
		}
	}
	return properties
}

func (d *deployment) policies(logicalID string) (deletion, updateReplace string) {
	r := d.scope.Resource(logicalID)
	return r.DeletionPolicy, r.UpdateReplacePolicy
}

// create makes a resource. old is the row that it takes the place of, nil for
// a new one.
func (d *deployment) create(ctx context.Context, c *plan.Change, resolved template.Resolved, old *state.Resource) error {
	decision := d.decisions[c.LogicalID]
	req := d.request(c.LogicalID, c.Type)
	req.Properties, req.Masked = resolved.Clear.(*value.Object), resolved.Masked
	d.name(req)
	release, err := d.takeName(ctx, c, req.Properties)
	if err != nil {
		return d.fail(c, "", err)
	}
	defer release() // when the row is there for others to see
	if err := d.announce(ctx, c, req, old); err != nil {
		return d.fail(c, "", err)
	}
	id, err := d.findEarlier(ctx, c, req)
	if err != nil {
		return d.fail(c, "", fmt.Errorf("look for what an earlier run may have made: %w", err))
	}
	another := func(id string) bool { return id != "" && (old == nil || id != old.PhysicalID) } // the old one may have the same key
	if another(id) {
		return d.adopt(ctx, c, req, resolved, old, id)
	}
	if err := d.undoEarlierHalf(ctx, c); err != nil {
		return d.fail(c, "", err)
	}
	var known provider.Created
	req.Made = func(made provider.Created) {
		known = made
		d.made(c, resolved, made)
	}

	f := d.depart(req, d.creating(c, req, resolved, old))
	var made provider.Created
	ev := Event{Action: c.Action, LogicalID: c.LogicalID, Type: c.Type}
	err = d.operation(ctx, ev, d.limit(c.Type), func(ctx context.Context) (string, error) {
		var err error
		policy := retry.ForCreate(retry.Classifier{})
		if d.isCleared(c.LogicalID) {
			policy = retry.ForRecreate(retry.Classifier{})
		}
		p := d.provider(decision, policy)
		if d.resent(c) {
			made, err = d.createAgain(ctx, c, req, p)
		} else {
			made, err = p.Create(ctx, req)
		}
		if old != nil && retry.NameTaken(err) && made.PhysicalID == "" && d.mayClear(c) && !d.isCleared(c.LogicalID) {
			made, err = d.createCleared(ctx, c, f, old, decision)
		}
		return made.PhysicalID, err
	})
	if errors.Is(err, errNotBegun) {
		d.over(c.LogicalID, c.Type, "", err)
		return d.fail(c, "", err)
	}
	if p := (*provider.PartialError)(nil); made.PhysicalID == "" && errors.As(err, &p) {
		made = p.Made
	}
	if is[*routine.PanicError](err) {
		made = known
	}
	if err != nil && made.PhysicalID == "" {
		if id := d.findUnanswered(ctx, c, req, err); another(id) {
			d.arrive(f, nil)
			return d.adopt(ctx, c, req, resolved, old, id)
		}
	}
	d.arrive(f, err)
	d.over(c.LogicalID, c.Type, made.PhysicalID, err)
	if settling, ok := errors.AsType[*provider.SettlingError](err); ok {
		// All of it is there but what can only be put later.
		d.record(c, unput(resolved, settling.Unput), nil, made)
	}
	if err != nil {
		return d.failedCreate(ctx, c, resolved, made, old, err)
	}
	d.created(c, resolved, old, made)
	return d.reattachNow(ctx, c.LogicalID)
}

// created records what a create made, in the place of old if there was one.
func (d *deployment) created(c *plan.Change, resolved template.Resolved, old *state.Resource, made provider.Created) {
	d.record(c, resolved, nil, made)
	op := &state.Operation{LogicalID: c.LogicalID, ResourceType: c.Type, ChangeType: state.OpCreate, PhysicalID: made.PhysicalID,
		Properties: resolved.Stored.(*value.Object), ProvisionedBy: d.decisions[c.LogicalID].Route.ProvisionedBy}
	if old != nil {
		d.replaced(c, op, old)
	}
	d.unawaited(c.LogicalID, c.Type, made.PhysicalID, made.Unsettled)
	d.done(op, func(n *result.Counts) {
		if old != nil {
			n.Updated++
		} else {
			n.Created++
		}
	})
}

// name says what the resource is, or is to be, called.
func (d *deployment) name(req *provider.Request) {
	n := plan.PhysicalName(d.t.Name, req.LogicalID, req.Type, req.Properties)
	req.Name, req.NameProperty, req.Declared = n.Value, n.Property, n.Property != "" && !n.Generated
	if n.Generated && req.PhysicalID != "" && !strings.Contains(req.PhysicalID, n.Value) && d.idHoldsName(req.Type, n.Property) {
		req.Name = state.NameIn(req.Type, req.PhysicalID) // it was imported
	}
}

// idHoldsName tells whether the ids of a type are names, or made of them.
func (d *deployment) idHoldsName(typ, property string) bool {
	if driver := d.router.Driver(typ); driver == nil {
		return false
	} else if driver.Resource().Lookup != nil {
		return true
	}
	return idIsName(typ, property)
}

// idIsName tells whether the ids of a type are what a property says.
func idIsName(typ, property string) bool { return property != "" && identifier(typ) == property }

// identifier is the one property that says what the ids of a type are, if only once
// AWS has made it up; "" where there is more than one.
func identifier(typ string) string {
	t, ok := schema.Lookup(typ)
	if !ok || len(t.PrimaryIdentifier) != 1 {
		return ""
	}
	return t.PrimaryIdentifier[0]
}

// update changes a resource in place.
func (d *deployment) update(ctx context.Context, c *plan.Change, resolved template.Resolved, row *state.Resource) error {
	decision := d.decisions[c.LogicalID]
	req := d.request(c.LogicalID, c.Type)
	req.PhysicalID, req.Attributes = row.PhysicalID, row.Attributes
	req.Properties, req.Masked = resolved.Clear.(*value.Object), resolved.Masked
	req.Previous = row.Properties
	d.name(req)

	d.unsure(req, c.LogicalID)
	f := d.depart(req, state.OpenOperation{ChangeType: state.OpUpdate, PhysicalID: row.PhysicalID, Previous: row,
		Properties: resolved.Stored.(*value.Object), ProvisionedBy: decision.Route.ProvisionedBy, UpdateReplacePolicy: d.scope.Resource(c.LogicalID).UpdateReplacePolicy})
	var updated provider.Updated
	var effect provider.Effect
	ev := Event{Action: plan.Update, LogicalID: c.LogicalID, Type: c.Type, PhysicalID: row.PhysicalID}
	err := d.operation(ctx, ev, d.limit(c.Type), func(ctx context.Context) (string, error) {
		var err error
		updated, err = d.provider(d.lasting(decision, c.LogicalID, row), retry.ForCreate(retry.Classifier{})).Update(provider.Observing(ctx, &effect), req)
		return updated.PhysicalID, err
	})
	d.arrive(f, err)
	if err != nil {
		if c.Action == plan.MayReplace && errors.As(err, new(*provider.UnsupportedUpdateError)) {
			return err // the caller replaces it
		}
		d.halfUpdated(err, effect.Had(), f, &state.Operation{LogicalID: c.LogicalID, ResourceType: c.Type, ChangeType: state.OpUpdate,
			PhysicalID: row.PhysicalID, Previous: row, Properties: resolved.Stored.(*value.Object), ProvisionedBy: decision.Route.ProvisionedBy})
		return d.fail(c, row.PhysicalID, err)
	}
	id, attributes := row.PhysicalID, row.Attributes
	if updated.PhysicalID != "" {
		id = updated.PhysicalID
	}
	if updated.Attributes != nil {
		attributes = updated.Attributes
	}
	if id != row.PhysicalID {
		if err := d.noteOld(ctx, c.LogicalID, row); err != nil {
			d.warn("%v", err)
		}
	}
	d.record(c, resolved, row, provider.Created{PhysicalID: id, Attributes: attributes, Effective: updated.Effective, NoEcho: updated.NoEcho})
	d.finish(c.LogicalID, state.OpUpdate)
	d.finish(c.LogicalID, state.OpCreate) // of a nested stack, which is gone on with
	d.finish(c.LogicalID, state.OpDelete) // it is there
	op := &state.Operation{LogicalID: c.LogicalID, ResourceType: c.Type, ChangeType: state.OpUpdate, PhysicalID: id,
		Previous: row, Properties: resolved.Stored.(*value.Object), ProvisionedBy: decision.Route.ProvisionedBy}
	if id != row.PhysicalID { // a custom resource answered with another id: its old self goes
		d.replaced(c, op, row)
		op.WasReplaced = new(false) // as in CloudFormation, an update takes it back
	}
	d.unawaited(c.LogicalID, c.Type, id, updated.Unsettled)
	d.done(op, func(n *result.Counts) { n.Updated++ })
	if updated.Partial != "" {
		d.unaddressed(c.LogicalID, c.Type, id, updated.Partial, "look at the resource and deploy again")
	}
	return nil
}

// provider is the decision's provider with the retries of a policy.
func (d *deployment) provider(decision provider.Decision, policy retry.Policy) provider.Provider {
	if decision.Direct {
		return decision.Provider
	}
	d.mu.Lock()
	stop := d.stop
	d.mu.Unlock()
	return provider.Retrying(decision.Provider, provider.Policies{
		Create: policy, Update: policy, Delete: policy, Stop: stop,
		Retrying: func(line string) { d.observe(Event{Kind: Detail, Text: line}) },
		GaveUp:   func(line string) { d.warn("%s", line) },
	})
}

// limit is how long an operation may take: exactly what was asked for its type, or
// else as long as was asked for, but never less than the type is known to need.
func (d *deployment) limit(typ string) time.Duration {
	if exact, ok := d.opt.TypeTimeouts[typ]; ok {
		return exact
	}
	least := time.Duration(0)
	switch {
	case typ == nestedType:
		least = 24 * time.Hour // its own resources have their own limits
	case isCustom(typ), slowTypes[typ] >= 4*time.Minute, cloudcontrol.Slow(typ):
		least = time.Hour
	}
	return max(d.opt.ResourceTimeout, least)
}

// newToken makes the token of one logical create. It is as hard to guess as a
// key: who knows it could answer for the create.
func newToken() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A stray is what a create of an earlier run may have made that nothing names:
// the run was killed before it knew, and the app was changed since, or the stack
// is destroyed. What a deploy finds declared still is found again by its own
// create.

// strayed tells whether an earlier run may have left strays, though nothing
// else is to be done.
func (d *deployment) strayed(r reading) bool {
	return d.lock != nil && (r.presence.OpenCreates || d.lock.TookOver != nil && r.presence.Ledger)
}

// openStrays opens the ledger for a stack that is taken down.
func (d *deployment) openStrays(ctx context.Context, r reading) {
	if r.presence.Ledger {
		d.creates = newCreates()
		d.openLedger(ctx, r)
	}
}

// setAside takes the creates of earlier runs out of the way whose logical ids
// are about something else by now: another type, another name, or the resource
// that was to be replaced. They are strays as well.
func (d *deployment) setAside(ctx context.Context) error {
	if d.creates == nil {
		return nil
	}
	open := d.stillOpen() // settled by what is known of them beside the ledger
	var ids []string
	for id, entry := range d.creates.open {
		c := d.Plan.Change(id)
		switch {
		case open[id], c == nil && d.world.row(id) == nil:
		case c != nil && d.isNew(c) && entry.Answers(d.making(c)):
		default:
			ids = append(ids, id)
		}
	}
	if ids == nil {
		return nil
	}
	err := d.creates.ledger.SetAside(ctx, ids...)
	d.creates.open = d.creates.ledger.Open()
	return err
}

// strays are the logical ids of creates that an earlier run wrote down, that no
// row answers, and that this run does not make either.
func (d *deployment) strays() []string {
	if d.creates == nil {
		return nil
	}
	declared := map[string]bool{}
	for _, c := range d.Changes {
		declared[c.LogicalID] = true
	}
	open := maps.Clone(d.creates.open)
	maps.DeleteFunc(open, func(id string, _ state.Entry) bool { return declared[id] || d.world.row(id) != nil })
	return slices.Sorted(maps.Keys(open))
}

// adoptStrays looks for the strays, and records those that are found, exactly,
// as this stack's own: they go the way of everything that is gone from the
// template. Where the stack is taken down, one that nobody can tell of keeps its
// record: with that would go what it is found by.
func (d *deployment) adoptStrays(ctx context.Context, takenDown bool) []string {
	if takenDown && d.creates != nil && d.creates.ledger.Err() != nil {
		err := d.creates.ledger.Err()
		d.unaddressed("", "", "", "what earlier runs may have made that is not recorded cannot be told: "+err.Error(), Remedy(err))
	}
	for _, id := range d.strays() {
		entry := d.creates.open[id]
		stray, err := d.findStray(ctx, id, entry)
		physicalID := stray.physicalID
		switch {
		case err != nil || !stray.looked:
			what := fmt.Sprintf("an earlier run began to create %s (%s) and recorded no id; whether it exists cannot be told", state.Subject(id), stray.named(d, id, entry.Type()))
			if err != nil {
				what = fmt.Sprintf("%s: %v", what, err)
			}
			remedy := "look, delete it by hand if it does, and have it forgotten: " + forgetCommand(d.t.Name, id)
			if takenDown && !slices.Contains(parts, entry.Type()) {
				d.unaddressed(id, entry.Type(), "", what, remedy)
			} else {
				d.warn("%s: %s", what, remedy)
			}
		case physicalID != "":
			d.observe(Event{Kind: Notice, LogicalID: id, Type: entry.Type(), PhysicalID: physicalID,
				Text: "found: an earlier run made it and ended before it knew; it goes"})
			d.change(func(r *state.Record) {
				row := &state.Resource{PhysicalID: physicalID, ResourceType: entry.Type(), Properties: stray.properties, ProvisionedBy: state.BySDK}
				if d.router.Driver(entry.Type()) == nil {
					row.ProvisionedBy = state.ByCloudControl
				}
				r.Set(id, row)
			})
			d.forgetStray(id)
			d.found = append(d.found, id)
		case d.longAgo(entry):
			d.forgetStray(id) // it made nothing
		}
	}
	return d.found
}

// forgetStray takes a create out of the ledger at the end of this run.
func (d *deployment) forgetStray(id string) {
	d.creates.mu.Lock()
	defer d.creates.mu.Unlock()
	d.creates.fates[id] = state.FateOver
}

// longAgo tells whether what a create made would be seen by now.
func (d *deployment) longAgo(entry state.Entry) bool {
	ended := d.creates.ledger.Abandoned()
	if entry.FailedAt > 0 {
		ended = time.UnixMilli(entry.FailedAt)
	}
	if ended.IsZero() {
		return d.lock.TookOver != nil // which takes longer
	}
	return now().Sub(ended) >= lateArrival
}

// A traced create is what could be told of one that nothing names.
type traced struct {
	physicalID string        // "": there is nothing, if looked
	properties *value.Object // as far as the template tells them
	looked     bool          // false: nothing tells whether it exists
}

// named says what is known of a create that could not be found.
func (t traced) named(d *deployment, id, typ string) string {
	name := plan.PhysicalName(d.t.Name, state.Subject(id), typ, t.properties)
	if name.Value == "" || name.Generated {
		return typ
	}
	return fmt.Sprintf("%s, %s %s", typ, name.Property, name.Value)
}

// sought are the properties, beside the name, by which a type is found that is
// not found by its tag or its name alone.
var sought = map[string][]string{
	"AWS::ApiGateway::Stage":   {"RestApiId", "StageName"},
	"AWS::ApiGatewayV2::Stage": {"ApiId", "StageName"},
	"AWS::CloudTrail::Trail":   {"TrailName"},
	"AWS::ECS::Service":        {"Cluster"},
	"AWS::ECS::TaskDefinition": {"Family"},
	"AWS::IAM::ManagedPolicy":  {"Path"},
}

// unowned are found by a key that may as well be somebody else's.
var unowned = []string{
	"AWS::ElasticLoadBalancingV2::Listener",
	"AWS::ElasticLoadBalancingV2::ListenerRule",
	"AWS::Lambda::EventSourceMapping",
}

// findStray looks for what a create made: by the tag that it gave, or by a name
// that nobody else can account for.
func (d *deployment) findStray(ctx context.Context, id string, entry state.Entry) (found traced, err error) {
	typ := entry.Type()
	driver := d.router.Driver(typ)
	subject := state.Subject(id)
	properties, unresolved, declared := d.declaration(ctx, subject, typ)
	name := plan.PhysicalName(d.t.Name, subject, typ, properties)
	if entry.Called != "" && name.Property != "" {
		properties = properties.Clone()
		properties.Set(name.Property, entry.Called)
		unresolved = slices.DeleteFunc(unresolved, func(p string) bool { return p == name.Property })
		name.Value, name.Generated = entry.Called, false
	}
	found.properties = properties
	req := d.request(subject, typ)
	req.Properties, req.OwnerTag = properties, entry.OwnerTag(d.creates.ledger.Nonce(), id)
	if driver == nil {
		found.physicalID, found.looked, err = d.findOwned(ctx, req)
		return found, err
	}
	res := driver.Resource()
	req.Name, req.NameProperty = name.Value, name.Property
	if entry.ByName() {
		req.Name, found.looked = entry.Token, true
		held, err := driver.Lookup(ctx, req)
		if err != nil || held == nil {
			return found, err
		}
		verdict := d.creates.evidence.License(ctx, state.Holder{
			LogicalID: id, Type: typ, Name: entry.Token,
			PhysicalID: held.PhysicalID, Created: held.Created, OwnerTag: held.Tags[provider.OwnerTagKey],
		})
		switch {
		case verdict.Proof == state.ProvedByTag, verdict.Proof == state.ProvedByIntent && !held.Created.IsZero():
			found.physicalID = held.PhysicalID
		case verdict.Proof == state.ProvedByIntent: // to take it back, not to delete it
			return traced{properties: properties}, fmt.Errorf("%s has its name, and nothing proves that the create made it", held.PhysicalID)
		} // else it is somebody else's, or in use, or was kept
		return found, nil
	}
	req.Token = entry.Token
	unsure := func(property string) bool { return slices.Contains(unresolved, property) }
	switch {
	case !res.Tags.AtCreate || slices.Contains(unowned, typ):
		return found, nil
	case res.Name != "" && (unsure(res.Name) || req.Name == "" && !properties.Has(res.Name)):
		return found, nil
	case len(sought[typ]) > 0 && (!declared || slices.ContainsFunc(sought[typ], unsure)):
		return found, nil
	case res.Find != nil:
		found.physicalID, err = driver.Find(ctx, req)
	case res.Lookup != nil && req.Name != "" && req.OwnerTag == "":
		err = provider.ErrUntagged
	case res.Lookup != nil && req.Name != "":
		held, lookupErr := driver.Lookup(ctx, req)
		if err = lookupErr; held != nil && held.Tags[provider.OwnerTagKey] == req.OwnerTag {
			found.physicalID = held.PhysicalID
		}
	default:
		return found, nil
	}
	// Without its declaration, or under one that is of another by now, it may have
	// been called or kept otherwise than what was looked for.
	found.looked = found.physicalID != "" || declared && subject == id || (res.Name == "" || entry.Called != "") && len(sought[typ]) == 0
	return found, err
}

// declaration returns the properties of a stray as far as the template, if it
// still declares it, tells them, and names those that it does not tell.
func (d *deployment) declaration(ctx context.Context, id, typ string) (properties *value.Object, unresolved []string, declared bool) {
	none := &value.Object{}
	if d.t.Template == nil {
		return none, nil, false
	}
	r := d.t.Template.Resource(id)
	if r == nil || r.Type != typ {
		return none, nil, false
	}
	if scope, err := d.t.Template.Bind(ctx, d.environment(), d.t.Parameters, d.world, template.Secrets(d.e.config.Secrets)); err == nil {
		if properties, unresolved, err = scope.Preview(ctx, id); err == nil {
			for _, name := range unresolved {
				properties.Delete(name)
			}
			return properties, unresolved, true
		}
	}
	// Parameters may be missing: a destroy is not asked for them.
	for name, v := range r.Properties.All() {
		if text, ok := v.(string); ok {
			none.Set(name, text)
		} else {
			unresolved = append(unresolved, name)
		}
	}
	return none, unresolved, true
}

package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
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
// template.
func (d *deployment) adoptStrays(ctx context.Context) (found []string) {
	for _, id := range d.strays() {
		entry := d.creates.open[id]
		physicalID, looked, err := d.findStray(ctx, id, entry)
		switch {
		case err != nil && d.t.Template == nil:
			// The record stays, and with it what would have the stray found.
			d.unaddressed(id, entry.Type(), "", fmt.Sprintf("an earlier run began to create it; whether it exists could not be looked up: %v", err), "destroy again")
		case err != nil:
			d.warn("an earlier run began to create %s (%s), which the template does not have any more; whether it exists could not be looked up: %v", id, entry.Type(), err)
		case !looked:
			d.warn("an earlier run began to create %s (%s), which nothing names any more; whether it exists cannot be told for this type: look, and delete it by hand", id, entry.Type())
		case physicalID != "":
			d.observe(Event{Kind: Notice, LogicalID: id, Type: entry.Type(), PhysicalID: physicalID,
				Text: "found: an earlier run made it and ended before it knew; it goes"})
			d.change(func(r *state.Record) {
				row := &state.Resource{PhysicalID: physicalID, ResourceType: entry.Type(), Properties: &value.Object{}, ProvisionedBy: state.BySDK}
				if d.router.Driver(entry.Type()) == nil {
					row.ProvisionedBy = state.ByCloudControl
				}
				r.Set(id, row)
			})
			d.creates.mu.Lock()
			d.creates.fates[id] = state.FateOver
			d.creates.mu.Unlock()
			found = append(found, id)
		}
	}
	return found
}

// findStray looks for what a create made: by the tag that it gave, or by a name
// that nobody else can account for.
func (d *deployment) findStray(ctx context.Context, id string, entry state.Entry) (physicalID string, looked bool, err error) {
	driver := d.router.Driver(entry.Type())
	req := d.request(id, entry.Type())
	req.Properties, req.OwnerTag = &value.Object{}, entry.OwnerTag(d.creates.ledger.Nonce(), id)
	if driver == nil {
		return d.findOwned(ctx, req)
	}
	name := plan.PhysicalName(d.t.Name, id, entry.Type(), req.Properties)
	req.Name, req.NameProperty = name.Value, name.Property
	if !entry.ByName() {
		if driver.Resource().Find == nil || !driver.Resource().Tags.AtCreate {
			return "", false, nil
		}
		physicalID, err = driver.Find(ctx, req)
		return physicalID, true, err
	}
	req.Name = entry.Token
	held, err := driver.Lookup(ctx, req)
	if err != nil || held == nil {
		return "", true, err
	}
	verdict := d.creates.evidence.License(ctx, state.Holder{
		LogicalID: id, Type: entry.Type(), Name: entry.Token,
		PhysicalID: held.PhysicalID, Created: held.Created, OwnerTag: held.Tags[provider.OwnerTagKey],
	})
	if verdict.Proof == "" {
		return "", true, nil // somebody else's
	}
	return held.PhysicalID, true, nil
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
)

// findEarlier looks for what a create of an earlier run made that never got its
// answer: exactly, by the tag that this create gave it, or by a key that only
// it can have. "" is nothing.
func (d *deployment) findEarlier(ctx context.Context, c *plan.Change, req *provider.Request) (string, error) {
	driver := d.router.Driver(c.Type)
	if d.resent(c) {
		id, looked, err := d.findOwned(ctx, req)
		if err != nil || !looked {
			return "", nil // the token tells
		}
		return id, nil
	}
	byName := d.creates.names[c.LogicalID] != nil // its create takes the name back by itself
	if driver == nil || byName || d.creates.open[c.LogicalID].Type() != c.Type || d.decisions[c.LogicalID].Route.ProvisionedBy != state.BySDK {
		return "", nil
	}
	id, err := driver.Find(ctx, req)
	if errors.Is(err, provider.ErrUntagged) {
		entry := d.creates.open[c.LogicalID]
		return "", &UnresolvedError{Stack: d.t.Name, LogicalID: c.LogicalID, Type: c.Type, Change: "create", At: time.UnixMilli(entry.FirstSentAt), Because: err.Error()}
	}
	return id, err
}

// findUnanswered looks at once for what a create made that failed without a
// clear answer: else a rollback would leave it behind.
func (d *deployment) findUnanswered(ctx context.Context, c *plan.Change, req *provider.Request, failure error) string {
	driver := d.router.Driver(c.Type)
	if driver == nil || state.FateOf(failure) != state.FateUnknown || d.decisions[c.LogicalID].Route.ProvisionedBy != state.BySDK || ctx.Err() != nil {
		return ""
	}
	id, err := driver.Find(ctx, req)
	if err != nil {
		d.warn("%s (%s): whether the create was carried out could not be looked up: %v", c.LogicalID, c.Type, err)
	}
	return id
}

// adopt records a resource that an earlier create made, and brings it to what the
// template says. old is the row that it takes the place of, nil for a new one.
func (d *deployment) adopt(ctx context.Context, c *plan.Change, req *provider.Request, resolved template.Resolved, old *state.Resource, id string) error {
	d.observe(Event{Kind: Notice, LogicalID: c.LogicalID, Type: c.Type, PhysicalID: id, Text: "found again: an earlier create made it, and its answer was lost"})
	found := provider.Created{PhysicalID: id}
	decision := d.decisions[c.LogicalID]
	if decision.Route.ProvisionedBy == state.BySDK {
		found.Attributes = d.router.Driver(c.Type).Known(req)
	}
	d.made(c, resolved, found)
	row := d.world.row(c.LogicalID)
	update := *req
	update.PhysicalID, update.Previous, update.Attributes = id, row.Properties, row.Attributes
	if decision.Route.ProvisionedBy == state.ByCloudControl {
		update.Unsure, update.Token = true, newToken() // it is as the app was then
	}
	f := d.depart(&update, d.creating(c, req, resolved, old))
	var updated provider.Updated
	ev := Event{Action: c.Action, LogicalID: c.LogicalID, Type: c.Type, PhysicalID: id}
	err := d.operation(ctx, ev, d.limit(c.Type), func(ctx context.Context) (string, error) {
		if err := d.settled(ctx, decision, &update, &found); err != nil {
			return id, err
		}
		var err error
		updated, err = d.provider(decision, retry.ForCreate(retry.Classifier{})).Update(ctx, &update)
		return id, err
	})
	d.arrive(f, err)
	d.over(c.LogicalID, c.Type, id, err)
	made := provider.Created{PhysicalID: id, Attributes: updated.Attributes, Effective: updated.Effective, Unsettled: cmp.Or(updated.Unsettled, found.Unsettled)}
	if updated.Attributes == nil {
		made.Attributes = merged(found.Attributes, row.Attributes)
	}
	if err != nil {
		return d.failedCreate(ctx, c, resolved, made, old, err)
	}
	d.created(c, resolved, old, made)
	return d.reattachNow(ctx, c.LogicalID)
}

// settled waits until a resource that was found has settled, as its create would
// have.
func (d *deployment) settled(ctx context.Context, decision provider.Decision, req *provider.Request, found *provider.Created) error {
	if decision.Route.ProvisionedBy != state.BySDK {
		return nil // Cloud Control has answered when it has
	}
	made, err := d.router.Driver(req.Type).Settle(ctx, req)
	if errors.Is(err, provider.ErrDraining) || err != nil && ctx.Err() != nil {
		err = &provider.PartialError{Made: *found, Err: &provider.SettlingError{Err: err}}
	}
	if err == nil {
		*found, req.Attributes = made, made.Attributes
	}
	return err
}

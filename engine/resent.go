package engine

import (
	"context"
	"errors"
	"time"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/state"
)

// A create by Cloud Control that an earlier run sent, and did not live to see
// answered, is sent again with the same token: the answer is the first one's.

// resent tells whether a create is one of those.
func (d *deployment) resent(c *plan.Change) bool {
	return d.decisions[c.LogicalID].Route.ProvisionedBy == state.ByCloudControl && !isCustom(c.Type) &&
		d.creates.open[c.LogicalID].Type() == c.Type
}

// createAgain sends it. The answer may be about a resource that was deleted
// since: then another is made, with a token of its own. Where Cloud Control has
// the request with other properties, since the app was changed, what it made was
// not found by its tag; it may be there all the same, so no other is made.
func (d *deployment) createAgain(ctx context.Context, c *plan.Change, req *provider.Request, p provider.Provider) (provider.Created, error) {
	var answered provider.Created
	again := *req
	again.Made = func(m provider.Created) { answered = m } // recorded once it is known to be there
	created, err := p.Create(ctx, &again)
	if provider.HasCode(err, tokenConflict) {
		e := &UnresolvedError{
			Stack: d.t.Name, LogicalID: c.LogicalID, Type: c.Type, Change: "create", At: time.UnixMilli(d.creates.open[c.LogicalID].FirstSentAt),
			Because: "Cloud Control has that request with other properties, and what it made is not found by its tag",
		}
		if row := d.asRead.Row(c.LogicalID); row != nil {
			e.Recorded = row.PhysicalID
		}
		return created, e
	}
	if err != nil {
		return created, err
	}
	there := again
	there.PhysicalID = created.PhysicalID
	if _, err := d.cloudControl.Read(ctx, &there); errors.Is(err, provider.ErrNotFound) {
		i := d.intent(c)
		i.Keep = false
		if err := d.enter(ctx, []state.Intent{i}); err != nil {
			return provider.Created{}, err
		}
		if err := d.admit(ctx, c, req); err != nil {
			return provider.Created{}, err
		}
		return p.Create(ctx, req)
	}
	if req.Made != nil && answered.PhysicalID != "" {
		req.Made(answered)
	}
	return created, nil
}

// tokenConflict is the code of the answer to a known token with other
// properties.
const tokenConflict = "ClientTokenConflictException"

// findOwned looks for what an earlier create by Cloud Control made that the
// template does not have any more.
func (d *deployment) findOwned(ctx context.Context, req *provider.Request) (id string, looked bool, err error) {
	id, err = d.cloudControl.FindOwned(ctx, req)
	if errors.Is(err, cloudcontrol.ErrUntold) {
		return "", false, nil
	}
	return id, true, err
}

package engine

import (
	"context"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/state"
)

// removeProtection switches deletion protection off, by the layer that made the
// resource where that knows how. If it fails, the delete says why it cannot be done.
func (d *deployment) removeProtection(ctx context.Context, decision provider.Decision, req *provider.Request) {
	off := d.cloudControl.Unprotect
	if driver := d.router.Driver(req.Type); driver != nil && (decision.Route.ProvisionedBy != state.ByCloudControl || !cloudcontrol.Protects(req.Type)) {
		off = driver.Unprotect
	}
	if err := off(ctx, req); err != nil {
		d.warn("%s (%s): switch deletion protection off: %v", req.LogicalID, req.Type, err)
	}
}

// unprotects tells whether the deletion protection of a type can be switched off.
func (d *deployment) unprotects(typ string) bool {
	driver := d.router.Driver(typ)
	return cloudcontrol.Protects(typ) || driver != nil && driver.Resource().Unprotect != nil
}

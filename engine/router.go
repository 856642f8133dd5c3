package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/awssdk"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// router returns the providers for the resources of one stack: nested stacks
// are deployed by the deployment that they belong to.
func (e *Engine) router(d *deployment) *provider.Router {
	own := map[string]provider.Provider{nestedType: &nested{d}}
	d.cloudControl = cloudcontrol.New(cloudcontrol.Options{Recorded: d.names})
	d.cloud = d.cloudControl
	d.custom = customresource.New(customresource.Options{
		Responses: customresource.Bucket{
			Client: awssdk.S3Client(e.session(d.store.Region()).provider), Name: d.store.Bucket(),
		},
		AuthzRetries: customresource.AuthzRetries(d.e.config.HandlerRetries), Recycle: d.e.config.RecycleHandlers,
		Sending: d.sending, Over: d.undelivered, KeepResponses: true,
	})
	router := provider.NewRouter(d.opt.Router, d.cloud, d.custom, own, awssdk.Resources())
	if d.run != nil {
		router.Described = d.run.described[d.t.Region]
	}
	return router
}

// names tells whether a row of the stack's record is of this resource.
func (d *deployment) names(_ provider.Stack, typ, identifier string) bool {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	for _, row := range d.world.record.Resources {
		if row.ResourceType == typ && row.PhysicalID == identifier {
			return true
		}
	}
	return false
}

// live reads a resource's attributes as they are in AWS. Cloud Control's model
// of a resource has them, whichever layer provisioned it.
func (d *deployment) live(ctx context.Context, logicalID string, row *state.Resource) (*value.Object, error) {
	if isCustom(row.ResourceType) || row.ResourceType == nestedType {
		return nil, nil // what is recorded is all there is
	}
	attributes, err := d.read(ctx, logicalID, row)
	if err != nil {
		d.observe(Event{Kind: Detail, LogicalID: logicalID, Text: fmt.Sprintf("read %s (%s): %v", logicalID, row.ResourceType, err)})
	}
	return attributes, err
}

func (d *deployment) read(ctx context.Context, logicalID string, row *state.Resource) (*value.Object, error) {
	req := d.request(logicalID, row.ResourceType)
	req.PhysicalID, req.Properties, req.Attributes = row.PhysicalID, row.Properties, row.Attributes
	if driver := d.router.Driver(row.ResourceType); driver != nil && row.ProvisionedBy != state.ByCloudControl {
		if read := driver.Resource().Attributes; read != nil {
			return read(ctx, req)
		}
		if identifier := driver.Resource().Identifier; identifier != nil {
			req.PhysicalID = identifier(req)
		}
	}
	return d.cloud.Read(ctx, req)
}

// isCustom tells whether a type is provisioned by a handler of the app's own.
func isCustom(typ string) bool {
	return strings.HasPrefix(typ, "Custom::") || typ == "AWS::CloudFormation::CustomResource"
}

// sent takes out what a person allowed to be left out.
func sent(resolved template.Resolved, decision provider.Decision) template.Resolved {
	if len(decision.Dropped) == 0 {
		return resolved
	}
	stored := provider.Without(resolved.Stored.(*value.Object), decision.Dropped)
	resolved.Clear, resolved.Stored = provider.Without(resolved.Clear.(*value.Object), decision.Dropped), stored
	resolved.Masked = slices.DeleteFunc(slices.Clone(resolved.Masked), func(path secret.Path) bool {
		return !masked(at(stored, path))
	})
	return resolved
}

// unput takes out what was not put yet, so that the next deploy finds it missing.
func unput(resolved template.Resolved, properties []string) template.Resolved {
	return sent(resolved, provider.Decision{Dropped: properties})
}

// at is the value that a path leads to, nil when it is not there.
func at(v any, path secret.Path) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			o, _ := v.(*value.Object)
			v = o.Value(step)
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
)

// readopt gives a stack back what a rollback let go of and the template still
// declares: the same logical id and type, under a name that the template leaves
// open. What AWS does not have any more is forgotten; what another stack names
// by now is that stack's; what cannot be looked at waits for the next deploy.
// The record is changed, and what was done is returned.
func (d *deployment) readopt(ctx context.Context, record *state.Record, declared []*template.Resource) (notices, warnings []string, err error) {
	if record == nil || len(record.Orphans) == 0 {
		return nil, nil, nil
	}
	var elsewhere []state.Surveyed
	var kept []state.Orphan
	for _, o := range record.Orphans {
		r := declaring(declared, o)
		if r == nil || record.Row(o.LogicalID) != nil || named(d.t.Name, r) {
			kept = append(kept, o)
			continue
		}
		if elsewhere == nil {
			if elsewhere, err = d.store.Survey(ctx); err != nil {
				return nil, nil, fmt.Errorf("look whether another stack names what a rollback left: %w", err)
			}
		}
		what := fmt.Sprintf("%s (%s, %s), which a rollback left in AWS,", o.LogicalID, o.State.ResourceType, o.State.PhysicalID)
		if other := d.namedBy(elsewhere, o.State.ResourceType, o.State.PhysicalID); other != "" {
			warnings = append(warnings, fmt.Sprintf("%s is not taken back: the record of stack %s names it, or cannot be read", what, other))
			kept = append(kept, o)
			continue
		}
		switch there, err := d.exists(ctx, o.LogicalID, o.State); {
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("%s is not taken back: %v", what, err))
			kept = append(kept, o)
		case !there:
			notices = append(notices, what+" is gone")
		default:
			notices = append(notices, what+" is taken back")
			record.Set(o.LogicalID, o.State)
		}
	}
	record.Orphans = kept
	return notices, warnings, nil
}

func declaring(declared []*template.Resource, o state.Orphan) *template.Resource {
	i := slices.IndexFunc(declared, func(r *template.Resource) bool { return r.LogicalID == o.LogicalID && r.Type == o.State.ResourceType })
	if i < 0 || isCustom(o.State.ResourceType) || o.State.ResourceType == nestedType {
		return nil
	}
	return declared[i]
}

// named tells whether the template says itself what the resource is called.
func named(stack string, r *template.Resource) bool {
	name := plan.PhysicalName(stack, r.LogicalID, r.Type, r.Properties)
	return name.Property != "" && !name.Generated
}

// namedBy returns which other stack names a resource. One that cannot be read
// may.
func (d *deployment) namedBy(all []state.Surveyed, typ, physicalID string) string {
	for _, s := range all {
		if s.Stack == d.t.Name && s.Region == d.t.Region {
			continue
		}
		if s.Record == nil && s.Err != nil {
			return s.Stack
		}
		if s.Record == nil || s.Region != d.t.Region && !global(typ) {
			continue
		}
		for _, row := range s.Record.Resources {
			if row.ResourceType == typ && state.SameResource(typ, row.PhysicalID, physicalID) {
				return s.Stack
			}
		}
	}
	return ""
}

// global tells whether ids of a type are the same in every region.
func global(typ string) bool {
	switch service(typ) {
	case "AWS::IAM", "AWS::CloudFront", "AWS::Route53":
		return true
	}
	return typ == "AWS::S3::Bucket"
}

// exists asks AWS whether a recorded resource is there.
func (d *deployment) exists(ctx context.Context, logicalID string, row *state.Resource) (bool, error) {
	req := d.request(logicalID, row.ResourceType)
	req.PhysicalID, req.Properties, req.Attributes = row.PhysicalID, row.Properties, row.Attributes
	driver := d.router.Driver(row.ResourceType)
	if driver != nil && driver.Resource().Lookup != nil {
		name := plan.PhysicalName(d.t.Name, logicalID, row.ResourceType, row.Properties)
		req.Name, req.NameProperty = name.Value, name.Property
		held, err := driver.Lookup(ctx, req)
		return held != nil && state.SameResource(row.ResourceType, held.PhysicalID, row.PhysicalID), err
	}
	read := d.cloud.Read
	if driver != nil && row.ProvisionedBy != state.ByCloudControl {
		read = driver.Read
	}
	_, err := read(ctx, req)
	if errors.Is(err, provider.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

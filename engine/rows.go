package engine

import (
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// made records a resource the moment that it exists, with those of its
// properties that cannot change. Should nothing more be learned of it, the
// next deploy finds the others missing, and puts them.
func (d *deployment) made(c *plan.Change, resolved template.Resolved, made provider.Created) {
	fixed := fixedProperties(d.router, c.Type, resolved.Stored.(*value.Object))
	d.change(func(r *state.Record) {
		r.Set(c.LogicalID, d.row(c, nil, made.PhysicalID, fixed, nil, d.redact(made.Attributes)))
	})
}

// fixedProperties are those that a create settles for good.
func fixedProperties(router *provider.Router, typeName string, properties *value.Object) *value.Object {
	fixed := &value.Object{}
	if typ, ok := router.Schema(typeName); ok {
		for name, v := range properties.All() {
			if typ.Replaces(name) != schema.InPlace {
				fixed.Set(name, v)
			}
		}
	}
	return fixed
}

// row is what to record of a resource. old is the row of a resource that was
// updated in place, nil for one that was made.
func (d *deployment) row(c *plan.Change, old *state.Resource, physicalID string, properties *value.Object, masked []secret.Path, attributes *value.Object) *state.Resource {
	row := &state.Resource{}
	if old != nil {
		row = old.Next()
	}
	row.PhysicalID, row.ResourceType, row.Properties, row.Attributes = physicalID, c.Type, properties, attributes
	row.Dependencies, row.ProvisionedBy = d.recorded[c.LogicalID], d.decisions[c.LogicalID].Route.ProvisionedBy
	row.DeletionPolicy, row.UpdateReplacePolicy = d.policies(c.LogicalID)
	for _, path := range masked {
		row.NoEchoLeaves = append(row.NoEchoLeaves, recordedPath(path))
	}
	return row
}

func recordedPath(path secret.Path) []any {
	out := make([]any, len(path))
	for i, step := range path {
		if n, ok := step.(int); ok {
			out[i] = value.Int(n)
		} else {
			out[i] = step
		}
	}
	return out
}

// record writes the row of a resource that was made or changed.
func (d *deployment) record(c *plan.Change, resolved template.Resolved, old *state.Resource, made provider.Created) {
	properties, leaves := resolved.Stored.(*value.Object), resolved.Masked
	if made.Effective != nil {
		v, paths := d.e.config.Secrets.Redact(made.Effective, properties)
		properties, leaves = v.(*value.Object), paths
	}
	attributes := withoutEchoes(d.redact(made.Attributes), resolved)
	row := d.row(c, old, made.PhysicalID, properties, leaves, attributes)
	if made.NoEcho {
		row.Attributes = &value.Object{}
		for name := range made.Attributes.All() {
			row.Attributes.Set(name, state.Masked)
		}
	}
	for name, v := range row.Attributes.All() {
		if masked(v) {
			row.NoEchoAttributes = append(row.NoEchoAttributes, name)
		}
	}
	if len(row.NoEchoLeaves)+len(row.NoEchoAttributes) > 0 {
		// What reads them in this run gets them as they are.
		clear := &state.Resource{PhysicalID: made.PhysicalID, ResourceType: c.Type, Attributes: d.unmasked(c.LogicalID, made.Attributes), Properties: made.Effective}
		if clear.Properties == nil {
			clear.Properties = resolved.Clear.(*value.Object)
		}
		d.world.mu.Lock()
		d.world.clear[c.LogicalID] = clear
		d.world.mu.Unlock()
	}
	d.change(func(r *state.Record) { r.Set(c.LogicalID, row) })
}

// withoutEchoes masks the attributes that are a NoEcho value which the resource
// was sent, however short. Elsewhere a short text is likely another.
func withoutEchoes(attributes *value.Object, resolved template.Resolved) *value.Object {
	if attributes == nil {
		return nil
	}
	sent := secret.NewSet(nil)
	for _, path := range resolved.Masked {
		if text, ok := at(resolved.Clear, path).(string); ok {
			sent.Add(text, secret.Masked)
		}
	}
	v, _ := sent.Redact(attributes, nil)
	return v.(*value.Object)
}

func (d *deployment) redact(o *value.Object) *value.Object {
	if o == nil {
		return nil
	}
	v, _ := d.e.config.Secrets.Redact(o, nil)
	return v.(*value.Object)
}

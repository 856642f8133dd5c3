package engine

import (
	"context"

	"github.com/org/cdkd-action/engine/value"
)

// An output of a nested stack that is made of a NoEcho value is recorded as its
// mask, in its own record and among the attributes of its row. The run that made
// it still knows the value, and the stack around it may use it meanwhile, as it
// may that of a custom resource. It is stored nowhere.

// handUp tells the stack around a nested one what its masked outputs are.
func (d *deployment) handUp(ctx context.Context) {
	parent := d.t.parent
	if parent == nil {
		return
	}
	d.world.masks = false
	defer func() { d.world.masks = true }()
	values := &value.Object{}
	for _, o := range d.scope.Outputs() {
		if stored, _, _, err := d.output(ctx, o.Name); err != nil || !masked(stored) {
			continue
		}
		r, err := d.scope.ResolveBoth(ctx, o.Value)
		if err != nil {
			continue // of what was not made or changed in this run only the mask is known
		}
		values.Set("Outputs."+o.Name, r.Clear)
	}
	if values.Len() == 0 {
		return
	}
	parent.mu.Lock()
	defer parent.mu.Unlock()
	if parent.handedUp == nil {
		parent.handedUp = map[string]*value.Object{}
	}
	parent.handedUp[d.t.parentLogicalID] = values
}

// unmasked are attributes of a resource with what a nested stack handed up.
func (d *deployment) unmasked(logicalID string, attributes *value.Object) *value.Object {
	d.mu.Lock()
	defer d.mu.Unlock()
	values := d.handedUp[logicalID]
	if values == nil {
		return attributes
	}
	clear := attributes.Clone()
	for name, v := range values.All() {
		clear.Set(name, v)
	}
	return clear
}

package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// What is put on a resource goes with it: a bucket's policy with the bucket, a
// role's policies with the role. When the resource is made again under the same
// name, nothing that is recorded of them tells that they are gone, so they are put
// again as soon as it is there.

// goesWith are the properties by which a type says with what it goes.
func (d *deployment) goesWith(typ string) []string {
	driver := d.router.Driver(typ)
	if driver == nil {
		return nil
	}
	if with := driver.Resource().GoesWith; with != nil {
		return with
	}
	return driver.Resource().PutOn
}

// reattach puts again what was put on a resource that was made just now. tell takes
// what cannot be.
func (d *deployment) reattach(ctx context.Context, logicalID string, tell func(logicalID string, row *state.Resource, err error)) {
	owner := d.world.row(logicalID)
	if owner == nil || !d.isPlace(owner) || d.heir(logicalID, owner, nil) != "" { // the last was there all along
		return
	}
	var ids []string
	d.world.mu.Lock()
	for _, id := range d.world.record.LogicalIDs() {
		if row := d.world.record.Row(id); id != logicalID && d.isOn(row, owner) {
			ids = append(ids, id)
		}
	}
	d.world.mu.Unlock()
	for _, id := range ids {
		if c := d.Plan.Change(id); !d.unmaking && c != nil && (c.Gone() || certain(c)) {
			continue // it goes, or is made again itself
		}
		row := d.world.row(id)
		d.observe(Event{Kind: Notice, LogicalID: id, Type: row.ResourceType, PhysicalID: row.PhysicalID,
			Text: fmt.Sprintf("put again: it was gone with %s, which was made again", logicalID)})
		if err := d.putAgain(ctx, id, row, owner); err != nil {
			tell(id, row, fmt.Errorf("put it on %s again, which was made again: %w", logicalID, err))
		}
	}
}

// reattachNow is reattach in a deploy, which fails with what cannot be put again.
func (d *deployment) reattachNow(ctx context.Context, logicalID string) (failed error) {
	d.reattach(ctx, logicalID, func(id string, row *state.Resource, err error) {
		failed = cmp.Or(failed, d.fail(&plan.Change{LogicalID: id, Type: row.ResourceType, Action: plan.Update, PhysicalID: row.PhysicalID}, row.PhysicalID, err))
	})
	return failed
}

// isOn tells whether a row's resource is put on another's.
func (d *deployment) isOn(row, owner *state.Resource) bool {
	return slices.ContainsFunc(d.goesWith(row.ResourceType), func(property string) bool {
		_, found := apartFrom(row.Properties.Value(property), owner)
		return found
	})
}

// apartFrom takes out of a value what names a resource.
func apartFrom(v any, owner *state.Resource) (rest any, found bool) {
	switch v := v.(type) {
	case string:
		return v, v == owner.PhysicalID || v == state.NameIn(owner.ResourceType, owner.PhysicalID) || v == owner.Attributes.Value("Arn")
	case []any:
		others := slices.DeleteFunc(slices.Clone(v), func(v any) bool {
			_, is := apartFrom(v, owner)
			return is
		})
		return others, len(others) < len(v)
	}
	return v, false
}

func (d *deployment) putAgain(ctx context.Context, logicalID string, row, owner *state.Resource) error {
	if hasMasks(row) {
		return errNoEcho
	}
	decision, err := d.router.Recorded(logicalID, row.ResourceType, row.ProvisionedBy)
	if err != nil {
		return err
	}
	resolved, err := d.scope.ResolveRecorded(ctx, row.Properties)
	if err != nil {
		return err
	}
	req := d.request(logicalID, row.ResourceType)
	req.Properties, req.Masked, req.Attributes = resolved.Clear.(*value.Object), resolved.Masked, row.Attributes
	again := provider.Created{PhysicalID: row.PhysicalID}
	ev := Event{Action: plan.Update, LogicalID: logicalID, Type: row.ResourceType, PhysicalID: row.PhysicalID, Rollback: d.unmaking}
	err = d.operation(ctx, ev, d.limit(row.ResourceType), func(ctx context.Context) (string, error) {
		p := d.provider(decision, retry.ForCreate(retry.Classifier{}))
		if d.router.Driver(row.ResourceType).Resource().Outlives {
			req.PhysicalID, req.Previous, req.Unsure = row.PhysicalID, row.Properties.Clone(), true
			for _, property := range d.goesWith(row.ResourceType) {
				if rest, found := apartFrom(row.Properties.Value(property), owner); found {
					req.Previous.Set(property, rest)
				}
			}
			d.name(req)
			_, err = p.Update(ctx, req)
			return row.PhysicalID, err
		}
		d.name(req)
		req.Token = newToken()
		again, err = p.Create(ctx, req)
		if retry.NameTaken(err) { // somebody was faster, or it was not gone
			again, err = provider.Created{PhysicalID: row.PhysicalID}, nil
		}
		return again.PhysicalID, err
	})
	if err != nil || again.PhysicalID == "" {
		return err
	}
	d.change(func(r *state.Record) {
		next := row.Clone()
		next.PhysicalID, next.Attributes = again.PhysicalID, merged(d.redact(again.Attributes), next.Attributes)
		r.Set(logicalID, next)
	})
	return nil
}

package provider

import (
	"context"
	"fmt"
	"slices"
)

// Update brings the resource from r.Previous to r.Properties.
func (d *Driver) Update(ctx context.Context, r *Request) (Updated, error) {
	r = d.prepare(r)
	if r.PhysicalID == "" {
		return Updated{}, fmt.Errorf("update %s (%s): no physical id is recorded", r.LogicalID, r.Type)
	}
	diff := Compare(r.Previous, r.Properties)
	var changed []Satellite
	rest := diff
	for _, s := range d.res.Satellites {
		if diff.Changed(s.Properties...) {
			changed = append(changed, s)
		}
		rest = rest.without(s.Properties...)
	}
	tags := d.res.Tags.separate()
	if tags {
		rest = rest.without(d.res.Tags.Property)
	}
	if refused := d.refused(rest); len(refused) > 0 {
		return Updated{}, &UnsupportedUpdateError{Type: r.Type, LogicalID: r.LogicalID, Properties: refused}
	}
	var out Updated
	if len(rest.changed) > 0 {
		var err error
		if out, err = d.res.Update(ctx, r, rest); err != nil {
			if HasCode(err, d.res.Replaces...) {
				err = &UnsupportedUpdateError{Type: r.Type, LogicalID: r.LogicalID, Properties: rest.changed, Err: err}
			}
			return Updated{}, err
		}
		if out.Unsettled, err = d.settle(ctx, r, slices.ContainsFunc(changed, func(s Satellite) bool { return s.Settled })); err != nil {
			return Updated{}, err
		}
	}
	if err := puts(ctx, r, changed); err != nil {
		return Updated{}, err
	}
	if tags && diff.Changed(d.res.Tags.Property) {
		if err := d.retag(ctx, r); err != nil {
			return Updated{}, err
		}
	}
	return out, d.refresh(ctx, r, &out)
}

// refresh completes an update's attributes, over those recorded.
func (d *Driver) refresh(ctx context.Context, r *Request, out *Updated) error {
	fresh := out.Attributes
	if d.res.Known != nil {
		fresh = merge(d.res.Known(r), fresh)
	}
	if d.res.Attributes != nil {
		read, err := d.res.Attributes(ctx, r)
		if err != nil {
			return fmt.Errorf("read attributes of %s (%s): %w", r.LogicalID, r.Type, err)
		}
		fresh = merge(fresh, read)
	}
	if fresh != nil {
		out.Attributes = merge(r.Attributes, fresh)
	}
	return nil
}

// refused lists the changes that nothing in the description can make.
func (d *Driver) refused(rest Diff) []string {
	if d.res.Update == nil {
		return rest.changed
	}
	if d.res.Updates == nil {
		return nil
	}
	return rest.without(d.res.Handled...).where(func(p string) bool {
		return !slices.ContainsFunc(d.res.Updates, func(in Input) bool { takes, _ := in.covers(p, nil); return takes })
	})
}

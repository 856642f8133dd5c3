package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

// A Driver provisions one type from its description.
type Driver struct {
	res   Resource
	cloud Provider
}

// Drive returns the provider of a type. Types without a Read of their own are
// read through cloud, which is Cloud Control.
func Drive(r Resource, cloud Provider) *Driver { return &Driver{res: r, cloud: cloud} }

// Resource returns the description.
func (d *Driver) Resource() Resource { return d.res }

// A PartialError says that a resource was made, and that something after that
// failed: a satellite, a tag, its own start. The resource exists; Made says
// what is known of it, and Request.Made was told too.
type PartialError struct {
	Made Created
	Err  error
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("created as %s, but: %v", e.Made.PhysicalID, e.Err)
}

func (e *PartialError) Unwrap() error { return e.Err }

// Create makes the resource, then its satellites and tags side by side, and
// lets it settle.
func (d *Driver) Create(ctx context.Context, r *Request) (Created, error) {
	r = d.prepare(r)
	made, err := d.res.Create(ctx, d.owned(r))
	if err != nil && made.PhysicalID == "" && r.OwnerTag != "" && tagDenied(err) {
		r = r.WithoutOwnerTag(err)
		made, err = d.res.Create(ctx, r)
	}
	if made.PhysicalID == "" {
		if err == nil {
			err = fmt.Errorf("create %s (%s): the service gave no id", r.LogicalID, r.Type)
		}
		return Created{}, err
	}
	d.identify(r, &made)
	if err != nil {
		return made, &PartialError{Made: made, Err: err}
	}
	return d.complete(ctx, r, made)
}

// WithoutOwnerTag is the request to send where tagging was denied.
func (r *Request) WithoutOwnerTag(denied error) *Request {
	if r.Untagged != nil {
		r.Untagged(denied)
	}
	plain := *r
	plain.OwnerTag = ""
	return &plain
}

// Resume finishes a create whose main call has already made the resource. What
// it repeats is safe to repeat.
func (d *Driver) Resume(ctx context.Context, r *Request, made Created) (Created, error) {
	r = d.prepare(r)
	d.identify(r, &made)
	return d.complete(ctx, r, made)
}

// identify makes what was made known, to the request and to whoever waits for it.
func (d *Driver) identify(r *Request, made *Created) {
	r.PhysicalID = made.PhysicalID
	if d.res.Known != nil {
		made.Attributes = merge(d.res.Known(r), made.Attributes)
	}
	r.Attributes = made.Attributes
	if r.Made != nil {
		r.Made(*made)
	}
}

func (d *Driver) complete(ctx context.Context, r *Request, made Created) (Created, error) {
	fail := func(err error) (Created, error) { return made, &PartialError{Made: made, Err: err} }
	var now, settled []Satellite
	for _, s := range d.res.Satellites {
		switch {
		case !slices.ContainsFunc(s.Properties, r.Properties.Has):
		case s.Settled:
			settled = append(settled, s)
		default:
			now = append(now, s)
		}
	}
	var tagging routine.Group
	var tagErr error
	if !d.res.Tags.AtCreate {
		tagging.Go(func() { tagErr = d.tag(ctx, r) })
	}
	err := puts(ctx, r, now)
	tagging.Wait()
	if err == nil {
		err = tagErr
	}
	if err != nil {
		return fail(err)
	}
	unsettled, err := d.settle(ctx, r, len(settled) > 0)
	if errors.Is(err, ErrDraining) || err != nil && ctx.Err() != nil {
		err = &SettlingError{Unput: propertiesOf(settled), Err: err}
	}
	if err != nil {
		return fail(err)
	}
	made.Unsettled = unsettled
	if err := puts(ctx, r, settled); err != nil {
		return fail(err)
	}
	if d.res.Attributes != nil {
		read, err := d.res.Attributes(ctx, r)
		if err != nil {
			return fail(fmt.Errorf("read attributes of %s (%s): %w", r.LogicalID, r.Type, err))
		}
		made.Attributes = merge(made.Attributes, read)
	}
	return made, nil
}

// Settle makes the wait that an earlier run let go of after it had made the
// resource, and reads what can only then be read. What it returns has the
// attributes known by then.
func (d *Driver) Settle(ctx context.Context, r *Request) (Created, error) {
	r = d.prepare(r)
	made := Created{PhysicalID: r.PhysicalID, Attributes: r.Attributes}
	unsettled, err := d.settle(ctx, r, false)
	if err != nil {
		return made, d.gone(r, err)
	}
	made.Unsettled = unsettled
	if d.res.Attributes != nil {
		read, err := d.res.Attributes(ctx, r)
		if err != nil {
			return made, d.gone(r, fmt.Errorf("read attributes of %s (%s): %w", r.LogicalID, r.Type, err))
		}
		made.Attributes = merge(made.Attributes, read)
	}
	return made, nil
}

// AwaitDeleted waits until a resource is gone whose delete was accepted before.
func (d *Driver) AwaitDeleted(ctx context.Context, r *Request) error {
	if d.res.DeleteWait == nil {
		return nil
	}
	r = d.prepare(r)
	if err := d.gone(r, d.res.DeleteWait.Wait(ctx, r)); !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

// Deleting tells whether a resource is on its way out: it can be read, and will not
// be for long. It is false for types whose deletes are not waited for.
func (d *Driver) Deleting(ctx context.Context, r *Request) (bool, error) {
	if d.res.DeleteWait == nil {
		return false, nil
	}
	r = d.prepare(r)
	state, _, err := d.res.DeleteWait.Read(ctx, r)
	if err != nil {
		if err = d.gone(r, err); errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return false, err
	}
	return d.res.DeleteWait.leaving(state), nil
}

func propertiesOf(satellites []Satellite) (names []string) {
	for _, s := range satellites {
		names = append(names, s.Properties...)
	}
	return names
}

// Delete deletes the resource; one that is gone already counts as deleted.
func (d *Driver) Delete(ctx context.Context, r *Request) (Deleted, error) {
	r = d.prepare(r)
	if r.PhysicalID == "" {
		return Deleted{}, fmt.Errorf("delete %s (%s): no physical id is recorded", r.LogicalID, r.Type)
	}
	if err := d.res.Delete(ctx, r); err != nil {
		if err = d.gone(r, err); errors.Is(err, ErrNotFound) {
			return Deleted{}, nil
		}
		return Deleted{}, err
	}
	if !d.res.DeleteWait.Applies(r.Wait) {
		return Deleted{}, nil
	}
	if err := d.gone(r, d.res.DeleteWait.Wait(ctx, r)); err != nil && !errors.Is(err, ErrNotFound) {
		return Deleted{}, err
	}
	return Deleted{}, nil
}

// Read returns the properties as they are in AWS.
func (d *Driver) Read(ctx context.Context, r *Request) (*value.Object, error) {
	asGiven := r.Properties
	r = d.prepare(r)
	read := d.res.Read
	if read == nil {
		if d.cloud == nil {
			return nil, fmt.Errorf("read %s (%s): the type has no reader", r.LogicalID, r.Type)
		}
		read, r.Properties = d.cloud.Read, asGiven
		if d.res.Identifier != nil {
			r.PhysicalID = d.res.Identifier(r)
		}
	}
	props, err := read(ctx, r)
	if err != nil {
		return nil, d.gone(r, err)
	}
	return d.withoutOwner(props), nil
}

// Lookup reads who holds the name; nil, also for types that have no lookup,
// for nobody.
func (d *Driver) Lookup(ctx context.Context, r *Request) (*Holder, error) {
	if d.res.Lookup == nil {
		return nil, nil
	}
	return retry.Read(ctx, retry.Task{Name: r.LogicalID, Draining: r.Draining}, func(ctx context.Context) (*Holder, error) {
		return d.res.Lookup(ctx, d.prepare(r))
	})
}

// Lookups reads who holds the names of several requests, at most as many as the
// type's batch, in their order.
func (d *Driver) Lookups(ctx context.Context, rs []*Request) ([]*Holder, error) {
	if len(rs) == 1 || d.res.Lookups == nil {
		var holders []*Holder
		for _, r := range rs {
			h, err := d.Lookup(ctx, r)
			if err != nil {
				return nil, err
			}
			holders = append(holders, h)
		}
		return holders, nil
	}
	prepared := make([]*Request, len(rs))
	for i, r := range rs {
		prepared[i] = d.prepare(r)
	}
	return retry.Read(ctx, retry.Task{Name: rs[0].LogicalID, Draining: rs[0].Draining}, func(ctx context.Context) ([]*Holder, error) {
		return d.res.Lookups(ctx, prepared)
	})
}

// One makes a look-up of one name from that of several.
func One(lookups func(ctx context.Context, rs []*Request) ([]*Holder, error)) func(context.Context, *Request) (*Holder, error) {
	return func(ctx context.Context, r *Request) (*Holder, error) {
		holders, err := lookups(ctx, []*Request{r})
		if err != nil {
			return nil, err
		}
		return holders[0], nil
	}
}

// Find looks for what an unanswered create may have made, "" for nothing.
func (d *Driver) Find(ctx context.Context, r *Request) (string, error) {
	if d.res.Find == nil {
		return "", nil
	}
	return retry.Read(ctx, retry.Task{Name: r.LogicalID, Draining: r.Draining}, func(ctx context.Context) (string, error) {
		return d.res.Find(ctx, d.prepare(r))
	})
}

// Adopt returns the id under which an existing resource is to be recorded that
// CloudFormation knows by r.PhysicalID, or that is of r's properties.
func (d *Driver) Adopt(ctx context.Context, r *Request) (string, error) {
	if d.res.Adopt == nil {
		return r.PhysicalID, nil
	}
	return retry.Read(ctx, retry.Task{Name: r.LogicalID, Draining: r.Draining}, func(ctx context.Context) (string, error) {
		return d.res.Adopt(ctx, d.prepare(r))
	})
}

// Existing returns the attributes of a resource that something else made. It
// is ErrNotFound when reading them shows that it is gone.
func (d *Driver) Existing(ctx context.Context, r *Request) (*value.Object, error) {
	r = d.prepare(r)
	var known *value.Object
	if d.res.Known != nil {
		known = d.res.Known(r)
	}
	if d.res.Attributes == nil {
		return known, nil
	}
	read, err := retry.Read(ctx, retry.Task{Name: r.LogicalID, Draining: r.Draining}, func(ctx context.Context) (*value.Object, error) {
		return d.res.Attributes(ctx, r)
	})
	if err != nil {
		return nil, d.gone(r, err)
	}
	return merge(known, read), nil
}

// Known returns the attributes that can be told before the create, nil for
// none.
func (d *Driver) Known(r *Request) *value.Object {
	if d.res.Known == nil {
		return nil
	}
	return d.res.Known(d.prepare(r))
}

// Unprotect switches deletion protection off, if the type has any.
func (d *Driver) Unprotect(ctx context.Context, r *Request) error {
	if d.res.Unprotect == nil {
		return nil
	}
	return d.res.Unprotect(ctx, d.prepare(r))
}

// prepare returns a copy of the request that the type's functions may use: its
// properties are those of the type, and hold the physical name.
func (d *Driver) prepare(r *Request) *Request {
	c := *r
	c.Properties, c.Previous = d.known(c.Properties), d.known(c.Previous)
	if d.res.Recast != nil {
		c.Properties, c.Previous = d.res.Recast.To(c.Properties), d.res.Recast.To(c.Previous)
	}
	if d.res.Name == "" || c.Name == "" {
		return &c
	}
	if !c.Properties.Has(d.res.Name) {
		c.Properties = with(c.Properties, []string{d.res.Name}, c.Name)
	}
	if c.Previous != nil && !c.Previous.Has(d.res.Name) {
		c.Previous = with(c.Previous, []string{d.res.Name}, c.Name)
	}
	return &c
}

// settle waits until the resource has settled, or returns how to look at it
// when the mode makes no such wait.
func (d *Driver) settle(ctx context.Context, r *Request, needed bool) (unsettled string, err error) {
	w := d.res.Wait
	switch {
	case w == nil:
		return "", nil
	case needed || w.Applies(r.Wait):
		return "", w.Wait(ctx, r)
	case w.Command != nil:
		return w.Command(r), nil
	}
	return "", nil
}

// gone turns an error that says that the resource does not exist into
// ErrNotFound, unless the client may have looked in the wrong region.
func (d *Driver) gone(r *Request, err error) error {
	if !errors.Is(err, ErrNotFound) && !HasCode(err, d.res.Gone...) {
		return err
	}
	if in := r.Session.Config.Region; r.Stack.Region != "" && in != r.Stack.Region {
		return &RegionError{LogicalID: r.LogicalID, Client: in, Recorded: r.Stack.Region}
	}
	if errors.Is(err, ErrNotFound) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotFound, err)
}

// merge lays b over a. Neither is changed; nil only when both are.
func merge(a, b *value.Object) *value.Object {
	if a == nil {
		return b
	}
	m := a.Clone()
	for k, v := range b.All() {
		m.Set(k, v)
	}
	return m
}

// AccessDenied tells a refusal for want of a permission. Some services answer
// it with status 400.
func AccessDenied(err error) bool {
	answer, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err)
	return ok && answer.HTTPStatusCode() == http.StatusForbidden ||
		HasCode(err, "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError", "AuthorizationErrorException")
}

// tagDenied tells a refusal of tagging from one of the call itself.
func tagDenied(err error) bool {
	return AccessDenied(err) && strings.Contains(strings.ToLower(err.Error()), "tag")
}

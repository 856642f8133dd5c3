// Package cloudcontrol provisions resources through the Cloud Control API: one
// set of calls for every type, CloudFormation's own handlers behind it.
//
// Properties go there as they stand in the template, but in the types that the
// schema has, which the API insists on. An operation is asynchronous: it has a
// request token, and is polled by that token until it ends, through outages of
// the API itself; it is never sent again while it may still be working. A
// client token makes sending one safe to repeat. Each attempt after a failed
// one has a token of its own, derived from the first, as the API answers a
// known token with the known failure.
//
// Updates are patches against what is recorded, since that is what was asked
// for; the live model is read only when the API says that the two have parted.
package cloudcontrol

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// Options are what the provider has to be told.
type Options struct {
	// Recorded tells whether some row of a stack's record has this type and
	// identifier: the remnant of a failed create is not deleted then. nil: none
	// has.
	Recorded func(stack provider.Stack, typeName, identifier string) bool
}

// A Provider provisions any type that Cloud Control can manage.
type Provider struct {
	Options
	attempts attempts
}

// New returns a provider.
func New(o Options) *Provider { return &Provider{Options: o} }

func client(r *provider.Request) *cloudcontrol.Client {
	return provider.Client(r.Session, cloudcontrol.NewFromConfig)
}

// Create makes the resource, and waits until its handler has finished.
func (p *Provider) Create(ctx context.Context, r *provider.Request) (provider.Created, error) {
	typ, _ := schema.Lookup(r.Type)
	want := desired(r, typ)
	event, err := p.create(ctx, r, want)
	if refused(err, types.HandlerErrorCodeUnauthorizedTaggingOperation) && tagged(want, r, typ) && RemnantOf(err) == "" {
		plain := r.WithoutOwnerTag(err)
		event, err = p.create(ctx, plain, desired(plain, typ))
	}
	if err != nil {
		return provider.Created{}, err
	}
	id := aws.ToString(event.Identifier)
	if id == "" {
		return provider.Created{}, fmt.Errorf("create %s (%s): Cloud Control reported success without an identifier", r.LogicalID, r.Type)
	}
	made := provider.Created{PhysicalID: id, Attributes: attributes(typ, model(event), id, r)}
	if r.Made != nil {
		r.Made(made)
	}
	made.Attributes = p.readAttributes(ctx, r, typ, id, made.Attributes)
	return made, nil
}

func (p *Provider) create(ctx context.Context, r *provider.Request, want *value.Object) (*types.ProgressEvent, error) {
	token := p.attempts.token(r.Token)
	out, err := client(r).CreateResource(ctx, &cloudcontrol.CreateResourceInput{
		TypeName:     &r.Type,
		DesiredState: aws.String(value.JSON(want)),
		ClientToken:  optional(token),
	})
	if err != nil {
		return nil, unsupported(r, fmt.Errorf("create %s (%s): %w", r.LogicalID, r.Type, err))
	}
	event, err := p.follow(ctx, r, out.ProgressEvent, token)
	var failed *FailedError
	if errors.As(err, &failed) {
		p.attempts.failed(r.Token)
		p.sweep(ctx, r, failed)
	}
	return event, err
}

// sweep deletes what a failed create left behind, so that another attempt can
// succeed. Whatever may be somebody else's stays.
func (p *Provider) sweep(ctx context.Context, r *provider.Request, f *FailedError) {
	switch {
	case f.Identifier == "", f.Code == types.HandlerErrorCodeAlreadyExists, f.Code == types.HandlerErrorCodeResourceConflict:
		return
	case p.Recorded != nil && p.Recorded(r.Stack, r.Type, f.Identifier):
		return
	}
	remnant := *r
	remnant.PhysicalID, remnant.Token = f.Identifier, ""
	if _, err := p.Delete(ctx, &remnant); err != nil {
		f.Remnant = f.Identifier
		notice(r, fmt.Sprintf("%s (%s): the failed create left %s behind, which could not be deleted: %v", r.LogicalID, r.Type, f.Identifier, err))
	}
}

// Update patches the resource from what is recorded to what is wanted.
func (p *Provider) Update(ctx context.Context, r *provider.Request) (provider.Updated, error) {
	typ, _ := schema.Lookup(r.Type)
	want := desired(r, typ)
	previous := r.Previous
	if r.Unsure {
		live, err := p.Read(ctx, r)
		if err != nil {
			return provider.Updated{}, err
		}
		previous = limit(live, r.Previous, want)
	}
	diff := compare(typ, conform(previous, typ), want)
	out := provider.Updated{Partial: diff.partial()}
	if len(diff.ops) == 0 {
		return out, nil
	}
	event, err := p.patch(ctx, r, diff.ops)
	if parted(err) {
		live, readErr := p.Read(ctx, r)
		if readErr != nil {
			return out, errors.Join(err, readErr)
		}
		diff = compare(typ, conform(limit(live, r.Previous, want), typ), want)
		if len(diff.ops) > 0 {
			event, err = p.patch(ctx, r, diff.ops)
		} else {
			event, err = &types.ProgressEvent{}, nil
		}
	}
	if refused(err, types.HandlerErrorCodeNotUpdatable) || provider.HasCode(err, "NotUpdatableException", "UnsupportedActionException") {
		return out, &provider.UnsupportedUpdateError{Type: r.Type, LogicalID: r.LogicalID, Properties: diff.properties(), Err: err}
	}
	if err != nil {
		return out, err
	}
	out.Attributes = p.readAttributes(ctx, r, typ, r.PhysicalID, attributes(typ, model(event), r.PhysicalID, r))
	return out, nil
}

func (p *Provider) patch(ctx context.Context, r *provider.Request, ops []any) (*types.ProgressEvent, error) {
	token := p.attempts.token(r.Token)
	out, err := client(r).UpdateResource(ctx, &cloudcontrol.UpdateResourceInput{
		TypeName:      &r.Type,
		Identifier:    aws.String(Identifier(r)),
		PatchDocument: aws.String(value.JSON(ops)),
		ClientToken:   optional(token),
	})
	if err != nil {
		err = fmt.Errorf("update %s (%s): %w", r.LogicalID, r.Type, err)
		if provider.HasCode(err, "TypeNotFoundException") {
			err = unsupported(r, err)
		}
		return nil, err
	}
	event, err := p.follow(ctx, r, out.ProgressEvent, token)
	if _, ok := errors.AsType[*FailedError](err); ok {
		p.attempts.failed(r.Token)
	}
	return event, err
}

// Delete deletes the resource; one that is gone already counts as deleted.
func (p *Provider) Delete(ctx context.Context, r *provider.Request) (provider.Deleted, error) {
	if r.PhysicalID == "" {
		return provider.Deleted{}, fmt.Errorf("delete %s (%s): no physical id is recorded", r.LogicalID, r.Type)
	}
	token := p.attempts.token(r.Token)
	out, err := client(r).DeleteResource(ctx, &cloudcontrol.DeleteResourceInput{
		TypeName: &r.Type, Identifier: aws.String(Identifier(r)), ClientToken: optional(token),
	})
	if err != nil {
		err = unsupported(r, fmt.Errorf("delete %s (%s): %w", r.LogicalID, r.Type, err))
	} else if _, err = p.follow(ctx, r, out.ProgressEvent, token); err != nil {
		if _, ok := errors.AsType[*FailedError](err); ok {
			p.attempts.failed(r.Token)
		}
	}
	if err = gone(r, err); errors.Is(err, provider.ErrNotFound) {
		err = nil
	}
	return provider.Deleted{}, err
}

// Read returns the resource's model.
func (p *Provider) Read(ctx context.Context, r *provider.Request) (*value.Object, error) {
	out, err := client(r).GetResource(ctx, &cloudcontrol.GetResourceInput{TypeName: &r.Type, Identifier: aws.String(Identifier(r))})
	if err != nil {
		return nil, gone(r, fmt.Errorf("read %s (%s): %w", r.LogicalID, r.Type, err))
	}
	if out.ResourceDescription == nil {
		return nil, fmt.Errorf("read %s (%s): Cloud Control answered without a description", r.LogicalID, r.Type)
	}
	props, err := value.ParseObject([]byte(aws.ToString(out.ResourceDescription.Properties)))
	if err != nil {
		return nil, fmt.Errorf("read %s (%s): its model: %w", r.LogicalID, r.Type, err)
	}
	return withoutOwner(props, r), nil
}

// Existing reads a resource that something else made: its properties, and what
// a create of it would have told.
func (p *Provider) Existing(ctx context.Context, r *provider.Request) (*value.Object, provider.Created, error) {
	id := Identifier(r)
	found, err := p.Read(ctx, r)
	if err != nil {
		return nil, provider.Created{}, err
	}
	typ, _ := schema.Lookup(r.Type)
	return found, provider.Created{PhysicalID: id, Attributes: attributes(typ, found, id, r)}, nil
}

// gone turns an answer that the resource does not exist into ErrNotFound,
// unless it was looked for in another region than the recorded one.
func gone(r *provider.Request, err error) error {
	if !provider.HasCode(err, "ResourceNotFoundException") && !refused(err, types.HandlerErrorCodeNotFound) {
		return err
	}
	if in := r.Session.Config.Region; r.Stack.Region != "" && in != r.Stack.Region {
		return &provider.RegionError{LogicalID: r.LogicalID, Client: in, Recorded: r.Stack.Region}
	}
	return fmt.Errorf("%w: %w", provider.ErrNotFound, err)
}

// attempts counts, by logical operation, the attempts that ended in failure.
type attempts struct {
	mu    sync.Mutex
	count map[string]int
}

// token returns the client token of the current attempt, "" when the
// operation has none.
func (a *attempts) token(base string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := a.count[base]; n > 0 && base != "" {
		return base + "-" + strconv.Itoa(n)
	}
	return base
}

func (a *attempts) failed(base string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count = map[string]int{}
	}
	a.count[base]++
}

func notice(r *provider.Request, text string) {
	if r.Notice != nil {
		r.Notice(text)
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

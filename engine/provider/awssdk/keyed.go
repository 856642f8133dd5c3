package awssdk

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// A composite are the properties by which a resource is known, and which all calls
// name. Their values, joined by "|", are the physical id. "Property=value" says
// what a property is that is not given.
type composite []string

// of is the physical id that the properties make.
func (k composite) of(r *provider.Request) string {
	values := make([]string, len(k))
	for i, key := range k {
		name, otherwise, _ := strings.Cut(key, "=")
		values[i] = cmp.Or(text(r.Properties, name), otherwise)
	}
	return strings.Join(values, "|")
}

// open returns the request with the properties of the key as the physical id has
// them: a name that was generated is in no template.
func (k composite) open(r *provider.Request) *provider.Request {
	values := strings.SplitN(r.PhysicalID, "|", len(k))
	if len(values) != len(k) {
		return r
	}
	c := *r
	c.Properties = value.NewObject()
	for name, v := range r.Properties.All() {
		c.Properties.Set(name, v)
	}
	for i, key := range k {
		name, _, _ := strings.Cut(key, "=")
		c.Properties.Set(name, values[i])
	}
	return &c
}

// made is a Create by a call whose answer says no more than its input.
func (k composite) made(call func(context.Context, *provider.Request) error) func(context.Context, *provider.Request) (provider.Created, error) {
	return func(ctx context.Context, r *provider.Request) (provider.Created, error) {
		if err := call(ctx, r); err != nil {
			return provider.Created{}, err
		}
		return provider.Created{PhysicalID: k.of(r)}, nil
	}
}

// keyed completes the description of what is known by a composite: Update, Delete and
// Read find the key among the properties, so that bindings take it by name.
func keyed(k composite, res provider.Resource) provider.Resource {
	if update := res.Update; update != nil {
		res.Update = func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return update(ctx, k.open(r), d)
		}
	}
	remove, read := res.Delete, res.Read
	res.Delete = func(ctx context.Context, r *provider.Request) error { return remove(ctx, k.open(r)) }
	res.Read = func(ctx context.Context, r *provider.Request) (*value.Object, error) { return read(ctx, k.open(r)) }
	if len(k) > 1 {
		res.Adopt = adoptedWhole(func(r *provider.Request) string {
			// CloudFormation's id is the last part: the others name what it belongs to.
			return strings.TrimSuffix(k[:len(k)-1].of(r), "|") + "|" + r.PhysicalID
		})
	}
	return res
}

// partOf is keyed for what belongs to another resource: what is there under its
// key after an unanswered create was made by it.
func partOf(k composite, res provider.Resource) provider.Resource {
	res = keyed(k, res)
	res.Find = func(ctx context.Context, r *provider.Request) (string, error) {
		there := *r
		there.PhysicalID = k.of(r)
		switch _, err := res.Read(ctx, &there); {
		case errors.Is(err, provider.ErrNotFound) || provider.HasCode(err, res.Gone...):
			return "", nil
		case err != nil:
			return "", err
		}
		return there.PhysicalID, nil
	}
	return res
}

// readBy is the Read of a type that one call tells all about. in finds where in
// the answer it is.
func readBy[C, In, Out, O any](client func(*provider.Session) *C, op provider.Operation[C, In, Out, O], b *provider.Binding[In], in func(*Out) any, opts ...provider.Option) func(context.Context, *provider.Request) (*value.Object, error) {
	return func(ctx context.Context, r *provider.Request) (*value.Object, error) {
		out, err := provider.Invoke(ctx, r, client, op, b)
		if err != nil {
			return nil, err
		}
		shape, _ := schema.Lookup(r.Type)
		return provider.Unbind(in(out), shape, opts...), nil
	}
}

package awssdk

import (
	"context"
	"slices"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// inlineOf returns the Policies property by policy name.
func inlineOf(props *value.Object) map[string]any {
	out := map[string]any{}
	for _, v := range props.List("Policies") {
		if o, ok := v.(*value.Object); ok {
			out[text(o, "PolicyName")] = o.Value("PolicyDocument")
		}
	}
	return out
}

// inlinePolicies is the satellite for the policies written into a principal.
func (p principal) inlinePolicies() provider.Satellite {
	return provider.Satellite{
		Properties: []string{"Policies"},
		Put: func(ctx context.Context, r *provider.Request) error {
			c, had := iamClient(r.Session), inlineOf(r.Previous)
			want := inlineOf(r.Properties)
			var names []string
			for name, d := range want {
				if old, ok := had[name]; !ok || !value.Equal(old, d) {
					names = append(names, name)
				}
			}
			err := forEach(ctx, names, func(ctx context.Context, name string) error {
				return p.put(ctx, c, r.PhysicalID, name, document(value.NewObject("d", want[name]), "d"))
			})
			if err != nil {
				return err
			}
			var gone []string
			for name := range had {
				if _, ok := want[name]; !ok {
					gone = append(gone, name)
				}
			}
			return forEach(ctx, gone, func(ctx context.Context, name string) error { return p.remove(ctx, c, r.PhysicalID, name) })
		},
	}
}

// managedPolicies is the satellite for the policies attached to a principal.
func (p principal) managedPolicies() provider.Satellite {
	return provider.Satellite{
		Properties: []string{"ManagedPolicyArns"},
		Put: func(ctx context.Context, r *provider.Request) error {
			c := iamClient(r.Session)
			want, had := texts(r.Properties, "ManagedPolicyArns"), texts(r.Previous, "ManagedPolicyArns")
			err := forEach(ctx, less(want, had), func(ctx context.Context, arn string) error { return p.attach(ctx, c, r.PhysicalID, arn) })
			if err != nil {
				return err
			}
			return forEach(ctx, less(had, want), func(ctx context.Context, arn string) error { return p.detach(ctx, c, r.PhysicalID, arn) })
		},
	}
}

// boundary changes the permissions boundary, which the create call takes.
func (p principal) boundary(ctx context.Context, r *provider.Request, d provider.Diff) error {
	switch {
	case !d.Changed("PermissionsBoundary"):
		return nil
	case d.Removed("PermissionsBoundary"):
		return p.unbounded(ctx, iamClient(r.Session), r.PhysicalID)
	}
	return p.bounded(ctx, iamClient(r.Session), r.PhysicalID, text(r.Properties, "PermissionsBoundary"))
}

// empty takes all policies from a principal, whoever put them there: IAM does
// not delete one that has any.
func (p principal) empty(ctx context.Context, r *provider.Request) error {
	c := iamClient(r.Session)
	return forEach(ctx, []func() error{
		func() error {
			names, err := p.inline(ctx, c, r.PhysicalID)
			if err != nil {
				return ifThere(err)
			}
			return forEach(ctx, names, func(ctx context.Context, name string) error { return p.remove(ctx, c, r.PhysicalID, name) })
		},
		func() error {
			arns, err := p.attached(ctx, c, r.PhysicalID)
			if err != nil {
				return ifThere(err)
			}
			return forEach(ctx, arns, func(ctx context.Context, arn string) error { return p.detach(ctx, c, r.PhysicalID, arn) })
		},
	}, func(_ context.Context, do func() error) error { return do() })
}

// readPolicies adds what a principal's own properties say of its policies.
// Inline policies that the record does not name are left out: most belong to
// an AWS::IAM::Policy beside it.
func (p principal) readPolicies(ctx context.Context, r *provider.Request, props *value.Object) error {
	c := iamClient(r.Session)
	arns, err := p.attached(ctx, c, r.PhysicalID)
	if err != nil {
		return err
	}
	if len(arns) > 0 {
		// In the template's order first, which means nothing and would differ.
		recorded := texts(r.Properties, "ManagedPolicyArns")
		kept := slices.DeleteFunc(slices.Clone(recorded), func(a string) bool { return !slices.Contains(arns, a) })
		props.Set("ManagedPolicyArns", list(append(kept, less(arns, kept)...)))
	}
	var policies []any
	for _, v := range r.Properties.List("Policies") {
		o, _ := v.(*value.Object)
		name := text(o, "PolicyName")
		d, err := p.read(ctx, c, r.PhysicalID, name)
		if provider.HasCode(err, iamGone...) {
			continue
		} else if err != nil {
			return err
		}
		policies = append(policies, value.NewObject("PolicyName", name, "PolicyDocument", documentOf(d)))
	}
	if len(policies) > 0 {
		props.Set("Policies", policies)
	}
	return nil
}

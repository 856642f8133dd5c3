package awssdk

import (
	"context"
	"net/url"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func iamClient(s *provider.Session) *iam.Client {
	return provider.Client(s, iam.NewFromConfig, patient)
}

func iamOnce(s *provider.Session) *iam.Client { return provider.OnceClient(s, iam.NewFromConfig) }

// patient lets a client repeat what IAM refuses because policies of one
// principal are changed side by side, as they are here.
func patient(o *iam.Options) {
	o.Retryer = retry.AddWithErrorCodes(o.Retryer, "ConcurrentModification", "ConcurrentModificationException")
}

// ownerOf returns the tags by which a find tells whose a resource is.
func ownerOf(tags []types.Tag) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

func iamResources() []provider.Resource {
	return []provider.Resource{role(), inlinePolicy(), managedPolicy(), instanceProfile(), user(), group()}
}

const noSuchEntity = "NoSuchEntity"

var iamGone = []string{noSuchEntity, "NoSuchEntityException"}

// ifThere drops the error that says that something is gone already.
func ifThere(err error) error {
	if provider.HasCode(err, iamGone...) {
		return nil
	}
	return err
}

// iamPath is the Path property as it stands in ARNs.
func iamPath(r *provider.Request) string {
	if p := text(r.Properties, "Path"); p != "" {
		return p
	}
	return "/"
}

func iamTags(tags map[string]string) []types.Tag {
	var out []types.Tag
	for k, v := range tags {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	return out
}

// A principal is one of the three kinds of identity that policies are put on.
// Roles, users and groups have the same operations under different names.
type principal struct {
	property  string // that lists them on a policy resource
	put       func(ctx context.Context, c *iam.Client, name, policy, document string) error
	remove    func(ctx context.Context, c *iam.Client, name, policy string) error
	read      func(ctx context.Context, c *iam.Client, name, policy string) (document string, err error)
	attach    func(ctx context.Context, c *iam.Client, name, arn string) error
	detach    func(ctx context.Context, c *iam.Client, name, arn string) error
	inline    func(ctx context.Context, c *iam.Client, name string) ([]string, error)
	attached  func(ctx context.Context, c *iam.Client, name string) ([]string, error)
	unbounded func(ctx context.Context, c *iam.Client, name string) error
	bounded   func(ctx context.Context, c *iam.Client, name, arn string) error
}

var roles = principal{
	property: "Roles",
	put: func(ctx context.Context, c *iam.Client, name, policy, document string) error {
		_, err := c.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &name, PolicyName: &policy, PolicyDocument: &document})
		return err
	},
	remove: func(ctx context.Context, c *iam.Client, name, policy string) error {
		_, err := c.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &name, PolicyName: &policy})
		return ifThere(err)
	},
	read: func(ctx context.Context, c *iam.Client, name, policy string) (string, error) {
		out, err := c.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &name, PolicyName: &policy})
		if err != nil {
			return "", err
		}
		return *out.PolicyDocument, nil
	},
	attach: func(ctx context.Context, c *iam.Client, name, arn string) error {
		_, err := c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: &name, PolicyArn: &arn})
		return err
	},
	detach: func(ctx context.Context, c *iam.Client, name, arn string) error {
		_, err := c.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: &name, PolicyArn: &arn})
		return ifThere(err)
	},
	inline: func(ctx context.Context, c *iam.Client, name string) ([]string, error) {
		var all []string
		pages := iam.NewListRolePoliciesPaginator(c, &iam.ListRolePoliciesInput{RoleName: &name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, page.PolicyNames...)
		}
		return all, nil
	},
	attached: func(ctx context.Context, c *iam.Client, name string) ([]string, error) {
		var all []string
		pages := iam.NewListAttachedRolePoliciesPaginator(c, &iam.ListAttachedRolePoliciesInput{RoleName: &name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, policyARNs(page.AttachedPolicies)...)
		}
		return all, nil
	},
	bounded: func(ctx context.Context, c *iam.Client, name, arn string) error {
		_, err := c.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: &name, PermissionsBoundary: &arn})
		return err
	},
	unbounded: func(ctx context.Context, c *iam.Client, name string) error {
		_, err := c.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: &name})
		return ifThere(err)
	},
}

var users = principal{
	property: "Users",
	put: func(ctx context.Context, c *iam.Client, name, policy, document string) error {
		_, err := c.PutUserPolicy(ctx, &iam.PutUserPolicyInput{UserName: &name, PolicyName: &policy, PolicyDocument: &document})
		return err
	},
	remove: func(ctx context.Context, c *iam.Client, name, policy string) error {
		_, err := c.DeleteUserPolicy(ctx, &iam.DeleteUserPolicyInput{UserName: &name, PolicyName: &policy})
		return ifThere(err)
	},
	read: func(ctx context.Context, c *iam.Client, name, policy string) (string, error) {
		out, err := c.GetUserPolicy(ctx, &iam.GetUserPolicyInput{UserName: &name, PolicyName: &policy})
		if err != nil {
			return "", err
		}
		return *out.PolicyDocument, nil
	},
	attach: func(ctx context.Context, c *iam.Client, name, arn string) error {
		_, err := c.AttachUserPolicy(ctx, &iam.AttachUserPolicyInput{UserName: &name, PolicyArn: &arn})
		return err
	},
	detach: func(ctx context.Context, c *iam.Client, name, arn string) error {
		_, err := c.DetachUserPolicy(ctx, &iam.DetachUserPolicyInput{UserName: &name, PolicyArn: &arn})
		return ifThere(err)
	},
	inline: func(ctx context.Context, c *iam.Client, name string) ([]string, error) {
		var all []string
		pages := iam.NewListUserPoliciesPaginator(c, &iam.ListUserPoliciesInput{UserName: &name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, page.PolicyNames...)
		}
		return all, nil
	},
	attached: func(ctx context.Context, c *iam.Client, name string) ([]string, error) {
		var all []string
		pages := iam.NewListAttachedUserPoliciesPaginator(c, &iam.ListAttachedUserPoliciesInput{UserName: &name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, policyARNs(page.AttachedPolicies)...)
		}
		return all, nil
	},
	bounded: func(ctx context.Context, c *iam.Client, name, arn string) error {
		_, err := c.PutUserPermissionsBoundary(ctx, &iam.PutUserPermissionsBoundaryInput{UserName: &name, PermissionsBoundary: &arn})
		return err
	},
	unbounded: func(ctx context.Context, c *iam.Client, name string) error {
		_, err := c.DeleteUserPermissionsBoundary(ctx, &iam.DeleteUserPermissionsBoundaryInput{UserName: &name})
		return ifThere(err)
	},
}

// Groups have no permissions boundary.
var groups = principal{
	property: "Groups",
	put: func(ctx context.Context, c *iam.Client, name, policy, document string) error {
		_, err := c.PutGroupPolicy(ctx, &iam.PutGroupPolicyInput{GroupName: &name, PolicyName: &policy, PolicyDocument: &document})
		return err
	},
	remove: func(ctx context.Context, c *iam.Client, name, policy string) error {
		_, err := c.DeleteGroupPolicy(ctx, &iam.DeleteGroupPolicyInput{GroupName: &name, PolicyName: &policy})
		return ifThere(err)
	},
	read: func(ctx context.Context, c *iam.Client, name, policy string) (string, error) {
		out, err := c.GetGroupPolicy(ctx, &iam.GetGroupPolicyInput{GroupName: &name, PolicyName: &policy})
		if err != nil {
			return "", err
		}
		return *out.PolicyDocument, nil
	},
	attach: func(ctx context.Context, c *iam.Client, name, arn string) error {
		_, err := c.AttachGroupPolicy(ctx, &iam.AttachGroupPolicyInput{GroupName: &name, PolicyArn: &arn})
		return err
	},
	detach: func(ctx context.Context, c *iam.Client, name, arn string) error {
		_, err := c.DetachGroupPolicy(ctx, &iam.DetachGroupPolicyInput{GroupName: &name, PolicyArn: &arn})
		return ifThere(err)
	},
	inline: func(ctx context.Context, c *iam.Client, name string) ([]string, error) {
		var all []string
		pages := iam.NewListGroupPoliciesPaginator(c, &iam.ListGroupPoliciesInput{GroupName: &name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, page.PolicyNames...)
		}
		return all, nil
	},
	attached: func(ctx context.Context, c *iam.Client, name string) ([]string, error) {
		var all []string
		pages := iam.NewListAttachedGroupPoliciesPaginator(c, &iam.ListAttachedGroupPoliciesInput{GroupName: &name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, policyARNs(page.AttachedPolicies)...)
		}
		return all, nil
	},
}

func policyARNs(attached []types.AttachedPolicy) []string {
	var out []string
	for _, p := range attached {
		out = append(out, aws.ToString(p.PolicyArn))
	}
	return out
}

// documentOf decodes a policy document as IAM returns it, URL-encoded.
func documentOf(encoded string) any {
	if plain, err := url.PathUnescape(encoded); err == nil {
		encoded = plain
	}
	return parsed(encoded)
}

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

// onEach calls do for each principal that a policy resource names.
func onEach(ctx context.Context, props *value.Object, do func(ctx context.Context, p principal, name string) error) error {
	type named struct {
		kind principal
		name string
	}
	var all []named
	for _, kind := range []principal{roles, users, groups} {
		for _, name := range texts(props, kind.property) {
			all = append(all, named{kind, name})
		}
	}
	return forEach(ctx, all, func(ctx context.Context, n named) error { return do(ctx, n.kind, n.name) })
}

// removed returns the principals that the old properties name and the new do
// not, as properties.
func removed(old, new *value.Object) *value.Object {
	out := &value.Object{}
	for _, kind := range []principal{roles, users, groups} {
		out.Set(kind.property, list(less(texts(old, kind.property), texts(new, kind.property))))
	}
	return out
}

// An AWS::IAM::Policy is no resource of its own: it is the same inline policy
// on each of the principals that it names. It is known by the policy's name.
func inlinePolicy() provider.Resource {
	put := func(ctx context.Context, r *provider.Request) error {
		name, d := text(r.Properties, "PolicyName"), document(r.Properties, "PolicyDocument")
		return onEach(ctx, r.Properties, func(ctx context.Context, p principal, on string) error {
			return p.put(ctx, iamClient(r.Session), on, name, d)
		})
	}
	remove := func(ctx context.Context, r *provider.Request, from *value.Object) error {
		return onEach(ctx, from, func(ctx context.Context, p principal, on string) error {
			return p.remove(ctx, iamClient(r.Session), on, r.PhysicalID)
		})
	}
	return provider.Resource{
		Type: "AWS::IAM::Policy",
		Name: "PolicyName",
		Satellites: []provider.Satellite{{
			Properties: []string{"PolicyDocument", "Roles", "Users", "Groups"},
			Put: func(ctx context.Context, r *provider.Request) error {
				if err := put(ctx, r); err != nil {
					return err
				}
				return remove(ctx, r, removed(r.Previous, r.Properties))
			},
		}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			return provider.Created{PhysicalID: text(r.Properties, "PolicyName")}, nil
		},
		// A new name is a new policy; the old one goes when the engine deletes what
		// was replaced.
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{PhysicalID: text(r.Properties, "PolicyName")}, put(ctx, r)
		},
		Delete: func(ctx context.Context, r *provider.Request) error { return remove(ctx, r, r.Properties) },
		Gone:   iamGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", r.PhysicalID)
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			props := value.NewObject("PolicyName", r.PhysicalID)
			for _, kind := range []principal{roles, users, groups} {
				var on []string
				for _, name := range texts(r.Properties, kind.property) {
					d, err := kind.read(ctx, iamClient(r.Session), name, r.PhysicalID)
					if provider.HasCode(err, iamGone...) {
						continue
					} else if err != nil {
						return nil, err
					}
					on = append(on, name)
					props.Set("PolicyDocument", documentOf(d))
				}
				if len(on) > 0 {
					props.Set(kind.property, list(on))
				}
			}
			if !props.Has("PolicyDocument") {
				return nil, provider.ErrNotFound
			}
			return props, nil
		},
		SDKOnly: "its physical id is the policy's name, by which Cloud Control cannot find it",
	}
}

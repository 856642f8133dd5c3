package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var createRoleInput = provider.Bind[iam.CreateRoleInput]()

// A role is known by its name. Its inline and attached policies are put side
// by side once it is there.
func role() provider.Resource {
	return provider.Resource{
		Type:       "AWS::IAM::Role",
		Name:       "RoleName",
		Inputs:     []provider.Input{createRoleInput},
		Satellites: []provider.Satellite{roles.inlinePolicies(), roles.managedPolicies()},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := iamClient(r.Session).TagRole(ctx, &iam.TagRoleInput{RoleName: &r.PhysicalID, Tags: iamTags(tags)})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := iamClient(r.Session).UntagRole(ctx, &iam.UntagRoleInput{RoleName: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, iamOnce, (*iam.Client).CreateRole, createRoleInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{
				PhysicalID: *out.Role.RoleName,
				Attributes: value.NewObject("Arn", aws.ToString(out.Role.Arn), "RoleId", aws.ToString(out.Role.RoleId)),
			}, nil
		},
		Update: updateRole,
		Delete: deleteRole,
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			out, err := iamClient(r.Session).GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(text(r.Properties, "RoleName"))})
			if err != nil {
				return nil, ifThere(err)
			}
			return &provider.Holder{PhysicalID: *out.Role.RoleName, Tags: ownerOf(out.Role.Tags)}, nil
		}),
		Gone:  iamGone,
		Read:  readRole,
		Known: knownARN("role"),
	}
}

func updateRole(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	c := iamClient(r.Session)
	if d.Changed("AssumeRolePolicyDocument") {
		policy := document(r.Properties, "AssumeRolePolicyDocument")
		_, err := c.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: &r.PhysicalID, PolicyDocument: &policy})
		if err != nil {
			return provider.Updated{}, err
		}
	}
	if d.Changed("Description", "MaxSessionDuration") {
		in, err := updateRoleInput.Input(r)
		if err != nil {
			return provider.Updated{}, err
		}
		if _, err := c.UpdateRole(ctx, in); err != nil {
			return provider.Updated{}, err
		}
	}
	return provider.Updated{}, roles.boundary(ctx, r, d)
}

var updateRoleInput = provider.Bind[iam.UpdateRoleInput](
	provider.ID("RoleName"),
	provider.Clear{"Description": "", "MaxSessionDuration": "3600"})

func deleteRole(ctx context.Context, r *provider.Request) error {
	c := iamClient(r.Session)
	if err := roles.empty(ctx, r); err != nil {
		return err
	}
	pages := iam.NewListInstanceProfilesForRolePaginator(c, &iam.ListInstanceProfilesForRoleInput{RoleName: &r.PhysicalID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, p := range page.InstanceProfiles {
			_, err := c.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
				RoleName: &r.PhysicalID, InstanceProfileName: p.InstanceProfileName,
			})
			if ifThere(err) != nil {
				return err
			}
		}
	}
	_, err := c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &r.PhysicalID})
	return err
}

func readRole(ctx context.Context, r *provider.Request) (*value.Object, error) {
	out, err := iamClient(r.Session).GetRole(ctx, &iam.GetRoleInput{RoleName: &r.PhysicalID})
	if provider.HasCode(err, iamGone...) {
		return nil, provider.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	ro := out.Role
	props := value.NewObject(
		"RoleName", *ro.RoleName,
		"Path", aws.ToString(ro.Path),
		"AssumeRolePolicyDocument", documentOf(aws.ToString(ro.AssumeRolePolicyDocument)))
	if d := aws.ToString(ro.Description); d != "" {
		props.Set("Description", d)
	}
	if ro.MaxSessionDuration != nil {
		props.Set("MaxSessionDuration", value.Int(*ro.MaxSessionDuration))
	}
	if ro.PermissionsBoundary != nil {
		props.Set("PermissionsBoundary", aws.ToString(ro.PermissionsBoundary.PermissionsBoundaryArn))
	}
	if l := tagList(ownerOf(ro.Tags)); len(l) > 0 {
		props.Set("Tags", l)
	}
	return props, roles.readPolicies(ctx, r, props)
}

// An instance profile is known by its name and holds one role at most.
func instanceProfile() provider.Resource {
	return provider.Resource{
		Type:     "AWS::IAM::InstanceProfile",
		Name:     "InstanceProfileName",
		GoesWith: []string{"Roles"}, Outlives: true,
		Inputs: []provider.Input{createInstanceProfileInput},
		Satellites: []provider.Satellite{{
			Properties: []string{"Roles"},
			Put: func(ctx context.Context, r *provider.Request) error {
				c := iamClient(r.Session)
				want, had := texts(r.Properties, "Roles"), texts(r.Previous, "Roles")
				// There is room for one: the old one goes first.
				for _, name := range less(had, want) {
					_, err := c.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
						InstanceProfileName: &r.PhysicalID, RoleName: &name,
					})
					if ifThere(err) != nil {
						return err
					}
				}
				for _, name := range less(want, had) {
					_, err := c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{
						InstanceProfileName: &r.PhysicalID, RoleName: &name,
					})
					if err != nil {
						return err
					}
				}
				return nil
			},
		}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, iamOnce, (*iam.Client).CreateInstanceProfile, createInstanceProfileInput)
			if err != nil {
				return provider.Created{}, err
			}
			p := out.InstanceProfile
			return provider.Created{PhysicalID: *p.InstanceProfileName, Attributes: value.NewObject("Arn", aws.ToString(p.Arn))}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			c := iamClient(r.Session)
			out, err := c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &r.PhysicalID})
			if err != nil {
				return err
			}
			for _, held := range out.InstanceProfile.Roles {
				_, err := c.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
					InstanceProfileName: &r.PhysicalID, RoleName: held.RoleName,
				})
				if ifThere(err) != nil {
					return err
				}
			}
			_, err = c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &r.PhysicalID})
			return err
		},
		Gone: iamGone,
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			out, err := iamClient(r.Session).GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{
				InstanceProfileName: aws.String(text(r.Properties, "InstanceProfileName")),
			})
			if err != nil {
				return nil, ifThere(err)
			}
			return &provider.Holder{PhysicalID: *out.InstanceProfile.InstanceProfileName, Tags: ownerOf(out.InstanceProfile.Tags)}, nil
		}),
		Known: knownARN("instance-profile"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := iamClient(r.Session).GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &r.PhysicalID})
			if provider.HasCode(err, iamGone...) {
				return nil, provider.ErrNotFound
			} else if err != nil {
				return nil, err
			}
			var held []string
			for _, ro := range out.InstanceProfile.Roles {
				held = append(held, aws.ToString(ro.RoleName))
			}
			return value.NewObject(
				"InstanceProfileName", r.PhysicalID,
				"Path", aws.ToString(out.InstanceProfile.Path),
				"Roles", list(held)), nil
		},
	}
}

var createInstanceProfileInput = provider.Bind[iam.CreateInstanceProfileInput](
	provider.Only("InstanceProfileName", "Path"),
	provider.Finish(func(r *provider.Request, in *iam.CreateInstanceProfileInput) error {
		if r.OwnerTag != "" { // the type has no tags of its own, the call takes some
			in.Tags = iamTags(map[string]string{provider.OwnerTagKey: r.OwnerTag})
		}
		return nil
	}))

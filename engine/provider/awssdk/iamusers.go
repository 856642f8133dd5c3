package awssdk

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	createUserInput  = provider.Bind[iam.CreateUserInput]()
	createGroupInput = provider.Bind[iam.CreateGroupInput](provider.Only("GroupName", "Path"))
)

// A user is known by its name.
func user() provider.Resource {
	return provider.Resource{
		Type:   "AWS::IAM::User",
		Name:   "UserName",
		Inputs: []provider.Input{createUserInput},
		Satellites: []provider.Satellite{
			users.inlinePolicies(), users.managedPolicies(),
			{Properties: []string{"Groups"}, Put: putMemberships},
			{Properties: []string{"LoginProfile"}, Put: putLoginProfile, Reset: func(ctx context.Context, r *provider.Request) error {
				_, err := iamClient(r.Session).DeleteLoginProfile(ctx, &iam.DeleteLoginProfileInput{UserName: &r.PhysicalID})
				return ifThere(err)
			}},
		},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := iamClient(r.Session).TagUser(ctx, &iam.TagUserInput{UserName: &r.PhysicalID, Tags: iamTags(tags)})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := iamClient(r.Session).UntagUser(ctx, &iam.UntagUserInput{UserName: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, iamOnce, (*iam.Client).CreateUser, createUserInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.User.UserName, Attributes: value.NewObject("Arn", aws.ToString(out.User.Arn))}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			if d.Changed("Path") {
				path := iamPath(r)
				_, err := iamClient(r.Session).UpdateUser(ctx, &iam.UpdateUserInput{UserName: &r.PhysicalID, NewPath: &path})
				if err != nil {
					return provider.Updated{}, err
				}
			}
			return provider.Updated{}, users.boundary(ctx, r, d)
		},
		Delete: deleteUser,
		Gone:   iamGone,
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			out, err := iamClient(r.Session).GetUser(ctx, &iam.GetUserInput{UserName: aws.String(text(r.Properties, "UserName"))})
			if err != nil {
				return nil, ifThere(err)
			}
			return &provider.Holder{PhysicalID: *out.User.UserName, Tags: ownerOf(out.User.Tags)}, nil
		}),
		Known: knownARN("user"),
	}
}

func putMemberships(ctx context.Context, r *provider.Request) error {
	c := iamClient(r.Session)
	want, had := texts(r.Properties, "Groups"), texts(r.Previous, "Groups")
	err := forEach(ctx, less(want, had), func(ctx context.Context, name string) error {
		_, err := c.AddUserToGroup(ctx, &iam.AddUserToGroupInput{GroupName: &name, UserName: &r.PhysicalID})
		return err
	})
	if err != nil {
		return err
	}
	return forEach(ctx, less(had, want), func(ctx context.Context, name string) error {
		_, err := c.RemoveUserFromGroup(ctx, &iam.RemoveUserFromGroupInput{GroupName: &name, UserName: &r.PhysicalID})
		return ifThere(err)
	})
}

func putLoginProfile(ctx context.Context, r *provider.Request) error {
	c := iamClient(r.Session)
	profile := r.Properties.Object("LoginProfile")
	password := text(profile, "Password")
	if password == "" {
		return errors.New("LoginProfile.Password is missing")
	}
	reset := text(profile, "PasswordResetRequired") == "true"
	if r.Previous.Has("LoginProfile") {
		_, err := c.UpdateLoginProfile(ctx, &iam.UpdateLoginProfileInput{
			UserName: &r.PhysicalID, Password: &password, PasswordResetRequired: &reset,
		})
		return err
	}
	_, err := c.CreateLoginProfile(ctx, &iam.CreateLoginProfileInput{
		UserName: &r.PhysicalID, Password: &password, PasswordResetRequired: reset,
	})
	return err
}

func deleteUser(ctx context.Context, r *provider.Request) error {
	c := iamClient(r.Session)
	if err := users.empty(ctx, r); err != nil {
		return err
	}
	member, err := c.ListGroupsForUser(ctx, &iam.ListGroupsForUserInput{UserName: &r.PhysicalID})
	if err != nil {
		return err
	}
	for _, g := range member.Groups {
		_, err := c.RemoveUserFromGroup(ctx, &iam.RemoveUserFromGroupInput{GroupName: g.GroupName, UserName: &r.PhysicalID})
		if ifThere(err) != nil {
			return err
		}
	}
	if _, err := c.DeleteLoginProfile(ctx, &iam.DeleteLoginProfileInput{UserName: &r.PhysicalID}); ifThere(err) != nil {
		return err
	}
	keys, err := c.ListAccessKeys(ctx, &iam.ListAccessKeysInput{UserName: &r.PhysicalID})
	if err != nil {
		return err
	}
	for _, k := range keys.AccessKeyMetadata {
		_, err := c.DeleteAccessKey(ctx, &iam.DeleteAccessKeyInput{UserName: &r.PhysicalID, AccessKeyId: k.AccessKeyId})
		if ifThere(err) != nil {
			return err
		}
	}
	_, err = c.DeleteUser(ctx, &iam.DeleteUserInput{UserName: &r.PhysicalID})
	return err
}

// A group is known by its name.
func group() provider.Resource {
	return provider.Resource{
		Type:       "AWS::IAM::Group",
		Name:       "GroupName",
		Inputs:     []provider.Input{createGroupInput},
		Satellites: []provider.Satellite{groups.inlinePolicies(), groups.managedPolicies()},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, iamOnce, (*iam.Client).CreateGroup, createGroupInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.Group.GroupName, Attributes: value.NewObject("Arn", aws.ToString(out.Group.Arn))}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			path := iamPath(r)
			_, err := iamClient(r.Session).UpdateGroup(ctx, &iam.UpdateGroupInput{GroupName: &r.PhysicalID, NewPath: &path})
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			c := iamClient(r.Session)
			if err := groups.empty(ctx, r); err != nil {
				return err
			}
			pages := iam.NewGetGroupPaginator(c, &iam.GetGroupInput{GroupName: &r.PhysicalID})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return err
				}
				for _, u := range page.Users {
					_, err := c.RemoveUserFromGroup(ctx, &iam.RemoveUserFromGroupInput{GroupName: &r.PhysicalID, UserName: u.UserName})
					if ifThere(err) != nil {
						return err
					}
				}
			}
			_, err := c.DeleteGroup(ctx, &iam.DeleteGroupInput{GroupName: &r.PhysicalID})
			return err
		},
		Gone:  iamGone,
		Known: knownARN("group"),
	}
}

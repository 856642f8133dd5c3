package awssdk

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// An AWS::IAM::UserToGroupAddition is no resource of its own, and is known by
// where it is in the app. Another may make the same user a member of the same
// group.
func userToGroup() provider.Resource {
	join := func(ctx context.Context, r *provider.Request, users []string) error {
		return forEach(ctx, users, func(ctx context.Context, name string) error {
			_, err := iamClient(r.Session).AddUserToGroup(ctx, &iam.AddUserToGroupInput{GroupName: aws.String(text(r.Properties, "GroupName")), UserName: &name})
			return err
		})
	}
	leave := func(ctx context.Context, r *provider.Request, from string, users []string) error {
		return forEach(ctx, users, func(ctx context.Context, name string) error {
			_, err := iamClient(r.Session).RemoveUserFromGroup(ctx, &iam.RemoveUserFromGroupInput{GroupName: &from, UserName: &name})
			return ifThere(err)
		})
	}
	return provider.Resource{
		Type:    "AWS::IAM::UserToGroupAddition",
		PutOn:   []string{"GroupName"},
		Handled: []string{"GroupName", "Users"},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			return provider.Created{PhysicalID: r.Stack.Name + "-" + r.LogicalID}, join(ctx, r, texts(r.Properties, "Users"))
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			wanted, had := texts(d.New, "Users"), texts(d.Old, "Users")
			come, gone := less(wanted, had), less(had, wanted)
			if d.Changed("GroupName") {
				come, gone = wanted, had
			}
			if err := join(ctx, r, come); err != nil {
				return provider.Updated{}, err
			}
			return provider.Updated{}, leave(ctx, r, text(d.Old, "GroupName"), gone)
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			return leave(ctx, r, text(r.Properties, "GroupName"), texts(r.Properties, "Users"))
		},
		Gone:  iamGone,
		Known: knownID("Id"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			group := text(r.Properties, "GroupName")
			var members []string
			pages := iam.NewGetGroupPaginator(iamClient(r.Session), &iam.GetGroupInput{GroupName: &group})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return nil, err
				}
				for _, u := range page.Users {
					members = append(members, aws.ToString(u.UserName))
				}
			}
			own := texts(r.Properties, "Users")
			own = slices.DeleteFunc(own, func(name string) bool { return !slices.Contains(members, name) })
			return value.NewObject("GroupName", group, "Users", list(own)), nil
		},
	}
}

var (
	createAccessKeyInput = provider.Bind[iam.CreateAccessKeyInput]()
	keyStatusInput       = provider.Bind[iam.UpdateAccessKeyInput](provider.ID("AccessKeyId"), provider.Clear{"Status": "Active"})
)

// An access key is known by its id. Its secret is told by the create alone, and
// never recorded: what uses it has to be made in the same run. A higher Serial
// makes another key.
func accessKey() provider.Resource {
	return provider.Resource{
		Type:    "AWS::IAM::AccessKey",
		Inputs:  []provider.Input{createAccessKeyInput},
		Handled: []string{"Serial"},
		Satellites: []provider.Satellite{{
			Properties: []string{"Status"}, Input: keyStatusInput,
			Put: provider.Call(iamClient, (*iam.Client).UpdateAccessKey, keyStatusInput),
		}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, iamOnce, (*iam.Client).CreateAccessKey, createAccessKeyInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{
				PhysicalID: aws.ToString(out.AccessKey.AccessKeyId), NoEcho: true,
				Attributes: value.NewObject("SecretAccessKey", aws.ToString(out.AccessKey.SecretAccessKey)),
			}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := iamClient(r.Session).DeleteAccessKey(ctx, &iam.DeleteAccessKeyInput{AccessKeyId: &r.PhysicalID, UserName: aws.String(text(r.Properties, "UserName"))})
			return err
		},
		Gone: iamGone,
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			pages := iam.NewListAccessKeysPaginator(iamClient(r.Session), &iam.ListAccessKeysInput{UserName: aws.String(text(r.Properties, "UserName"))})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return nil, err
				}
				for _, k := range page.AccessKeyMetadata {
					if aws.ToString(k.AccessKeyId) == r.PhysicalID {
						props := part(r.Properties, "Serial")
						props.Set("UserName", aws.ToString(k.UserName))
						props.Set("Status", string(k.Status))
						return props, nil
					}
				}
			}
			return nil, provider.ErrNotFound
		},
	}
}

var createOIDCInput = provider.Bind[iam.CreateOpenIDConnectProviderInput]()

// An identity provider of OpenID Connect is known by its ARN, which follows from
// its URL.
func oidcProvider() provider.Resource {
	get := func(ctx context.Context, r *provider.Request, id string) (*iam.GetOpenIDConnectProviderOutput, error) {
		return iamClient(r.Session).GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: &id})
	}
	return provider.Resource{
		Type:    "AWS::IAM::OIDCProvider",
		Inputs:  []provider.Input{createOIDCInput},
		Handled: []string{"ClientIdList", "ThumbprintList"},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := iamClient(r.Session).TagOpenIDConnectProvider(ctx, &iam.TagOpenIDConnectProviderInput{OpenIDConnectProviderArn: &r.PhysicalID, Tags: iamTags(tags)})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := iamClient(r.Session).UntagOpenIDConnectProvider(ctx, &iam.UntagOpenIDConnectProviderInput{OpenIDConnectProviderArn: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: createBy(iamOnce, (*iam.Client).CreateOpenIDConnectProvider, createOIDCInput, func(o *iam.CreateOpenIDConnectProviderOutput) *string { return o.OpenIDConnectProviderArn }),
		Update: updateOIDC,
		Delete: provider.Call(iamClient, (*iam.Client).DeleteOpenIDConnectProvider, byID[iam.DeleteOpenIDConnectProviderInput]("OpenIDConnectProviderArn")),
		Gone:   iamGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Arn", r.PhysicalID)
		},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			id := globalARN(r, "iam", "oidc-provider/"+withoutScheme(text(r.Properties, "Url")))
			out, err := get(ctx, r, id)
			if err != nil {
				return nil, ifThere(err)
			}
			return &provider.Holder{PhysicalID: id, Tags: ownerOf(out.Tags)}, nil
		}),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := get(ctx, r, r.PhysicalID)
			if err != nil {
				return nil, err
			}
			props := value.NewObject("Url", text(r.Properties, "Url"), "ClientIdList", list(out.ClientIDList), "ThumbprintList", list(out.ThumbprintList))
			if withoutScheme(text(r.Properties, "Url")) != aws.ToString(out.Url) {
				props.Set("Url", "https://"+aws.ToString(out.Url)) // IAM drops the scheme
			}
			if tags := tagList(ownerOf(out.Tags)); len(tags) > 0 {
				props.Set("Tags", tags)
			}
			return props, nil
		},
	}
}

func updateOIDC(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	c := iamClient(r.Session)
	wanted, had := texts(d.New, "ClientIdList"), texts(d.Old, "ClientIdList")
	for _, id := range less(wanted, had) {
		if _, err := c.AddClientIDToOpenIDConnectProvider(ctx, &iam.AddClientIDToOpenIDConnectProviderInput{OpenIDConnectProviderArn: &r.PhysicalID, ClientID: &id}); err != nil {
			return provider.Updated{}, err
		}
	}
	for _, id := range less(had, wanted) {
		if _, err := c.RemoveClientIDFromOpenIDConnectProvider(ctx, &iam.RemoveClientIDFromOpenIDConnectProviderInput{OpenIDConnectProviderArn: &r.PhysicalID, ClientID: &id}); err != nil {
			return provider.Updated{}, err
		}
	}
	prints := texts(d.New, "ThumbprintList")
	switch {
	case !d.Changed("ThumbprintList"):
		return provider.Updated{}, nil
	case len(prints) == 0:
		// IAM looks them up itself only when a provider is made.
		return provider.Updated{Partial: "the thumbprints stay as they were: IAM takes no empty ThumbprintList"}, nil
	}
	_, err := c.UpdateOpenIDConnectProviderThumbprint(ctx, &iam.UpdateOpenIDConnectProviderThumbprintInput{OpenIDConnectProviderArn: &r.PhysicalID, ThumbprintList: prints})
	return provider.Updated{}, err
}

func withoutScheme(url string) string { return strings.TrimPrefix(url, "https://") }

var createLinkedRoleInput = provider.Bind[iam.CreateServiceLinkedRoleInput]()

// A service-linked role is known by its name, which its service chooses. IAM
// deletes it by and by, and not while the service uses it.
func serviceLinkedRole() provider.Resource {
	return provider.Resource{
		Type:    "AWS::IAM::ServiceLinkedRole",
		Inputs:  []provider.Input{createLinkedRoleInput},
		Handled: []string{"Description"},
		Create:  createBy(iamOnce, (*iam.Client).CreateServiceLinkedRole, createLinkedRoleInput, func(o *iam.CreateServiceLinkedRoleOutput) *string { return o.Role.RoleName }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			_, err := iamClient(r.Session).UpdateRole(ctx, &iam.UpdateRoleInput{RoleName: &r.PhysicalID, Description: aws.String(text(r.Properties, "Description"))})
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			out, err := iamClient(r.Session).DeleteServiceLinkedRole(ctx, &iam.DeleteServiceLinkedRoleInput{RoleName: &r.PhysicalID})
			if err != nil {
				return err
			}
			return linkedRoleGone(out.DeletionTaskId).Wait(ctx, r)
		},
		Gone:  iamGone,
		Known: knownID("RoleName"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := iamClient(r.Session).GetRole(ctx, &iam.GetRoleInput{RoleName: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			props := part(r.Properties, "AWSServiceName", "CustomSuffix")
			set(props, "Description", out.Role.Description)
			return props, nil
		},
	}
}

func linkedRoleGone(task *string) *provider.Waiter {
	return &provider.Waiter{
		What: "the service-linked role to be gone", OK: []string{string(types.DeletionTaskStatusTypeSucceeded)}, Failed: []string{string(types.DeletionTaskStatusTypeFailed)},
		Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
			out, err := iamClient(r.Session).GetServiceLinkedRoleDeletionStatus(ctx, &iam.GetServiceLinkedRoleDeletionStatusInput{DeletionTaskId: task})
			if err != nil {
				return "", "", err
			}
			if out.Reason != nil {
				detail = aws.ToString(out.Reason.Reason)
			}
			return string(out.Status), detail, nil
		},
	}
}

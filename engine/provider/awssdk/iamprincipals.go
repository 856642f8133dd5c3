package awssdk

import (
	"context"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

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
		return everyPage(ctx, iam.NewListRolePoliciesPaginator(c, &iam.ListRolePoliciesInput{RoleName: &name}), func(page *iam.ListRolePoliciesOutput) []string { return page.PolicyNames })
	},
	attached: func(ctx context.Context, c *iam.Client, name string) ([]string, error) {
		return everyPage(ctx, iam.NewListAttachedRolePoliciesPaginator(c, &iam.ListAttachedRolePoliciesInput{RoleName: &name}), func(page *iam.ListAttachedRolePoliciesOutput) []string { return policyARNs(page.AttachedPolicies) })
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
		return everyPage(ctx, iam.NewListUserPoliciesPaginator(c, &iam.ListUserPoliciesInput{UserName: &name}), func(page *iam.ListUserPoliciesOutput) []string { return page.PolicyNames })
	},
	attached: func(ctx context.Context, c *iam.Client, name string) ([]string, error) {
		return everyPage(ctx, iam.NewListAttachedUserPoliciesPaginator(c, &iam.ListAttachedUserPoliciesInput{UserName: &name}), func(page *iam.ListAttachedUserPoliciesOutput) []string { return policyARNs(page.AttachedPolicies) })
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
		return everyPage(ctx, iam.NewListGroupPoliciesPaginator(c, &iam.ListGroupPoliciesInput{GroupName: &name}), func(page *iam.ListGroupPoliciesOutput) []string { return page.PolicyNames })
	},
	attached: func(ctx context.Context, c *iam.Client, name string) ([]string, error) {
		return everyPage(ctx, iam.NewListAttachedGroupPoliciesPaginator(c, &iam.ListAttachedGroupPoliciesInput{GroupName: &name}), func(page *iam.ListAttachedGroupPoliciesOutput) []string { return policyARNs(page.AttachedPolicies) })
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

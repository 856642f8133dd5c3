package awssdk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/org/cdkd-action/engine/provider"
)

const trustsLambda = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`

func allows(action string) string {
	return `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "` + action + `", "Resource": "*"}]}`
}

// aRole makes a role that other resources of a test need.
func aRole(t *testing.T, s *provider.Session, name string) (arn string) {
	t.Helper()
	out, err := iam.NewFromConfig(s.Config).CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(trustsLambda)})
	if err != nil {
		t.Fatal(err)
	}
	return *out.Role.Arn
}

func rolePolicies(c *iam.Client) func(context.Context, string) (any, error) {
	return func(ctx context.Context, name string) (any, error) {
		inline, err := c.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: &name})
		if err != nil {
			return nil, err
		}
		attached, err := c.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: &name})
		if err != nil {
			return nil, err
		}
		all := inline.PolicyNames
		for _, p := range attached.AttachedPolicies {
			all = append(all, *p.PolicyName)
		}
		slices.Sort(all)
		return strings.Join(all, " "), nil
	}
}

func TestRole(t *testing.T) {
	s := emulated(t)
	c := iam.NewFromConfig(s.Config)
	seen := func(ctx context.Context, name string) (any, error) {
		out, err := c.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
		if err != nil {
			return nil, err
		}
		policies, err := rolePolicies(c)(ctx, name)
		if err != nil {
			return nil, err
		}
		boundary := ""
		if b := out.Role.PermissionsBoundary; b != nil {
			boundary = lastSegment(*b.PermissionsBoundaryArn, "/")
		}
		var tags []string
		for _, tag := range out.Role.Tags {
			if !strings.HasPrefix(*tag.Key, "cdkd-action:") {
				tags = append(tags, *tag.Key+"="+*tag.Value)
			}
		}
		return []any{aws.ToString(out.Role.Description), *out.Role.MaxSessionDuration, policies, boundary, tags}, nil
	}
	const managed = `"arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"`
	life{
		typ: "AWS::IAM::Role", physical: "Shop-Role", id: "Shop-Role",
		attributes: map[string]string{"Arn": "arn:aws:iam::123456789012:role/app/Shop-Role"},
		steps: []step{
			{"create", `{"Path": "/app/", "AssumeRolePolicyDocument": ` + trustsLambda + `, "Description": "for tests", "MaxSessionDuration": 7200,
				"ManagedPolicyArns": [` + managed + `], "PermissionsBoundary": "arn:aws:iam::aws:policy/PowerUserAccess",
				"Policies": [{"PolicyName": "a", "PolicyDocument": ` + allows("s3:GetObject") + `}, {"PolicyName": "b", "PolicyDocument": ` + allows("s3:PutObject") + `}],
				"Tags": [{"Key": "k", "Value": "1"}]}`, seen,
				[]any{"for tests", int32(7200), "AWSLambdaBasicExecutionRole a b", "PowerUserAccess", []string{"k=1"}}},
			{"change", `{"Path": "/app/", "AssumeRolePolicyDocument": ` + strings.Replace(trustsLambda, "lambda", "ec2", 1) + `, "Description": "changed", "MaxSessionDuration": 3600,
				"ManagedPolicyArns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
				"Policies": [{"PolicyName": "b", "PolicyDocument": ` + allows("s3:DeleteObject") + `}, {"PolicyName": "c", "PolicyDocument": ` + allows("s3:PutObject") + `}],
				"Tags": [{"Key": "l", "Value": "2"}]}`, seen,
				[]any{"changed", int32(3600), "ReadOnlyAccess b c", "", []string{"l=2"}}},
			{"remove", `{"Path": "/app/", "AssumeRolePolicyDocument": ` + trustsLambda + `}`, seen,
				[]any{"", int32(3600), "", "", []string(nil)}},
			{"add again", `{"Path": "/app/", "AssumeRolePolicyDocument": ` + trustsLambda + `, "PermissionsBoundary": "arn:aws:iam::aws:policy/ReadOnlyAccess",
				"ManagedPolicyArns": [` + managed + `], "Policies": [{"PolicyName": "a", "PolicyDocument": ` + allows("s3:GetObject") + `}]}`, seen,
				[]any{"", int32(3600), "AWSLambdaBasicExecutionRole a", "ReadOnlyAccess", []string(nil)}},
		},
		gone: func(ctx context.Context, name string) error {
			_, err := c.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
			return err
		},
	}.run(t, s)
}

func TestRoleDeleteTakesItOutOfInstanceProfiles(t *testing.T) {
	s := emulated(t)
	c := iam.NewFromConfig(s.Config)
	aRole(t, s, "Shop-Profiled")
	profile := aws.String("foreign-profile")
	if _, err := c.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: profile}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: profile, RoleName: aws.String("Shop-Profiled")}); err != nil {
		t.Fatal(err)
	}
	d := provider.Drive(describe(t, "AWS::IAM::Role"), nil)
	if _, err := d.Delete(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "R", Type: "AWS::IAM::Role", PhysicalID: "Shop-Profiled"}); err != nil {
		t.Fatal(err)
	}
}

// A role's own properties do not tell of the policies that an
// AWS::IAM::Policy beside it put on it.
func TestReadRoleLeavesOutOthersPolicies(t *testing.T) {
	s := emulated(t)
	aRole(t, s, "Shop-Shared")
	_, err := iam.NewFromConfig(s.Config).PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{
		RoleName: aws.String("Shop-Shared"), PolicyName: aws.String("sibling"), PolicyDocument: aws.String(allows("s3:GetObject")),
	})
	if err != nil {
		t.Fatal(err)
	}
	d := provider.Drive(describe(t, "AWS::IAM::Role"), nil)
	got, err := d.Read(t.Context(), &provider.Request{
		Session: s, Stack: stack, LogicalID: "R", Type: "AWS::IAM::Role", PhysicalID: "Shop-Shared",
		Properties: object(t, `{"AssumeRolePolicyDocument": `+trustsLambda+`}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Has("Policies") {
		t.Errorf("read back %v, want no Policies", got.Value("Policies"))
	}
}

func TestInlinePolicy(t *testing.T) {
	s := emulated(t)
	c := iam.NewFromConfig(s.Config)
	aRole(t, s, "Shop-PolicyRoleA")
	aRole(t, s, "Shop-PolicyRoleB")
	if _, err := c.CreateUser(t.Context(), &iam.CreateUserInput{UserName: aws.String("Shop-PolicyUser")}); err != nil {
		t.Fatal(err)
	}
	on := func(ctx context.Context, _ string) (any, error) {
		var has []string
		for _, role := range []string{"Shop-PolicyRoleA", "Shop-PolicyRoleB"} {
			p, err := rolePolicies(c)(ctx, role)
			if err != nil {
				return nil, err
			}
			has = append(has, p.(string))
		}
		u, err := c.ListUserPolicies(ctx, &iam.ListUserPoliciesInput{UserName: aws.String("Shop-PolicyUser")})
		if err != nil {
			return nil, err
		}
		return append(has, strings.Join(u.PolicyNames, " ")), nil
	}
	life{
		typ: "AWS::IAM::Policy", physical: "Shop-Policy", id: "Shop-Policy",
		steps: []step{
			{"create", `{"PolicyName": "Shop-Policy", "PolicyDocument": ` + allows("s3:*") + `, "Roles": ["Shop-PolicyRoleA"], "Users": ["Shop-PolicyUser"]}`, on,
				[]string{"Shop-Policy", "", "Shop-Policy"}},
			{"other principals", `{"PolicyName": "Shop-Policy", "PolicyDocument": ` + allows("s3:*") + `, "Roles": ["Shop-PolicyRoleB"]}`, on,
				[]string{"", "Shop-Policy", ""}},
			{"other document", `{"PolicyName": "Shop-Policy", "PolicyDocument": ` + allows("sqs:*") + `, "Roles": ["Shop-PolicyRoleB"]}`, on,
				[]string{"", "Shop-Policy", ""}},
		},
		gone: func(ctx context.Context, id string) error {
			if has, err := on(ctx, id); err != nil || strings.Join(has.([]string), "") != "" {
				return err
			}
			return errors.New("gone")
		},
	}.run(t, s)
}

func TestManagedPolicy(t *testing.T) {
	s := emulated(t)
	c := iam.NewFromConfig(s.Config)
	aRole(t, s, "Shop-ManagedRoleA")
	aRole(t, s, "Shop-ManagedRoleB")
	const id = "arn:aws:iam::123456789012:policy/app/Shop-Managed"
	seen := func(ctx context.Context, id string) (any, error) {
		versions, err := c.ListPolicyVersions(ctx, &iam.ListPolicyVersionsInput{PolicyArn: &id})
		if err != nil {
			return nil, err
		}
		on, err := c.ListEntitiesForPolicy(ctx, &iam.ListEntitiesForPolicyInput{PolicyArn: &id})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, r := range on.PolicyRoles {
			names = append(names, *r.RoleName)
		}
		return []any{len(versions.Versions), names}, nil
	}
	props := func(action, role string) string {
		return `{"ManagedPolicyName": "Shop-Managed", "Path": "/app/", "Description": "d", "PolicyDocument": ` + allows(action) + `, "Roles": ["` + role + `"]}`
	}
	l := life{
		typ: "AWS::IAM::ManagedPolicy", physical: "Shop-Managed", id: id,
		attributes: map[string]string{"PolicyArn": id},
		steps: []step{
			{"create", props("s3:Get*", "Shop-ManagedRoleA"), seen, []any{1, []string{"Shop-ManagedRoleA"}}},
			{"other role", props("s3:Get*", "Shop-ManagedRoleB"), seen, []any{1, []string{"Shop-ManagedRoleB"}}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: &id})
			return err
		},
	}
	for i, action := range []string{"s3:A*", "s3:B*", "s3:C*", "s3:D*", "s3:E*"} {
		l.steps = append(l.steps, step{"new document " + action, props(action, "Shop-ManagedRoleB"), seen, []any{min(i+2, 5), []string{"Shop-ManagedRoleB"}}})
	}
	l.run(t, s)
}

func TestInstanceProfile(t *testing.T) {
	s := emulated(t)
	c := iam.NewFromConfig(s.Config)
	aRole(t, s, "Shop-ProfileRoleA")
	aRole(t, s, "Shop-ProfileRoleB")
	seen := func(ctx context.Context, name string) (any, error) {
		out, err := c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, r := range out.InstanceProfile.Roles {
			names = append(names, *r.RoleName)
		}
		return names, nil
	}
	life{
		typ: "AWS::IAM::InstanceProfile", physical: "Shop-Profile", id: "Shop-Profile",
		attributes: map[string]string{"Arn": "arn:aws:iam::123456789012:instance-profile/Shop-Profile"},
		steps: []step{
			{"create", `{"Roles": ["Shop-ProfileRoleA"]}`, seen, []string{"Shop-ProfileRoleA"}},
			{"other role", `{"Roles": ["Shop-ProfileRoleB"]}`, seen, []string{"Shop-ProfileRoleB"}},
		},
		gone: func(ctx context.Context, name string) error {
			_, err := c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
			return err
		},
	}.run(t, s)
}

func TestUserAndGroup(t *testing.T) {
	s := emulated(t)
	c := iam.NewFromConfig(s.Config)
	if _, err := c.CreateGroup(t.Context(), &iam.CreateGroupInput{GroupName: aws.String("Shop-GroupA")}); err != nil {
		t.Fatal(err)
	}
	seen := func(ctx context.Context, name string) (any, error) {
		in, err := c.ListGroupsForUser(ctx, &iam.ListGroupsForUserInput{UserName: &name})
		if err != nil {
			return nil, err
		}
		_, err = c.GetLoginProfile(ctx, &iam.GetLoginProfileInput{UserName: &name})
		return []any{len(in.Groups), err == nil}, nil
	}
	life{
		typ: "AWS::IAM::User", physical: "Shop-User", id: "Shop-User",
		attributes: map[string]string{"Arn": "arn:aws:iam::123456789012:user/Shop-User"},
		steps: []step{
			{"create", `{"Groups": ["Shop-GroupA"], "LoginProfile": {"Password": "Very-secret-1"},
				"Policies": [{"PolicyName": "a", "PolicyDocument": ` + allows("s3:*") + `}], "ManagedPolicyArns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"]}`,
				seen, []any{1, true}},
			{"remove", `{}`, seen, []any{0, false}},
			{"add again", `{"Groups": ["Shop-GroupA"], "LoginProfile": {"Password": "Very-secret-1"}}`, seen, []any{1, true}},
		},
		gone: func(ctx context.Context, name string) error {
			_, err := c.GetUser(ctx, &iam.GetUserInput{UserName: &name})
			return err
		},
		noRead: true,
	}.run(t, s)
	life{
		typ: "AWS::IAM::Group", physical: "Shop-Group", id: "Shop-Group",
		attributes: map[string]string{"Arn": "arn:aws:iam::123456789012:group/Shop-Group"},
		steps: []step{
			{name: "create", props: `{"Policies": [{"PolicyName": "a", "PolicyDocument": ` + allows("s3:*") + `}]}`},
			{name: "change", props: `{"ManagedPolicyArns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"]}`},
		},
		gone: func(ctx context.Context, name string) error {
			_, err := c.GetGroup(ctx, &iam.GetGroupInput{GroupName: &name})
			return err
		},
		noRead: true,
	}.run(t, s)
}

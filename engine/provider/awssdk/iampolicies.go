package awssdk

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var createPolicyInput = provider.Bind[iam.CreatePolicyInput](
	provider.Rename{"ManagedPolicyName": "PolicyName"},
	provider.Finish(func(r *provider.Request, in *iam.CreatePolicyInput) error {
		if r.OwnerTag != "" { // the type has no tags of its own, the call takes some
			in.Tags = iamTags(map[string]string{provider.OwnerTagKey: r.OwnerTag})
		}
		return nil
	}))

// A managed policy is known by its ARN. It keeps five versions at most, so an
// update may have to drop the oldest.
func managedPolicy() provider.Resource {
	attachments := func(p principal) provider.Satellite {
		return provider.Satellite{
			Properties: []string{p.property},
			Put: func(ctx context.Context, r *provider.Request) error {
				c := iamClient(r.Session)
				want, had := texts(r.Properties, p.property), texts(r.Previous, p.property)
				err := forEach(ctx, less(want, had), func(ctx context.Context, on string) error { return p.attach(ctx, c, on, r.PhysicalID) })
				if err != nil {
					return err
				}
				return forEach(ctx, less(had, want), func(ctx context.Context, on string) error { return p.detach(ctx, c, on, r.PhysicalID) })
			},
		}
	}
	return provider.Resource{
		Type:     "AWS::IAM::ManagedPolicy",
		GoesWith: []string{"Roles", "Users", "Groups"}, Outlives: true,
		Name:       "ManagedPolicyName",
		Inputs:     []provider.Input{createPolicyInput},
		Satellites: []provider.Satellite{attachments(roles), attachments(users), attachments(groups)},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, iamOnce, (*iam.Client).CreatePolicy, createPolicyInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.Policy.Arn, Attributes: policyAttributes(out.Policy)}, nil
		},
		Update:     updateManagedPolicy,
		Delete:     deleteManagedPolicy,
		Gone:       iamGone,
		Attributes: readPolicyAttributes,
		Known: func(r *provider.Request) *value.Object {
			id := r.PhysicalID
			if id == "" && pending(r, "Path") {
				return nil
			}
			if id == "" {
				id = globalARN(r, "iam", "policy"+iamPath(r)+r.Name)
			}
			return value.NewObject("PolicyArn", id)
		},
		Read: readManagedPolicy,
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			id := globalARN(r, "iam", "policy"+iamPath(r)+text(r.Properties, "ManagedPolicyName"))
			out, err := iamClient(r.Session).GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: &id})
			if err != nil {
				return nil, ifThere(err)
			}
			return &provider.Holder{PhysicalID: id, Tags: ownerOf(out.Policy.Tags)}, nil
		}),
	}
}

func policyAttributes(p *types.Policy) *value.Object {
	o := value.NewObject(
		"PolicyArn", aws.ToString(p.Arn),
		"PolicyId", aws.ToString(p.PolicyId),
		"DefaultVersionId", aws.ToString(p.DefaultVersionId),
		"IsAttachable", p.IsAttachable,
		"AttachmentCount", value.Int(aws.ToInt32(p.AttachmentCount)),
		"PermissionsBoundaryUsageCount", value.Int(aws.ToInt32(p.PermissionsBoundaryUsageCount)))
	if p.CreateDate != nil {
		o.Set("CreateDate", p.CreateDate.UTC().Format(time.RFC3339))
	}
	if p.UpdateDate != nil {
		o.Set("UpdateDate", p.UpdateDate.UTC().Format(time.RFC3339))
	}
	return o
}

func readPolicyAttributes(ctx context.Context, r *provider.Request) (*value.Object, error) {
	out, err := iamClient(r.Session).GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return policyAttributes(out.Policy), nil
}

func policyVersions(ctx context.Context, r *provider.Request) ([]types.PolicyVersion, error) {
	return everyPage(ctx, iam.NewListPolicyVersionsPaginator(iamClient(r.Session), &iam.ListPolicyVersionsInput{PolicyArn: &r.PhysicalID}), func(page *iam.ListPolicyVersionsOutput) []types.PolicyVersion { return page.Versions })
}

func updateManagedPolicy(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	if !d.Changed("PolicyDocument") {
		return provider.Updated{}, nil
	}
	const keeps = 5
	c := iamClient(r.Session)
	versions, err := policyVersions(ctx, r)
	if err != nil {
		return provider.Updated{}, err
	}
	slices.SortFunc(versions, func(a, b types.PolicyVersion) int {
		return cmp.Or(aws.ToTime(a.CreateDate).Compare(aws.ToTime(b.CreateDate)), cmp.Compare(aws.ToString(a.VersionId), aws.ToString(b.VersionId)))
	})
	for _, v := range versions {
		if len(versions) < keeps {
			break
		}
		if v.IsDefaultVersion {
			continue
		}
		_, err := c.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: &r.PhysicalID, VersionId: v.VersionId})
		if ifThere(err) != nil {
			return provider.Updated{}, err
		}
		break
	}
	text := document(r.Properties, "PolicyDocument")
	_, err = c.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: &r.PhysicalID, PolicyDocument: &text, SetAsDefault: true})
	return provider.Updated{}, err
}

// deleteManagedPolicy takes the policy from whoever has it, named by this
// stack or not: IAM does not delete one that is attached.
func deleteManagedPolicy(ctx context.Context, r *provider.Request) error {
	c := iamClient(r.Session)
	pages := iam.NewListEntitiesForPolicyPaginator(c, &iam.ListEntitiesForPolicyInput{PolicyArn: &r.PhysicalID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		has := &value.Object{}
		var names []string
		for _, e := range page.PolicyRoles {
			names = append(names, aws.ToString(e.RoleName))
		}
		has.Set("Roles", list(names))
		names = nil
		for _, e := range page.PolicyUsers {
			names = append(names, aws.ToString(e.UserName))
		}
		has.Set("Users", list(names))
		names = nil
		for _, e := range page.PolicyGroups {
			names = append(names, aws.ToString(e.GroupName))
		}
		has.Set("Groups", list(names))
		err = onEach(ctx, has, func(ctx context.Context, p principal, name string) error { return p.detach(ctx, c, name, r.PhysicalID) })
		if err != nil {
			return err
		}
	}
	versions, err := policyVersions(ctx, r)
	if err != nil {
		return err
	}
	err = forEach(ctx, versions, func(ctx context.Context, v types.PolicyVersion) error {
		if v.IsDefaultVersion {
			return nil
		}
		_, err := c.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: &r.PhysicalID, VersionId: v.VersionId})
		return ifThere(err)
	})
	if err != nil {
		return err
	}
	_, err = c.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: &r.PhysicalID})
	return err
}

// readManagedPolicy reads the policy. Of its attachments only those that the
// record names are told: others come from the principals' own properties.
func readManagedPolicy(ctx context.Context, r *provider.Request) (*value.Object, error) {
	c := iamClient(r.Session)
	out, err := c.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: &r.PhysicalID})
	if provider.HasCode(err, iamGone...) {
		return nil, provider.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	version, err := c.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: &r.PhysicalID, VersionId: out.Policy.DefaultVersionId})
	if err != nil {
		return nil, err
	}
	props := value.NewObject(
		"ManagedPolicyName", aws.ToString(out.Policy.PolicyName),
		"Path", aws.ToString(out.Policy.Path),
		"PolicyDocument", documentOf(aws.ToString(version.PolicyVersion.Document)))
	if d := aws.ToString(out.Policy.Description); d != "" {
		props.Set("Description", d)
	}
	for _, kind := range []principal{roles, users, groups} {
		var on []string
		for _, name := range texts(r.Properties, kind.property) {
			arns, err := kind.attached(ctx, c, name)
			if ifThere(err) != nil {
				return nil, err
			}
			if slices.Contains(arns, r.PhysicalID) {
				on = append(on, name)
			}
		}
		if len(on) > 0 {
			props.Set(kind.property, list(on))
		}
	}
	return props, nil
}

package awssdk

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var launchTemplateGone = []string{"InvalidLaunchTemplateId.NotFound", "InvalidLaunchTemplateId.NotFoundException", "InvalidLaunchTemplateName.NotFoundException"}

var (
	createLaunchTemplateInput = provider.Bind[ec2.CreateLaunchTemplateInput](provider.Token("ClientToken"),
		provider.Finish(func(r *provider.Request, in *ec2.CreateLaunchTemplateInput) error {
			if in.LaunchTemplateName == nil {
				in.LaunchTemplateName = aws.String(uniqueName(r, 128))
			}
			return nil
		}))
	newLaunchTemplateVersion = provider.Bind[ec2.CreateLaunchTemplateVersionInput](
		provider.ID("LaunchTemplateId"), provider.Only("LaunchTemplateData", "VersionDescription"))
	launchTemplateTags = provider.Bind[ec2.CreateLaunchTemplateInput](provider.Only("TagSpecifications"))
)

// A launch template's versions cannot be changed: an update makes another one.
// The default version stays the first, as it does in CloudFormation.
func launchTemplate() provider.Resource {
	return provider.Resource{
		Type:    "AWS::EC2::LaunchTemplate",
		Inputs:  []provider.Input{createLaunchTemplateInput},
		Updates: []provider.Input{newLaunchTemplateVersion, launchTemplateTags},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).CreateLaunchTemplate, createLaunchTemplateInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.LaunchTemplate.LaunchTemplateId), Attributes: versionNumbers(out.LaunchTemplate)}, nil
		},
		Update: updateLaunchTemplate,
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ec2Client(r.Session).DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &r.PhysicalID})
			return err
		},
		Gone:  launchTemplateGone,
		Known: idAs("LaunchTemplateId"),
		// The create and the update tell the numbers; an imported template is asked.
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if r.Attributes.Has("LatestVersionNumber") {
				return nil, nil
			}
			out, err := ec2Client(r.Session).DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{r.PhysicalID}})
			if err != nil || len(out.LaunchTemplates) == 0 {
				return nil, err
			}
			return versionNumbers(&out.LaunchTemplates[0]), nil
		},
		Read: readLaunchTemplate,
	}
}

func versionNumbers(t *types.LaunchTemplate) *value.Object {
	number := func(n *int64) string { return strconv.FormatInt(aws.ToInt64(n), 10) }
	return value.NewObject("DefaultVersionNumber", number(t.DefaultVersionNumber), "LatestVersionNumber", number(t.LatestVersionNumber))
}

func updateLaunchTemplate(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	var out provider.Updated
	if d.Changed("TagSpecifications") {
		if err := retagLaunchTemplate(ctx, r); err != nil {
			return out, err
		}
	}
	if !d.Changed("LaunchTemplateData", "VersionDescription") {
		return out, nil
	}
	made, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).CreateLaunchTemplateVersion, newLaunchTemplateVersion)
	if err != nil {
		return out, err
	}
	out.Attributes = value.NewObject("LatestVersionNumber", strconv.FormatInt(aws.ToInt64(made.LaunchTemplateVersion.VersionNumber), 10))
	return out, nil
}

// retagLaunchTemplate changes the template's own tags, which it declares as a
// specification.
func retagLaunchTemplate(ctx context.Context, r *provider.Request) error {
	tags := func(o *value.Object) map[string]string {
		for _, v := range o.List("TagSpecifications") {
			if spec, _ := v.(*value.Object); text(spec, "ResourceType") == string(types.ResourceTypeLaunchTemplate) {
				return provider.TagMap(spec.Value("Tags"))
			}
		}
		return nil
	}
	old, wanted := tags(r.Previous), tags(r.Properties)
	var gone []string
	for k := range old {
		if _, ok := wanted[k]; !ok {
			gone = append(gone, k)
		}
	}
	t := taggable(physicalID)
	if len(gone) > 0 {
		if err := t.Remove(ctx, r, gone); err != nil {
			return err
		}
	}
	if len(wanted) > 0 {
		return t.Add(ctx, r, wanted)
	}
	return nil
}

func readLaunchTemplate(ctx context.Context, r *provider.Request) (*value.Object, error) {
	c := ec2Client(r.Session)
	versions, err := c.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: &r.PhysicalID, Versions: []string{"$Latest"},
	})
	if err != nil {
		_, err = described[types.LaunchTemplateVersion](nil, err, launchTemplateGone)
		return nil, err
	}
	v, err := described(versions.LaunchTemplateVersions, nil, launchTemplateGone)
	if err != nil {
		return nil, err
	}
	props := shaped(r.Type, v, nil, provider.Skip("TagSpecifications"))
	out, err := c.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{r.PhysicalID}})
	if err != nil {
		return nil, err
	}
	if len(out.LaunchTemplates) > 0 {
		if tags := templateTags(out.LaunchTemplates[0].Tags); len(tags) > 0 {
			props.Set("TagSpecifications", []any{value.NewObject("ResourceType", "launch-template", "Tags", tags)})
		}
	}
	return props, nil
}

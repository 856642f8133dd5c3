package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

var (
	createAccessInput = provider.Bind[cloudfront.CreateOriginAccessControlInput]()
	updateAccessInput = provider.Bind[cloudfront.UpdateOriginAccessControlInput](
		provider.ID("Id"), provider.Clear{"OriginAccessControlConfig.Description": ""})
)

// An origin access control is known by its id. Its name is unique in the
// account.
func originAccessControl() provider.Resource {
	version := func(ctx context.Context, r *provider.Request) (*string, error) {
		out, err := cdnClient(r.Session).GetOriginAccessControl(ctx, &cloudfront.GetOriginAccessControlInput{Id: &r.PhysicalID})
		if err != nil {
			return nil, err
		}
		return out.ETag, nil
	}
	return provider.Resource{
		Type:    "AWS::CloudFront::OriginAccessControl",
		Inputs:  []provider.Input{createAccessInput},
		Updates: []provider.Input{updateAccessInput},
		Create:  createBy(cdnOnce, (*cloudfront.Client).CreateOriginAccessControl, createAccessInput, func(o *cloudfront.CreateOriginAccessControlOutput) *string { return o.OriginAccessControl.Id }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			in, err := updateAccessInput.Input(r)
			if err != nil {
				return provider.Updated{}, err
			}
			if in.IfMatch, err = version(ctx, r); err != nil {
				return provider.Updated{}, err
			}
			_, err = cdnClient(r.Session).UpdateOriginAccessControl(ctx, in)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			now, err := version(ctx, r)
			if err != nil {
				return err
			}
			_, err = cdnClient(r.Session).DeleteOriginAccessControl(ctx, &cloudfront.DeleteOriginAccessControlInput{Id: &r.PhysicalID, IfMatch: now})
			return err
		},
		Gone:  []string{"NoSuchOriginAccessControl"},
		Known: knownID("Id"),
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			name := text(r.Properties.Object("OriginAccessControlConfig"), "Name")
			pages := cloudfront.NewListOriginAccessControlsPaginator(cdnClient(r.Session), &cloudfront.ListOriginAccessControlsInput{})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil || page.OriginAccessControlList == nil {
					return "", err
				}
				for _, control := range page.OriginAccessControlList.Items {
					if aws.ToString(control.Name) == name {
						return aws.ToString(control.Id), nil
					}
				}
			}
			return "", nil
		},
	}
}

var (
	createIdentityInput = provider.Bind[cloudfront.CreateCloudFrontOriginAccessIdentityInput]()
	updateIdentityInput = provider.Bind[cloudfront.UpdateCloudFrontOriginAccessIdentityInput](provider.ID("Id"))
)

// An origin access identity is known by its id. Its caller reference makes the
// create safe to repeat, and must not change.
func originAccessIdentity() provider.Resource {
	get := func(ctx context.Context, r *provider.Request) (*cloudfront.GetCloudFrontOriginAccessIdentityOutput, error) {
		return cdnClient(r.Session).GetCloudFrontOriginAccessIdentity(ctx, &cloudfront.GetCloudFrontOriginAccessIdentityInput{Id: &r.PhysicalID})
	}
	return provider.Resource{
		Type:    "AWS::CloudFront::CloudFrontOriginAccessIdentity",
		Inputs:  []provider.Input{createIdentityInput},
		Updates: []provider.Input{updateIdentityInput},
		SDKOnly: "Cloud Control cannot delete it",
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			in, err := createIdentityInput.Input(r)
			if err != nil {
				return provider.Created{}, err
			}
			in.CloudFrontOriginAccessIdentityConfig.CallerReference = &r.Token
			out, err := cdnClient(r.Session).CreateCloudFrontOriginAccessIdentity(ctx, in)
			if err != nil {
				return provider.Created{}, err
			}
			identity := out.CloudFrontOriginAccessIdentity
			return provider.Created{PhysicalID: *identity.Id, Attributes: value.NewObject("S3CanonicalUserId", aws.ToString(identity.S3CanonicalUserId))}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			in, err := updateIdentityInput.Input(r)
			if err != nil {
				return provider.Updated{}, err
			}
			now, err := get(ctx, r)
			if err != nil {
				return provider.Updated{}, err
			}
			in.IfMatch = now.ETag
			if c := now.CloudFrontOriginAccessIdentity.CloudFrontOriginAccessIdentityConfig; c != nil {
				in.CloudFrontOriginAccessIdentityConfig.CallerReference = c.CallerReference
			}
			_, err = cdnClient(r.Session).UpdateCloudFrontOriginAccessIdentity(ctx, in)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			now, err := get(ctx, r)
			if err != nil {
				return err
			}
			_, err = cdnClient(r.Session).DeleteCloudFrontOriginAccessIdentity(ctx, &cloudfront.DeleteCloudFrontOriginAccessIdentityInput{Id: &r.PhysicalID, IfMatch: now.ETag})
			return err
		},
		Gone:  []string{"NoSuchCloudFrontOriginAccessIdentity"},
		Known: knownID("Id"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			now, err := get(ctx, r)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			return provider.Unbind(now.CloudFrontOriginAccessIdentity, shape), nil
		},
	}
}

package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"

	"github.com/org/cdkd-action/engine/provider"
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
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, cdnOnce, (*cloudfront.Client).CreateOriginAccessControl, createAccessInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.OriginAccessControl.Id}, nil
		},
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

package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var associateInput = provider.Bind[wafv2.AssociateWebACLInput]()

// A resource has one web ACL: the association is known by both.
func webACLAssociation() provider.Resource {
	k := composite{"ResourceArn", "WebACLArn"}
	return keyed(k, provider.Resource{
		Type:   "AWS::WAFv2::WebACLAssociation",
		Inputs: []provider.Input{associateInput},
		Create: k.made(provider.Call(wafClient, (*wafv2.Client).AssociateWebACL, associateInput)),
		Delete: provider.Call(wafClient, (*wafv2.Client).DisassociateWebACL, provider.Bind[wafv2.DisassociateWebACLInput]()),
		Gone:   []string{"WAFNonexistentItemException"},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := wafClient(r.Session).GetWebACLForResource(ctx, &wafv2.GetWebACLForResourceInput{ResourceArn: optional(text(r.Properties, "ResourceArn"))})
			if err != nil {
				return nil, err
			}
			if out.WebACL == nil {
				return nil, provider.ErrNotFound
			}
			return value.NewObject("ResourceArn", text(r.Properties, "ResourceArn"), "WebACLArn", aws.ToString(out.WebACL.ARN)), nil
		},
	})
}

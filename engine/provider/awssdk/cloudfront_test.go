//lint:file-ignore SA1019 templates may have the settings that CloudFront calls deprecated

package awssdk

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

func TestDistribution(t *testing.T) {
	s := emulated(t)
	c := cloudfront.NewFromConfig(s.Config)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetDistribution(ctx, &cloudfront.GetDistributionInput{Id: &id})
		if err != nil {
			return nil, err
		}
		config := out.Distribution.DistributionConfig
		got := map[string]string{"comment": *config.Comment, "reference": *config.CallerReference, "price": string(config.PriceClass)}
		for _, a := range config.Aliases.Items {
			got["aliases"] += a + " "
		}
		for _, o := range config.Origins.Items {
			got["origins"] += *o.DomainName + " "
		}
		// The emulator keeps a create's tags under an ARN that CloudFront does not
		// have.
		for kind, id := range map[string]string{"made:": *out.Distribution.ARN, "tag:": "arn:aws:cloudfront::123456789012:distribution/" + id} {
			tags, err := c.ListTagsForResource(ctx, &cloudfront.ListTagsForResourceInput{Resource: &id})
			if err != nil {
				return nil, err
			}
			for _, tag := range tags.Tags.Items {
				got[kind+*tag.Key] = *tag.Value
			}
		}
		return got, nil
	}
	const owner = "0123456789abcdef0123456789abcdef"
	origin := func(domain string) string {
		return `{"Id": "o", "DomainName": "` + domain + `", "CustomOriginConfig": {"OriginProtocolPolicy": "https-only", "OriginSSLProtocols": ["TLSv1.2"]}}`
	}
	behavior := `"DefaultCacheBehavior": {"TargetOriginId": "o", "ViewerProtocolPolicy": "redirect-to-https", "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6", "AllowedMethods": ["GET", "HEAD", "OPTIONS"]}`
	life{
		typ: "AWS::CloudFront::Distribution",
		steps: []step{
			{"create", `{"DistributionConfig": {"Enabled": true, "Comment": "c", "PriceClass": "PriceClass_100", "Aliases": ["a.example.com"], "Origins": [` + origin("a.example.org") + `], ` + behavior + `}, "Tags": [{"Key": "a", "Value": "1"}]}`, seen,
				map[string]string{"comment": "c", "reference": owner, "price": "PriceClass_100", "aliases": "a.example.com ", "origins": "a.example.org ", "made:a": "1", "made:cdkd-action:create": owner}},
			{"change", `{"DistributionConfig": {"Enabled": true, "Comment": "d", "PriceClass": "PriceClass_200", "Aliases": ["b.example.com"], "Origins": [` + origin("b.example.org") + `], ` + behavior + `}, "Tags": [{"Key": "b", "Value": "2"}]}`, seen,
				map[string]string{"comment": "d", "reference": owner, "price": "PriceClass_200", "aliases": "b.example.com ", "origins": "b.example.org ", "tag:b": "2", "made:a": "1", "made:cdkd-action:create": owner}},
			{"remove", `{"DistributionConfig": {"Enabled": true, "Origins": [` + origin("b.example.org") + `], ` + behavior + `}}`, seen,
				map[string]string{"comment": "", "reference": owner, "price": "PriceClass_All", "origins": "b.example.org ", "made:a": "1", "made:cdkd-action:create": owner}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetDistribution(ctx, &cloudfront.GetDistributionInput{Id: &id})
			return err
		},
		noRead: true,
	}.run(t, s)
}

// A create that is refused, because it was made before, is told whose it is
// (T-805). The emulator makes another, so that the refusal is made here.
func TestOwnDistribution(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::CloudFront::Distribution"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "Cdn", Type: "AWS::CloudFront::Distribution", Token: "mine", Properties: object(t,
		`{"DistributionConfig": {"Enabled": true, "Origins": [{"Id": "o", "DomainName": "o.s3.amazonaws.com", "S3OriginConfig": {}}],
			"DefaultCacheBehavior": {"TargetOriginId": "o", "ViewerProtocolPolicy": "allow-all", "ForwardedValues": {"QueryString": true}}}}`)}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	refusal := &smithy.GenericAPIError{Code: "DistributionAlreadyExists",
		Message: "The caller reference that you are using to create a distribution is associated with another distribution. Already exists: " + made.PhysicalID}
	again, err := ownDistribution(t.Context(), r, refusal)
	if err != nil || again.PhysicalID != made.PhysicalID || again.Attributes.String("DomainName") != made.Attributes.String("DomainName") {
		t.Errorf("adopted %+v, %v, want %+v", again, err, made)
	}
	other := *r
	other.Token = "another's"
	if got, err := ownDistribution(t.Context(), &other, refusal); !provider.HasCode(err, "DistributionAlreadyExists") {
		t.Errorf("another's distribution: %+v, %v, want the refusal", got, err)
	}
	r.PhysicalID = made.PhysicalID
	if _, err := d.Delete(t.Context(), r); err != nil {
		t.Error(err)
	}
}

// What the API arranges otherwise than CloudFormation, and what an update must
// say though the template does not.
func TestDistributionConfig(t *testing.T) {
	in, err := createDistributionInput.Input(&provider.Request{Token: "t", Properties: object(t, `{"DistributionConfig": {
		"Enabled": true, "IPV6Enabled": true,
		"Origins": [
			{"Id": "o", "DomainName": "d", "S3OriginConfig": {"OriginAccessIdentity": "i"}, "OriginCustomHeaders": [{"HeaderName": "h", "HeaderValue": "v"}]},
			{"Id": "p", "DomainName": "e", "CustomOriginConfig": {"OriginProtocolPolicy": "http-only", "HTTPPort": "8080"}}],
		"OriginGroups": {"Quantity": 1, "Items": [{"Id": "g", "FailoverCriteria": {"StatusCodes": {"Quantity": 1, "Items": [500]}}, "Members": {"Quantity": 2, "Items": [{"OriginId": "o"}, {"OriginId": "p"}]}}]},
		"DefaultCacheBehavior": {"TargetOriginId": "o", "ViewerProtocolPolicy": "allow-all", "AllowedMethods": ["GET", "HEAD"], "CachedMethods": ["GET", "HEAD"], "TrustedKeyGroups": ["k"],
			"FunctionAssociations": [{"EventType": "viewer-request", "FunctionARN": "f"}]},
		"CacheBehaviors": [{"PathPattern": "/a", "TargetOriginId": "p", "ViewerProtocolPolicy": "allow-all", "TrustedSigners": ["self"], "ForwardedValues": {"QueryString": "true", "Cookies": {"Forward": "whitelist", "WhitelistedNames": ["c"]}, "Headers": ["h"]}}],
		"CustomErrorResponses": [{"ErrorCode": 404, "ResponseCode": 200, "ResponsePagePath": "/"}],
		"Logging": {"Bucket": "b"},
		"Restrictions": {"GeoRestriction": {"RestrictionType": "whitelist", "Locations": ["CH", "AT"]}},
		"ViewerCertificate": {"AcmCertificateArn": "a", "SslSupportMethod": "sni-only"}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	c := in.DistributionConfigWithTags.DistributionConfig
	def, path := c.DefaultCacheBehavior, c.CacheBehaviors.Items[0]
	got := []any{
		*c.CallerReference, *c.IsIPV6Enabled, *c.Aliases.Quantity, *c.Origins.Quantity,
		*c.Origins.Items[0].CustomHeaders.Quantity, *c.Origins.Items[0].S3OriginConfig.OriginAccessIdentity,
		*c.Origins.Items[1].CustomOriginConfig.HTTPPort, *c.Origins.Items[1].CustomOriginConfig.HTTPSPort, *c.Origins.Items[1].CustomHeaders.Quantity,
		*c.OriginGroups.Quantity, c.OriginGroups.Items[0].FailoverCriteria.StatusCodes.Items[0], *c.OriginGroups.Items[0].Members.Items[1].OriginId,
		def.AllowedMethods.Items, *def.AllowedMethods.Quantity, *def.AllowedMethods.CachedMethods.Quantity,
		*def.TrustedKeyGroups.Enabled, *def.TrustedKeyGroups.Quantity, *def.TrustedSigners.Enabled, *def.FunctionAssociations.Quantity,
		*path.TrustedSigners.Enabled, *path.TrustedSigners.Quantity, *path.MinTTL, *path.ForwardedValues.QueryString,
		*path.ForwardedValues.Cookies.WhitelistedNames.Quantity, *path.ForwardedValues.Headers.Quantity, *path.AllowedMethods.CachedMethods.Quantity,
		*c.CustomErrorResponses.Items[0].ResponseCode, *c.Logging.Enabled, *c.Logging.Prefix,
		*c.Restrictions.GeoRestriction.Quantity, *c.ViewerCertificate.ACMCertificateArn, string(c.ViewerCertificate.SSLSupportMethod),
	}
	want := []any{
		"t", true, int32(0), int32(2),
		int32(1), "i",
		int32(8080), int32(443), int32(0),
		int32(1), int32(500), "p",
		[]types.Method{"GET", "HEAD"}, int32(2), int32(2),
		true, int32(1), false, int32(1),
		true, int32(1), int64(0), true,
		int32(1), int32(1), int32(2),
		"200", true, "",
		int32(2), "a", "sni-only",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if def.ForwardedValues != nil || def.MinTTL != nil {
		t.Error("a behavior with neither got what goes with forwarded values")
	}

	tenants := &types.DistributionConfig{ConnectionMode: types.ConnectionModeTenantOnly, DefaultCacheBehavior: &types.DefaultCacheBehavior{}}
	completeDistribution(tenants)
	if tenants.Aliases != nil || tenants.PriceClass != "" || tenants.IsIPV6Enabled != nil || tenants.DefaultCacheBehavior.SmoothStreaming != nil {
		t.Errorf("a distribution of tenants got what it refuses: %+v", tenants)
	}
}

func TestOriginAccessControl(t *testing.T) {
	s := emulated(t)
	c := cloudfront.NewFromConfig(s.Config)
	get := func(ctx context.Context, id string) (*cloudfront.GetOriginAccessControlOutput, error) {
		return c.GetOriginAccessControl(ctx, &cloudfront.GetOriginAccessControlInput{Id: &id})
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := get(ctx, id)
		if err != nil {
			return nil, err
		}
		config := out.OriginAccessControl.OriginAccessControlConfig
		return []string{*config.Name, aws.ToString(config.Description), string(config.SigningBehavior)}, nil
	}
	config := func(description, signing string) string {
		return `{"OriginAccessControlConfig": {"Name": "Shop-Access", ` + description + `"OriginAccessControlOriginType": "s3", "SigningProtocol": "sigv4", "SigningBehavior": "` + signing + `"}}`
	}
	life{
		typ: "AWS::CloudFront::OriginAccessControl",
		steps: []step{
			{"create", config(`"Description": "d", `, "always"), seen, []string{"Shop-Access", "d", "always"}},
			{"change", config(`"Description": "e", `, "never"), seen, []string{"Shop-Access", "e", "never"}},
			{"remove", config(``, "never"), seen, []string{"Shop-Access", "", "never"}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := get(ctx, id); return err },
		noRead: true,
	}.run(t, s)
}

//lint:file-ignore SA1019 templates may have the settings that CloudFront calls deprecated

package awssdk

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront/types"

	"github.com/org/cdkd-action/engine/provider"
)

// distributionNames are the properties that are called, or stand, otherwise in
// the API. Its lists say their length; completeDistribution counts those that
// have more in them than that.
var distributionNames = provider.Rename{
	"DistributionConfig.IPV6Enabled":                           "IsIPV6Enabled",
	"DistributionConfig.Origins.OriginCustomHeaders":           "CustomHeaders",
	"DistributionConfig.Restrictions.GeoRestriction.Locations": "Items",
	"DistributionConfig.DefaultCacheBehavior.AllowedMethods":   "AllowedMethods.Items",
	"DistributionConfig.DefaultCacheBehavior.CachedMethods":    "AllowedMethods.CachedMethods",
	"DistributionConfig.DefaultCacheBehavior.TrustedKeyGroups": "TrustedKeyGroups.Items",
	"DistributionConfig.DefaultCacheBehavior.TrustedSigners":   "TrustedSigners.Items",
	"DistributionConfig.CacheBehaviors.AllowedMethods":         "AllowedMethods.Items",
	"DistributionConfig.CacheBehaviors.CachedMethods":          "AllowedMethods.CachedMethods",
	"DistributionConfig.CacheBehaviors.TrustedKeyGroups":       "TrustedKeyGroups.Items",
	"DistributionConfig.CacheBehaviors.TrustedSigners":         "TrustedSigners.Items",
}

// completeDistribution counts lists, and says what a template left out: an
// update replaces the configuration as a whole, and refuses one that leaves
// out what the distribution has.
func completeDistribution(c *types.DistributionConfig) {
	orElse(&c.Comment, "")
	if g := c.Restrictions; g != nil && g.GeoRestriction != nil {
		g.GeoRestriction.Quantity = count32(g.GeoRestriction.Items)
	}
	if c.Logging != nil {
		orElse(&c.Logging.Enabled, true)
		orElse(&c.Logging.IncludeCookies, false)
		orElse(&c.Logging.Bucket, "")
		orElse(&c.Logging.Prefix, "")
	}
	// A distribution of tenants refuses much of what others have.
	single := c.ConnectionMode != types.ConnectionModeTenantOnly
	if c.DefaultCacheBehavior != nil {
		completeBehavior((*behavior)(c.DefaultCacheBehavior), single)
	}
	if c.CacheBehaviors != nil {
		for i := range c.CacheBehaviors.Items {
			b := &c.CacheBehaviors.Items[i]
			same := ofCacheBehavior(b)
			completeBehavior(same, single)
			b.AllowedMethods, b.TrustedKeyGroups, b.TrustedSigners = same.AllowedMethods, same.TrustedKeyGroups, same.TrustedSigners
			b.ForwardedValues, b.MinTTL, b.SmoothStreaming, b.Compress = same.ForwardedValues, same.MinTTL, same.SmoothStreaming, same.Compress
			b.LambdaFunctionAssociations, b.FunctionAssociations = same.LambdaFunctionAssociations, same.FunctionAssociations
			b.FieldLevelEncryptionId = same.FieldLevelEncryptionId
		}
	}
	if c.Origins != nil {
		for i := range c.Origins.Items {
			completeOrigin(&c.Origins.Items[i])
		}
	}
	if !single {
		return
	}
	orElse(&c.Aliases, types.Aliases{Quantity: aws.Int32(0)})
	orElse(&c.CacheBehaviors, types.CacheBehaviors{Quantity: aws.Int32(0)})
	orElse(&c.CustomErrorResponses, types.CustomErrorResponses{Quantity: aws.Int32(0)})
	orElse(&c.OriginGroups, types.OriginGroups{Quantity: aws.Int32(0)})
	orElse(&c.DefaultRootObject, "")
	orElse(&c.IsIPV6Enabled, false)
	orElse(&c.WebACLId, "")
	orElse(&c.Logging, types.LoggingConfig{
		Enabled: aws.Bool(false), IncludeCookies: aws.Bool(false), Bucket: aws.String(""), Prefix: aws.String(""),
	})
	orElse(&c.Restrictions, types.Restrictions{GeoRestriction: &types.GeoRestriction{
		RestrictionType: types.GeoRestrictionTypeNone, Quantity: aws.Int32(0),
	}})
	orElse(&c.ViewerCertificate, types.ViewerCertificate{CloudFrontDefaultCertificate: aws.Bool(true)})
	if c.PriceClass == "" {
		c.PriceClass = types.PriceClassPriceClassAll
	}
	if c.HttpVersion == "" {
		c.HttpVersion = types.HttpVersionHttp11 // as CloudFormation has it
	}
}

// A behavior is what the default behavior and those for a path have in common.
type behavior types.DefaultCacheBehavior

func ofCacheBehavior(b *types.CacheBehavior) *behavior {
	return &behavior{
		AllowedMethods: b.AllowedMethods, TrustedKeyGroups: b.TrustedKeyGroups, TrustedSigners: b.TrustedSigners,
		ForwardedValues: b.ForwardedValues, MinTTL: b.MinTTL, SmoothStreaming: b.SmoothStreaming, Compress: b.Compress,
		LambdaFunctionAssociations: b.LambdaFunctionAssociations, FunctionAssociations: b.FunctionAssociations,
		FieldLevelEncryptionId: b.FieldLevelEncryptionId,
	}
}

func completeBehavior(b *behavior, single bool) {
	if single {
		orElse(&b.AllowedMethods, types.AllowedMethods{})
		orElse(&b.TrustedSigners, types.TrustedSigners{})
		orElse(&b.SmoothStreaming, false)
	}
	if m := b.AllowedMethods; m != nil {
		reads := []types.Method{types.MethodHead, types.MethodGet}
		if m.Items == nil {
			m.Items = reads
		}
		m.Quantity = count32(m.Items)
		orElse(&m.CachedMethods, types.CachedMethods{Items: reads, Quantity: count32(reads)})
	}
	if s := b.TrustedSigners; s != nil {
		s.Enabled, s.Quantity = aws.Bool(len(s.Items) > 0), count32(s.Items)
	}
	orElse(&b.TrustedKeyGroups, types.TrustedKeyGroups{})
	b.TrustedKeyGroups.Enabled, b.TrustedKeyGroups.Quantity = aws.Bool(len(b.TrustedKeyGroups.Items) > 0), count32(b.TrustedKeyGroups.Items)
	orElse(&b.Compress, false)
	orElse(&b.LambdaFunctionAssociations, types.LambdaFunctionAssociations{Quantity: aws.Int32(0)})
	orElse(&b.FunctionAssociations, types.FunctionAssociations{Quantity: aws.Int32(0)})
	orElse(&b.FieldLevelEncryptionId, "")
	if f := b.ForwardedValues; f != nil { // what there was before cache policies
		orElse(&f.QueryString, false)
		orElse(&f.Cookies, types.CookiePreference{Forward: types.ItemSelectionNone})
		orElse(&b.MinTTL, int64(0))
	}
}

func completeOrigin(o *types.Origin) {
	orElse(&o.OriginPath, "")
	orElse(&o.CustomHeaders, types.CustomHeaders{Quantity: aws.Int32(0)})
	orElse(&o.ConnectionAttempts, int32(3))
	orElse(&o.ConnectionTimeout, int32(10))
	orElse(&o.OriginAccessControlId, "")
	if s := o.OriginShield; s == nil {
		o.OriginShield = &types.OriginShield{Enabled: aws.Bool(false)}
	}
	if s := o.S3OriginConfig; s != nil {
		orElse(&s.OriginAccessIdentity, "")
	}
	if s := o.CustomOriginConfig; s != nil {
		orElse(&s.HTTPPort, int32(80))
		orElse(&s.HTTPSPort, int32(443))
		orElse(&s.OriginKeepaliveTimeout, int32(5))
		orElse(&s.OriginReadTimeout, int32(30))
	}
}

// carryOver takes what has no default that is known from the configuration
// that is there: whom a distribution was made for, and how it talks to origins.
func carryOver(c, now *types.DistributionConfig) {
	c.CallerReference = now.CallerReference
	if c.Origins == nil || now.Origins == nil {
		return
	}
	for i := range c.Origins.Items {
		o := &c.Origins.Items[i]
		for _, was := range now.Origins.Items {
			if o.CustomOriginConfig != nil && was.CustomOriginConfig != nil && aws.ToString(o.Id) == aws.ToString(was.Id) &&
				o.CustomOriginConfig.OriginSslProtocols == nil {
				o.CustomOriginConfig.OriginSslProtocols = was.CustomOriginConfig.OriginSslProtocols
			}
		}
	}
}

// orElse sets what is not there.
func orElse[T any](p **T, otherwise T) {
	if *p == nil {
		*p = &otherwise
	}
}

func count32[T any](list []T) *int32 { return aws.Int32(int32(len(list))) }

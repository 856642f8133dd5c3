package awssdk

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// bucketParts are the configurations of a bucket, one satellite each. What a
// removed one is set to is what a new bucket has.
func bucketParts() []provider.Satellite {
	parts := []provider.Satellite{
		bucketPart("AccelerateConfiguration", (*s3.Client).PutBucketAccelerateConfiguration,
			resetTo((*s3.Client).PutBucketAccelerateConfiguration, func(b *string) *s3.PutBucketAccelerateConfigurationInput {
				return &s3.PutBucketAccelerateConfigurationInput{Bucket: b, AccelerateConfiguration: &types.AccelerateConfiguration{Status: types.BucketAccelerateStatusSuspended}}
			}),
			provider.Rename{"AccelerateConfiguration.AccelerationStatus": "Status"}),
		bucketPart("BucketEncryption", (*s3.Client).PutBucketEncryption,
			resetTo((*s3.Client).DeleteBucketEncryption, func(b *string) *s3.DeleteBucketEncryptionInput { return &s3.DeleteBucketEncryptionInput{Bucket: b} }),
			provider.Rename{"BucketEncryption": "ServerSideEncryptionConfiguration"},
			provider.Rewrite[types.ServerSideEncryptionConfiguration]("BucketEncryption", encryptionConfiguration)),
		bucketPart("CorsConfiguration", (*s3.Client).PutBucketCors,
			resetTo((*s3.Client).DeleteBucketCors, func(b *string) *s3.DeleteBucketCorsInput { return &s3.DeleteBucketCorsInput{Bucket: b} }),
			provider.Rewrite[types.CORSConfiguration]("CorsConfiguration", corsConfiguration)),
		bucketPart("LifecycleConfiguration", (*s3.Client).PutBucketLifecycleConfiguration,
			resetTo((*s3.Client).DeleteBucketLifecycle, func(b *string) *s3.DeleteBucketLifecycleInput { return &s3.DeleteBucketLifecycleInput{Bucket: b} }),
			provider.Rewrite[types.BucketLifecycleConfiguration]("LifecycleConfiguration", lifecycleConfiguration),
			provider.Finish(func(r *provider.Request, in *s3.PutBucketLifecycleConfigurationInput) error {
				size := text(r.Properties.Object("LifecycleConfiguration"), "TransitionDefaultMinimumObjectSize")
				in.TransitionDefaultMinimumObjectSize = types.TransitionDefaultMinimumObjectSize(size)
				return nil
			})),
		bucketPart("LoggingConfiguration", (*s3.Client).PutBucketLogging,
			resetTo((*s3.Client).PutBucketLogging, func(b *string) *s3.PutBucketLoggingInput {
				return &s3.PutBucketLoggingInput{Bucket: b, BucketLoggingStatus: &types.BucketLoggingStatus{}}
			}),
			provider.Rename{"LoggingConfiguration": "BucketLoggingStatus"},
			provider.Rewrite[types.BucketLoggingStatus]("LoggingConfiguration", loggingStatus),
			provider.Finish(func(r *provider.Request, in *s3.PutBucketLoggingInput) error {
				if l := in.BucketLoggingStatus.LoggingEnabled; l != nil && l.TargetBucket == nil {
					l.TargetBucket = &r.PhysicalID // a bucket logs to itself unless told otherwise
				}
				return nil
			})),
		bucketPart("NotificationConfiguration", (*s3.Client).PutBucketNotificationConfiguration,
			resetTo((*s3.Client).PutBucketNotificationConfiguration, func(b *string) *s3.PutBucketNotificationConfigurationInput {
				return &s3.PutBucketNotificationConfigurationInput{Bucket: b, NotificationConfiguration: &types.NotificationConfiguration{}}
			}),
			provider.Rewrite[types.NotificationConfiguration]("NotificationConfiguration", notificationConfiguration)),
		bucketPart("ObjectLockConfiguration", (*s3.Client).PutObjectLockConfiguration,
			resetTo((*s3.Client).PutObjectLockConfiguration, func(b *string) *s3.PutObjectLockConfigurationInput {
				return &s3.PutObjectLockConfigurationInput{Bucket: b, ObjectLockConfiguration: &types.ObjectLockConfiguration{ObjectLockEnabled: types.ObjectLockEnabledEnabled}}
			})),
		bucketPart("OwnershipControls", (*s3.Client).PutBucketOwnershipControls,
			resetTo((*s3.Client).DeleteBucketOwnershipControls, func(b *string) *s3.DeleteBucketOwnershipControlsInput {
				return &s3.DeleteBucketOwnershipControlsInput{Bucket: b}
			})),
		bucketPart("PublicAccessBlockConfiguration", (*s3.Client).PutPublicAccessBlock,
			resetTo((*s3.Client).PutPublicAccessBlock, func(b *string) *s3.PutPublicAccessBlockInput {
				on := aws.Bool(true)
				return &s3.PutPublicAccessBlockInput{Bucket: b, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
					BlockPublicAcls: on, BlockPublicPolicy: on, IgnorePublicAcls: on, RestrictPublicBuckets: on,
				}}
			})),
		bucketPart("ReplicationConfiguration", (*s3.Client).PutBucketReplication,
			resetTo((*s3.Client).DeleteBucketReplication, func(b *string) *s3.DeleteBucketReplicationInput { return &s3.DeleteBucketReplicationInput{Bucket: b} }),
			provider.Rewrite[types.ReplicationConfiguration]("ReplicationConfiguration", replicationConfiguration)),
		bucketPart("VersioningConfiguration", (*s3.Client).PutBucketVersioning,
			resetTo((*s3.Client).PutBucketVersioning, func(b *string) *s3.PutBucketVersioningInput {
				return &s3.PutBucketVersioningInput{Bucket: b, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusSuspended}}
			})),
		bucketPart("WebsiteConfiguration", (*s3.Client).PutBucketWebsite,
			resetTo((*s3.Client).DeleteBucketWebsite, func(b *string) *s3.DeleteBucketWebsiteInput { return &s3.DeleteBucketWebsiteInput{Bucket: b} }),
			provider.Rewrite[types.WebsiteConfiguration]("WebsiteConfiguration", websiteConfiguration)),
		{Properties: []string{"AbacStatus"}, Put: putAbac},
		{Properties: []string{"AccessControl"}, Put: putACL},
		bucketList("AnalyticsConfigurations", provider.Shape[types.AnalyticsConfiguration](analyticsConfiguration, provider.Custom("Filter", analyticsFilter)),
			func(ctx context.Context, c *s3.Client, b, id string, v types.AnalyticsConfiguration) error {
				_, err := c.PutBucketAnalyticsConfiguration(ctx, &s3.PutBucketAnalyticsConfigurationInput{Bucket: &b, Id: &id, AnalyticsConfiguration: &v})
				return err
			},
			func(ctx context.Context, c *s3.Client, b, id string) error {
				_, err := c.DeleteBucketAnalyticsConfiguration(ctx, &s3.DeleteBucketAnalyticsConfigurationInput{Bucket: &b, Id: &id})
				return err
			}),
		bucketList("IntelligentTieringConfigurations", provider.Shape[types.IntelligentTieringConfiguration](intelligentTieringConfiguration),
			func(ctx context.Context, c *s3.Client, b, id string, v types.IntelligentTieringConfiguration) error {
				_, err := c.PutBucketIntelligentTieringConfiguration(ctx, &s3.PutBucketIntelligentTieringConfigurationInput{Bucket: &b, Id: &id, IntelligentTieringConfiguration: &v})
				return err
			},
			func(ctx context.Context, c *s3.Client, b, id string) error {
				_, err := c.DeleteBucketIntelligentTieringConfiguration(ctx, &s3.DeleteBucketIntelligentTieringConfigurationInput{Bucket: &b, Id: &id})
				return err
			}),
		bucketList("InventoryConfigurations", provider.Shape[types.InventoryConfiguration](inventoryConfiguration),
			func(ctx context.Context, c *s3.Client, b, id string, v types.InventoryConfiguration) error {
				_, err := c.PutBucketInventoryConfiguration(ctx, &s3.PutBucketInventoryConfigurationInput{Bucket: &b, Id: &id, InventoryConfiguration: &v})
				return err
			},
			func(ctx context.Context, c *s3.Client, b, id string) error {
				_, err := c.DeleteBucketInventoryConfiguration(ctx, &s3.DeleteBucketInventoryConfigurationInput{Bucket: &b, Id: &id})
				return err
			}),
		bucketList("MetricsConfigurations", provider.Shape[types.MetricsConfiguration](metricsConfiguration, provider.Custom("Filter", metricsFilter)),
			func(ctx context.Context, c *s3.Client, b, id string, v types.MetricsConfiguration) error {
				_, err := c.PutBucketMetricsConfiguration(ctx, &s3.PutBucketMetricsConfigurationInput{Bucket: &b, Id: &id, MetricsConfiguration: &v})
				return err
			},
			func(ctx context.Context, c *s3.Client, b, id string) error {
				_, err := c.DeleteBucketMetricsConfiguration(ctx, &s3.DeleteBucketMetricsConfigurationInput{Bucket: &b, Id: &id})
				return err
			}),
	}
	after := map[string][]string{
		"AccessControl":            {"OwnershipControls", "PublicAccessBlockConfiguration"},
		"LifecycleConfiguration":   {"VersioningConfiguration"},
		"LoggingConfiguration":     {"AccessControl"}, // by which a bucket may log to itself
		"ObjectLockConfiguration":  {"VersioningConfiguration"},
		"ReplicationConfiguration": {"VersioningConfiguration"},
	}
	for i := range parts {
		parts[i].After = after[parts[i].Properties[0]]
	}
	return parts
}

// bucketPart is the satellite of a configuration that one call writes whole.
func bucketPart[In, Out any](property string, put provider.Operation[s3.Client, In, Out, s3.Options],
	reset func(context.Context, *provider.Request) error, opts ...provider.Option) provider.Satellite {
	in := provider.Bind[In](append(opts, provider.ID("Bucket"), provider.Only(property))...)
	return provider.Satellite{Properties: []string{property}, Input: in, Put: provider.Call(S3Client, put, in), Reset: reset}
}

// resetTo sends the input that undoes a configuration.
func resetTo[In, Out any](op provider.Operation[s3.Client, In, Out, s3.Options], input func(bucket *string) *In) func(context.Context, *provider.Request) error {
	return func(ctx context.Context, r *provider.Request) error {
		_, err := op(S3Client(r.Session), ctx, input(&r.PhysicalID))
		return err
	}
}

// bucketList is the satellite of a list whose elements have an Id and calls of
// their own.
func bucketList[T any](property string, shape func(any) (T, error),
	put func(ctx context.Context, c *s3.Client, bucket, id string, v T) error,
	remove func(ctx context.Context, c *s3.Client, bucket, id string) error) provider.Satellite {
	return provider.Members(property, provider.Key("Id"),
		func(ctx context.Context, r *provider.Request, element any) error {
			o, _ := element.(*value.Object)
			v, err := shape(element)
			if err != nil {
				return err
			}
			return put(ctx, S3Client(r.Session), r.PhysicalID, text(o, "Id"), v)
		},
		func(ctx context.Context, r *provider.Request, element any) error {
			o, _ := element.(*value.Object)
			return remove(ctx, S3Client(r.Session), r.PhysicalID, text(o, "Id"))
		})
}

func putAbac(ctx context.Context, r *provider.Request) error {
	status := types.BucketAbacStatus(text(r.Properties, "AbacStatus"))
	if status == "" {
		status = types.BucketAbacStatusDisabled
	}
	_, err := S3Client(r.Session).PutBucketAbac(ctx, &s3.PutBucketAbacInput{Bucket: &r.PhysicalID, AbacStatus: &types.AbacStatus{Status: status}})
	return err
}

// putACL writes a canned ACL. A new bucket is private, and mostly refuses to
// be told.
func putACL(ctx context.Context, r *provider.Request) error {
	acl := cannedACL(text(r.Properties, "AccessControl"))
	if acl == types.BucketCannedACLPrivate && r.Previous == nil {
		return nil
	}
	_, err := S3Client(r.Session).PutBucketAcl(ctx, &s3.PutBucketAclInput{Bucket: &r.PhysicalID, ACL: acl})
	return err
}

// cannedACL spells AccessControl as the API does: LogDeliveryWrite is
// log-delivery-write.
func cannedACL(name string) types.BucketCannedACL {
	if name == "" {
		return types.BucketCannedACLPrivate
	}
	var b strings.Builder
	for i, c := range name {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteRune(c)
	}
	return types.BucketCannedACL(strings.ToLower(b.String()))
}

var (
	s3Tag           = provider.Shape[types.Tag](asIs)
	analyticsAnd    = provider.Shape[types.AnalyticsAndOperator](asIs)
	metricsAnd      = provider.Shape[types.MetricsAndOperator](asIs)
	errOtherFilters = errors.New("a filter takes Prefix, TagFilters and, for metrics, AccessPointArn")
)

func asIs(v any) any { return v }

// The filters of these two are unions in the SDK.

func analyticsFilter(v any) (types.AnalyticsFilter, error) {
	o, _ := v.(*value.Object)
	switch kind, member, _ := o.Sole(); kind {
	case "Prefix":
		return &types.AnalyticsFilterMemberPrefix{Value: text(o, "Prefix")}, nil
	case "Tag":
		tag, err := s3Tag(member)
		return &types.AnalyticsFilterMemberTag{Value: tag}, err
	case "And":
		and, err := analyticsAnd(member)
		return &types.AnalyticsFilterMemberAnd{Value: and}, err
	}
	return nil, errOtherFilters
}

func metricsFilter(v any) (types.MetricsFilter, error) {
	o, _ := v.(*value.Object)
	switch kind, member, _ := o.Sole(); kind {
	case "Prefix":
		return &types.MetricsFilterMemberPrefix{Value: text(o, "Prefix")}, nil
	case "AccessPointArn":
		return &types.MetricsFilterMemberAccessPointArn{Value: text(o, "AccessPointArn")}, nil
	case "Tag":
		tag, err := s3Tag(member)
		return &types.MetricsFilterMemberTag{Value: tag}, err
	case "And":
		and, err := metricsAnd(member)
		return &types.MetricsFilterMemberAnd{Value: and}, err
	}
	return nil, errOtherFilters
}

package s3_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
)

// What a bucket without a setting answers, for each.
func TestAbsentDocuments(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	b, id := aws.String("b-1"), aws.String("i")
	for name, tc := range map[string]struct {
		ask  func(context.Context) error
		want string
	}{
		"policy": {func(ctx context.Context) error {
			_, err := c.GetBucketPolicy(ctx, &awss3.GetBucketPolicyInput{Bucket: b})
			return err
		}, "404 NoSuchBucketPolicy"},
		"tagging": {func(ctx context.Context) error {
			_, err := c.GetBucketTagging(ctx, &awss3.GetBucketTaggingInput{Bucket: b})
			return err
		}, "404 NoSuchTagSet"},
		"cors": {func(ctx context.Context) error {
			_, err := c.GetBucketCors(ctx, &awss3.GetBucketCorsInput{Bucket: b})
			return err
		}, "404 NoSuchCORSConfiguration"},
		"lifecycle": {func(ctx context.Context) error {
			_, err := c.GetBucketLifecycleConfiguration(ctx, &awss3.GetBucketLifecycleConfigurationInput{Bucket: b})
			return err
		}, "404 NoSuchLifecycleConfiguration"},
		"website": {func(ctx context.Context) error {
			_, err := c.GetBucketWebsite(ctx, &awss3.GetBucketWebsiteInput{Bucket: b})
			return err
		}, "404 NoSuchWebsiteConfiguration"},
		"replication": {func(ctx context.Context) error {
			_, err := c.GetBucketReplication(ctx, &awss3.GetBucketReplicationInput{Bucket: b})
			return err
		}, "404 ReplicationConfigurationNotFoundError"},
		"object lock": {func(ctx context.Context) error {
			_, err := c.GetObjectLockConfiguration(ctx, &awss3.GetObjectLockConfigurationInput{Bucket: b})
			return err
		}, "404 ObjectLockConfigurationNotFoundError"},
		"metrics": {func(ctx context.Context) error {
			_, err := c.GetBucketMetricsConfiguration(ctx, &awss3.GetBucketMetricsConfigurationInput{Bucket: b, Id: id})
			return err
		}, "404 NoSuchConfiguration"},
		// These have a default.
		"encryption": {func(ctx context.Context) error {
			_, err := c.GetBucketEncryption(ctx, &awss3.GetBucketEncryptionInput{Bucket: b})
			return err
		}, "ok"},
		"public": {func(ctx context.Context) error {
			_, err := c.GetPublicAccessBlock(ctx, &awss3.GetPublicAccessBlockInput{Bucket: b})
			return err
		}, "ok"},
		"ownership": {func(ctx context.Context) error {
			_, err := c.GetBucketOwnershipControls(ctx, &awss3.GetBucketOwnershipControlsInput{Bucket: b})
			return err
		}, "ok"},
		"acl": {func(ctx context.Context) error {
			_, err := c.GetBucketAcl(ctx, &awss3.GetBucketAclInput{Bucket: b})
			return err
		}, "ok"},
		"notification": {func(ctx context.Context) error {
			_, err := c.GetBucketNotificationConfiguration(ctx, &awss3.GetBucketNotificationConfigurationInput{Bucket: b})
			return err
		}, "ok"},
		"logging": {func(ctx context.Context) error {
			_, err := c.GetBucketLogging(ctx, &awss3.GetBucketLoggingInput{Bucket: b})
			return err
		}, "ok"},
		"versioning": {func(ctx context.Context) error {
			_, err := c.GetBucketVersioning(ctx, &awss3.GetBucketVersioningInput{Bucket: b})
			return err
		}, "ok"},
		"accelerate": {func(ctx context.Context) error {
			_, err := c.GetBucketAccelerateConfiguration(ctx, &awss3.GetBucketAccelerateConfigurationInput{Bucket: b})
			return err
		}, "ok"},
	} {
		t.Run(name, func(t *testing.T) { want(t, name, tc.ask(t.Context()), tc.want) })
	}
}

func TestDocuments(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	ctx, b := t.Context(), aws.String("b-1")

	policy := `{"Version":"2012-10-17","Statement":[{"Sid":"DenyExternalAccess"}]}`
	_, err := c.PutBucketPolicy(ctx, &awss3.PutBucketPolicyInput{Bucket: b, Policy: &policy})
	want(t, "put policy", err, "ok")
	if out, err := c.GetBucketPolicy(ctx, &awss3.GetBucketPolicyInput{Bucket: b}); err != nil || *out.Policy != policy {
		t.Errorf("policy: %v, %v", out, err)
	}
	_, err = c.PutBucketPolicy(ctx, &awss3.PutBucketPolicyInput{Bucket: b, Policy: aws.String("not JSON")})
	want(t, "put of a bad policy", err, "400 MalformedPolicy")

	tags := []types.Tag{{Key: aws.String("a"), Value: aws.String("<1>")}}
	_, err = c.PutBucketTagging(ctx, &awss3.PutBucketTaggingInput{Bucket: b, Tagging: &types.Tagging{TagSet: tags}})
	want(t, "put tags", err, "ok")
	if out, err := c.GetBucketTagging(ctx, &awss3.GetBucketTaggingInput{Bucket: b}); err != nil || len(out.TagSet) != 1 || *out.TagSet[0].Value != "<1>" {
		t.Errorf("tags: %v, %v", out, err)
	}
	_, err = c.PutBucketTagging(ctx, &awss3.PutBucketTaggingInput{Bucket: b, Tagging: &types.Tagging{TagSet: append(tags, tags...)}})
	want(t, "put of the same tag twice", err, "400 InvalidTag")
	_, err = c.DeleteBucketTagging(ctx, &awss3.DeleteBucketTaggingInput{Bucket: b})
	want(t, "delete tags", err, "ok")

	for _, id := range []string{"two", "one"} {
		_, err = c.PutBucketMetricsConfiguration(ctx, &awss3.PutBucketMetricsConfigurationInput{Bucket: b, Id: &id, MetricsConfiguration: &types.MetricsConfiguration{Id: &id}})
		want(t, "put metrics", err, "ok")
	}
	list, err := c.ListBucketMetricsConfigurations(ctx, &awss3.ListBucketMetricsConfigurationsInput{Bucket: b})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range list.MetricsConfigurationList {
		ids = append(ids, *m.Id)
	}
	if diff := cmp.Diff([]string{"one", "two"}, ids); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}

	notify := &types.NotificationConfiguration{EventBridgeConfiguration: &types.EventBridgeConfiguration{}}
	_, err = c.PutBucketNotificationConfiguration(ctx, &awss3.PutBucketNotificationConfigurationInput{Bucket: b, NotificationConfiguration: notify})
	want(t, "put notification", err, "ok")
	if out, err := c.GetBucketNotificationConfiguration(ctx, &awss3.GetBucketNotificationConfigurationInput{Bucket: b}); err != nil || out.EventBridgeConfiguration == nil {
		t.Errorf("notification: %v, %v", out, err)
	}

	_, err = c.CreateBucketMetadataTableConfiguration(ctx, &awss3.CreateBucketMetadataTableConfigurationInput{Bucket: b, MetadataTableConfiguration: &types.MetadataTableConfiguration{
		S3TablesDestination: &types.S3TablesDestination{TableBucketArn: b, TableName: b},
	}})
	want(t, "what is not implemented says so", err, "501 NotImplemented")
}

// A bucket takes ACLs once its owner does not own everything in it.
func TestACLNeedsOwnershipControls(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	put := func() error {
		_, err := c.PutBucketAcl(t.Context(), &awss3.PutBucketAclInput{Bucket: aws.String("b-1"), ACL: types.BucketCannedACL("log-delivery-write")})
		return err
	}
	want(t, "put an ACL", put(), "400 AccessControlListNotSupported")
	_, err := c.PutBucketOwnershipControls(t.Context(), &awss3.PutBucketOwnershipControlsInput{
		Bucket:            aws.String("b-1"),
		OwnershipControls: &types.OwnershipControls{Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipObjectWriter}}},
	})
	want(t, "put ownership controls", err, "ok")
	want(t, "put an ACL", put(), "ok")
}

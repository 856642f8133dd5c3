package awssdk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

// bucketSeen describes a bucket's configurations in a line each.
func bucketSeen(c *s3.Client) func(context.Context, string) (any, error) {
	return func(ctx context.Context, name string) (any, error) {
		got := map[string]string{}
		b := &name
		if o, err := c.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: b}); err != nil {
			return nil, err
		} else if o.Status != "" {
			got["versioning"] = string(o.Status)
		}
		if o, err := c.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: b}); err == nil {
			r := o.ServerSideEncryptionConfiguration.Rules[0]
			got["encryption"] = fmt.Sprint(r.ApplyServerSideEncryptionByDefault.SSEAlgorithm, " ", aws.ToBool(r.BucketKeyEnabled))
		}
		if o, err := c.GetBucketCors(ctx, &s3.GetBucketCorsInput{Bucket: b}); err == nil {
			r := o.CORSRules[0]
			got["cors"] = fmt.Sprint(r.AllowedMethods, r.ExposeHeaders, aws.ToInt32(r.MaxAgeSeconds))
		}
		if o, err := c.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: b}); err == nil {
			for _, r := range o.Rules {
				got["lifecycle "+aws.ToString(r.ID)] = lifecycleSeen(r)
			}
		}
		if o, err := c.GetBucketNotificationConfiguration(ctx, &s3.GetBucketNotificationConfigurationInput{Bucket: b}); err == nil {
			for _, q := range o.QueueConfigurations {
				got["notify"] = fmt.Sprint(lastSegment(*q.QueueArn, ":"), q.Events, aws.ToString(q.Filter.Key.FilterRules[0].Value))
			}
		}
		if o, err := c.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: b}); err == nil {
			p := o.PublicAccessBlockConfiguration
			got["public"] = fmt.Sprint(aws.ToBool(p.BlockPublicAcls), aws.ToBool(p.BlockPublicPolicy))
		}
		if o, err := c.GetBucketOwnershipControls(ctx, &s3.GetBucketOwnershipControlsInput{Bucket: b}); err == nil {
			got["ownership"] = string(o.OwnershipControls.Rules[0].ObjectOwnership)
		}
		if o, err := c.GetBucketWebsite(ctx, &s3.GetBucketWebsiteInput{Bucket: b}); err == nil {
			got["website"] = fmt.Sprint(aws.ToString(o.IndexDocument.Suffix), " ", aws.ToString(o.ErrorDocument.Key))
		}
		if o, err := c.GetBucketAccelerateConfiguration(ctx, &s3.GetBucketAccelerateConfigurationInput{Bucket: b}); err == nil && o.Status != "" {
			got["accelerate"] = string(o.Status)
		}
		if o, err := c.GetBucketLogging(ctx, &s3.GetBucketLoggingInput{Bucket: b}); err == nil && o.LoggingEnabled != nil {
			got["logging"] = aws.ToString(o.LoggingEnabled.TargetBucket) + "/" + aws.ToString(o.LoggingEnabled.TargetPrefix)
		}
		if o, err := c.ListBucketInventoryConfigurations(ctx, &s3.ListBucketInventoryConfigurationsInput{Bucket: b}); err == nil {
			for _, i := range o.InventoryConfigurationList {
				got["inventory "+*i.Id] = fmt.Sprint(i.Schedule.Frequency, " ", *i.Destination.S3BucketDestination.Bucket)
			}
		}
		if o, err := c.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: b}); err == nil {
			for _, t := range o.TagSet {
				if *t.Key != provider.OwnerTagKey {
					got["tag "+*t.Key] = *t.Value
				}
			}
		}
		return got, nil
	}
}

func lifecycleSeen(r types.LifecycleRule) string {
	var b strings.Builder
	fmt.Fprint(&b, r.Status)
	if e := r.Expiration; e != nil {
		fmt.Fprint(&b, " expires ", aws.ToInt32(e.Days))
	}
	for _, tr := range r.Transitions {
		fmt.Fprint(&b, " ", tr.StorageClass, " ", aws.ToInt32(tr.Days))
	}
	if n := r.NoncurrentVersionExpiration; n != nil {
		fmt.Fprint(&b, " noncurrent ", aws.ToInt32(n.NoncurrentDays))
	}
	if f := r.Filter; f != nil && f.And != nil {
		fmt.Fprint(&b, " and ", aws.ToString(f.And.Prefix), len(f.And.Tags))
	} else if f != nil {
		fmt.Fprint(&b, " prefix ", aws.ToString(f.Prefix))
	}
	return b.String()
}

func TestBucket(t *testing.T) {
	s := emulated(t)
	c := S3Client(s)
	if _, err := sqs.NewFromConfig(s.Config).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("shop-bucket-events")}); err != nil {
		t.Fatal(err)
	}
	full := `{
		"VersioningConfiguration": {"Status": "Enabled"},
		"BucketEncryption": {"ServerSideEncryptionConfiguration": [{"BucketKeyEnabled": "true", "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "k"}}]},
		"CorsConfiguration": {"CorsRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"], "ExposedHeaders": ["x"], "MaxAge": 60}]},
		"LifecycleConfiguration": {"Rules": [
			{"Id": "a", "Status": "Enabled", "ExpirationInDays": 30, "Prefix": "tmp/", "TagFilters": [{"Key": "k", "Value": "v"}], "Transition": {"StorageClass": "GLACIER", "TransitionInDays": 5}},
			{"Id": "b", "Status": "Enabled", "NoncurrentVersionExpiration": {"NoncurrentDays": 7}}]},
		"NotificationConfiguration": {"QueueConfigurations": [{"Event": "s3:ObjectCreated:*", "Queue": "arn:aws:sqs:eu-west-1:123456789012:shop-bucket-events",
			"Filter": {"S3Key": {"Rules": [{"Name": "prefix", "Value": "in/"}]}}}]},
		"OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerPreferred"}]},
		"PublicAccessBlockConfiguration": {"BlockPublicAcls": true, "BlockPublicPolicy": false},
		"WebsiteConfiguration": {"IndexDocument": "index.html", "ErrorDocument": "error.html"},
		"AccelerateConfiguration": {"AccelerationStatus": "Enabled"},
		"LoggingConfiguration": {"LogFilePrefix": "log/"},
		"AccessControl": "Private",
		"InventoryConfigurations": [{"Id": "i", "Enabled": true, "IncludedObjectVersions": "All", "ScheduleFrequency": "Weekly", "Destination": {"BucketArn": "arn:aws:s3:::x", "Format": "CSV"}}],
		"Tags": [{"Key": "a", "Value": "1"}]}`
	life{
		typ: "AWS::S3::Bucket", physical: "shop-bucket", id: "shop-bucket",
		attributes: map[string]string{
			"Arn": "arn:aws:s3:::shop-bucket", "DomainName": "shop-bucket.s3.amazonaws.com",
			"RegionalDomainName":  "shop-bucket.s3.eu-west-1.amazonaws.com",
			"DualStackDomainName": "shop-bucket.s3.dualstack.eu-west-1.amazonaws.com",
			"WebsiteURL":          "http://shop-bucket.s3-website-eu-west-1.amazonaws.com",
		},
		steps: []step{
			{"create", full, bucketSeen(c), map[string]string{
				"versioning": "Enabled", "encryption": "aws:kms true", "cors": "[GET] [x] 60",
				"lifecycle a": "Enabled expires 30 GLACIER 5 and tmp/1", "lifecycle b": "Enabled noncurrent 7 prefix ",
				"notify": "shop-bucket-events[s3:ObjectCreated:*]in/", "ownership": "BucketOwnerPreferred", "public": "true false",
				"website": "index.html error.html", "accelerate": "Enabled", "logging": "shop-bucket/log/", "inventory i": "Weekly arn:aws:s3:::x", "tag a": "1",
			}},
			{"change", `{"VersioningConfiguration": {"Status": "Enabled"}, "CorsConfiguration": {"CorsRules": [{"AllowedMethods": ["PUT"], "AllowedOrigins": ["*"]}]},
				"Tags": [{"Key": "b", "Value": "2"}], "InventoryConfigurations": [{"Id": "j", "Enabled": true, "IncludedObjectVersions": "All", "ScheduleFrequency": "Daily",
				"Destination": {"BucketArn": "arn:aws:s3:::x", "Format": "CSV"}}]}`, bucketSeen(c), map[string]string{
				"encryption": "AES256 false", "versioning": "Enabled", "cors": "[PUT] [] 0", "public": "true true", "accelerate": "Suspended", "tag b": "2", "inventory j": "Daily arn:aws:s3:::x",
			}},
			{"remove", `{}`, bucketSeen(c), map[string]string{
				"encryption": "AES256 false", "versioning": "Suspended", "public": "true true", "accelerate": "Suspended",
			}},
		},
		gone: func(ctx context.Context, name string) error {
			_, err := c.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name})
			return err
		},
		noRead: true,
	}.run(t, s)
}

func TestBucketIsEmptiedOnlyWhenTheAppSaysSo(t *testing.T) {
	s := emulated(t)
	c := S3Client(s)
	d := provider.Drive(describe(t, "AWS::S3::Bucket"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "B", Type: "AWS::S3::Bucket", Name: "shop-full",
		Properties: object(t, `{"VersioningConfiguration": {"Status": "Enabled"}}`)}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	// Its own create sent again finds the bucket there.
	if _, err := d.Create(t.Context(), r); err != nil {
		t.Errorf("create again: %v", err)
	}
	for range 2 {
		if _, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &r.Name, Key: aws.String("k"), Body: strings.NewReader("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &r.Name, Key: aws.String("k")}); err != nil {
		t.Fatal(err)
	}
	r.PhysicalID = made.PhysicalID
	if _, err := d.Delete(t.Context(), r); !provider.HasCode(err, "BucketNotEmpty") {
		t.Fatalf("delete of a full bucket: %v, want BucketNotEmpty", err)
	}
	r.Properties = object(t, `{"Tags": [{"Key": "aws-cdk:auto-delete-objects", "Value": "true"}]}`)
	if _, err := d.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// Who holds a name (S-200).
func TestLookupBucket(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::S3::Bucket"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "B", Type: "AWS::S3::Bucket", Name: "shop-held"}
	if h, err := d.Lookup(t.Context(), r); h != nil || err != nil {
		t.Fatalf("a free name is held: %+v, %v", h, err)
	}
	_, err := S3Client(s).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &r.Name, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := d.Lookup(t.Context(), r); err != nil || h == nil || h.PhysicalID != "shop-held" {
		t.Errorf("holder is %+v, %v, want shop-held", h, err)
	}
}

// A bucket has the tag that proves whose create made it from its first moment,
// and keeps it beside the template's (S-213).
func TestBucketCarriesItsCreatesTag(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::S3::Bucket"), nil)
	for name, properties := range map[string]string{
		"shop-plain":  `{}`,
		"shop-tagged": `{"Tags": [{"Key": "team", "Value": "shop"}]}`,
	} {
		r := &provider.Request{Session: s, Stack: stack, LogicalID: "B", Type: "AWS::S3::Bucket", Name: name, OwnerTag: "mine", Properties: object(t, properties)}
		r.Made = func(provider.Created) {
			if h, err := d.Lookup(t.Context(), r); err != nil || h == nil || h.Tags[provider.OwnerTagKey] != "mine" {
				t.Errorf("%s: as soon as it exists its holder is %+v, %v", name, h, err)
			}
		}
		if _, err := d.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		want := provider.TagMap(r.Properties.Value("Tags"))
		if want == nil {
			want = map[string]string{}
		}
		want[provider.OwnerTagKey] = "mine"
		if h, err := d.Lookup(t.Context(), r); err != nil || cmp.Diff(want, h.Tags) != "" {
			t.Errorf("%s: its tags are %v, %v, want %v", name, h, err, want)
		}
	}
}

func TestBucketPolicy(t *testing.T) {
	s := emulated(t)
	c := S3Client(s)
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("shop-policy"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"}}); err != nil {
		t.Fatal(err)
	}
	props := func(action string) string {
		return `{"Bucket": "shop-policy", "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "` + action + `", "Resource": "arn:aws:s3:::shop-policy/*"}]}}`
	}
	seen := func(ctx context.Context, _ string) (any, error) {
		out, err := c.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: aws.String("shop-policy")})
		if err != nil {
			return nil, err
		}
		return strings.Contains(*out.Policy, "s3:GetObject"), nil
	}
	life{
		typ: "AWS::S3::BucketPolicy", id: "shop-policy",
		steps: []step{{"create", props("s3:GetObject"), seen, true}, {"change", props("s3:PutObject"), seen, false}},
		gone:  func(ctx context.Context, _ string) error { _, err := seen(ctx, ""); return err },
	}.run(t, s)
}

func TestCannedACL(t *testing.T) {
	got := []types.BucketCannedACL{cannedACL("LogDeliveryWrite"), cannedACL("AwsExecRead"), cannedACL("Private"), cannedACL("")}
	if diff := cmp.Diff([]types.BucketCannedACL{"log-delivery-write", "aws-exec-read", "private", "private"}, got); diff != "" {
		t.Error(diff)
	}
}

// Filters of these are unions in the SDK, and the emulator does not keep them.
func TestBucketListShapes(t *testing.T) {
	analytics := provider.Shape[types.AnalyticsConfiguration](analyticsConfiguration, provider.Custom("Filter", analyticsFilter))
	a, err := analytics(object(t, `{"Id": "a", "Prefix": "p/", "TagFilters": [{"Key": "k", "Value": "v"}],
		"StorageClassAnalysis": {"DataExport": {"OutputSchemaVersion": "V_1", "Destination": {"BucketArn": "arn:b", "Format": "CSV"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	and, ok := a.Filter.(*types.AnalyticsFilterMemberAnd)
	if !ok || *and.Value.Prefix != "p/" || *and.Value.Tags[0].Key != "k" {
		t.Errorf("analytics filter is %+v", a.Filter)
	}
	if b := a.StorageClassAnalysis.DataExport.Destination.S3BucketDestination.Bucket; aws.ToString(b) != "arn:b" {
		t.Errorf("analytics destination is %v", b)
	}
	metrics := provider.Shape[types.MetricsConfiguration](metricsConfiguration, provider.Custom("Filter", metricsFilter))
	m, err := metrics(object(t, `{"Id": "m", "AccessPointArn": "arn:ap"}`))
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := m.Filter.(*types.MetricsFilterMemberAccessPointArn); !ok || f.Value != "arn:ap" {
		t.Errorf("metrics filter is %+v", m.Filter)
	}
	if m, err = metrics(object(t, `{"Id": "m"}`)); err != nil || m.Filter != nil {
		t.Errorf("metrics of everything: %+v, %v", m.Filter, err)
	}
	tiering := provider.Shape[types.IntelligentTieringConfiguration](intelligentTieringConfiguration)
	i, err := tiering(object(t, `{"Id": "i", "Status": "Enabled", "TagFilters": [{"Key": "k", "Value": "v"}], "Tierings": [{"AccessTier": "ARCHIVE_ACCESS", "Days": "90"}]}`))
	if err != nil || *i.Filter.Tag.Key != "k" || *i.Tierings[0].Days != 90 {
		t.Errorf("tiering is %+v, %v", i, err)
	}
	_, err = tiering(object(t, `{"Id": "i", "Status": "Enabled", "Tierings": [{"AccessTier": "ARCHIVE_ACCESS", "Days": "soon"}]}`))
	if err == nil || !strings.Contains(err.Error(), "Tierings[0].Days") || strings.Contains(err.Error(), "soon") {
		t.Errorf("error is %v, want one that names the path and not the value", err)
	}
}

func TestReplicationShape(t *testing.T) {
	shape := provider.Shape[types.ReplicationConfiguration](replicationConfiguration)
	got, err := shape(object(t, `{"Role": "r", "Rules": [{"Status": "Enabled", "Priority": 1, "Filter": {"And": {"Prefix": "p", "TagFilters": [{"Key": "k", "Value": "v"}]}},
		"Destination": {"Bucket": "arn:b", "EncryptionConfiguration": {"ReplicaKmsKeyID": "key"}}, "SourceSelectionCriteria": {"SseKmsEncryptedObjects": {"Status": "Enabled"}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	rule := got.Rules[0]
	if *rule.Filter.And.Prefix != "p" || *rule.Filter.And.Tags[0].Value != "v" || rule.DeleteMarkerReplication.Status != "Disabled" ||
		*rule.Destination.EncryptionConfiguration.ReplicaKmsKeyID != "key" || rule.SourceSelectionCriteria.SseKmsEncryptedObjects.Status != "Enabled" {
		t.Errorf("rule is %+v", rule)
	}
}

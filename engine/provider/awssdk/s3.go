package awssdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// S3Client returns the session's S3 client, for every package that needs one:
// a session makes one client a service. It addresses buckets by host name,
// except at an endpoint of the user's own, which rarely has a name for each
// bucket, and repeats what S3 refuses because the configurations of one bucket
// are written side by side.
func S3Client(s *provider.Session) *s3.Client {
	return provider.Client(s, s3.NewFromConfig, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil
		o.Retryer = retry.AddWithErrorCodes(o.Retryer, "OperationAborted")
	})
}

func s3Resources() []provider.Resource { return []provider.Resource{bucket(), bucketPolicy()} }

var bucketGone = []string{"NoSuchBucket", "NotFound"}

var createBucketInput = provider.Bind[s3.CreateBucketInput](
	provider.Rename{"BucketName": "Bucket", "ObjectLockEnabled": "ObjectLockEnabledForBucket"},
	provider.Only("BucketName", "BucketNamespace", "ObjectLockEnabled"),
	provider.Finish(func(r *provider.Request, in *s3.CreateBucketInput) error {
		config := &types.CreateBucketConfiguration{}
		if r.Stack.Region != "us-east-1" { // which has no constraint, by the API's history
			config.LocationConstraint = types.BucketLocationConstraint(r.Stack.Region)
		}
		if r.OwnerTag != "" {
			config.Tags = append([]types.Tag{ownerTag(r.OwnerTag)}, bucketTagSet(provider.TagMap(r.Properties.Value("Tags")))...)
		}
		if config.LocationConstraint != "" || config.Tags != nil {
			in.CreateBucketConfiguration = config
		}
		return nil
	}))

// ownerTag proves whose create it was. The template's own tags are part of that
// call too; a bucket that was there already gets them by putBucketTags.
func ownerTag(create string) types.Tag {
	return types.Tag{Key: aws.String(provider.OwnerTagKey), Value: &create}
}

func bucketTagSet(tags map[string]string) (set []types.Tag) {
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		set = append(set, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return set
}

// putBucketTags replaces all tags that there are. After a create a look tells
// whether that has set them: in us-east-1 a create of a bucket that is there
// already is answered like any other. Such a bucket was there before, and keeps the
// tag of the create that made it.
func putBucketTags(ctx context.Context, r *provider.Request, tags map[string]string) error {
	c := S3Client(r.Session)
	if len(tags) == 0 {
		_, err := c.DeleteBucketTagging(ctx, &s3.DeleteBucketTaggingInput{Bucket: &r.PhysicalID})
		return err
	}
	set := bucketTagSet(tags)
	if r.OwnerTag != "" {
		there, err := bucketTags(ctx, r, r.PhysicalID)
		if err != nil && !provider.AccessDenied(err) {
			return err
		}
		maker, tagged := there[provider.OwnerTagKey]
		if tagged && !mayTake(r, &provider.Holder{Tags: there}) {
			return taken(errors.New("it has the tag of another create"))
		}
		delete(there, provider.OwnerTagKey)
		if maker == r.OwnerTag && maps.Equal(there, tags) {
			return nil
		}
		if tagged {
			set = append(set, ownerTag(maker))
		}
	}
	_, err := c.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{Bucket: &r.PhysicalID, Tagging: &types.Tagging{TagSet: set}})
	return err
}

// autoDelete is the tag by which a CDK app says that the bucket's objects go
// with it.
const autoDelete = "aws-cdk:auto-delete-objects"

// A bucket is known by its name. Each of its configurations has calls of its
// own (see bucketParts).
func bucket() provider.Resource {
	return provider.Resource{
		Type:       "AWS::S3::Bucket",
		Name:       "BucketName",
		Inputs:     []provider.Input{createBucketInput},
		Updates:    []provider.Input{},
		Handled:    []string{"ObjectLockEnabled"}, // the only one that an update changes
		Satellites: append(bucketParts(), bucketMetadata()...),
		Tags: provider.Tags{
			Property: "Tags",
			Set:      putBucketTags,
		},
		// In us-east-1 creating one's own bucket again succeeds, elsewhere it is told.
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			name := text(r.Properties, "BucketName")
			_, err := provider.Invoke(ctx, r, S3Client, (*s3.Client).CreateBucket, createBucketInput)
			if provider.HasCode(err, "BucketAlreadyOwnedByYou") {
				tags, _ := bucketTags(ctx, r, name)
				if !mayTake(r, &provider.Holder{Tags: tags}) {
					return provider.Created{}, taken(err)
				}
			} else if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: name}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			if text(r.Properties, "ObjectLockEnabled") != "true" {
				return provider.Updated{}, &provider.UnsupportedUpdateError{Type: r.Type, LogicalID: r.LogicalID, Properties: d.Properties()}
			}
			_, err := S3Client(r.Session).PutObjectLockConfiguration(ctx, &s3.PutObjectLockConfigurationInput{
				Bucket: &r.PhysicalID, ObjectLockConfiguration: &types.ObjectLockConfiguration{ObjectLockEnabled: types.ObjectLockEnabledEnabled},
			})
			return provider.Updated{}, err
		},
		Delete: deleteBucket,
		Gone:   bucketGone,
		Lookup: lookupBucket,
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			region, suffix := r.Stack.Region, urlSuffix(r)
			return value.NewObject(
				"Arn", fmt.Sprintf("arn:%s:s3:::%s", r.Stack.Partition, name),
				"DomainName", fmt.Sprintf("%s.s3.%s", name, suffix),
				"DualStackDomainName", fmt.Sprintf("%s.s3.dualstack.%s.%s", name, region, suffix),
				"RegionalDomainName", fmt.Sprintf("%s.s3.%s.%s", name, region, suffix),
				"WebsiteURL", fmt.Sprintf("http://%s.s3-website%s%s.%s", name, websiteSeparator(region), region, suffix))
		},
	}
}

// websiteSeparator stands between s3-website and the region: a dash in the
// regions that had websites first.
func websiteSeparator(region string) string {
	switch region {
	case "ap-northeast-1", "ap-southeast-1", "ap-southeast-2", "eu-west-1", "sa-east-1", "us-east-1", "us-gov-west-1", "us-west-1", "us-west-2":
		return "-"
	}
	return "."
}

func lookupBucket(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
	c := S3Client(r.Session)
	_, err := c.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &r.Name})
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		switch answer.HTTPStatusCode() {
		case http.StatusNotFound:
			return nil, nil
		case http.StatusMovedPermanently: // held, in another region
			return &provider.Holder{PhysicalID: r.Name}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	tags, err := bucketTags(ctx, r, r.Name)
	return withTags(&provider.Holder{PhysicalID: r.Name}, tags, err)
}

// bucketTags are the tags of a bucket.
func bucketTags(ctx context.Context, r *provider.Request, name string) (map[string]string, error) {
	out, err := S3Client(r.Session).GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: &name})
	if provider.HasCode(err, "NoSuchTagSet") {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	return tagMap(out.TagSet, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil
}

// deleteBucket deletes a bucket that is empty, or that the app said may be
// emptied.
func deleteBucket(ctx context.Context, r *provider.Request) error {
	c := S3Client(r.Session)
	_, err := c.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &r.PhysicalID})
	if !provider.HasCode(err, "BucketNotEmpty") || provider.TagMap(r.Properties.Value("Tags"))[autoDelete] != "true" {
		return err
	}
	pages := s3.NewListObjectVersionsPaginator(c, &s3.ListObjectVersionsInput{Bucket: &r.PhysicalID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		var doomed []types.ObjectIdentifier
		for _, v := range page.Versions {
			doomed = append(doomed, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range page.DeleteMarkers {
			doomed = append(doomed, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
		for batch := range slices.Chunk(doomed, 1000) { // as many as the call takes
			out, err := c.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &r.PhysicalID, Delete: &types.Delete{Objects: batch, Quiet: aws.Bool(true)}})
			if err != nil {
				return err
			}
			if n := len(out.Errors); n > 0 {
				e := out.Errors[0]
				return fmt.Errorf("empty bucket %s: %s %s left, %s among them: %s: %s", r.PhysicalID, amount.Of(n, "object"), amount.Form(n, "is", "are"),
					aws.ToString(e.Key), aws.ToString(e.Code), aws.ToString(e.Message))
			}
		}
	}
	_, err = c.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &r.PhysicalID})
	return err
}

var putBucketPolicyInput = provider.Bind[s3.PutBucketPolicyInput](provider.Rename{"PolicyDocument": "Policy"}, provider.JSON("PolicyDocument"))

// A bucket policy is known by its bucket, which has one.
func bucketPolicy() provider.Resource {
	return provider.Resource{
		Type:   "AWS::S3::BucketPolicy",
		PutOn:  []string{"Bucket"},
		Inputs: []provider.Input{putBucketPolicyInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, S3Client, (*s3.Client).PutBucketPolicy, putBucketPolicyInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "Bucket")}, nil
		},
		Adopt:  adoptedBy(func(r *provider.Request) string { return text(r.Properties, "Bucket") }),
		Update: updateBy(S3Client, (*s3.Client).PutBucketPolicy, putBucketPolicyInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := S3Client(r.Session).DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: &r.PhysicalID})
			return err
		},
		Gone: append(slices.Clone(bucketGone), "NoSuchBucketPolicy"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := S3Client(r.Session).GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			return value.NewObject("Bucket", r.PhysicalID, "PolicyDocument", parsed(aws.ToString(out.Policy))), nil
		},
	}
}

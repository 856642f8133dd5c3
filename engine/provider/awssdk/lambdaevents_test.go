package awssdk

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine/provider"
)

func TestPermission(t *testing.T) {
	s := emulated(t)
	c := lambda.NewFromConfig(s.Config)
	aFunction(t, s, "Shop-Permitted")
	props := `{"FunctionName": "Shop-Permitted", "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com",
		"SourceArn": "arn:aws:s3:::bucket", "SourceAccount": "123456789012"}`
	life{
		typ: "AWS::Lambda::Permission",
		steps: []step{{"create", props, func(ctx context.Context, id string) (any, error) {
			out, err := c.GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: aws.String("Shop-Permitted")})
			if err != nil {
				return nil, err
			}
			return strings.Contains(*out.Policy, `"Sid": "`+id+`"`) || strings.Contains(*out.Policy, `"Sid":"`+id+`"`), nil
		}, true}},
	}.run(t, s)

	d := provider.Drive(describe(t, "AWS::Lambda::Permission"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "Res", Type: "AWS::Lambda::Permission", Properties: object(t, props)}
	if id, err := d.Find(t.Context(), r); id != "" || err != nil {
		t.Errorf("found %q, %v before the create", id, err)
	}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := d.Find(t.Context(), r); id != made.PhysicalID || err != nil {
		t.Errorf("found %q, %v, want what an unanswered create made: %q", id, err, made.PhysicalID)
	}
	// Records that were made through Cloud Control.
	r.PhysicalID = "arn:aws:lambda:eu-west-1:123456789012:function:Shop-Permitted|" + made.PhysicalID
	if _, err := d.Delete(t.Context(), r); err != nil {
		t.Error(err)
	}
	if id, err := d.Find(t.Context(), r); id != "" || err != nil {
		t.Errorf("found %q, %v after the delete", id, err)
	}
}

func TestStatementID(t *testing.T) {
	id := func(stackName, logicalID, props string) string {
		return statementID(&provider.Request{Stack: provider.Stack{Name: stackName}, LogicalID: logicalID, Properties: object(t, props)})
	}
	same := id("Shop", "Perm", `{"Principal": "a"}`)
	if again := id("Shop", "Perm", `{"Principal": "a"}`); again != same {
		t.Errorf("a create sent twice has two ids: %s, %s", same, again)
	}
	ids := []string{same, id("Shop2", "Perm", `{"Principal": "a"}`), id("Shop", "Perm2", `{"Principal": "a"}`), id("Shop", "Perm", `{"Principal": "b"}`),
		id("Parent~Child", strings.Repeat("VeryLongLogicalId", 20), `{}`)}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 5 {
		t.Errorf("different permissions share an id: %v", ids)
	}
	for _, id := range ids {
		if len(id) > 100 || notInStatementID.MatchString(id) {
			t.Errorf("%q is no statement id", id)
		}
	}
}

func TestEventSourceMapping(t *testing.T) {
	s := emulated(t)
	c := lambda.NewFromConfig(s.Config)
	aFunction(t, s, "Shop-Consumer")
	if _, err := sqs.NewFromConfig(s.Config).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Shop-Source")}); err != nil {
		t.Fatal(err)
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &id})
		if err != nil {
			return nil, err
		}
		return []any{*out.BatchSize, *out.State}, nil
	}
	base := `"FunctionName": "Shop-Consumer", "EventSourceArn": "arn:aws:sqs:eu-west-1:123456789012:Shop-Source"`
	life{
		typ: "AWS::Lambda::EventSourceMapping",
		steps: []step{
			{"create", `{` + base + `, "BatchSize": 5}`, seen, []any{int32(5), "Enabled"}},
			{"change", `{` + base + `, "BatchSize": 6, "Enabled": false}`, seen, []any{int32(6), "Disabled"}},
			{"remove", `{` + base + `}`, seen, []any{int32(10), "Enabled"}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &id})
			return err
		},
		noRead: true,
	}.run(t, s)
}

func TestLayerVersion(t *testing.T) {
	s := emulated(t)
	bucket := s3.NewFromConfig(s.Config, func(o *s3.Options) { o.UsePathStyle = true })
	_, err := bucket.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("shop-layers"),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"}})
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := zipInline("python3.13", "x = 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("shop-layers"), Key: aws.String("l.zip"), Body: bytes.NewReader(zipped)}); err != nil {
		t.Fatal(err)
	}
	c := lambda.NewFromConfig(s.Config)
	const id = "arn:aws:lambda:eu-west-1:123456789012:layer:Shop-Layer:1"
	life{
		typ: "AWS::Lambda::LayerVersion", physical: "Shop-Layer", id: id,
		attributes: map[string]string{"LayerVersionArn": id},
		steps: []step{{
			"create", `{"Content": {"S3Bucket": "shop-layers", "S3Key": "l.zip"}, "CompatibleRuntimes": ["python3.13"], "Description": "d"}`,
			func(ctx context.Context, id string) (any, error) {
				out, err := c.GetLayerVersion(ctx, &lambda.GetLayerVersionInput{LayerName: aws.String("Shop-Layer"), VersionNumber: aws.Int64(1)})
				if err != nil {
					return nil, err
				}
				return *out.Description, nil
			}, "d",
		}},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetLayerVersion(ctx, &lambda.GetLayerVersionInput{LayerName: aws.String("Shop-Layer"), VersionNumber: aws.Int64(1)})
			return err
		},
	}.run(t, s)
}

func TestFunctionURL(t *testing.T) {
	s := emulated(t)
	c := lambda.NewFromConfig(s.Config)
	fn := aFunction(t, s, "Shop-Web")
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetFunctionUrlConfig(ctx, &lambda.GetFunctionUrlConfigInput{FunctionName: &fn})
		if err != nil {
			return nil, err
		}
		var origins []string
		if out.Cors != nil {
			origins = out.Cors.AllowOrigins
		}
		return []any{out.AuthType, origins}, nil
	}
	life{
		typ: "AWS::Lambda::Url", id: fn,
		attributes: map[string]string{"FunctionArn": fn},
		steps: []step{
			{"create", `{"TargetFunctionArn": "` + fn + `", "AuthType": "NONE", "Cors": {"AllowOrigins": ["*"]}}`, seen, []any{types.FunctionUrlAuthTypeNone, []string{"*"}}},
			{"change", `{"TargetFunctionArn": "` + fn + `", "AuthType": "AWS_IAM", "Cors": {"AllowOrigins": ["https://example.com"]}}`, seen,
				[]any{types.FunctionUrlAuthTypeAwsIam, []string{"https://example.com"}}},
		},
		gone: func(ctx context.Context, _ string) error {
			_, err := seen(ctx, "")
			return err
		},
		noRead: true,
	}.run(t, s)
}

package sandbox_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/org/cdkd-action/internal/sandbox"
)

const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}`

// upstreams runs a test on kumo, and on moto where it is installed.
func upstreams(t *testing.T, test func(t *testing.T, s *sandbox.Sandbox)) {
	t.Run("kumo", func(t *testing.T) { test(t, start(t, sandbox.Options{Region: "eu-west-1", RunCode: true})) })
	t.Run("moto", func(t *testing.T) {
		if !sandbox.MotoAvailable() {
			t.Skip("moto_server is not installed")
		}
		test(t, start(t, sandbox.Options{Region: "eu-west-1", Upstream: sandbox.Moto, RunCode: true}))
	})
}

func TestUpstreams(t *testing.T) {
	upstreams(t, func(t *testing.T, s *sandbox.Sandbox) {
		ctx, cfg := t.Context(), once(s)

		q := sqs.NewFromConfig(cfg)
		made, err := q.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("orders")})
		if err != nil {
			t.Fatal(err)
		}
		attributes, err := q.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: made.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"QueueArn"}})
		if err != nil || !strings.HasSuffix(attributes.Attributes["QueueArn"], ":123456789012:orders") {
			t.Errorf("queue %s: %v, %v", *made.QueueUrl, attributes, err)
		}
		if strings.HasSuffix(t.Name(), "moto") && !strings.HasPrefix(*made.QueueUrl, s.URL) {
			t.Errorf("the queue's URL %s does not lead back to %s", *made.QueueUrl, s.URL)
		}
		_, err = q.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("none")})
		if c := code(err); !strings.Contains(c, "NonExistentQueue") && !strings.Contains(c, "QueueDoesNotExist") {
			t.Errorf("a queue that is not there: %v", err)
		}

		roles := iam.NewFromConfig(cfg)
		role, err := roles.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: aws.String(trust)})
		if err != nil || *role.Role.Arn != "arn:aws:iam::123456789012:role/r" {
			t.Errorf("role: %v, %v", role, err)
		}
		_, err = roles.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("r"), PolicyArn: aws.String("arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole")})
		if err != nil {
			t.Errorf("attach a policy of AWS's: %v", err)
		}

		tables := dynamodb.NewFromConfig(cfg)
		_, err = tables.CreateTable(ctx, &dynamodb.CreateTableInput{
			TableName: aws.String("t"), BillingMode: ddbtypes.BillingModePayPerRequest,
			AttributeDefinitions: []ddbtypes.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: ddbtypes.ScalarAttributeTypeS}},
			KeySchema:            []ddbtypes.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: ddbtypes.KeyTypeHash}},
		})
		if err != nil {
			t.Errorf("table: %v", err)
		}

		// Go's CloudWatch client speaks CBOR.
		alarms := cloudwatch.NewFromConfig(cfg)
		for _, tag := range []string{"first", "second"} { // which is not given to what is there
			_, err = alarms.PutMetricAlarm(ctx, &cloudwatch.PutMetricAlarmInput{
				AlarmName: aws.String("a"), MetricName: aws.String("m"), Namespace: aws.String("n"), Statistic: cwtypes.StatisticSum,
				ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold, EvaluationPeriods: aws.Int32(2), Period: aws.Int32(60), Threshold: aws.Float64(1.5),
				Tags: []cwtypes.Tag{{Key: &tag, Value: aws.String("x")}},
			})
			if err != nil {
				t.Fatalf("alarm: %v", err)
			}
		}
		found, err := alarms.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmNames: []string{"a"}})
		if err != nil || len(found.MetricAlarms) != 1 {
			t.Fatalf("alarms: %+v, %v", found, err)
		}
		a := found.MetricAlarms[0]
		if *a.EvaluationPeriods != 2 || *a.Threshold != 1.5 || a.StateUpdatedTimestamp == nil || a.StateUpdatedTimestamp.Year() < 2020 {
			t.Errorf("alarm: %+v", a)
		}
		tags, err := alarms.ListTagsForResource(ctx, &cloudwatch.ListTagsForResourceInput{ResourceARN: aws.String("arn:aws:cloudwatch:eu-west-1:123456789012:alarm:a")})
		if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Key != "first" {
			t.Errorf("its tags: %+v, %v", tags, err)
		}
	})
}

// An error of kumo's is one that clients can read, whatever the protocol.
func TestWhatKumoDoesNotKnow(t *testing.T) {
	s := start(t, sandbox.Options{})
	_, err := ec2.NewFromConfig(once(s)).DescribeFastSnapshotRestores(t.Context(), &ec2.DescribeFastSnapshotRestoresInput{})
	if c := code(err); c != "UnknownAction" && c != "InvalidAction" {
		t.Errorf("got %s (%v)", c, err)
	}
}

// Lambda takes its code from the sandbox's S3, and misses what is not there.
func TestFunctionCodeFromS3(t *testing.T) {
	upstreams(t, func(t *testing.T, s *sandbox.Sandbox) {
		ctx, cfg := t.Context(), once(s)
		role, err := iam.NewFromConfig(cfg).CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: aws.String(trust)})
		if err != nil {
			t.Fatal(err)
		}
		s.S3.AddBucket("assets-1", "eu-west-1", "")
		s.S3.PutObject("assets-1", "code/a b.zip", zipped(t, map[string]string{"index.py": "def handler(event, context):\n    return event"}))
		fn := lambda.NewFromConfig(cfg)
		in := &lambda.CreateFunctionInput{
			FunctionName: aws.String("f"), Role: role.Role.Arn, Runtime: lambdatypes.RuntimePython312, Handler: aws.String("index.handler"),
			Code: &lambdatypes.FunctionCode{S3Bucket: aws.String("assets-1"), S3Key: aws.String("none.zip")},
		}
		if _, err := fn.CreateFunction(ctx, in); code(err) != "InvalidParameterValueException" {
			t.Errorf("code that is not there: %v", err)
		}
		in.Code.S3Key = aws.String("code/a b.zip")
		if _, err := fn.CreateFunction(ctx, in); err != nil {
			t.Fatal(err)
		}
		got, err := fn.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: aws.String("f")})
		if err != nil || got.Configuration.State != lambdatypes.StateActive {
			t.Errorf("function: %+v, %v", got, err)
		}
		layer, err := fn.PublishLayerVersion(ctx, &lambda.PublishLayerVersionInput{
			LayerName: aws.String("l"), Content: &lambdatypes.LayerVersionContentInput{S3Bucket: aws.String("assets-1"), S3Key: aws.String("code/a b.zip")},
		})
		if strings.HasSuffix(t.Name(), "kumo") {
			return // it has no layers
		}
		if err != nil {
			t.Fatalf("layer: %v", err)
		}
		in.FunctionName, in.Layers = aws.String("g"), []string{*layer.LayerVersionArn}
		if _, err := fn.CreateFunction(ctx, in); err != nil {
			t.Errorf("function with a layer: %v", err)
		}
	})
}

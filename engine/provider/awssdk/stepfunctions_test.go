package awssdk

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/provider"
)

func TestStateMachine(t *testing.T) {
	s := emulated(t)
	c := sfn.NewFromConfig(s.Config)
	role := aRole(t, s, "Shop-MachineRole")
	bucket := S3Client(s)
	_, err := bucket.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("shop-definitions"),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = bucket.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("shop-definitions"), Key: aws.String("d.yaml"),
		Body: strings.NewReader("StartAt: Y\nStates:\n  Y:\n    Type: Succeed\n    Comment: ${what}\n")})
	if err != nil {
		t.Fatal(err)
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &id})
		if err != nil {
			return nil, err
		}
		tags, err := c.ListTagsForResource(ctx, &sfn.ListTagsForResourceInput{ResourceArn: &id})
		if err != nil {
			return nil, err
		}
		got := []string{*out.Definition}
		for _, tag := range tags.Tags {
			if *tag.Key != provider.OwnerTagKey {
				got = append(got, *tag.Key+"="+*tag.Value)
			}
		}
		return got, nil
	}
	const id = "arn:aws:states:eu-west-1:123456789012:stateMachine:Shop-Machine"
	life{
		typ: "AWS::StepFunctions::StateMachine", physical: "Shop-Machine", id: id,
		attributes: map[string]string{"Arn": id, "Name": "Shop-Machine"},
		steps: []step{
			{"create from text", `{"RoleArn": "` + role + `", "StateMachineType": "EXPRESS", "Tags": [{"Key": "a", "Value": "1"}],
				"DefinitionString": "{\"StartAt\":\"${first}\",\"States\":{\"A\":{\"Type\":\"Succeed\",\"Comment\":\"${Other}\"}}}",
				"DefinitionSubstitutions": {"first": "A"}}`, seen,
				[]string{`{"StartAt":"A","States":{"A":{"Type":"Succeed","Comment":"${Other}"}}}`, "a=1"}},
			{"from an object", `{"RoleArn": "` + role + `", "StateMachineType": "EXPRESS", "Tags": [{"Key": "b", "Value": "2"}],
				"Definition": {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}}`, seen,
				[]string{`{"StartAt":"B","States":{"B":{"Type":"Succeed"}}}`, "b=2"}},
			{"from a bucket", `{"RoleArn": "` + role + `", "StateMachineType": "EXPRESS", "DefinitionSubstitutions": {"what": "w"},
				"DefinitionS3Location": {"Bucket": "shop-definitions", "Key": "d.yaml"}}`, seen,
				[]string{`{"StartAt":"Y","States":{"Y":{"Comment":"w","Type":"Succeed"}}}`}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
		noRead: true,
	}.run(t, s)
}

func TestStateMachineInput(t *testing.T) {
	in, err := createMachineInput.Input(&provider.Request{Properties: object(t, `{"StateMachineName": "m", "StateMachineType": "EXPRESS", "Definition": {"StartAt": "A"},
		"LoggingConfiguration": {"Level": "ALL", "IncludeExecutionData": "true", "Destinations": [{"CloudWatchLogsLogGroup": {"LogGroupArn": "arn"}}]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if l := in.LoggingConfiguration; *in.Name != "m" || in.Type != "EXPRESS" || !l.IncludeExecutionData || *l.Destinations[0].CloudWatchLogsLogGroup.LogGroupArn != "arn" {
		t.Errorf("input is %+v", in)
	}
}

// What an earlier deploy kept is used again (T-846). The emulator gives another
// refusal than the service.
func TestKeptStateMachineIsTakenBack(t *testing.T) {
	s := emulated(t)
	c := sfn.NewFromConfig(s.Config)
	role := aRole(t, s, "Shop-KeptMachineRole")
	refusal := &smithy.GenericAPIError{Code: "StateMachineAlreadyExists"}
	make := func(name, tag string) {
		_, err := c.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: &name, RoleArn: &role,
			Definition: aws.String(`{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`),
			Tags:       []types.Tag{{Key: &tag, Value: aws.String("x")}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	take := func(name string) (provider.Created, error) {
		return takeMachineBack(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "M", Type: "AWS::StepFunctions::StateMachine", Held: true,
			Properties: object(t, `{"StateMachineName": "`+name+`", "RoleArn": "`+role+`", "Definition": {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}}`)}, refusal)
	}
	make("Shop-KeptMachine", provider.OwnerTagKey)
	make("Shop-ForeignMachine", "owner")
	made, err := take("Shop-KeptMachine")
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &made.PhysicalID})
	if err != nil || !strings.Contains(*out.Definition, `"B"`) {
		t.Errorf("the machine taken back is %+v, %v", out, err)
	}
	if made, err := take("Shop-ForeignMachine"); err != refusal {
		t.Errorf("somebody else's state machine: %+v, %v, want the refusal", made, err)
	}
}

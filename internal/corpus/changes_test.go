package corpus

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// A change is what somebody does to a resource in the console, and the property
// in which that shows.
type change struct {
	property string
	do       func(ctx context.Context, config aws.Config, id string) error
}

const passNothing = `{"StartAt": "Nothing", "States": {"Nothing": {"Type": "Pass", "End": true}}}`

var changes = map[string]change{
	"AWS::SQS::Queue": {"VisibilityTimeout", func(ctx context.Context, config aws.Config, id string) error {
		_, err := sqs.NewFromConfig(config).SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &id, Attributes: map[string]string{"VisibilityTimeout": "77"}})
		return err
	}},
	"AWS::SNS::Topic": {"DisplayName", func(ctx context.Context, config aws.Config, id string) error {
		_, err := sns.NewFromConfig(config).SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{TopicArn: &id, AttributeName: new("DisplayName"), AttributeValue: new("changed")})
		return err
	}},
	"AWS::Logs::LogGroup": {"RetentionInDays", func(ctx context.Context, config aws.Config, id string) error {
		_, err := cloudwatchlogs.NewFromConfig(config).PutRetentionPolicy(ctx, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: &id, RetentionInDays: new(int32(3))})
		return err
	}},
	"AWS::IAM::Role": {"MaxSessionDuration", func(ctx context.Context, config aws.Config, id string) error {
		_, err := iam.NewFromConfig(config).UpdateRole(ctx, &iam.UpdateRoleInput{RoleName: &id, MaxSessionDuration: new(int32(7200))})
		return err
	}},
	"AWS::IAM::User": {"Tags", func(ctx context.Context, config aws.Config, id string) error {
		_, err := iam.NewFromConfig(config).TagUser(ctx, &iam.TagUserInput{UserName: &id, Tags: []iamtypes.Tag{{Key: new("changed"), Value: new("yes")}}})
		return err
	}},
	"AWS::Lambda::Function": {"Timeout", func(ctx context.Context, config aws.Config, id string) error {
		_, err := lambda.NewFromConfig(config).UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{FunctionName: &id, Timeout: new(int32(77))})
		return err
	}},
	"AWS::Lambda::EventSourceMapping": {"BatchSize", func(ctx context.Context, config aws.Config, id string) error {
		_, err := lambda.NewFromConfig(config).UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: &id, BatchSize: new(int32(7))})
		return err
	}},
	"AWS::DynamoDB::Table": {"DeletionProtectionEnabled", func(ctx context.Context, config aws.Config, id string) error {
		_, err := dynamodb.NewFromConfig(config).UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &id, DeletionProtectionEnabled: new(true)})
		return err
	}},
	"AWS::SSM::Parameter": {"Value", func(ctx context.Context, config aws.Config, id string) error {
		_, err := ssm.NewFromConfig(config).PutParameter(ctx, &ssm.PutParameterInput{Name: &id, Value: new("changed"), Overwrite: new(true)})
		return err
	}},
	"AWS::StepFunctions::StateMachine": {"DefinitionString", func(ctx context.Context, config aws.Config, id string) error {
		_, err := sfn.NewFromConfig(config).UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &id, Definition: new(passNothing)})
		return err
	}},
	"AWS::Kinesis::Stream": {"RetentionPeriodHours", func(ctx context.Context, config aws.Config, id string) error {
		_, err := kinesis.NewFromConfig(config).IncreaseStreamRetentionPeriod(ctx, &kinesis.IncreaseStreamRetentionPeriodInput{StreamName: &id, RetentionPeriodHours: new(int32(77))})
		return err
	}},
}

package awssdk

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	createMappingInput = provider.Bind[lambda.CreateEventSourceMappingInput]()
	updateMappingInput = provider.Bind[lambda.UpdateEventSourceMappingInput](
		provider.ID("UUID"),
		provider.Clear{
			"BisectBatchOnFunctionError":     "false",
			"DestinationConfig":              value.NewObject("OnFailure", &value.Object{}),
			"Enabled":                        "true",
			"FilterCriteria":                 &value.Object{},
			"FunctionResponseTypes":          []any{},
			"KmsKeyArn":                      "",
			"MaximumBatchingWindowInSeconds": "0",
			"MaximumRecordAgeInSeconds":      "-1",
			"MaximumRetryAttempts":           "-1",
			"MetricsConfig":                  value.NewObject("Metrics", []any{}),
			"ParallelizationFactor":          "1",
			"ProvisionedPollerConfig":        &value.Object{},
			"ScalingConfig":                  &value.Object{},
			"SourceAccessConfigurations":     []any{},
			"TumblingWindowInSeconds":        "0",
		},
		provider.Finish(func(r *provider.Request, in *lambda.UpdateEventSourceMappingInput) error {
			if r.Previous.Has("BatchSize") && in.BatchSize == nil {
				in.BatchSize = aws.Int32(100)
				if strings.Contains(text(r.Properties, "EventSourceArn"), ":sqs:") {
					in.BatchSize = aws.Int32(10)
				}
			}
			return nil
		}))
)

// A mapping takes no change while an earlier one is under way.
const mappingBusy = "ResourceInUseException"

var mappingSettled = &provider.Waiter{
	What: "the event source mapping to be enabled or disabled", OK: []string{"Enabled", "Disabled"},
	Cap: 5 * time.Second,
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		out, err := lambdaClient(r.Session).GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &r.PhysicalID})
		if err != nil {
			return "", "", err
		}
		return aws.ToString(out.State), aws.ToString(out.StateTransitionReason), nil
	},
}

// An event source mapping is known by its UUID. Its create is not idempotent:
// what an unanswered one made is found by function and source.
func eventSourceMapping() provider.Resource {
	return provider.Resource{
		Type:    "AWS::Lambda::EventSourceMapping",
		Inputs:  []provider.Input{createMappingInput},
		Updates: []provider.Input{updateMappingInput},
		Tags:    lambdaTags(func(r *provider.Request) string { return arn(r, "lambda", "event-source-mapping:"+r.PhysicalID) }),
		Create:  createBy(lambdaOnce, (*lambda.Client).CreateEventSourceMapping, createMappingInput, func(o *lambda.CreateEventSourceMappingOutput) *string { return o.UUID }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			err := whenSettled(ctx, r, mappingSettled, mappingBusy, func() error {
				_, err := provider.Invoke(ctx, r, lambdaClient, (*lambda.Client).UpdateEventSourceMapping, updateMappingInput)
				return err
			})
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			return whenSettled(ctx, r, mappingSettled, mappingBusy, func() error {
				_, err := lambdaClient(r.Session).DeleteEventSourceMapping(ctx, &lambda.DeleteEventSourceMappingInput{UUID: &r.PhysicalID})
				return err
			})
		},
		Gone: lambdaGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", r.PhysicalID, "EventSourceMappingArn", arn(r, "lambda", "event-source-mapping:"+r.PhysicalID))
		},
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			source := text(r.Properties, "EventSourceArn")
			if source == "" {
				return "", nil // self-managed sources have no key to ask by
			}
			out, err := lambdaClient(r.Session).ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{
				FunctionName: aws.String(text(r.Properties, "FunctionName")), EventSourceArn: &source,
			})
			if err != nil || len(out.EventSourceMappings) != 1 {
				return "", err
			}
			return aws.ToString(out.EventSourceMappings[0].UUID), nil
		},
	}
}

package awssdk

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

func TestVersionAliasAndInvokeConfig(t *testing.T) {
	s := emulated(t)
	c := lambda.NewFromConfig(s.Config)
	fn := aFunction(t, s, "Shop-Versioned")
	exists := func(ctx context.Context, id string) error {
		_, err := c.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: &id})
		return err
	}
	life{
		typ: "AWS::Lambda::Version", id: fn + ":1",
		attributes: map[string]string{"Version": "1", "FunctionArn": fn + ":1"},
		steps:      []step{{name: "create", props: `{"FunctionName": "Shop-Versioned", "Description": "d"}`}},
		gone:       exists, noRead: true,
	}.run(t, s)

	alias := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &fn, Name: aws.String("live")})
		if err != nil {
			return nil, err
		}
		weights := 0
		if out.RoutingConfig != nil {
			weights = len(out.RoutingConfig.AdditionalVersionWeights)
		}
		return fmt.Sprint(aws.ToString(out.Description), " ", *out.FunctionVersion, " ", weights), nil
	}
	if _, err := c.PublishVersion(t.Context(), &lambda.PublishVersionInput{FunctionName: &fn}); err != nil {
		t.Fatal(err)
	}
	life{
		typ: "AWS::Lambda::Alias", id: fn + ":live",
		attributes: map[string]string{"AliasArn": fn + ":live"},
		steps: []step{
			{"create", `{"FunctionName": "` + fn + `", "FunctionVersion": "$LATEST", "Name": "live", "Description": "d"}`, alias, "d $LATEST 0"},
			{"change", `{"FunctionName": "` + fn + `", "FunctionVersion": "$LATEST", "Name": "live", "Description": "e"}`, alias, "e $LATEST 0"},
		},
		gone:   func(ctx context.Context, _ string) error { _, err := alias(ctx, ""); return err },
		noRead: true,
	}.run(t, s)

	config := func(ctx context.Context, _ string) (any, error) {
		out, err := c.GetFunctionEventInvokeConfig(ctx, &lambda.GetFunctionEventInvokeConfigInput{FunctionName: aws.String("Shop-Versioned"), Qualifier: aws.String("$LATEST")})
		if err != nil {
			return nil, err
		}
		return aws.ToInt32(out.MaximumRetryAttempts), nil
	}
	life{
		typ: "AWS::Lambda::EventInvokeConfig", id: "Shop-Versioned|$LATEST",
		steps: []step{
			{"create", `{"FunctionName": "Shop-Versioned", "Qualifier": "$LATEST", "MaximumRetryAttempts": "1"}`, config, int32(1)},
			// The emulator keeps the first of two puts.
			{name: "change", props: `{"FunctionName": "Shop-Versioned", "Qualifier": "$LATEST", "MaximumRetryAttempts": 2}`},
		},
		gone:   func(ctx context.Context, _ string) error { _, err := config(ctx, ""); return err },
		noRead: true,
	}.run(t, s)
}

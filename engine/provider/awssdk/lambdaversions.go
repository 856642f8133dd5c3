package awssdk

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// provisionedConcurrency is the satellite of a version or an alias.
func provisionedConcurrency() provider.Satellite {
	return provider.Satellite{
		Properties: []string{"ProvisionedConcurrencyConfig"},
		Put: func(ctx context.Context, r *provider.Request) error {
			n, ok := value.Integer(r.Properties.Object("ProvisionedConcurrencyConfig").Value("ProvisionedConcurrentExecutions"))
			if !ok || n != int64(int32(n)) {
				return errors.New("ProvisionedConcurrentExecutions is no whole number")
			}
			name, qualifier := qualified(r)
			_, err := lambdaClient(r.Session).PutProvisionedConcurrencyConfig(ctx, &lambda.PutProvisionedConcurrencyConfigInput{
				FunctionName: name, Qualifier: qualifier, ProvisionedConcurrentExecutions: aws.Int32(int32(n)),
			})
			return err
		},
		Reset: func(ctx context.Context, r *provider.Request) error {
			name, qualifier := qualified(r)
			_, err := lambdaClient(r.Session).DeleteProvisionedConcurrencyConfig(ctx, &lambda.DeleteProvisionedConcurrencyConfigInput{
				FunctionName: name, Qualifier: qualifier,
			})
			return err
		},
	}
}

var scalingInput = provider.Bind[lambda.PutFunctionScalingConfigInput](provider.Only("FunctionScalingConfig"))

// scalingOf is the satellite that bounds the environments of a published
// version. A put without bounds takes them away.
func scalingOf(version func(*provider.Request) (name, qualifier *string)) provider.Satellite {
	return provider.Satellite{
		Properties: []string{"FunctionScalingConfig"}, Input: scalingInput,
		Put: func(ctx context.Context, r *provider.Request) error {
			in, err := scalingInput.Input(r)
			if err != nil {
				return err
			}
			in.FunctionName, in.Qualifier = version(r)
			return whenSettled(ctx, r, functionActive, functionBusy, func() error {
				_, err := lambdaClient(r.Session).PutFunctionScalingConfig(ctx, in)
				return err
			})
		},
	}
}

// qualified splits the ARN of a version or an alias: the last segment is its
// qualifier.
func qualified(r *provider.Request) (name, qualifier *string) {
	q := lastSegment(r.PhysicalID, ":")
	n := strings.TrimSuffix(r.PhysicalID, ":"+q)
	return &n, &q
}

var publishVersionInput = provider.Bind[lambda.PublishVersionInput](provider.Only("FunctionName", "Description", "CodeSha256"))

// functionActive is awaited before a version is published: of a function that
// is still being made, or changed, none can be.
var functionActive = &provider.Waiter{
	What: "the function to be active", First: 300 * time.Millisecond, Cap: 3 * time.Second,
	OK: []string{"settled"}, Failed: []string{string(types.StateFailed)},
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		out, err := lambdaClient(r.Session).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(text(r.Properties, "FunctionName"))})
		if err != nil {
			return "", "", err
		}
		if out.State == types.StateFailed {
			return string(out.State), aws.ToString(out.StateReason), nil
		}
		if out.State == types.StatePending || out.LastUpdateStatus == types.LastUpdateStatusInProgress {
			return string(types.StatePending), aws.ToString(out.StateReason), nil
		}
		return "settled", "", nil
	},
}

// A version is known by its ARN. Publishing a function that did not change
// since its last version gives that version again.
func lambdaVersion() provider.Resource {
	return provider.Resource{
		Type:   "AWS::Lambda::Version",
		PutOn:  []string{"FunctionName"},
		Inputs: []provider.Input{publishVersionInput},
		Satellites: []provider.Satellite{
			provisionedConcurrency(),
			scalingOf(qualified),
			{Properties: []string{"RuntimePolicy"}, Put: func(ctx context.Context, r *provider.Request) error {
				policy := r.Properties.Object("RuntimePolicy")
				name, qualifier := qualified(r)
				in := &lambda.PutRuntimeManagementConfigInput{
					FunctionName: name, Qualifier: qualifier, UpdateRuntimeOn: types.UpdateRuntimeOn(text(policy, "UpdateRuntimeOn")),
				}
				if v := text(policy, "RuntimeVersionArn"); v != "" {
					in.RuntimeVersionArn = &v
				}
				_, err := lambdaClient(r.Session).PutRuntimeManagementConfig(ctx, in)
				return err
			}},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if err := functionActive.Wait(ctx, r); err != nil {
				return provider.Created{}, err
			}
			out, err := provider.Invoke(ctx, r, lambdaClient, (*lambda.Client).PublishVersion, publishVersionInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.FunctionArn}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			name, qualifier := qualified(r)
			_, err := lambdaClient(r.Session).DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: name, Qualifier: qualifier})
			return err
		},
		Gone: lambdaGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("FunctionArn", r.PhysicalID, "Version", lastSegment(r.PhysicalID, ":"))
		},
	}
}

// routing turns the list of weights into the API's map.
var routing = provider.Custom("RoutingConfig", func(v any) (types.AliasRoutingConfiguration, error) {
	o, _ := v.(*value.Object)
	c := types.AliasRoutingConfiguration{AdditionalVersionWeights: map[string]float64{}}
	for _, e := range o.List("AdditionalVersionWeights") {
		w, _ := e.(*value.Object)
		weight, ok := value.Float(w.Value("FunctionWeight"))
		if !ok {
			return c, errors.New("FunctionWeight is no number")
		}
		c.AdditionalVersionWeights[text(w, "FunctionVersion")] = weight
	}
	return c, nil
})

var (
	createAliasInput = provider.Bind[lambda.CreateAliasInput](routing)
	updateAliasInput = provider.Bind[lambda.UpdateAliasInput](routing, provider.Clear{"Description": "", "RoutingConfig": &value.Object{}})
)

// An alias is known by its ARN.
func lambdaAlias() provider.Resource {
	return provider.Resource{
		Type:       "AWS::Lambda::Alias",
		Inputs:     []provider.Input{createAliasInput},
		Updates:    []provider.Input{updateAliasInput},
		Satellites: []provider.Satellite{provisionedConcurrency()},
		Create:     createBy(lambdaOnce, (*lambda.Client).CreateAlias, createAliasInput, func(o *lambda.CreateAliasOutput) *string { return o.AliasArn }),
		Update:     updateBy(lambdaClient, (*lambda.Client).UpdateAlias, updateAliasInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			function, alias := qualified(r)
			_, err := lambdaClient(r.Session).DeleteAlias(ctx, &lambda.DeleteAliasInput{FunctionName: function, Name: alias})
			return err
		},
		Gone: lambdaGone,
		// An alias of the name that points where ours does is as good as ours.
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			out, err := lambdaClient(r.Session).GetAlias(ctx, &lambda.GetAliasInput{
				FunctionName: aws.String(text(r.Properties, "FunctionName")), Name: aws.String(text(r.Properties, "Name")),
			})
			if provider.HasCode(err, lambdaGone...) {
				return "", nil
			} else if err != nil || aws.ToString(out.FunctionVersion) != text(r.Properties, "FunctionVersion") {
				return "", err
			}
			return aws.ToString(out.AliasArn), nil
		},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("AliasArn", r.PhysicalID)
		},
	}
}

var eventInvokeInput = provider.Bind[lambda.PutFunctionEventInvokeConfigInput]()

// An event invoke config belongs to a function and a qualifier, by which it is
// known. Each put is of the whole.
func eventInvokeConfig() provider.Resource {
	put := func(ctx context.Context, r *provider.Request) error {
		_, err := provider.Invoke(ctx, r, lambdaClient, (*lambda.Client).PutFunctionEventInvokeConfig, eventInvokeInput)
		return err
	}
	return provider.Resource{
		Type:   "AWS::Lambda::EventInvokeConfig",
		PutOn:  []string{"FunctionName"},
		Inputs: []provider.Input{eventInvokeInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if err := put(ctx, r); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "FunctionName") + "|" + text(r.Properties, "Qualifier")}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{}, put(ctx, r)
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			function, qualifier, _ := strings.Cut(r.PhysicalID, "|")
			in := &lambda.DeleteFunctionEventInvokeConfigInput{FunctionName: &function}
			if qualifier != "" {
				in.Qualifier = &qualifier
			}
			_, err := lambdaClient(r.Session).DeleteFunctionEventInvokeConfig(ctx, in)
			return err
		},
		Gone: lambdaGone,
	}
}

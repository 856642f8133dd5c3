package awssdk

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func lambdaClient(s *provider.Session) *lambda.Client {
	return provider.Client(s, lambda.NewFromConfig)
}

func lambdaOnce(s *provider.Session) *lambda.Client {
	return provider.OnceClient(s, lambda.NewFromConfig)
}

func lambdaResources() []provider.Resource {
	return []provider.Resource{function(), permission(), eventSourceMapping(), layerVersion(), functionURL(), lambdaVersion(), lambdaAlias(), eventInvokeConfig()}
}

var lambdaGone = []string{"ResourceNotFoundException"}

// functionBusy refuses a change of a function that is still being made or
// changed.
const functionBusy = "ResourceConflictException"

// inlineCode returns the function's inline source as a zip file, nil when its
// code comes from elsewhere.
func inlineCode(r *provider.Request) ([]byte, error) {
	code := r.Properties.Object("Code")
	if !code.Has("ZipFile") {
		return nil, nil
	}
	return zipInline(text(r.Properties, "Runtime"), text(code, "ZipFile"))
}

// publishTo names the version that PublishToLatestPublished publishes to.
var publishTo = provider.Options(
	provider.Rename{"PublishToLatestPublished": "PublishTo"},
	provider.Custom("PublishToLatestPublished", func(v any) (types.FunctionVersionLatestPublished, error) {
		if t, _ := value.Text(v); t != "true" {
			return "", nil
		}
		return types.FunctionVersionLatestPublishedLatestPublished, nil
	}))

var (
	createFunctionInput = provider.Bind[lambda.CreateFunctionInput](
		provider.Skip("Code.ZipFile"),
		publishTo,
		provider.Finish(func(r *provider.Request, in *lambda.CreateFunctionInput) error {
			zip, err := inlineCode(r)
			if zip != nil {
				in.Code.ZipFile = zip
			}
			return err
		}, "Code.ZipFile"))

	updateFunctionInput = provider.Bind[lambda.UpdateFunctionConfigurationInput](
		provider.ID("FunctionName"),
		provider.Clear{
			"DeadLetterConfig":  value.NewObject("TargetArn", ""),
			"Description":       "",
			"Environment":       value.NewObject("Variables", &value.Object{}),
			"EphemeralStorage":  value.NewObject("Size", "512"),
			"FileSystemConfigs": []any{},
			"ImageConfig":       &value.Object{},
			"KmsKeyArn":         "",
			"Layers":            []any{},
			"LoggingConfig":     value.NewObject("LogFormat", "Text"),
			"MemorySize":        "128",
			"SnapStart":         value.NewObject("ApplyOn", "None"),
			"Timeout":           "3",
			"TracingConfig":     value.NewObject("Mode", "PassThrough"),
			"VpcConfig":         value.NewObject("SubnetIds", []any{}, "SecurityGroupIds", []any{}),
		},
		provider.Finish(func(r *provider.Request, in *lambda.UpdateFunctionConfigurationInput) error {
			if c := in.LoggingConfig; c != nil && c.LogGroup == nil {
				c.LogGroup = aws.String("/aws/lambda/" + r.PhysicalID)
			}
			return nil
		}))

	updateCodeInput = provider.Bind[lambda.UpdateFunctionCodeInput](
		provider.ID("FunctionName"),
		provider.Only("Code", "Architectures", "PublishToLatestPublished"),
		provider.Rename{"Code": "."},
		publishTo,
		provider.Skip("Code.ZipFile"),
		provider.Clear{"Architectures": []any{"x86_64"}},
		provider.Finish(func(r *provider.Request, in *lambda.UpdateFunctionCodeInput) (err error) {
			in.ZipFile, err = inlineCode(r)
			return err
		}, "Code.ZipFile"))

	putRuntimeInput = provider.Bind[lambda.PutRuntimeManagementConfigInput](
		provider.ID("FunctionName"), provider.Only("RuntimeManagementConfig"), provider.Rename{"RuntimeManagementConfig": "."})
	putConcurrencyInput = provider.Bind[lambda.PutFunctionConcurrencyInput](
		provider.ID("FunctionName"), provider.Only("ReservedConcurrentExecutions"))
	putRecursionInput = provider.Bind[lambda.PutFunctionRecursionConfigInput](
		provider.ID("FunctionName"), provider.Only("RecursiveLoop"))
)

// functionUpdated is the wait between two changes of a function, which takes
// one at a time, and after the last one, where a failed change shows.
var functionUpdated = &provider.Waiter{
	What: "the function's update", First: 300 * time.Millisecond, Cap: 3 * time.Second,
	OK:     []string{string(types.LastUpdateStatusSuccessful)},
	Failed: []string{string(types.LastUpdateStatusFailed)},
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		out, err := lambdaClient(r.Session).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &r.PhysicalID})
		if err != nil {
			return "", "", err
		}
		return string(out.LastUpdateStatus), aws.ToString(out.LastUpdateStatusReason), nil
	},
}

// A function is known by its name. A create does not wait for it to be active:
// what needs that (invocations, versions, a second update) waits itself.
func function() provider.Resource {
	return provider.Resource{
		Type:   "AWS::Lambda::Function",
		Name:   "FunctionName",
		Inputs: []provider.Input{createFunctionInput},
		Satellites: []provider.Satellite{
			{
				Properties: []string{"ReservedConcurrentExecutions"}, Input: putConcurrencyInput,
				Put: provider.Call(lambdaClient, (*lambda.Client).PutFunctionConcurrency, putConcurrencyInput),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := lambdaClient(r.Session).DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: &r.PhysicalID})
					return err
				},
			},
			scalingOf(func(r *provider.Request) (*string, *string) { return &r.PhysicalID, aws.String("$LATEST.PUBLISHED") }),
			{
				Properties: []string{"RecursiveLoop"}, Input: putRecursionInput,
				Put: provider.Call(lambdaClient, (*lambda.Client).PutFunctionRecursionConfig, putRecursionInput),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := lambdaClient(r.Session).PutFunctionRecursionConfig(ctx, &lambda.PutFunctionRecursionConfigInput{
						FunctionName: &r.PhysicalID, RecursiveLoop: types.RecursiveLoopTerminate,
					})
					return err
				},
			},
			{
				Properties: []string{"RuntimeManagementConfig"}, Input: putRuntimeInput,
				Put: provider.Call(lambdaClient, (*lambda.Client).PutRuntimeManagementConfig, putRuntimeInput),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := lambdaClient(r.Session).PutRuntimeManagementConfig(ctx, &lambda.PutRuntimeManagementConfigInput{
						FunctionName: &r.PhysicalID, UpdateRuntimeOn: types.UpdateRuntimeOnAuto,
					})
					return err
				},
			},
		},
		Tags: lambdaTags(func(r *provider.Request) string { return arn(r, "lambda", "function:"+r.PhysicalID) }),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, lambdaOnce, (*lambda.Client).CreateFunction, createFunctionInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.FunctionName, Attributes: snapStart(out.SnapStart)}, nil
		},
		Update: updateFunction,
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := lambdaClient(r.Session).DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: &r.PhysicalID})
			return err
		},
		Gone: lambdaGone,
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			out, err := lambdaClient(r.Session).GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: aws.String(text(r.Properties, "FunctionName"))})
			if provider.HasCode(err, lambdaGone...) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			return &provider.Holder{PhysicalID: *out.Configuration.FunctionName, Tags: out.Tags}, nil
		}),
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			return value.NewObject("Arn", arn(r, "lambda", "function:"+name))
		},
	}
}

func snapStart(s *types.SnapStartResponse) *value.Object {
	if s == nil {
		return nil
	}
	return value.NewObject(
		"SnapStartResponse.ApplyOn", string(s.ApplyOn),
		"SnapStartResponse.OptimizationStatus", string(s.OptimizationStatus))
}

func updateFunction(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	// Inline code is packed by runtime, so that another runtime may need another
	// package.
	code := d.Changed("Code", "Architectures", "PublishToLatestPublished") || d.Changed("Runtime") && r.Properties.Object("Code").Has("ZipFile")
	var out provider.Updated
	if updateFunctionInput.Changed(d) {
		var answer *lambda.UpdateFunctionConfigurationOutput
		err := whenSettled(ctx, r, functionActive, functionBusy, func() (err error) {
			answer, err = provider.Invoke(ctx, r, lambdaClient, (*lambda.Client).UpdateFunctionConfiguration, updateFunctionInput)
			return err
		})
		if err != nil {
			return out, err
		}
		out.Attributes = snapStart(answer.SnapStart)
		if code || r.Wait != provider.WaitNone {
			if err := functionUpdated.Wait(ctx, r); err != nil {
				return out, err
			}
		}
	}
	if code {
		err := whenSettled(ctx, r, functionActive, functionBusy, func() error {
			_, err := provider.Invoke(ctx, r, lambdaClient, (*lambda.Client).UpdateFunctionCode, updateCodeInput)
			return err
		})
		if err != nil {
			return out, err
		}
		if r.Wait != provider.WaitNone {
			if err := functionUpdated.Wait(ctx, r); err != nil {
				return out, err
			}
		}
	}
	c := lambdaClient(r.Session)
	switch config := text(r.Properties, "CodeSigningConfigArn"); {
	case !d.Changed("CodeSigningConfigArn"):
	case config == "":
		_, err := c.DeleteFunctionCodeSigningConfig(ctx, &lambda.DeleteFunctionCodeSigningConfigInput{FunctionName: &r.PhysicalID})
		return out, err
	default:
		_, err := c.PutFunctionCodeSigningConfig(ctx, &lambda.PutFunctionCodeSigningConfigInput{
			FunctionName: &r.PhysicalID, CodeSigningConfigArn: &config,
		})
		return out, err
	}
	return out, nil
}

func lambdaTags(of func(*provider.Request) string) provider.Tags {
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := lambdaClient(r.Session).TagResource(ctx, &lambda.TagResourceInput{Resource: aws.String(of(r)), Tags: tags})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := lambdaClient(r.Session).UntagResource(ctx, &lambda.UntagResourceInput{Resource: aws.String(of(r)), TagKeys: keys})
			return err
		},
	}
}

package awssdk

import (
	"context"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var publishLayerInput = provider.Bind[lambda.PublishLayerVersionInput]()

// A layer version is known by its ARN, which ends in a number that the service
// chooses. Nothing of it can change.
func layerVersion() provider.Resource {
	return provider.Resource{
		Type:   "AWS::Lambda::LayerVersion",
		Name:   "LayerName",
		Inputs: []provider.Input{publishLayerInput},
		Create: createBy(lambdaOnce, (*lambda.Client).PublishLayerVersion, publishLayerInput, func(o *lambda.PublishLayerVersionOutput) *string { return o.LayerVersionArn }),
		Delete: func(ctx context.Context, r *provider.Request) error {
			layer, number, err := splitLayer(r.PhysicalID)
			if err != nil {
				return err
			}
			_, err = lambdaClient(r.Session).DeleteLayerVersion(ctx, &lambda.DeleteLayerVersionInput{LayerName: &layer, VersionNumber: &number})
			return err
		},
		Gone: lambdaGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("LayerVersionArn", r.PhysicalID)
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			layer, number, err := splitLayer(r.PhysicalID)
			if err != nil {
				return nil, err
			}
			out, err := lambdaClient(r.Session).GetLayerVersion(ctx, &lambda.GetLayerVersionInput{LayerName: &layer, VersionNumber: &number})
			if provider.HasCode(err, lambdaGone...) {
				return nil, provider.ErrNotFound
			} else if err != nil {
				return nil, err
			}
			props := value.NewObject("LayerName", lastSegment(layer, ":"))
			if d := aws.ToString(out.Description); d != "" {
				props.Set("Description", d)
			}
			if l := aws.ToString(out.LicenseInfo); l != "" {
				props.Set("LicenseInfo", l)
			}
			var runtimes, architectures []string
			for _, rt := range out.CompatibleRuntimes {
				runtimes = append(runtimes, string(rt))
			}
			for _, a := range out.CompatibleArchitectures {
				architectures = append(architectures, string(a))
			}
			if len(runtimes) > 0 {
				props.Set("CompatibleRuntimes", list(runtimes))
			}
			if len(architectures) > 0 {
				props.Set("CompatibleArchitectures", list(architectures))
			}
			if c, ok := r.Properties.Get("Content"); ok {
				props.Set("Content", c) // where it was uploaded from is not kept by the service
			}
			return props, nil
		},
		SDKOnly: "Cloud Control cannot read layer versions",
	}
}

func splitLayer(versionARN string) (layer string, number int64, err error) {
	number, err = strconv.ParseInt(lastSegment(versionARN, ":"), 10, 64)
	return strings.TrimSuffix(versionARN, ":"+lastSegment(versionARN, ":")), number, err
}

var (
	createURLInput = provider.Bind[lambda.CreateFunctionUrlConfigInput](provider.Rename{"TargetFunctionArn": "FunctionName"})
	updateURLInput = provider.Bind[lambda.UpdateFunctionUrlConfigInput](
		provider.Rename{"TargetFunctionArn": "FunctionName"},
		provider.Clear{"Cors": &value.Object{}, "InvokeMode": "BUFFERED"})
)

// A function's URL is known by the function's ARN.
func functionURL() provider.Resource {
	target := func(r *provider.Request) (name, qualifier *string) {
		name = &r.PhysicalID
		if t := text(r.Properties, "TargetFunctionArn"); t != "" {
			name = &t
		}
		if q := text(r.Properties, "Qualifier"); q != "" {
			qualifier = &q
		}
		return name, qualifier
	}
	return provider.Resource{
		Type:     "AWS::Lambda::Url",
		GoesWith: []string{"TargetFunctionArn"},
		Inputs:   []provider.Input{createURLInput},
		Updates:  []provider.Input{updateURLInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, lambdaOnce, (*lambda.Client).CreateFunctionUrlConfig, createURLInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{
				PhysicalID: *out.FunctionArn,
				Attributes: value.NewObject("FunctionArn", *out.FunctionArn, "FunctionUrl", aws.ToString(out.FunctionUrl)),
			}, nil
		},
		Update: updateBy(lambdaClient, (*lambda.Client).UpdateFunctionUrlConfig, updateURLInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			name, qualifier := target(r)
			_, err := lambdaClient(r.Session).DeleteFunctionUrlConfig(ctx, &lambda.DeleteFunctionUrlConfigInput{FunctionName: name, Qualifier: qualifier})
			return err
		},
		Gone: lambdaGone,
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			name, qualifier := target(r)
			out, err := lambdaClient(r.Session).GetFunctionUrlConfig(ctx, &lambda.GetFunctionUrlConfigInput{FunctionName: name, Qualifier: qualifier})
			if provider.HasCode(err, lambdaGone...) {
				return "", nil
			} else if err != nil {
				return "", err
			}
			return aws.ToString(out.FunctionArn), nil
		},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if r.Attributes.Has("FunctionUrl") {
				return nil, nil // the create's answer had it, and it never changes
			}
			name, qualifier := target(r)
			out, err := lambdaClient(r.Session).GetFunctionUrlConfig(ctx, &lambda.GetFunctionUrlConfigInput{FunctionName: name, Qualifier: qualifier})
			if err != nil {
				return nil, err
			}
			return value.NewObject("FunctionArn", aws.ToString(out.FunctionArn), "FunctionUrl", aws.ToString(out.FunctionUrl)), nil
		},
	}
}

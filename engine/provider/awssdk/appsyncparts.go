package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/appsync"
	"github.com/aws/aws-sdk-go-v2/service/appsync/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// graphAPIOf is the API that something belongs to.
func graphAPIOf(r *provider.Request) *string { return aws.String(text(r.Properties, "ApiId")) }

// readPart is the Read of what belongs to an API.
func readPart[T any](get func(context.Context, *provider.Request) (*T, error)) func(context.Context, *provider.Request) (*value.Object, error) {
	return func(ctx context.Context, r *provider.Request) (*value.Object, error) {
		part, err := get(ctx, r)
		if err != nil {
			return nil, err
		}
		shape, _ := schema.Lookup(r.Type)
		props := provider.Unbind(part, shape)
		props.Set("ApiId", *graphAPIOf(r))
		return props, nil
	}
}

// findPart is the Find of what an API has one of.
func findPart[T any](get func(context.Context, *provider.Request) (*T, error), id func(*T) *string) func(context.Context, *provider.Request) (string, error) {
	return func(ctx context.Context, r *provider.Request) (string, error) {
		part, err := get(ctx, r)
		if err != nil {
			return "", unlessGone(err, appSyncGone)
		}
		return aws.ToString(id(part)), nil
	}
}

var (
	createSourceInput = provider.Bind[appsync.CreateDataSourceInput]()
	updateSourceInput = provider.Bind[appsync.UpdateDataSourceInput](provider.Clear{"Description": ""})
	deleteSourceInput = provider.Bind[appsync.DeleteDataSourceInput]()
)

// A data source is known by its ARN; the calls name API and source.
func graphSource() provider.Resource {
	get := func(ctx context.Context, r *provider.Request) (*types.DataSource, error) {
		out, err := appSyncClient(r.Session).GetDataSource(ctx, &appsync.GetDataSourceInput{ApiId: graphAPIOf(r), Name: aws.String(text(r.Properties, "Name"))})
		if err != nil {
			return nil, err
		}
		return out.DataSource, nil
	}
	return provider.Resource{
		Type:    "AWS::AppSync::DataSource",
		Inputs:  []provider.Input{createSourceInput},
		Updates: []provider.Input{updateSourceInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, appSyncOnce, (*appsync.Client).CreateDataSource, createSourceInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.DataSource.DataSourceArn), Attributes: value.NewObject(
				"DataSourceArn", aws.ToString(out.DataSource.DataSourceArn), "Name", aws.ToString(out.DataSource.Name))}, nil
		},
		Update: updateBy(appSyncClient, (*appsync.Client).UpdateDataSource, updateSourceInput),
		Delete: provider.Call(appSyncClient, (*appsync.Client).DeleteDataSource, deleteSourceInput),
		Gone:   appSyncGone,
		Find:   findPart(get, func(s *types.DataSource) *string { return s.DataSourceArn }),
		Read:   readPart(get),
	}
}

// inBuckets are the properties of resolvers and functions that may lie in a bucket.
var inBuckets = []string{"Code", "RequestMappingTemplate", "ResponseMappingTemplate"}

// located are the properties that say where.
func located() (names []string) {
	for _, p := range inBuckets {
		names = append(names, p+"S3Location")
	}
	return names
}

// invokeInlined makes a call with what lies in buckets.
func invokeInlined[In, Out, O any](ctx context.Context, r *provider.Request, client func(*provider.Session) *appsync.Client, op provider.Operation[appsync.Client, In, Out, O], in *provider.Binding[In]) (*Out, error) {
	r, err := inlined(ctx, r, inBuckets...)
	if err != nil {
		return nil, err
	}
	return provider.Invoke(ctx, r, client, op, in)
}

var (
	createFunctionConfigurationInput = provider.Bind[appsync.CreateFunctionInput]()
	updateFunctionConfigurationInput = provider.Bind[appsync.UpdateFunctionInput]()
)

// A function is known by its ARN, which ends in the id that the calls take beside
// the API. Several of an API may have one name.
func graphFunction() provider.Resource {
	own := func(r *provider.Request) *string { return aws.String(lastSegment(r.PhysicalID, "/")) }
	return provider.Resource{
		Type:    "AWS::AppSync::FunctionConfiguration",
		Inputs:  []provider.Input{createFunctionConfigurationInput},
		Updates: []provider.Input{updateFunctionConfigurationInput},
		Handled: located(),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := invokeInlined(ctx, r, appSyncOnce, (*appsync.Client).CreateFunction, createFunctionConfigurationInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.FunctionConfiguration.FunctionArn)}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			r, err := inlined(ctx, r, inBuckets...)
			if err != nil {
				return provider.Updated{}, err
			}
			in, err := updateFunctionConfigurationInput.Input(r)
			if err != nil {
				return provider.Updated{}, err
			}
			in.FunctionId = own(r)
			_, err = appSyncClient(r.Session).UpdateFunction(ctx, in)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := appSyncClient(r.Session).DeleteFunction(ctx, &appsync.DeleteFunctionInput{ApiId: graphAPIOf(r), FunctionId: own(r)})
			return err
		},
		Gone: appSyncGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("FunctionArn", r.PhysicalID, "FunctionId", *own(r),
				"DataSourceName", text(r.Properties, "DataSourceName"), "Name", text(r.Properties, "Name"))
		},
		Read: readPart(func(ctx context.Context, r *provider.Request) (*types.FunctionConfiguration, error) {
			out, err := appSyncClient(r.Session).GetFunction(ctx, &appsync.GetFunctionInput{ApiId: graphAPIOf(r), FunctionId: own(r)})
			if err != nil {
				return nil, err
			}
			return out.FunctionConfiguration, nil
		}),
	}
}

var (
	createResolverInput = provider.Bind[appsync.CreateResolverInput]()
	updateResolverInput = provider.Bind[appsync.UpdateResolverInput]()
	deleteResolverInput = provider.Bind[appsync.DeleteResolverInput]()
)

// A resolver is known by its ARN; the calls name API, type and field.
func graphResolver() provider.Resource {
	get := func(ctx context.Context, r *provider.Request) (*types.Resolver, error) {
		out, err := appSyncClient(r.Session).GetResolver(ctx, &appsync.GetResolverInput{
			ApiId: graphAPIOf(r), TypeName: aws.String(text(r.Properties, "TypeName")), FieldName: aws.String(text(r.Properties, "FieldName")),
		})
		if err != nil {
			return nil, err
		}
		return out.Resolver, nil
	}
	return provider.Resource{
		Type:    "AWS::AppSync::Resolver",
		Inputs:  []provider.Input{createResolverInput},
		Updates: []provider.Input{updateResolverInput},
		Handled: located(),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := invokeInlined(ctx, r, appSyncOnce, (*appsync.Client).CreateResolver, createResolverInput)
			if err != nil {
				return provider.Created{}, err
			}
			id := aws.ToString(out.Resolver.ResolverArn)
			return provider.Created{PhysicalID: id, Attributes: value.NewObject("FieldName", aws.ToString(out.Resolver.FieldName),
				"ResolverArn", id, "TypeName", aws.ToString(out.Resolver.TypeName))}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			_, err := invokeInlined(ctx, r, appSyncClient, (*appsync.Client).UpdateResolver, updateResolverInput)
			return provider.Updated{}, err
		},
		Delete: provider.Call(appSyncClient, (*appsync.Client).DeleteResolver, deleteResolverInput),
		Gone:   appSyncGone,
		Find:   findPart(get, func(s *types.Resolver) *string { return s.ResolverArn }),
		Read:   readPart(get),
	}
}

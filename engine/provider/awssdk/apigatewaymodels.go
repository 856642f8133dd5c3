package awssdk

import (
	"context"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	createModelInput = provider.Bind[apigateway.CreateModelInput](
		provider.Finish(func(r *provider.Request, in *apigateway.CreateModelInput) error {
			in.Name = aws.String(modelName(r))
			orElse(&in.ContentType, "application/json")
			return nil
		}))
	getModelInput    = provider.Bind[apigateway.GetModelInput](provider.Rename{"Name": "ModelName"})
	deleteModelInput = provider.Bind[apigateway.DeleteModelInput](provider.Rename{"Name": "ModelName"})
)

var notInModelName = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// modelName is the name declared, or one of stack and logical id. It has letters
// and digits only.
func modelName(r *provider.Request) string {
	if name := text(r.Properties, "Name"); name != "" {
		return name
	}
	return notInModelName.ReplaceAllString(r.Stack.Name+r.LogicalID, "")
}

// A model is known by its API and its name, as api|name.
func restModel() provider.Resource {
	k := composite{"RestApiId", "Name"}
	named := func(r *provider.Request) *provider.Request {
		c := *r
		c.Properties = r.Properties.Clone()
		c.Properties.Set("Name", modelName(r))
		return &c
	}
	model := partOf(k, provider.Resource{
		Type:   "AWS::ApiGateway::Model",
		Inputs: []provider.Input{createModelInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			return k.made(provider.Call(restOnce, (*apigateway.Client).CreateModel, createModelInput))(ctx, named(r))
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			var p patch
			p.scalars(d.Old, d.New, patched{"Description", "/description", ""}, patched{"Schema", "/schema", "{}"})
			_, err := restClient(r.Session).UpdateModel(ctx, &apigateway.UpdateModelInput{
				RestApiId: restAPIOf(r), ModelName: aws.String(text(r.Properties, "Name")), PatchOperations: p,
			})
			return provider.Updated{}, err
		},
		Delete: provider.Call(restClient, (*apigateway.Client).DeleteModel, deleteModelInput),
		Gone:   restGone,
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			model, err := provider.Invoke(ctx, r, restClient, (*apigateway.Client).GetModel, getModelInput)
			if err != nil {
				return nil, err
			}
			props := restProps(r, model, nil)
			props.Set("RestApiId", *restAPIOf(r))
			return props, nil
		},
	})
	find := model.Find
	model.Find = func(ctx context.Context, r *provider.Request) (string, error) { return find(ctx, named(r)) }
	return model
}

var createValidatorInput = provider.Bind[apigateway.CreateRequestValidatorInput]()

// A validator is known by its API and its id, as api|id.
func requestValidator() provider.Resource {
	return keyed(composite{"RestApiId", "RequestValidatorId"}, provider.Resource{
		Type:   "AWS::ApiGateway::RequestValidator",
		Inputs: []provider.Input{createValidatorInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, restOnce, (*apigateway.Client).CreateRequestValidator, createValidatorInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *restAPIOf(r) + "|" + *out.Id}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			var p patch
			p.scalars(d.Old, d.New,
				patched{"ValidateRequestBody", "/validateRequestBody", "false"},
				patched{"ValidateRequestParameters", "/validateRequestParameters", "false"})
			_, err := restClient(r.Session).UpdateRequestValidator(ctx, &apigateway.UpdateRequestValidatorInput{
				RestApiId: restAPIOf(r), RequestValidatorId: ownID(r), PatchOperations: p,
			})
			return provider.Updated{}, err
		},
		Delete: provider.Call(restClient, (*apigateway.Client).DeleteRequestValidator, provider.Bind[apigateway.DeleteRequestValidatorInput]()),
		Gone:   restGone,
		Known:  knownID("RequestValidatorId"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := restClient(r.Session).GetRequestValidator(ctx, &apigateway.GetRequestValidatorInput{RestApiId: restAPIOf(r), RequestValidatorId: ownID(r)})
			if err != nil {
				return nil, err
			}
			props := restProps(r, out, nil)
			props.Set("RestApiId", *restAPIOf(r))
			return props, nil
		},
	})
}

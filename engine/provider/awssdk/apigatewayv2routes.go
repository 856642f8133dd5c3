package awssdk

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// readHTTPStage reads what Cloud Control cannot.
func readHTTPStage(ctx context.Context, r *provider.Request) (*value.Object, error) {
	out, err := httpClient(r.Session).GetStage(ctx, &apigatewayv2.GetStageInput{ApiId: httpAPIOf(r), StageName: ownID(r)})
	if provider.HasCode(err, httpGone...) {
		return nil, provider.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	typ, _ := schema.Lookup(r.Type)
	props := provider.Unbind(out, typ)
	props.Set("ApiId", *httpAPIOf(r))
	if text(props, "AutoDeploy") == "true" && !r.Properties.Has("DeploymentId") {
		props.Delete("DeploymentId") // its own, not the template's
	}
	return props, nil
}

var (
	createHTTPIntegrationInput = provider.Bind[apigatewayv2.CreateIntegrationInput](
		provider.Custom("ResponseParameters", responseParameters))
	updateHTTPIntegrationInput = provider.Bind[apigatewayv2.UpdateIntegrationInput](
		provider.Custom("ResponseParameters", responseParameters),
		provider.Clear{
			"ConnectionId":                "",
			"ContentHandlingStrategy":     "",
			"CredentialsArn":              "",
			"Description":                 "",
			"RequestParameters":           &value.Object{},
			"RequestTemplates":            &value.Object{},
			"ResponseParameters":          &value.Object{},
			"TemplateSelectionExpression": "",
			"TimeoutInMillis":             "30000",
			"TlsConfig":                   &value.Object{},
		},
		provider.Finish(func(r *provider.Request, in *apigatewayv2.UpdateIntegrationInput) error {
			in.IntegrationId = ownID(r)
			// Entries that are not mentioned stay; empty ones go.
			for k := range r.Previous.Object("RequestParameters").All() {
				if _, stays := in.RequestParameters[k]; !stays {
					in.RequestParameters[k] = ""
				}
			}
			for k := range r.Previous.Object("RequestTemplates").All() {
				if _, stays := in.RequestTemplates[k]; !stays {
					in.RequestTemplates[k] = ""
				}
			}
			was, err := responseParameters(r.Previous.Object("ResponseParameters"))
			if err != nil {
				return nil // what is gone cannot be wrong
			}
			for code, entries := range was {
				for k := range entries {
					if in.ResponseParameters[code] == nil {
						in.ResponseParameters[code] = map[string]string{}
					}
					if _, stays := in.ResponseParameters[code][k]; !stays {
						in.ResponseParameters[code][k] = ""
					}
				}
			}
			return nil
		}))
)

// responseParameters are lists of sources and destinations by status code in a
// template, and maps in the API.
func responseParameters(v any) (map[string]map[string]string, error) {
	o, ok := v.(*value.Object)
	if !ok {
		return nil, fmt.Errorf("want an object, got %s", value.Kind(v))
	}
	codes := map[string]map[string]string{}
	for code, v := range o.All() {
		codes[code] = map[string]string{}
		response, _ := v.(*value.Object)
		for _, e := range response.List("ResponseParameters") {
			if p, ok := e.(*value.Object); ok {
				codes[code][text(p, "Destination")] = text(p, "Source")
			}
		}
	}
	return codes, nil
}

// An integration is known by its id, within its API.
func httpIntegration() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ApiGatewayV2::Integration",
		Inputs:  []provider.Input{createHTTPIntegrationInput},
		Updates: []provider.Input{updateHTTPIntegrationInput},
		Create:  createBy(httpOnce, (*apigatewayv2.Client).CreateIntegration, createHTTPIntegrationInput, func(o *apigatewayv2.CreateIntegrationOutput) *string { return o.IntegrationId }),
		Update:  updateBy(httpClient, (*apigatewayv2.Client).UpdateIntegration, updateHTTPIntegrationInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := httpClient(r.Session).DeleteIntegration(ctx, &apigatewayv2.DeleteIntegrationInput{ApiId: httpAPIOf(r), IntegrationId: ownID(r)})
			return err
		},
		Gone:       httpGone,
		Known:      knownID("IntegrationId"),
		Identifier: belowHTTPAPI,
	}
}

// belowHTTPAPI is Cloud Control's identifier of what belongs to an API.
func belowHTTPAPI(r *provider.Request) string {
	return *httpAPIOf(r) + "|" + *ownID(r)
}

var (
	createHTTPRouteInput = provider.Bind[apigatewayv2.CreateRouteInput]()
	updateHTTPRouteInput = provider.Bind[apigatewayv2.UpdateRouteInput](
		provider.Clear{
			"ApiKeyRequired":                   "false",
			"AuthorizationScopes":              []any{},
			"AuthorizationType":                "NONE",
			"ModelSelectionExpression":         "",
			"OperationName":                    "",
			"RequestModels":                    &value.Object{},
			"RouteResponseSelectionExpression": "",
			"Target":                           "",
		},
		provider.Finish(func(r *provider.Request, in *apigatewayv2.UpdateRouteInput) error {
			in.RouteId = ownID(r)
			for k := range r.Previous.Object("RequestModels").All() {
				if _, stays := in.RequestModels[k]; !stays {
					in.RequestModels[k] = ""
				}
			}
			return nil
		}))
)

// A route is known by its id, within its API, where its key is unique.
func httpRoute() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ApiGatewayV2::Route",
		Inputs:  []provider.Input{createHTTPRouteInput},
		Updates: []provider.Input{updateHTTPRouteInput},
		Create:  createBy(httpOnce, (*apigatewayv2.Client).CreateRoute, createHTTPRouteInput, func(o *apigatewayv2.CreateRouteOutput) *string { return o.RouteId }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			_, err := provider.Invoke(ctx, r, httpClient, (*apigatewayv2.Client).UpdateRoute, updateHTTPRouteInput)
			if err != nil {
				return provider.Updated{}, err
			}
			for k := range d.Old.Object("RequestParameters").All() {
				if d.New.Object("RequestParameters").Has(k) {
					continue
				}
				_, err := httpClient(r.Session).DeleteRouteRequestParameter(ctx, &apigatewayv2.DeleteRouteRequestParameterInput{
					ApiId: httpAPIOf(r), RouteId: ownID(r), RequestParameterKey: &k,
				})
				if unlessGone(err, httpGone) != nil {
					return provider.Updated{}, err
				}
			}
			return provider.Updated{}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := httpClient(r.Session).DeleteRoute(ctx, &apigatewayv2.DeleteRouteInput{ApiId: httpAPIOf(r), RouteId: ownID(r)})
			return err
		},
		Gone:       httpGone,
		Known:      knownID("RouteId"),
		Identifier: belowHTTPAPI,
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			in := &apigatewayv2.GetRoutesInput{ApiId: httpAPIOf(r), MaxResults: aws.String("500")}
			for {
				out, err := httpClient(r.Session).GetRoutes(ctx, in)
				if err != nil {
					return "", unlessGone(err, httpGone)
				}
				for _, route := range out.Items {
					if aws.ToString(route.RouteKey) == text(r.Properties, "RouteKey") {
						return aws.ToString(route.RouteId), nil
					}
				}
				if in.NextToken = out.NextToken; in.NextToken == nil {
					return "", nil
				}
			}
		},
	}
}

var (
	createHTTPAuthorizerInput = provider.Bind[apigatewayv2.CreateAuthorizerInput]()
	updateHTTPAuthorizerInput = provider.Bind[apigatewayv2.UpdateAuthorizerInput](
		provider.Clear{
			"AuthorizerCredentialsArn":     "",
			"AuthorizerResultTtlInSeconds": "0",
			"EnableSimpleResponses":        "false",
			"IdentitySource":               []any{},
			"IdentityValidationExpression": "",
		},
		provider.Finish(func(r *provider.Request, in *apigatewayv2.UpdateAuthorizerInput) error {
			in.AuthorizerId = authorizerOf(r)
			return nil
		}))
)

// authorizerOf is the authorizer's id, which Cloud Control has before the API's.
func authorizerOf(r *provider.Request) *string { return deploymentOf(r) }

// An authorizer is known by its id, within its API, where its name is unique.
func httpAuthorizer() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ApiGatewayV2::Authorizer",
		Inputs:  []provider.Input{createHTTPAuthorizerInput},
		Updates: []provider.Input{updateHTTPAuthorizerInput},
		Create:  createBy(httpOnce, (*apigatewayv2.Client).CreateAuthorizer, createHTTPAuthorizerInput, func(o *apigatewayv2.CreateAuthorizerOutput) *string { return o.AuthorizerId }),
		Update:  updateBy(httpClient, (*apigatewayv2.Client).UpdateAuthorizer, updateHTTPAuthorizerInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := httpClient(r.Session).DeleteAuthorizer(ctx, &apigatewayv2.DeleteAuthorizerInput{ApiId: httpAPIOf(r), AuthorizerId: authorizerOf(r)})
			return err
		},
		Gone: httpGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("AuthorizerId", *authorizerOf(r))
		},
		Identifier: func(r *provider.Request) string { return *authorizerOf(r) + "|" + *httpAPIOf(r) },
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			in := &apigatewayv2.GetAuthorizersInput{ApiId: httpAPIOf(r), MaxResults: aws.String("500")}
			for {
				out, err := httpClient(r.Session).GetAuthorizers(ctx, in)
				if err != nil {
					return "", unlessGone(err, httpGone)
				}
				for _, a := range out.Items {
					if aws.ToString(a.Name) == text(r.Properties, "Name") {
						return aws.ToString(a.AuthorizerId), nil
					}
				}
				if in.NextToken = out.NextToken; in.NextToken == nil {
					return "", nil
				}
			}
		},
	}
}

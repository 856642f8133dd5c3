package awssdk

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

func TestHTTPAPI(t *testing.T) {
	s := emulated(t)
	c := apigatewayv2.NewFromConfig(s.Config)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetApi(ctx, &apigatewayv2.GetApiInput{ApiId: &id})
		if err != nil {
			return nil, err
		}
		got := map[string]string{"name": *out.Name, "description": aws.ToString(out.Description), "version": aws.ToString(out.Version)}
		if out.CorsConfiguration != nil {
			got["cors"] = out.CorsConfiguration.AllowOrigins[0]
		}
		for k, v := range out.Tags {
			got["tag:"+k] = v
		}
		return got, nil
	}
	const owner = "0123456789abcdef0123456789abcdef"
	life{
		typ: "AWS::ApiGatewayV2::Api",
		steps: []step{
			{"create", `{"Name": "Shop", "ProtocolType": "HTTP", "Description": "d", "Version": "1", "CorsConfiguration": {"AllowOrigins": ["*"]}, "Tags": {"a": "1"}}`, seen,
				map[string]string{"name": "Shop", "description": "d", "version": "1", "cors": "*", "tag:a": "1", "tag:cdkd-action:create": owner}},
			{"change", `{"Name": "Shop2", "ProtocolType": "HTTP", "Description": "e", "Version": "1", "CorsConfiguration": {"AllowOrigins": ["https://example.com"]}, "Tags": {"b": "2"}}`, seen,
				map[string]string{"name": "Shop2", "description": "e", "version": "1", "cors": "https://example.com", "tag:b": "2", "tag:cdkd-action:create": owner}},
			{"remove", `{"Name": "Shop2", "ProtocolType": "HTTP"}`, seen,
				map[string]string{"name": "Shop2", "description": "", "version": "", "tag:cdkd-action:create": owner}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetApi(ctx, &apigatewayv2.GetApiInput{ApiId: &id})
			return err
		},
		noRead: true,
	}.run(t, s)

	d := provider.Drive(describe(t, "AWS::ApiGatewayV2::Api"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "Api", Type: "AWS::ApiGatewayV2::Api", Properties: object(t, `{"Name": "Known", "ProtocolType": "HTTP"}`)}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	id := made.PhysicalID
	want := map[string]string{
		"ApiId": id, "ExecuteApiArn": "arn:aws:execute-api:eu-west-1:123456789012:" + id,
		"ApiEndpoint": "https://" + id + ".execute-api.eu-west-1.amazonaws.com",
	}
	again, err := d.Resume(t.Context(), r, provider.Created{PhysicalID: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range []provider.Created{made, again} {
		got := map[string]string{}
		for k := range made.Attributes.All() {
			got[k] = made.Attributes.String(k)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
	}
}

func TestHTTPAPIDefinition(t *testing.T) {
	s := emulated(t)
	c := apigatewayv2.NewFromConfig(s.Config)
	life{
		typ: "AWS::ApiGatewayV2::Api",
		steps: []step{{"create", `{"Body": {"openapi": "3.0.1", "info": {"title": "Defined", "version": "1"}, "paths": {"/pets": {"get": {"x-amazon-apigateway-integration": {"type": "HTTP_PROXY", "httpMethod": "GET", "uri": "https://example.com"}}}}}}`,
			func(ctx context.Context, id string) (any, error) {
				out, err := c.GetApi(ctx, &apigatewayv2.GetApiInput{ApiId: &id})
				if err != nil {
					return nil, err
				}
				routes, err := c.GetRoutes(ctx, &apigatewayv2.GetRoutesInput{ApiId: &id})
				if err != nil {
					return nil, err
				}
				got := []string{*out.Name}
				for _, r := range routes.Items {
					got = append(got, *r.RouteKey)
				}
				return got, nil
			}, []string{"Defined", "GET /pets"}}},
		noRead: true,
	}.run(t, s)
}

func anHTTPAPI(t *testing.T, c *apigatewayv2.Client) string {
	t.Helper()
	out, err := c.CreateApi(t.Context(), &apigatewayv2.CreateApiInput{Name: aws.String(t.Name()), ProtocolType: "HTTP"})
	if err != nil {
		t.Fatal(err)
	}
	return *out.ApiId
}

func TestHTTPIntegrationAndRoute(t *testing.T) {
	s := emulated(t)
	c := apigatewayv2.NewFromConfig(s.Config)
	api := anHTTPAPI(t, c)
	integration := func(ctx context.Context, id string) (*apigatewayv2.GetIntegrationOutput, error) {
		return c.GetIntegration(ctx, &apigatewayv2.GetIntegrationInput{ApiId: &api, IntegrationId: &id})
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := integration(ctx, id)
		if err != nil {
			return nil, err
		}
		return []any{aws.ToString(out.Description), *out.IntegrationUri, out.RequestParameters, out.ResponseParameters["200"]["append:header.a"]}, nil
	}
	base := `{"ApiId": "` + api + `", "IntegrationType": "HTTP_PROXY", "IntegrationMethod": "GET", "PayloadFormatVersion": "1.0", "IntegrationUri": "https://example.com/`
	life{
		typ: "AWS::ApiGatewayV2::Integration",
		steps: []step{
			{"create", base + `a", "Description": "d", "RequestParameters": {"append:header.x": "1", "append:header.y": "2"},
				"ResponseParameters": {"200": {"ResponseParameters": [{"Destination": "append:header.a", "Source": "s"}]}}, "TimeoutInMillis": 1000}`,
				seen, []any{"d", "https://example.com/a", map[string]string{"append:header.x": "1", "append:header.y": "2"}, "s"}},
			{"change", base + `b", "Description": "e", "RequestParameters": {"append:header.x": "3"}}`,
				seen, []any{"e", "https://example.com/b", map[string]string{"append:header.x": "3"}, ""}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := integration(ctx, id); return err },
		noRead: true,
	}.run(t, s)

	route := func(ctx context.Context, id string) (*apigatewayv2.GetRouteOutput, error) {
		return c.GetRoute(ctx, &apigatewayv2.GetRouteInput{ApiId: &api, RouteId: &id})
	}
	seen = func(ctx context.Context, id string) (any, error) {
		out, err := route(ctx, id)
		if err != nil {
			return nil, err
		}
		return []any{*out.RouteKey, aws.ToString(out.Target), aws.ToString(out.OperationName), string(out.AuthorizationType), len(out.RequestParameters)}, nil
	}
	life{
		typ: "AWS::ApiGatewayV2::Route",
		steps: []step{
			{"create", `{"ApiId": "` + api + `", "RouteKey": "GET /a", "Target": "integrations/x", "OperationName": "a", "AuthorizationType": "AWS_IAM",
				"RequestParameters": {"route.request.header.a": {"Required": true}}}`, seen, []any{"GET /a", "integrations/x", "a", "AWS_IAM", 1}},
			{"change", `{"ApiId": "` + api + `", "RouteKey": "GET /b", "Target": "integrations/y"}`, seen, []any{"GET /b", "integrations/y", "", "NONE", 0}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := route(ctx, id); return err },
		noRead: true,
	}.run(t, s)
}

// The emulator does not list authorizers.
func TestHTTPAuthorizer(t *testing.T) {
	s := emulated(t)
	c := apigatewayv2.NewFromConfig(s.Config)
	api := anHTTPAPI(t, c)
	get := func(ctx context.Context, id string) (*apigatewayv2.GetAuthorizerOutput, error) {
		return c.GetAuthorizer(ctx, &apigatewayv2.GetAuthorizerInput{ApiId: &api, AuthorizerId: &id})
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := get(ctx, id)
		if err != nil {
			return nil, err
		}
		return []any{*out.Name, *out.JwtConfiguration.Issuer, out.IdentitySource}, nil
	}
	base := `{"ApiId": "` + api + `", "AuthorizerType": "JWT", "IdentitySource": ["$request.header.Authorization"], "Name": "`
	life{
		typ: "AWS::ApiGatewayV2::Authorizer",
		steps: []step{
			{"create", base + `a", "JwtConfiguration": {"Issuer": "https://example.com/a", "Audience": ["x"]}}`, seen, []any{"a", "https://example.com/a", []string{"$request.header.Authorization"}}},
			{"change", base + `b", "JwtConfiguration": {"Issuer": "https://example.com/b", "Audience": ["x"]}}`, seen, []any{"b", "https://example.com/b", []string{"$request.header.Authorization"}}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := get(ctx, id); return err },
		noRead: true, noFind: true,
	}.run(t, s)
}

// The emulator has no UpdateStage.
func TestHTTPStage(t *testing.T) {
	s := emulated(t)
	c := apigatewayv2.NewFromConfig(s.Config)
	api := anHTTPAPI(t, c)
	get := func(ctx context.Context, id string) (*apigatewayv2.GetStageOutput, error) {
		return c.GetStage(ctx, &apigatewayv2.GetStageInput{ApiId: &api, StageName: &id})
	}
	life{
		typ: "AWS::ApiGatewayV2::Stage", id: "$default",
		steps: []step{
			{"create", `{"ApiId": "` + api + `", "StageName": "$default", "AutoDeploy": true, "StageVariables": {"v": "1"}, "Tags": {"a": "1"},
				"DefaultRouteSettings": {"ThrottlingBurstLimit": 5}}`,
				func(ctx context.Context, id string) (any, error) {
					out, err := get(ctx, id)
					if err != nil {
						return nil, err
					}
					return []any{*out.AutoDeploy, out.StageVariables["v"], out.Tags["a"], *out.DefaultRouteSettings.ThrottlingBurstLimit}, nil
				}, []any{true, "1", "1", int32(5)}},
		},
		gone: func(ctx context.Context, id string) error { _, err := get(ctx, id); return err },
	}.run(t, s)

	in, err := updateHTTPStageInput.Input(&provider.Request{
		PhysicalID: "prod",
		Previous:   object(t, `{"ApiId": "a", "AutoDeploy": true, "StageVariables": {"v": "1", "w": "2"}, "DefaultRouteSettings": {"DetailedMetricsEnabled": true}}`),
		Properties: object(t, `{"ApiId": "a", "StageVariables": {"v": "3"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if *in.StageName != "prod" || *in.AutoDeploy || *in.DefaultRouteSettings.DetailedMetricsEnabled || in.DefaultRouteSettings.LoggingLevel != "" {
		t.Errorf("the update is %+v", in)
	}
	if diff := cmp.Diff(map[string]string{"v": "3", "w": ""}, in.StageVariables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

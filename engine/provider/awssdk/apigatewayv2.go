package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func httpClient(s *provider.Session) *apigatewayv2.Client {
	return provider.Client(s, apigatewayv2.NewFromConfig)
}

func httpOnce(s *provider.Session) *apigatewayv2.Client {
	return provider.OnceClient(s, apigatewayv2.NewFromConfig)
}

func apiGatewayV2Resources() []provider.Resource {
	return []provider.Resource{httpAPI(), httpIntegration(), httpRoute(), httpStage(), httpAuthorizer()}
}

var httpGone = []string{"NotFoundException"}

var (
	createHTTPAPIInput = provider.Bind[apigatewayv2.CreateApiInput](
		provider.Finish(func(r *provider.Request, in *apigatewayv2.CreateApiInput) error {
			// A definition says these too, but it is put later.
			if in.Name == nil {
				in.Name = aws.String(nameOfDefinition(r))
			}
			if in.ProtocolType == "" {
				in.ProtocolType = "HTTP"
			}
			return nil
		}))
	updateHTTPAPIInput = provider.Bind[apigatewayv2.UpdateApiInput](
		provider.ID("ApiId"),
		provider.Clear{
			"ApiKeySelectionExpression": "$request.header.x-api-key",
			"CredentialsArn":            "",
			"Description":               "",
			"DisableExecuteApiEndpoint": "false",
			"DisableSchemaValidation":   "false",
			"IpAddressType":             "ipv4",
			"RouteSelectionExpression":  "$request.method $request.path",
			"Version":                   "",
		})
	reimportInput = provider.Bind[apigatewayv2.ReimportApiInput](provider.ID("ApiId"), provider.Only("BasePath", "FailOnWarnings"))
)

// An HTTP or WebSocket API is known by its id.
func httpAPI() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ApiGatewayV2::Api",
		Inputs:  []provider.Input{createHTTPAPIInput},
		Updates: []provider.Input{updateHTTPAPIInput},
		Satellites: []provider.Satellite{{
			Properties: []string{"Body", "BodyS3Location", "BasePath", "FailOnWarnings"}, Put: reimport,
		}},
		Exclusive: [][]string{{"Body", "BodyS3Location"}},
		Tags:      httpTags(func(r *provider.Request) string { return "/apis/" + r.PhysicalID }),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, httpOnce, (*apigatewayv2.Client).CreateApi, createHTTPAPIInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{
				PhysicalID: *out.ApiId, Attributes: value.NewObject("ApiEndpoint", aws.ToString(out.ApiEndpoint)),
			}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			_, err := provider.Invoke(ctx, r, httpClient, (*apigatewayv2.Client).UpdateApi, updateHTTPAPIInput)
			if err == nil && d.Removed("CorsConfiguration") {
				_, err = httpClient(r.Session).DeleteCorsConfiguration(ctx, &apigatewayv2.DeleteCorsConfigurationInput{ApiId: &r.PhysicalID})
				err = unlessGone(err, httpGone)
			}
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := httpClient(r.Session).DeleteApi(ctx, &apigatewayv2.DeleteApiInput{ApiId: &r.PhysicalID})
			return err
		},
		Gone: httpGone,
		Find: byTag(findHTTPAPI),
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("ApiId", r.PhysicalID, "ExecuteApiArn", arn(r, "execute-api", r.PhysicalID))
		},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if r.Attributes.Has("ApiEndpoint") {
				return nil, nil // the create told it
			}
			out, err := httpClient(r.Session).GetApi(ctx, &apigatewayv2.GetApiInput{ApiId: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			return value.NewObject("ApiEndpoint", aws.ToString(out.ApiEndpoint)), nil
		},
	}
}

// reimport puts the API's OpenAPI definition. That overwrites what the
// properties said, so they are set again.
func reimport(ctx context.Context, r *provider.Request) error {
	body, err := openAPI(ctx, r, r.Properties.Object("BodyS3Location"), "Etag")
	if body == nil || err != nil {
		return err
	}
	in, err := reimportInput.Input(r)
	if err != nil {
		return err
	}
	in.Body = aws.String(string(body))
	if _, err := httpClient(r.Session).ReimportApi(ctx, in); err != nil {
		return err
	}
	again := *r
	again.Previous = nil
	_, err = provider.Invoke(ctx, &again, httpClient, (*apigatewayv2.Client).UpdateApi, updateHTTPAPIInput)
	return err
}

func httpTags(of func(*provider.Request) string) provider.Tags {
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := httpClient(r.Session).TagResource(ctx, &apigatewayv2.TagResourceInput{ResourceArn: restARN(r, of(r)), Tags: tags})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := httpClient(r.Session).UntagResource(ctx, &apigatewayv2.UntagResourceInput{ResourceArn: restARN(r, of(r)), TagKeys: keys})
			return err
		},
	}
}

// findHTTPAPI looks for the API with the create's tag: names are not unique.
func findHTTPAPI(ctx context.Context, r *provider.Request) (string, error) {
	in := &apigatewayv2.GetApisInput{MaxResults: aws.String("500")}
	for {
		out, err := httpClient(r.Session).GetApis(ctx, in)
		if err != nil {
			return "", err
		}
		for _, api := range out.Items {
			if api.Tags[provider.OwnerTagKey] == r.OwnerTag {
				return aws.ToString(api.ApiId), nil
			}
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return "", nil
		}
	}
}

func httpAPIOf(r *provider.Request) *string { return aws.String(text(r.Properties, "ApiId")) }

var (
	createHTTPStageInput = provider.Bind[apigatewayv2.CreateStageInput]()
	updateHTTPStageInput = provider.Bind[apigatewayv2.UpdateStageInput](
		provider.Clear{
			"AutoDeploy":          "false",
			"ClientCertificateId": "",
			"Description":         "",
			"StageVariables":      &value.Object{},
			// One by one: some are for one kind of API only. A throttling limit has
			// nothing to go back to.
			"DefaultRouteSettings.DataTraceEnabled":       "false",
			"DefaultRouteSettings.DetailedMetricsEnabled": "false",
			"DefaultRouteSettings.LoggingLevel":           "OFF",
		},
		provider.Finish(func(r *provider.Request, in *apigatewayv2.UpdateStageInput) error {
			in.StageName = ownID(r)
			for name := range r.Previous.Object("StageVariables").All() {
				if _, stays := in.StageVariables[name]; !stays {
					in.StageVariables[name] = "" // takes it away
				}
			}
			if in.AutoDeploy != nil && *in.AutoDeploy {
				in.DeploymentId = nil // refused: the stage deploys itself
			}
			return nil
		}))
)

// A stage is known by its name, within its API.
func httpStage() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ApiGatewayV2::Stage",
		Inputs:  []provider.Input{createHTTPStageInput},
		Updates: []provider.Input{updateHTTPStageInput},
		Tags:    httpTags(func(r *provider.Request) string { return "/apis/" + *httpAPIOf(r) + "/stages/" + *ownID(r) }),
		Create:  createBy(httpOnce, (*apigatewayv2.Client).CreateStage, createHTTPStageInput, func(o *apigatewayv2.CreateStageOutput) *string { return o.StageName }),
		Update:  updateHTTPStage,
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := httpClient(r.Session).DeleteStage(ctx, &apigatewayv2.DeleteStageInput{ApiId: httpAPIOf(r), StageName: ownID(r)})
			return err
		},
		Gone:  httpGone,
		Known: knownID("Id"),
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			out, err := httpClient(r.Session).GetStage(ctx, &apigatewayv2.GetStageInput{
				ApiId: httpAPIOf(r), StageName: aws.String(text(r.Properties, "StageName")),
			})
			if err != nil {
				return nil, unlessGone(err, httpGone)
			}
			return &provider.Holder{PhysicalID: *out.StageName, Tags: out.Tags}, nil
		}),
		Read: readHTTPStage,
	}
}

func updateHTTPStage(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	c := httpClient(r.Session)
	if _, err := provider.Invoke(ctx, r, httpClient, (*apigatewayv2.Client).UpdateStage, updateHTTPStageInput); err != nil {
		return provider.Updated{}, err
	}
	if d.Removed("AccessLogSettings") {
		_, err := c.DeleteAccessLogSettings(ctx, &apigatewayv2.DeleteAccessLogSettingsInput{ApiId: httpAPIOf(r), StageName: ownID(r)})
		if unlessGone(err, httpGone) != nil {
			return provider.Updated{}, err
		}
	}
	for route := range d.Old.Object("RouteSettings").All() {
		if d.New.Object("RouteSettings").Has(route) {
			continue
		}
		_, err := c.DeleteRouteSettings(ctx, &apigatewayv2.DeleteRouteSettingsInput{ApiId: httpAPIOf(r), StageName: ownID(r), RouteKey: &route})
		if unlessGone(err, httpGone) != nil {
			return provider.Updated{}, err
		}
	}
	return provider.Updated{}, nil
}

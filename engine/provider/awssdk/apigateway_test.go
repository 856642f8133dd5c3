package awssdk

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

func TestRestAPI(t *testing.T) {
	s := emulated(t)
	c := apigateway.NewFromConfig(s.Config)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetRestApi(ctx, &apigateway.GetRestApiInput{RestApiId: &id})
		if err != nil {
			return nil, err
		}
		return []any{*out.Name, aws.ToString(out.Description), string(out.ApiKeySource), out.Tags["a"], string(out.EndpointConfiguration.Types[0])}, nil
	}
	life{
		typ: "AWS::ApiGateway::RestApi",
		steps: []step{
			{"create", `{"Name": "Shop", "Description": "d", "ApiKeySourceType": "AUTHORIZER", "MinimumCompressionSize": 5,
				"EndpointConfiguration": {"Types": ["EDGE"]}, "Policy": {"Statement": []}, "Tags": [{"Key": "a", "Value": "1"}]}`,
				seen, []any{"Shop", "d", "AUTHORIZER", "1", "EDGE"}},
			{"change", `{"Name": "Shop2", "Description": "e", "ApiKeySourceType": "AUTHORIZER", "EndpointConfiguration": {"Types": ["REGIONAL"]}, "Tags": [{"Key": "a", "Value": "1"}]}`,
				seen, []any{"Shop2", "e", "AUTHORIZER", "1", "REGIONAL"}},
			{"remove", `{"Name": "Shop2", "Tags": [{"Key": "a", "Value": "1"}]}`, seen, []any{"Shop2", "", "HEADER", "1", "REGIONAL"}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetRestApi(ctx, &apigateway.GetRestApiInput{RestApiId: &id})
			return err
		},
		noRead: true, deletedOnce: true,
	}.run(t, s)
}

// The root of an API is told with the create, and read for one found again.
func TestRestAPIRoot(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::ApiGateway::RestApi"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "Api", Type: "AWS::ApiGateway::RestApi", Properties: object(t, `{"Name": "Rooted"}`)}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	root := made.Attributes.String("RootResourceId")
	again, err := d.Resume(t.Context(), r, provider.Created{PhysicalID: made.PhysicalID})
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Attributes.String("RootResourceId"); root == "" || got != root {
		t.Errorf("root %q, and %q when resumed", root, got)
	}
}

// A definition makes the resources and methods; the properties win over it.
func TestRestAPIDefinition(t *testing.T) {
	s := emulated(t)
	c := apigateway.NewFromConfig(s.Config)
	body := `{"openapi": "3.0.1", "info": {"title": "Defined", "version": "1"}, "paths": {"/pets": {"get": {"responses": {"200": {"description": "ok"}}}}}}`
	bucket := S3Client(s)
	_, err := bucket.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("shop-api-definitions"),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("shop-api-definitions"), Key: aws.String("api.json"), Body: bytes.NewReader([]byte(body))}); err != nil {
		t.Fatal(err)
	}
	for name, props := range map[string]string{
		"Defined":         `{"Body": ` + body + `}`,
		"Shop-Res":        `{"BodyS3Location": {"Bucket": "shop-api-definitions", "Key": "api.json"}}`,
		"Named otherwise": `{"Name": "Named otherwise", "Body": ` + body + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			life{
				typ: "AWS::ApiGateway::RestApi",
				steps: []step{{"create", props, func(ctx context.Context, id string) (any, error) {
					out, err := c.GetRestApi(ctx, &apigateway.GetRestApiInput{RestApiId: &id})
					if err != nil {
						return nil, err
					}
					resources, err := c.GetResources(ctx, &apigateway.GetResourcesInput{RestApiId: &id})
					if err != nil {
						return nil, err
					}
					paths := []string{*out.Name}
					for _, r := range resources.Items {
						paths = append(paths, *r.Path)
					}
					slices.Sort(paths[1:])
					return paths, nil
				}, []string{name, "/", "/pets"}}},
				noRead: true, deletedOnce: true,
			}.run(t, s)
		})
	}
}

// What the emulator does not tell, or takes otherwise than the service does.
func TestRestPatches(t *testing.T) {
	show := func(p patch) (out []string) {
		for _, o := range p {
			v := "-"
			if o.Value != nil {
				v = *o.Value
			}
			out = append(out, fmt.Sprint(o.Op, " ", *o.Path, " ", v))
		}
		return out
	}
	for name, test := range map[string]struct {
		make     string
		old, new string
		want     []string
	}{
		"an API's lists": {"api", `{"BinaryMediaTypes": ["image/png", "a/b"], "EndpointConfiguration": {"VpcEndpointIds": ["vpce-1"]}}`,
			`{"BinaryMediaTypes": ["a/b", "*/*"], "EndpointConfiguration": {"VpcEndpointIds": ["vpce-2"], "IpAddressType": "dualstack"}}`,
			[]string{"remove /binaryMediaTypes/image~1png -", "add /binaryMediaTypes/*~1* -",
				"replace /endpointConfiguration/ipAddressType dualstack",
				"remove /endpointConfiguration/vpcEndpointIds vpce-1", "add /endpointConfiguration/vpcEndpointIds vpce-2"}},
		"compression that is switched off": {"api", `{"MinimumCompressionSize": 1}`, `{}`, []string{"replace /minimumCompressionSize -"}},
		"an API's policy":                  {"api", `{}`, `{"Policy": {"Version": "1"}}`, []string{`replace /policy {"Version":"1"}`}},
		"an API's policy that is taken":    {"api", `{"Policy": {"Version": "1"}}`, `{}`, []string{"replace /policy "}},
		"a method": {"method",
			`{"ApiKeyRequired": true, "AuthorizationType": "AWS_IAM", "AuthorizationScopes": ["a", "b"], "RequestParameters": {"method.request.header.A": true, "method.request.header.B": true}}`,
			`{"AuthorizationScopes": ["b", "c"], "AuthorizationType": "CUSTOM", "AuthorizerId": "x", "RequestModels": {"application/json": "M"}, "RequestParameters": {"method.request.header.B": false, "method.request.header.C": false}}`,
			[]string{"replace /apiKeyRequired false", "replace /authorizationType CUSTOM", "replace /authorizerId x",
				"remove /authorizationScopes a", "add /authorizationScopes c",
				"remove /requestParameters/method.request.header.A -", "replace /requestParameters/method.request.header.B false",
				"add /requestParameters/method.request.header.C false", "add /requestModels/application~1json M"}},
		"settings of methods": {"stage",
			`{"MethodSettings": [{"ResourcePath": "/*", "HttpMethod": "*", "LoggingLevel": "INFO", "MetricsEnabled": true}, {"ResourcePath": "/old", "HttpMethod": "GET", "CachingEnabled": true}]}`,
			`{"MethodSettings": [{"ResourcePath": "/*", "HttpMethod": "*", "MetricsEnabled": true}, {"ResourcePath": "/a/b", "HttpMethod": "GET", "ThrottlingRateLimit": 2}]}`,
			[]string{"remove /~1old/GET -", "replace /*/*/logging/loglevel OFF", "replace /~1a~1b/GET/throttling/rateLimit 2"}},
		"a stage's parts": {"stage",
			`{"AccessLogSetting": {"DestinationArn": "a", "Format": "f"}, "CanarySetting": {"PercentTraffic": 5}, "ClientCertificateId": "c", "Variables": {"a": "1", "b": "2"}}`,
			`{"AccessLogSetting": {"DestinationArn": "a", "Format": "g"}, "CanarySetting": {"PercentTraffic": 6, "StageVariableOverrides": {"v": "1"}}, "Variables": {"a": "3"}, "CacheClusterEnabled": true, "CacheClusterSize": "0.5"}`,
			[]string{"replace /cacheClusterEnabled true", "replace /clientCertificateId ", "replace /cacheClusterSize 0.5",
				"remove /variables/b -", "replace /variables/a 3", "replace /accessLogSettings/format g",
				"replace /canarySettings/percentTraffic 6", "replace /canarySettings/stageVariableOverrides/v 1"}},
		"a stage's parts that are taken": {"stage", `{"AccessLogSetting": {"DestinationArn": "a"}, "CanarySetting": {"PercentTraffic": 5}, "TracingEnabled": true}`, `{}`,
			[]string{"replace /tracingEnabled false", "remove /accessLogSettings -", "remove /canarySettings -"}},
		"a stage that a deployment describes": {"described", `{}`,
			`{"StageDescription": {"MetricsEnabled": true, "Description": "d", "MethodSettings": [{"ResourcePath": "/x", "HttpMethod": "GET", "DataTraceEnabled": true}]}}`,
			[]string{"replace /description d", "replace /*/*/metrics/enabled true", "replace /~1x/GET/logging/dataTrace true"}},
		"nothing changed": {"stage", `{"Variables": {"a": "1"}}`, `{"Variables": {"a": "1"}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			old, new := object(t, test.old), object(t, test.new)
			var p patch
			switch test.make {
			case "api":
				p = restAPIPatch(old, new)
			case "method":
				p = methodPatch(old, new)
			case "stage":
				p = stagePatch(old, new)
			case "described":
				p = stagePatch(stageDescribed(old), stageDescribed(new))
			}
			if diff := cmp.Diff(test.want, show(p)); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

// anAPI makes a REST API and returns its id and its root's.
func anAPI(t *testing.T, c *apigateway.Client) (api, root string) {
	t.Helper()
	out, err := c.CreateRestApi(t.Context(), &apigateway.CreateRestApiInput{Name: aws.String(t.Name())})
	if err != nil {
		t.Fatal(err)
	}
	resources, err := c.GetResources(t.Context(), &apigateway.GetResourcesInput{RestApiId: out.Id})
	if err != nil {
		t.Fatal(err)
	}
	return *out.Id, *resources.Items[0].Id
}

func TestRestResource(t *testing.T) {
	s := emulated(t)
	c := apigateway.NewFromConfig(s.Config)
	api, root := anAPI(t, c)
	life{
		typ: "AWS::ApiGateway::Resource",
		steps: []step{{"create", `{"RestApiId": "` + api + `", "ParentId": "` + root + `", "PathPart": "{id+}"}`,
			func(ctx context.Context, id string) (any, error) {
				out, err := c.GetResource(ctx, &apigateway.GetResourceInput{RestApiId: &api, ResourceId: &id})
				if err != nil {
					return nil, err
				}
				return *out.Path, nil
			}, "/{id+}"}},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetResource(ctx, &apigateway.GetResourceInput{RestApiId: &api, ResourceId: &id})
			return err
		},
		noRead: true, deletedOnce: true,
	}.run(t, s)
}

// The physical id of a method has all that its calls need (S-49).
func TestRestMethod(t *testing.T) {
	s := emulated(t)
	c := apigateway.NewFromConfig(s.Config)
	api, root := anAPI(t, c)
	get := func(ctx context.Context) (*apigateway.GetMethodOutput, error) {
		return c.GetMethod(ctx, &apigateway.GetMethodInput{RestApiId: &api, ResourceId: &root, HttpMethod: aws.String("POST")})
	}
	seen := func(ctx context.Context, id string) (any, error) {
		m, err := get(ctx)
		if err != nil {
			return nil, err
		}
		got := []string{"auth " + *m.AuthorizationType}
		if aws.ToBool(m.ApiKeyRequired) {
			got = append(got, "key")
		}
		for code := range m.MethodResponses {
			got = append(got, "response "+code)
		}
		if m.MethodIntegration != nil {
			got = append(got, "calls "+string(m.MethodIntegration.Type)+" "+aws.ToString(m.MethodIntegration.Uri))
			for code, r := range m.MethodIntegration.IntegrationResponses {
				got = append(got, "maps "+code+" "+aws.ToString(r.SelectionPattern))
			}
		}
		slices.Sort(got)
		return got, nil
	}
	base := `{"RestApiId": "` + api + `", "ResourceId": "` + root + `", "HttpMethod": "POST"`
	life{
		typ: "AWS::ApiGateway::Method", id: api + "|" + root + "|POST",
		steps: []step{
			{"create", base + `, "ApiKeyRequired": true, "AuthorizationType": "AWS_IAM",
				"MethodResponses": [{"StatusCode": "200", "ResponseParameters": {"method.response.header.A": true}}, {"StatusCode": 400}],
				"Integration": {"Type": "HTTP", "IntegrationHttpMethod": "POST", "Uri": "https://example.com/a", "TimeoutInMillis": "3000",
					"RequestTemplates": {"application/json": "{}"},
					"IntegrationResponses": [{"StatusCode": "200", "ResponseTemplates": {"application/json": ""}}, {"StatusCode": "400", "SelectionPattern": "bad"}]}}`,
				seen, []string{"auth AWS_IAM", "calls HTTP https://example.com/a", "key", "maps 200 ", "maps 400 bad", "response 200", "response 400"}},
			// The emulator has no UpdateMethod.
			{"change", base + `, "ApiKeyRequired": true, "AuthorizationType": "AWS_IAM",
				"MethodResponses": [{"StatusCode": "200", "ResponseParameters": {"method.response.header.B": true}}],
				"Integration": {"Type": "HTTP", "IntegrationHttpMethod": "POST", "Uri": "https://example.com/b",
					"IntegrationResponses": [{"StatusCode": "200"}]}}`,
				seen, []string{"auth AWS_IAM", "calls HTTP https://example.com/b", "key", "maps 200 ", "response 200"}},
			{"remove", base + `, "ApiKeyRequired": true, "AuthorizationType": "AWS_IAM"}`, seen, []string{"auth AWS_IAM", "key"}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := get(ctx); return err },
		noRead: true,
	}.run(t, s)
}

// A create that failed half-way is finished, though parts of it are there.
func TestRestMethodResumed(t *testing.T) {
	s := emulated(t)
	api, root := anAPI(t, apigateway.NewFromConfig(s.Config))
	d := provider.Drive(describe(t, "AWS::ApiGateway::Method"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "M", Type: "AWS::ApiGateway::Method", Properties: object(t,
		`{"RestApiId": "`+api+`", "ResourceId": "`+root+`", "HttpMethod": "GET", "MethodResponses": [{"StatusCode": "200"}],
			"Integration": {"Type": "MOCK", "IntegrationResponses": [{"StatusCode": "200"}]}}`)}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Resume(t.Context(), r, made); err != nil {
		t.Error(err)
	}
}

func TestRestDeploymentAndStage(t *testing.T) {
	s := emulated(t)
	c := apigateway.NewFromConfig(s.Config)
	api, root := anAPI(t, c)
	method := provider.Drive(describe(t, "AWS::ApiGateway::Method"), nil)
	_, err := method.Create(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "M", Type: "AWS::ApiGateway::Method", Properties: object(t,
		`{"RestApiId": "`+api+`", "ResourceId": "`+root+`", "HttpMethod": "GET", "Integration": {"Type": "MOCK"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	life{
		typ: "AWS::ApiGateway::Deployment",
		steps: []step{{"create", `{"RestApiId": "` + api + `", "Description": "d", "StageName": "own",
			"StageDescription": {"Description": "s", "Variables": {"v": "1"}, "MetricsEnabled": true}}`,
			func(ctx context.Context, id string) (any, error) {
				st, err := c.GetStage(ctx, &apigateway.GetStageInput{RestApiId: &api, StageName: aws.String("own")})
				if err != nil {
					return nil, err
				}
				return []any{*st.DeploymentId == id, *st.Description, st.Variables["v"], st.MethodSettings["*/*"].MetricsEnabled}, nil
			}, []any{true, "s", "1", true}}},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetStage(ctx, &apigateway.GetStageInput{RestApiId: &api, StageName: aws.String("own")})
			return err
		},
		noRead: true,
	}.run(t, s)

	var ids []string
	for range 2 {
		out, err := c.CreateDeployment(t.Context(), &apigateway.CreateDeploymentInput{RestApiId: &api})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, *out.Id)
	}
	seen := func(ctx context.Context, id string) (any, error) {
		st, err := c.GetStage(ctx, &apigateway.GetStageInput{RestApiId: &api, StageName: &id})
		if err != nil {
			return nil, err
		}
		got := []any{*st.DeploymentId, aws.ToString(st.Description), st.TracingEnabled, st.Variables["v"], st.Tags["a"], st.MethodSettings["*/*"].LoggingLevel}
		if l := st.AccessLogSettings; l != nil {
			got = append(got, *l.Format)
		}
		return got, nil
	}
	base := `{"RestApiId": "` + api + `", "StageName": "prod", "DeploymentId": "`
	life{
		typ: "AWS::ApiGateway::Stage", id: "prod",
		steps: []step{
			{"create", base + ids[0] + `", "Description": "d", "TracingEnabled": true, "Variables": {"v": "1"}, "Tags": [{"Key": "a", "Value": "1"}],
				"AccessLogSetting": {"DestinationArn": "arn:aws:logs:eu-west-1:123456789012:log-group:l", "Format": "f"},
				"MethodSettings": [{"ResourcePath": "/*", "HttpMethod": "*", "LoggingLevel": "INFO"}]}`,
				seen, []any{ids[0], "d", true, "1", "1", aws.String("INFO"), "f"}},
			{"change", base + ids[1] + `", "Description": "e", "Variables": {"v": "2"}, "Tags": [{"Key": "a", "Value": "2"}],
				"AccessLogSetting": {"DestinationArn": "arn:aws:logs:eu-west-1:123456789012:log-group:l", "Format": "g"},
				"MethodSettings": [{"ResourcePath": "/*", "HttpMethod": "*", "LoggingLevel": "ERROR"}]}`,
				seen, []any{ids[1], "e", false, "2", "2", aws.String("ERROR"), "g"}},
			// The emulator keeps settings that an operation removes.
			{"remove", base + ids[1] + `", "MethodSettings": [{"ResourcePath": "/*", "HttpMethod": "*"}]}`,
				seen, []any{ids[1], "", false, "", "", aws.String("OFF")}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetStage(ctx, &apigateway.GetStageInput{RestApiId: &api, StageName: &id})
			return err
		},
		noRead: true,
	}.run(t, s)
}

func TestRestAuthorizerAndAccount(t *testing.T) {
	s := emulated(t)
	c := apigateway.NewFromConfig(s.Config)
	api, _ := anAPI(t, c)
	get := func(ctx context.Context, id string) (*apigateway.GetAuthorizerOutput, error) {
		return c.GetAuthorizer(ctx, &apigateway.GetAuthorizerInput{RestApiId: &api, AuthorizerId: &id})
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := get(ctx, id)
		if err != nil {
			return nil, err
		}
		return []any{*out.Name, *out.IdentitySource, *out.AuthorizerResultTtlInSeconds}, nil
	}
	base := `{"RestApiId": "` + api + `", "Type": "TOKEN", "AuthorizerUri": "arn:aws:apigateway:eu-west-1:lambda:path/f", "IdentitySource": "method.request.header.`
	life{
		typ: "AWS::ApiGateway::Authorizer",
		steps: []step{
			{"create", base + `A", "Name": "a", "AuthorizerResultTtlInSeconds": 10}`, seen, []any{"a", "method.request.header.A", int32(10)}},
			{"change", base + `B", "Name": "b", "AuthorizerResultTtlInSeconds": 20}`, seen, []any{"b", "method.request.header.B", int32(20)}},
			{"remove", base + `B", "Name": "b"}`, seen, []any{"b", "method.request.header.B", int32(300)}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := get(ctx, id); return err },
		noRead: true, deletedOnce: true,
	}.run(t, s)

	life{
		typ: "AWS::ApiGateway::Account", id: "ApiGatewayAccount",
		attributes: map[string]string{"Id": "ApiGatewayAccount"},
		steps: []step{
			{name: "create", props: `{"CloudWatchRoleArn": "arn:aws:iam::123456789012:role/a"}`},
			{name: "change", props: `{"CloudWatchRoleArn": "arn:aws:iam::123456789012:role/b"}`},
		},
	}.run(t, s)
	// Other stacks use the settings too: a delete leaves them.
	out, err := c.GetAccount(t.Context(), &apigateway.GetAccountInput{})
	if err != nil || aws.ToString(out.CloudwatchRoleArn) != "arn:aws:iam::123456789012:role/b" {
		t.Errorf("after the delete the role is %v, %v", out, err)
	}
}

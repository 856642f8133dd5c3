package awssdk

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func restClient(s *provider.Session) *apigateway.Client {
	return provider.Client(s, apigateway.NewFromConfig)
}

func restOnce(s *provider.Session) *apigateway.Client {
	return provider.OnceClient(s, apigateway.NewFromConfig)
}

func apiGatewayResources() []provider.Resource {
	return []provider.Resource{restAPI(), restResource(), restMethod(), restDeployment(), restStage(), restAccount(), restAuthorizer(),
		restModel(), requestValidator(), usagePlan(), usagePlanKey(), apiKey()}
}

var restGone = []string{"NotFoundException"}

var createRestAPIInput = provider.Bind[apigateway.CreateRestApiInput](
	provider.Rename{"ApiKeySourceType": "ApiKeySource"},
	provider.Finish(func(r *provider.Request, in *apigateway.CreateRestApiInput) error {
		if in.Name == nil { // a definition may name the API, but it is put later
			in.Name = aws.String(nameOfDefinition(r))
		}
		return nil
	}))

// nameOfDefinition is the name of an API that only its OpenAPI definition names.
func nameOfDefinition(r *provider.Request) string {
	if title := text(r.Properties.Object("Body").Object("info"), "title"); title != "" {
		return title
	}
	return r.Stack.Name + "-" + r.LogicalID
}

// A REST API is known by its id. Resources, methods and the rest are resources
// of their own, or come with an OpenAPI definition.
func restAPI() provider.Resource {
	return provider.Resource{
		Type:   "AWS::ApiGateway::RestApi",
		Inputs: []provider.Input{createRestAPIInput},
		Satellites: []provider.Satellite{{
			Properties: []string{"Body", "BodyS3Location", "FailOnWarnings", "Mode", "Parameters"}, Put: putDefinition,
		}},
		Exclusive: [][]string{{"Body", "BodyS3Location"}},
		Tags:      restTags(func(r *provider.Request) string { return "/restapis/" + r.PhysicalID }),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, restOnce, (*apigateway.Client).CreateRestApi, createRestAPIInput)
			if err != nil {
				return provider.Created{}, err
			}
			made := provider.Created{PhysicalID: *out.Id}
			if out.RootResourceId != nil {
				made.Attributes = value.NewObject("RootResourceId", *out.RootResourceId)
			}
			return made, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{}, patchRestAPI(ctx, r, restAPIPatch(d.Old, d.New))
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := restClient(r.Session).DeleteRestApi(ctx, &apigateway.DeleteRestApiInput{RestApiId: &r.PhysicalID})
			return err
		},
		Gone: restGone,
		Find: byTag(findRestAPI),
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("RestApiId", r.PhysicalID)
		},
		// The create tells the root, but for one that was found again, and a
		// definition may have made another.
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			defined := r.Properties.Has("Body") || r.Properties.Has("BodyS3Location")
			if r.Attributes.Has("RootResourceId") && !defined {
				return nil, nil
			}
			out, err := restClient(r.Session).GetRestApi(ctx, &apigateway.GetRestApiInput{RestApiId: &r.PhysicalID})
			if err != nil || out.RootResourceId == nil {
				return nil, err
			}
			return value.NewObject("RootResourceId", *out.RootResourceId), nil
		},
	}
}

func restTags(of func(*provider.Request) string) provider.Tags {
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := restClient(r.Session).TagResource(ctx, &apigateway.TagResourceInput{ResourceArn: restARN(r, of(r)), Tags: tags})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := restClient(r.Session).UntagResource(ctx, &apigateway.UntagResourceInput{ResourceArn: restARN(r, of(r)), TagKeys: keys})
			return err
		},
	}
}

func restAPIPatch(old, new *value.Object) patch {
	var p patch
	p.scalars(old, new,
		patched{"Name", "/name", ""},
		patched{"Description", "/description", ""},
		patched{"Policy", "/policy", ""},
		patched{"ApiKeySourceType", "/apiKeySource", "HEADER"},
		patched{"DisableExecuteApiEndpoint", "/disableExecuteApiEndpoint", "false"},
		patched{"EndpointAccessMode", "/endpointAccessMode", "BASIC"},
		patched{"SecurityPolicy", "/securityPolicy", "TLS_1_0"})
	if !value.Equal(old.Value("MinimumCompressionSize"), new.Value("MinimumCompressionSize")) {
		p.op(types.OpReplace, "/minimumCompressionSize", text(new, "MinimumCompressionSize"))
		if !new.Has("MinimumCompressionSize") {
			p[len(p)-1].Value = nil // switches compression off
		}
	}
	p.keys("/binaryMediaTypes", texts(old, "BinaryMediaTypes"), texts(new, "BinaryMediaTypes"))
	was, is := old.Object("EndpointConfiguration"), new.Object("EndpointConfiguration")
	if kinds := texts(is, "Types"); len(kinds) > 0 && !value.Equal(was.Value("Types"), is.Value("Types")) {
		p.op(types.OpReplace, "/endpointConfiguration/types/0", kinds[0])
	}
	if is.Has("IpAddressType") {
		p.scalars(was, is, patched{"IpAddressType", "/endpointConfiguration/ipAddressType", ""})
	}
	p.values("/endpointConfiguration/vpcEndpointIds", texts(was, "VpcEndpointIds"), texts(is, "VpcEndpointIds"))
	return p
}

func patchRestAPI(ctx context.Context, r *provider.Request, p patch) error {
	if len(p) == 0 {
		return nil
	}
	_, err := restClient(r.Session).UpdateRestApi(ctx, &apigateway.UpdateRestApiInput{RestApiId: &r.PhysicalID, PatchOperations: p})
	return err
}

var putRestAPIInput = provider.Bind[apigateway.PutRestApiInput](
	provider.ID("RestApiId"), provider.Only("FailOnWarnings", "Mode", "Parameters"))

// putDefinition puts the API's OpenAPI definition. That overwrites what the
// properties said, so they are set again.
func putDefinition(ctx context.Context, r *provider.Request) error {
	body, err := openAPI(ctx, r, r.Properties.Object("BodyS3Location"), "ETag")
	if body == nil || err != nil {
		return err
	}
	in, err := putRestAPIInput.Input(r)
	if err != nil {
		return err
	}
	in.Body = body
	if in.Mode == "" {
		in.Mode = types.PutModeOverwrite
	}
	out, err := restClient(r.Session).PutRestApi(ctx, in)
	if err != nil {
		return err
	}
	is := value.NewObject("BinaryMediaTypes", list(out.BinaryMediaTypes))
	if e := out.EndpointConfiguration; e != nil && len(e.Types) > 0 {
		is.Set("EndpointConfiguration", value.NewObject("Types", []any{string(e.Types[0])}, "VpcEndpointIds", list(e.VpcEndpointIds)))
	}
	wanted := r.Properties.Clone()
	for name, v := range is.All() {
		if !wanted.Has(name) {
			wanted.Set(name, v) // the definition's own stays
		}
	}
	return patchRestAPI(ctx, r, restAPIPatch(is, wanted))
}

// openAPI returns an OpenAPI definition, given whole or in a bucket; nil
// when there is none.
func openAPI(ctx context.Context, r *provider.Request, location *value.Object, etag string) ([]byte, error) {
	if r.Properties.Has("Body") {
		return []byte(document(r.Properties, "Body")), nil
	}
	if location.Len() == 0 {
		return nil, nil
	}
	in := &s3.GetObjectInput{Bucket: aws.String(text(location, "Bucket")), Key: aws.String(text(location, "Key"))}
	if v := text(location, "Version"); v != "" {
		in.VersionId = &v
	}
	if v := text(location, etag); v != "" {
		in.IfMatch = &v
	}
	out, err := S3Client(r.Session).GetObject(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("get the API's definition: %w", err)
	}
	defer out.Body.Close()
	return io.ReadAll(out.Body)
}

// findRestAPI looks for the API with the create's tag: names are not unique.
func findRestAPI(ctx context.Context, r *provider.Request) (string, error) {
	pages := apigateway.NewGetRestApisPaginator(restClient(r.Session), &apigateway.GetRestApisInput{Limit: aws.Int32(500)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, api := range page.Items {
			if api.Tags[provider.OwnerTagKey] == r.OwnerTag {
				return aws.ToString(api.Id), nil
			}
		}
	}
	return "", nil
}

package awssdk

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/appsync"
	"github.com/aws/aws-sdk-go-v2/service/appsync/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func appSyncClient(s *provider.Session) *appsync.Client {
	return provider.Client(s, appsync.NewFromConfig)
}

func appSyncOnce(s *provider.Session) *appsync.Client {
	return provider.OnceClient(s, appsync.NewFromConfig)
}

func appSyncResources() []provider.Resource {
	return []provider.Resource{graphAPI(), graphSchema(), graphSource(), graphFunction(), graphResolver(), graphKey()}
}

var appSyncGone = []string{"NotFoundException"}

var (
	createGraphInput  = provider.Bind[appsync.CreateGraphqlApiInput]()
	updateGraphInput  = provider.Bind[appsync.UpdateGraphqlApiInput](provider.ID("ApiId"), provider.Clear{"IntrospectionConfig": "ENABLED", "OwnerContact": ""})
	environmentsInput = provider.Bind[appsync.PutGraphqlApiEnvironmentVariablesInput](provider.ID("ApiId"), provider.Only("EnvironmentVariables"))
)

// A GraphQL API is known by its id, though Ref gives its ARN.
func graphAPI() provider.Resource {
	apiARN := func(r *provider.Request) *string { return aws.String(arn(r, "appsync", "apis/"+r.PhysicalID)) }
	attributes := func(a *types.GraphqlApi) *value.Object {
		o := value.NewObject("ApiId", aws.ToString(a.ApiId), "Arn", aws.ToString(a.Arn))
		for name, uri := range map[string]string{"GraphQLUrl": a.Uris["GRAPHQL"], "RealtimeUrl": a.Uris["REALTIME"], "GraphQLDns": a.Dns["GRAPHQL"], "RealtimeDns": a.Dns["REALTIME"]} {
			set(o, name, &uri)
		}
		return o
	}
	get := func(ctx context.Context, r *provider.Request) (*types.GraphqlApi, error) {
		out, err := appSyncClient(r.Session).GetGraphqlApi(ctx, &appsync.GetGraphqlApiInput{ApiId: &r.PhysicalID})
		if err != nil {
			return nil, err
		}
		return out.GraphqlApi, nil
	}
	return provider.Resource{
		Type:    "AWS::AppSync::GraphQLApi",
		Adopt:   adoptedBy(func(r *provider.Request) string { return lastSegment(r.PhysicalID, "/") }), // CloudFormation has its ARN
		Inputs:  []provider.Input{createGraphInput},
		Updates: []provider.Input{updateGraphInput},
		Satellites: []provider.Satellite{{
			Properties: []string{"EnvironmentVariables"}, Input: environmentsInput,
			Put: provider.Call(appSyncClient, (*appsync.Client).PutGraphqlApiEnvironmentVariables, environmentsInput),
			Reset: func(ctx context.Context, r *provider.Request) error {
				_, err := appSyncClient(r.Session).PutGraphqlApiEnvironmentVariables(ctx, &appsync.PutGraphqlApiEnvironmentVariablesInput{ApiId: &r.PhysicalID, EnvironmentVariables: map[string]string{}})
				return err
			},
		}},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := appSyncClient(r.Session).TagResource(ctx, &appsync.TagResourceInput{ResourceArn: apiARN(r), Tags: tags})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := appSyncClient(r.Session).UntagResource(ctx, &appsync.UntagResourceInput{ResourceArn: apiARN(r), TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, appSyncOnce, (*appsync.Client).CreateGraphqlApi, createGraphInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.GraphqlApi.ApiId), Attributes: attributes(out.GraphqlApi)}, nil
		},
		Update: updateBy(appSyncClient, (*appsync.Client).UpdateGraphqlApi, updateGraphInput),
		Delete: provider.Call(appSyncClient, (*appsync.Client).DeleteGraphqlApi, byID[appsync.DeleteGraphqlApiInput]("ApiId")),
		Gone:   appSyncGone,
		Find: byTag(func(ctx context.Context, r *provider.Request) (string, error) {
			pages := appsync.NewListGraphqlApisPaginator(appSyncClient(r.Session), &appsync.ListGraphqlApisInput{})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return "", err
				}
				for _, a := range page.GraphqlApis {
					if a.Tags[provider.OwnerTagKey] == r.OwnerTag {
						return aws.ToString(a.ApiId), nil
					}
				}
			}
			return "", nil
		}),
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if r.Attributes.Has("GraphQLUrl") {
				return nil, nil // the create told them
			}
			a, err := get(ctx, r)
			if err != nil {
				return nil, err
			}
			return attributes(a), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			a, err := get(ctx, r)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(a, shape, provider.Skip("Tags"))
			if tags := tagList(a.Tags); len(tags) > 0 {
				props.Set("Tags", tags)
			}
			return props, nil
		},
	}
}

// fromBucket reads an object that a property names as s3://bucket/key.
func fromBucket(ctx context.Context, r *provider.Request, location string) (string, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(location, "s3://"), "/")
	out, err := S3Client(r.Session).GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	return string(body), err
}

// inlined returns the request with what lies in a bucket in the place of where
// it lies: the API takes no locations.
func inlined(ctx context.Context, r *provider.Request, properties ...string) (*provider.Request, error) {
	c := *r
	for _, property := range properties {
		location := text(r.Properties, property+"S3Location")
		if location == "" {
			continue
		}
		body, err := fromBucket(ctx, r, location)
		if err != nil {
			return nil, err
		}
		c.Properties = c.Properties.Clone()
		c.Properties.Set(property, body)
	}
	return &c, nil
}

// A schema belongs to its API, is known as its id and a fixed text, and goes
// with it. It is parsed for some seconds, during which there are no types.
func graphSchema() provider.Resource {
	api := func(r *provider.Request) *string { return aws.String(text(r.Properties, "ApiId")) }
	parsed := &provider.Waiter{
		What: "the schema to be parsed", First: 300 * time.Millisecond, Cap: 3 * time.Second,
		OK: []string{string(types.SchemaStatusSuccess), string(types.SchemaStatusActive)}, Failed: []string{string(types.SchemaStatusFailed)},
		Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
			out, err := appSyncClient(r.Session).GetSchemaCreationStatus(ctx, &appsync.GetSchemaCreationStatusInput{ApiId: api(r)})
			if err != nil {
				return "", "", err
			}
			return string(out.Status), aws.ToString(out.Details), nil
		},
	}
	return provider.Resource{
		Type:    "AWS::AppSync::GraphQLSchema",
		SDKOnly: "Cloud Control does not manage it",
		Satellites: []provider.Satellite{{
			Properties: []string{"Definition", "DefinitionS3Location"},
			Put: func(ctx context.Context, r *provider.Request) error {
				r, err := inlined(ctx, r, "Definition")
				if err != nil {
					return err
				}
				_, err = appSyncClient(r.Session).StartSchemaCreation(ctx, &appsync.StartSchemaCreationInput{ApiId: api(r), Definition: []byte(text(r.Properties, "Definition"))})
				if err != nil {
					return err
				}
				return parsed.Wait(ctx, r)
			},
		}},
		Exclusive: [][]string{{"Definition", "DefinitionS3Location"}},
		Handled:   []string{"ApiId"},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			return provider.Created{PhysicalID: *api(r) + "GraphQLSchema"}, nil
		},
		Delete: func(context.Context, *provider.Request) error { return nil },
		Gone:   appSyncGone,
		Known:  knownID("Id"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := appSyncClient(r.Session).GetIntrospectionSchema(ctx, &appsync.GetIntrospectionSchemaInput{ApiId: api(r), Format: types.OutputTypeSdl})
			if err != nil {
				return nil, err
			}
			return value.NewObject("ApiId", *api(r), "Definition", string(out.Schema)), nil
		},
	}
}

var (
	createGraphKeyInput = provider.Bind[appsync.CreateApiKeyInput]()
	updateGraphKeyInput = provider.Bind[appsync.UpdateApiKeyInput](provider.Clear{"Description": ""})
)

// A key is known by its ARN, whose end is the key itself: AWS holds it for no
// secret.
func graphKey() provider.Resource {
	keyOf := func(r *provider.Request) *string { return aws.String(lastSegment(r.PhysicalID, "/")) }
	return provider.Resource{
		Type:    "AWS::AppSync::ApiKey",
		Inputs:  []provider.Input{createGraphKeyInput},
		Updates: []provider.Input{updateGraphKeyInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, appSyncOnce, (*appsync.Client).CreateApiKey, createGraphKeyInput)
			if err != nil {
				return provider.Created{}, err
			}
			id := aws.ToString(out.ApiKey.Id)
			keyARN := arn(r, "appsync", "apis/"+text(r.Properties, "ApiId")+"/apikey/"+id)
			return provider.Created{PhysicalID: keyARN, Attributes: value.NewObject("ApiKey", id, "ApiKeyId", id, "Arn", keyARN)}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			in, err := updateGraphKeyInput.Input(r)
			if err != nil {
				return provider.Updated{}, err
			}
			in.Id = keyOf(r)
			_, err = appSyncClient(r.Session).UpdateApiKey(ctx, in)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := appSyncClient(r.Session).DeleteApiKey(ctx, &appsync.DeleteApiKeyInput{ApiId: aws.String(text(r.Properties, "ApiId")), Id: keyOf(r)})
			return err
		},
		Gone: appSyncGone,
	}
}

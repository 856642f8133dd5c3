package awssdk

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var createRestResourceInput = provider.Bind[apigateway.CreateResourceInput]()

// A resource of a REST API is one part of a path below another. Its id means
// something only together with the API's.
func restResource() provider.Resource {
	return provider.Resource{
		Type:   "AWS::ApiGateway::Resource",
		Inputs: []provider.Input{createRestResourceInput},
		Create: createBy(restOnce, (*apigateway.Client).CreateResource, createRestResourceInput, func(o *apigateway.CreateResourceOutput) *string { return o.Id }),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := restClient(r.Session).DeleteResource(ctx, &apigateway.DeleteResourceInput{RestApiId: restAPIOf(r), ResourceId: ownID(r)})
			return err
		},
		Gone: restGone,
		// Below one parent a part is there once.
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			pages := apigateway.NewGetResourcesPaginator(restClient(r.Session), &apigateway.GetResourcesInput{RestApiId: restAPIOf(r), Limit: aws.Int32(500)})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if provider.HasCode(err, restGone...) {
					return "", nil
				} else if err != nil {
					return "", err
				}
				for _, res := range page.Items {
					if aws.ToString(res.ParentId) == text(r.Properties, "ParentId") && aws.ToString(res.PathPart) == text(r.Properties, "PathPart") {
						return aws.ToString(res.Id), nil
					}
				}
			}
			return "", nil
		},
		Known:      knownID("ResourceId"),
		Identifier: belowRestAPI,
	}
}

func restAPIOf(r *provider.Request) *string { return aws.String(text(r.Properties, "RestApiId")) }

// ownID is the id that a call takes. Records that were made through Cloud
// Control have the API's before it.
func ownID(r *provider.Request) *string { return aws.String(lastSegment(r.PhysicalID, "|")) }

// belowRestAPI is Cloud Control's identifier of what belongs to a REST API.
func belowRestAPI(r *provider.Request) string {
	if strings.Contains(r.PhysicalID, "|") {
		return r.PhysicalID
	}
	return text(r.Properties, "RestApiId") + "|" + r.PhysicalID
}

// knownID gives an attribute that is the id itself.
func knownID(attribute string) func(r *provider.Request) *value.Object {
	return func(r *provider.Request) *value.Object {
		if r.PhysicalID == "" {
			return nil
		}
		return value.NewObject(attribute, *ownID(r))
	}
}

var (
	putMethodInput = provider.Bind[apigateway.PutMethodInput](
		provider.Finish(func(r *provider.Request, in *apigateway.PutMethodInput) error {
			if in.AuthorizationType == nil {
				in.AuthorizationType = aws.String("NONE")
			}
			return nil
		}))

	putIntegrationInput = provider.Bind[apigateway.PutIntegrationInput](
		provider.Only("Integration", "RestApiId", "ResourceId", "HttpMethod"),
		provider.Rename{"Integration": "."})

	methodResponse      = provider.Shape[apigateway.PutMethodResponseInput](func(v any) any { return v })
	integrationResponse = provider.Shape[apigateway.PutIntegrationResponseInput](func(v any) any { return v })
)

// A method is known by its API, its resource and its verb. It is put together
// by several calls: the responses that a method has, what it calls, and how
// that one's answers become responses. Nothing of it is in use before it is
// deployed, so that an update may take parts away and put them again.
func restMethod() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ApiGateway::Method",
		Inputs:  []provider.Input{putMethodInput},
		Handled: []string{"MethodResponses", "Integration.IntegrationResponses"},
		Satellites: []provider.Satellite{{
			Properties: []string{"Integration", "MethodResponses"}, Input: putIntegrationInput, Put: putMethodParts,
		}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, restOnce, (*apigateway.Client).PutMethod, putMethodInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: methodID(r)}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			m, p := methodOf(r), methodPatch(d.Old, d.New)
			_, err := restClient(r.Session).UpdateMethod(ctx, &apigateway.UpdateMethodInput{
				RestApiId: &m.api, ResourceId: &m.resource, HttpMethod: &m.verb, PatchOperations: p,
			})
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			m := methodOf(r)
			_, err := restClient(r.Session).DeleteMethod(ctx, &apigateway.DeleteMethodInput{RestApiId: &m.api, ResourceId: &m.resource, HttpMethod: &m.verb})
			return err
		},
		Gone: restGone,
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			_, err := restClient(r.Session).GetMethod(ctx, &apigateway.GetMethodInput{
				RestApiId: restAPIOf(r), ResourceId: aws.String(text(r.Properties, "ResourceId")), HttpMethod: aws.String(text(r.Properties, "HttpMethod")),
			})
			if provider.HasCode(err, restGone...) {
				return "", nil
			} else if err != nil {
				return "", err
			}
			return methodID(r), nil
		},
	}
}

func methodPatch(old, new *value.Object) patch {
	var p patch
	p.scalars(old, new,
		patched{"ApiKeyRequired", "/apiKeyRequired", "false"},
		patched{"AuthorizationType", "/authorizationType", "NONE"},
		patched{"AuthorizerId", "/authorizerId", ""},
		patched{"OperationName", "/operationName", ""},
		patched{"RequestValidatorId", "/requestValidatorId", ""})
	p.values("/authorizationScopes", texts(old, "AuthorizationScopes"), texts(new, "AuthorizationScopes"))
	p.entries("/requestParameters", old.Object("RequestParameters"), new.Object("RequestParameters"), types.OpAdd)
	p.entries("/requestModels", old.Object("RequestModels"), new.Object("RequestModels"), types.OpAdd)
	return p
}

func methodID(r *provider.Request) string {
	return strings.Join([]string{text(r.Properties, "RestApiId"), text(r.Properties, "ResourceId"), text(r.Properties, "HttpMethod")}, "|")
}

type methodKey struct{ api, resource, verb string }

func methodOf(r *provider.Request) methodKey {
	if parts := strings.Split(r.PhysicalID, "|"); len(parts) == 3 {
		return methodKey{parts[0], parts[1], parts[2]}
	}
	return methodKey{text(r.Properties, "RestApiId"), text(r.Properties, "ResourceId"), text(r.Properties, "HttpMethod")}
}

// putMethodParts writes what a method consists of, in the order in which the
// parts need each other.
func putMethodParts(ctx context.Context, r *provider.Request) error {
	m := methodOf(r)
	responses := provider.Members("MethodResponses", provider.Key("StatusCode"), m.putResponse, m.removeResponse)
	if err := responses.Put(ctx, r); err != nil {
		return err
	}
	c := restClient(r.Session)
	if !r.Properties.Has("Integration") {
		if !r.Previous.Has("Integration") {
			return nil
		}
		_, err := c.DeleteIntegration(ctx, &apigateway.DeleteIntegrationInput{RestApiId: &m.api, ResourceId: &m.resource, HttpMethod: &m.verb})
		return unlessGone(err, restGone)
	}
	wanted := r.Properties.Object("Integration").List("IntegrationResponses")
	for _, v := range r.Previous.Object("Integration").List("IntegrationResponses") {
		code := provider.Key("StatusCode")(v)
		if slices.ContainsFunc(wanted, func(w any) bool { return provider.Key("StatusCode")(w) == code }) {
			continue
		}
		_, err := c.DeleteIntegrationResponse(ctx, &apigateway.DeleteIntegrationResponseInput{
			RestApiId: &m.api, ResourceId: &m.resource, HttpMethod: &m.verb, StatusCode: &code,
		})
		if unlessGone(err, restGone) != nil {
			return err
		}
	}
	if _, err := provider.Invoke(ctx, r, restClient, (*apigateway.Client).PutIntegration, putIntegrationInput); err != nil {
		return err
	}
	for _, v := range wanted {
		in, err := integrationResponse(v)
		if err != nil {
			return err
		}
		in.RestApiId, in.ResourceId, in.HttpMethod = &m.api, &m.resource, &m.verb
		if _, err := c.PutIntegrationResponse(ctx, &in); err != nil {
			return err
		}
	}
	return nil
}

// putResponse puts one response of the method, in the place of one that is
// there already.
func (m methodKey) putResponse(ctx context.Context, r *provider.Request, element any) error {
	in, err := methodResponse(element)
	if err != nil {
		return err
	}
	in.RestApiId, in.ResourceId, in.HttpMethod = &m.api, &m.resource, &m.verb
	c := restClient(r.Session)
	if r.Previous != nil {
		if err := m.removeResponse(ctx, r, element); err != nil {
			return err
		}
	}
	_, err = c.PutMethodResponse(ctx, &in)
	if provider.HasCode(err, "ConflictException") && r.Previous == nil {
		if err := m.removeResponse(ctx, r, element); err != nil {
			return err
		}
		_, err = c.PutMethodResponse(ctx, &in)
	}
	return err
}

func (m methodKey) removeResponse(ctx context.Context, r *provider.Request, element any) error {
	_, err := restClient(r.Session).DeleteMethodResponse(ctx, &apigateway.DeleteMethodResponseInput{
		RestApiId: &m.api, ResourceId: &m.resource, HttpMethod: &m.verb, StatusCode: aws.String(provider.Key("StatusCode")(element)),
	})
	return unlessGone(err, restGone)
}

// unlessGone is err, but nil for one that says that there is nothing any more.
func unlessGone(err error, gone []string) error {
	if provider.HasCode(err, gone...) {
		return nil
	}
	return err
}

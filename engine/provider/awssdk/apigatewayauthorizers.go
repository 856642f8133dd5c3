package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var createRestAuthorizerInput = provider.Bind[apigateway.CreateAuthorizerInput]()

// An authorizer is known by its id, within its API.
func restAuthorizer() provider.Resource {
	return provider.Resource{
		Type:   "AWS::ApiGateway::Authorizer",
		Inputs: []provider.Input{createRestAuthorizerInput},
		Create: createBy(restOnce, (*apigateway.Client).CreateAuthorizer, createRestAuthorizerInput, func(o *apigateway.CreateAuthorizerOutput) *string { return o.Id }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			var p patch
			p.scalars(d.Old, d.New,
				patched{"Name", "/name", ""},
				patched{"Type", "/type", ""},
				patched{"AuthType", "/authType", ""},
				patched{"AuthorizerUri", "/authorizerUri", ""},
				patched{"AuthorizerCredentials", "/authorizerCredentials", ""},
				patched{"AuthorizerResultTtlInSeconds", "/authorizerResultTtlInSeconds", "300"},
				patched{"IdentitySource", "/identitySource", ""},
				patched{"IdentityValidationExpression", "/identityValidationExpression", ""})
			p.values("/providerARNs", texts(d.Old, "ProviderARNs"), texts(d.New, "ProviderARNs"))
			_, err := restClient(r.Session).UpdateAuthorizer(ctx, &apigateway.UpdateAuthorizerInput{
				RestApiId: restAPIOf(r), AuthorizerId: ownID(r), PatchOperations: p,
			})
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := restClient(r.Session).DeleteAuthorizer(ctx, &apigateway.DeleteAuthorizerInput{RestApiId: restAPIOf(r), AuthorizerId: ownID(r)})
			return err
		},
		Gone:       restGone,
		Known:      knownID("AuthorizerId"),
		Identifier: belowRestAPI,
		// Names are unique within an API.
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			out, err := restClient(r.Session).GetAuthorizers(ctx, &apigateway.GetAuthorizersInput{RestApiId: restAPIOf(r), Limit: aws.Int32(500)})
			if err != nil {
				return "", unlessGone(err, restGone)
			}
			for _, a := range out.Items {
				if aws.ToString(a.Name) == text(r.Properties, "Name") {
					return aws.ToString(a.Id), nil
				}
			}
			return "", nil
		},
	}
}

// accountID is the physical id of the one resource of its kind in an account
// and region.
const accountID = "ApiGatewayAccount"

var updateAccountInput = provider.Bind[apigateway.UpdateAccountInput](
	provider.Finish(func(r *provider.Request, in *apigateway.UpdateAccountInput) error {
		var p patch
		p.op("replace", "/cloudwatchRoleArn", text(r.Properties, "CloudWatchRoleArn"))
		in.PatchOperations = p
		return nil
	}, "CloudWatchRoleArn"))

// API Gateway's account settings are shared by all stacks of a region, so that
// a delete leaves them as they are.
func restAccount() provider.Resource {
	put := provider.Call(restClient, (*apigateway.Client).UpdateAccount, updateAccountInput)
	return provider.Resource{
		Type:   "AWS::ApiGateway::Account",
		Adopt:  adoptedBy(func(*provider.Request) string { return accountID }),
		Inputs: []provider.Input{updateAccountInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if r.Properties.Has("CloudWatchRoleArn") {
				if err := put(ctx, r); err != nil {
					return provider.Created{}, err
				}
			}
			return provider.Created{PhysicalID: accountID}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{}, put(ctx, r)
		},
		Delete: func(context.Context, *provider.Request) error { return nil },
		Gone:   restGone,
		Known:  func(*provider.Request) *value.Object { return value.NewObject("Id", accountID) },
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := restClient(r.Session).GetAccount(ctx, &apigateway.GetAccountInput{})
			if err != nil {
				return nil, err
			}
			props := value.NewObject()
			if role := aws.ToString(out.CloudwatchRoleArn); role != "" {
				props.Set("CloudWatchRoleArn", role)
			}
			return props, nil
		},
	}
}

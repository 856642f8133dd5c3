package awssdk

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func cognitoClient(s *provider.Session) *cognito.Client {
	return provider.Client(s, cognito.NewFromConfig)
}

func cognitoOnce(s *provider.Session) *cognito.Client {
	return provider.OnceClient(s, cognito.NewFromConfig)
}

func cognitoResources() []provider.Resource {
	return []provider.Resource{userPool(), userPoolClient(), userPoolDomain(), userPoolGroup(), userPoolResourceServer(), userPoolIdentityProvider()}
}

var cognitoGone = []string{"ResourceNotFoundException"}

var (
	poolName           = provider.Rename{"UserPoolName": "PoolName"}
	createPoolInput    = provider.Bind[cognito.CreateUserPoolInput](poolName, provider.Finish(withoutFactors[cognito.CreateUserPoolInput](func(in *cognito.CreateUserPoolInput) { in.MfaConfiguration = "" })))
	updatePoolInput    = provider.Bind[cognito.UpdateUserPoolInput](poolName, provider.ID("UserPoolId"), provider.Finish(withoutFactors[cognito.UpdateUserPoolInput](func(in *cognito.UpdateUserPoolInput) { in.MfaConfiguration = "" })))
	addAttributesInput = provider.Bind[cognito.AddCustomAttributesInput](provider.ID("UserPoolId"), provider.Only("Schema"), provider.Rename{"Schema": "CustomAttributes"})
	poolFactorsInput   = provider.Bind[cognito.SetUserPoolMfaConfigInput](provider.ID("UserPoolId"), provider.Only("MfaConfiguration"))
)

// poolFactors are the properties that the pool's own calls do not take.
var poolFactors = []string{
	"EnabledMfas", "EmailAuthenticationMessage", "EmailAuthenticationSubject",
	"WebAuthnFactorConfiguration", "WebAuthnRelyingPartyID", "WebAuthnUserVerification",
}

// withoutFactors leaves MfaConfiguration to the call that also names factors: a
// pool cannot want a second factor before it has one.
func withoutFactors[In any](clear func(*In)) func(*provider.Request, *In) error {
	return func(r *provider.Request, in *In) error {
		if r.Properties.Has("EnabledMfas") {
			clear(in)
		}
		return nil
	}
}

// A user pool is known by its id. An update is of the whole: what it does not
// mention goes back to its default, the second factors included.
func userPool() provider.Resource {
	return provider.Resource{
		Type:       "AWS::Cognito::UserPool",
		Name:       "UserPoolName",
		Inputs:     []provider.Input{createPoolInput},
		Updates:    []provider.Input{updatePoolInput, addAttributesInput},
		Satellites: []provider.Satellite{{Properties: poolFactors, Put: putPoolFactors}},
		Tags:       provider.Tags{Property: "UserPoolTags", AtCreate: true},
		Create:     createBy(cognitoOnce, (*cognito.Client).CreateUserPool, createPoolInput, func(o *cognito.CreateUserPoolOutput) *string { return o.UserPool.Id }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			if d.Changed("Schema") {
				if err := addAttributes(ctx, r); err != nil {
					return provider.Updated{}, err
				}
			}
			if !slices.ContainsFunc(d.Properties(), func(p string) bool { return p != "Schema" }) {
				return provider.Updated{}, nil
			}
			_, err := provider.Invoke(ctx, r, cognitoClient, (*cognito.Client).UpdateUserPool, updatePoolInput)
			if err == nil && slices.ContainsFunc(poolFactors, r.Properties.Has) {
				err = putPoolFactors(ctx, r)
			}
			return provider.Updated{}, err
		},
		Delete: provider.Call(cognitoClient, (*cognito.Client).DeleteUserPool, byID[cognito.DeleteUserPoolInput]("UserPoolId")),
		Gone:   cognitoGone,
		Find:   byTag(findUserPool),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			p, err := describePool(ctx, r, r.PhysicalID)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			return provider.Unbind(p, shape, provider.Rename{"UserPoolName": "Name"}, provider.Skip("Schema")), nil
		},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			host := "cognito-idp." + r.Stack.Region + "." + urlSuffix(r) + "/" + r.PhysicalID
			return value.NewObject("Arn", arn(r, "cognito-idp", "userpool/"+r.PhysicalID),
				"ProviderName", host, "ProviderURL", "https://"+host, "UserPoolId", r.PhysicalID)
		},
		Unprotect: func(ctx context.Context, r *provider.Request) error {
			in, err := updatePoolInput.Input(r)
			if err != nil {
				return err
			}
			in.DeletionProtection = types.DeletionProtectionTypeInactive
			_, err = cognitoClient(r.Session).UpdateUserPool(ctx, in)
			return err
		},
	}
}

func describePool(ctx context.Context, r *provider.Request, id string) (*types.UserPoolType, error) {
	out, err := cognitoClient(r.Session).DescribeUserPool(ctx, &cognito.DescribeUserPoolInput{UserPoolId: &id})
	if err != nil {
		return nil, err
	}
	return out.UserPool, nil
}

// putPoolFactors says which second factors there are, and whether one is needed.
func putPoolFactors(ctx context.Context, r *provider.Request) error {
	in, err := poolFactorsInput.Input(r)
	if err != nil {
		return err
	}
	if in.MfaConfiguration == "" {
		in.MfaConfiguration = types.UserPoolMfaTypeOff
	}
	enabled := func(factor string) bool { return slices.Contains(texts(r.Properties, "EnabledMfas"), factor) }
	if enabled("SMS_MFA") {
		config, err := updatePoolInput.Input(r)
		if err != nil {
			return err
		}
		in.SmsMfaConfiguration = &types.SmsMfaConfigType{SmsAuthenticationMessage: config.SmsAuthenticationMessage, SmsConfiguration: config.SmsConfiguration}
	}
	in.SoftwareTokenMfaConfiguration = &types.SoftwareTokenMfaConfigType{Enabled: enabled("SOFTWARE_TOKEN_MFA")}
	message, subject := text(r.Properties, "EmailAuthenticationMessage"), text(r.Properties, "EmailAuthenticationSubject")
	if enabled("EMAIL_OTP") || message != "" || subject != "" {
		in.EmailMfaConfiguration = &types.EmailMfaConfigType{Message: optional(message), Subject: optional(subject)}
	}
	if r.Properties.Has("WebAuthnRelyingPartyID") || r.Properties.Has("WebAuthnUserVerification") || r.Properties.Has("WebAuthnFactorConfiguration") {
		in.WebAuthnConfiguration = &types.WebAuthnConfigurationType{
			FactorConfiguration: types.WebAuthnFactorConfigurationType(text(r.Properties, "WebAuthnFactorConfiguration")),
			RelyingPartyId:      optional(text(r.Properties, "WebAuthnRelyingPartyID")),
			UserVerification:    types.UserVerificationType(text(r.Properties, "WebAuthnUserVerification")),
		}
	}
	_, err = cognitoClient(r.Session).SetUserPoolMfaConfig(ctx, in)
	return err
}

// addAttributes adds the attributes that are new. One cannot be changed, nor go.
func addAttributes(ctx context.Context, r *provider.Request) error {
	key := provider.Key("Name")
	before := map[string]any{}
	for _, a := range r.Previous.List("Schema") {
		before[key(a)] = a
	}
	var added []any
	for _, a := range r.Properties.List("Schema") {
		was, ok := before[key(a)]
		if ok && !value.Equal(was, a) {
			return &provider.UnsupportedUpdateError{Type: r.Type, LogicalID: r.LogicalID, Properties: []string{"Schema"}}
		}
		if delete(before, key(a)); !ok {
			added = append(added, a)
		}
	}
	if len(before) > 0 {
		return &provider.UnsupportedUpdateError{Type: r.Type, LogicalID: r.LogicalID, Properties: []string{"Schema"}}
	}
	add := *r
	add.Properties = value.NewObject("Schema", added)
	_, err := provider.Invoke(ctx, &add, cognitoClient, (*cognito.Client).AddCustomAttributes, addAttributesInput)
	return err
}

// findUserPool finds a pool by its tag: many may have the name.
func findUserPool(ctx context.Context, r *provider.Request) (string, error) {
	pages := cognito.NewListUserPoolsPaginator(cognitoClient(r.Session), &cognito.ListUserPoolsInput{MaxResults: aws.Int32(60)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, p := range page.UserPools {
			if aws.ToString(p.Name) != text(r.Properties, "UserPoolName") {
				continue
			}
			pool, err := describePool(ctx, r, *p.Id)
			if err != nil {
				return "", err
			}
			if pool.UserPoolTags[provider.OwnerTagKey] == r.OwnerTag {
				return *p.Id, nil
			}
		}
	}
	return "", nil
}

var (
	createClientInput = provider.Bind[cognito.CreateUserPoolClientInput](provider.Finish(func(r *provider.Request, in *cognito.CreateUserPoolClientInput) error {
		if in.ClientName == nil {
			in.ClientName = &r.LogicalID
		}
		return nil
	}))
	updateClientInput = provider.Bind[cognito.UpdateUserPoolClientInput](provider.Finish(func(r *provider.Request, in *cognito.UpdateUserPoolClientInput) error {
		_, id, _ := strings.Cut(r.PhysicalID, "|")
		in.ClientId = &id
		if in.ClientName == nil {
			in.ClientName = &r.LogicalID
		}
		return nil
	}))
)

// A client is known as pool|client. Its secret, if it has one, is not recorded:
// it is read when something asks for it.
func userPoolClient() provider.Resource {
	read := func(ctx context.Context, r *provider.Request) (*types.UserPoolClientType, error) {
		pool, id, _ := strings.Cut(r.PhysicalID, "|")
		out, err := cognitoClient(r.Session).DescribeUserPoolClient(ctx, &cognito.DescribeUserPoolClientInput{UserPoolId: &pool, ClientId: &id})
		if err != nil {
			return nil, err
		}
		return out.UserPoolClient, nil
	}
	attributes := func(c *types.UserPoolClientType) *value.Object {
		return value.NewObject("ClientId", aws.ToString(c.ClientId), "Name", aws.ToString(c.ClientName))
	}
	return provider.Resource{
		Type:    "AWS::Cognito::UserPoolClient",
		Adopt:   adoptedWhole(func(r *provider.Request) string { return text(r.Properties, "UserPoolId") + "|" + r.PhysicalID }),
		Inputs:  []provider.Input{createClientInput},
		Updates: []provider.Input{updateClientInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, cognitoOnce, (*cognito.Client).CreateUserPoolClient, createClientInput)
			if err != nil {
				return provider.Created{}, err
			}
			c := out.UserPoolClient
			return provider.Created{PhysicalID: *c.UserPoolId + "|" + *c.ClientId, Attributes: attributes(c)}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			out, err := provider.Invoke(ctx, r, cognitoClient, (*cognito.Client).UpdateUserPoolClient, updateClientInput)
			if err != nil {
				return provider.Updated{}, err
			}
			return provider.Updated{Attributes: attributes(out.UserPoolClient)}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			pool, id, _ := strings.Cut(r.PhysicalID, "|")
			_, err := cognitoClient(r.Session).DeleteUserPoolClient(ctx, &cognito.DeleteUserPoolClientInput{UserPoolId: &pool, ClientId: &id})
			return err
		},
		Gone: cognitoGone,
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			c, err := read(ctx, r)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			return provider.Unbind(c, shape), nil
		},
	}
}

var (
	createDomainInput = provider.Bind[cognito.CreateUserPoolDomainInput]()
	updateDomainInput = provider.Bind[cognito.UpdateUserPoolDomainInput]()
)

// A domain is known as pool|domain. It is one of the whole region's names.
func userPoolDomain() provider.Resource {
	describe := func(ctx context.Context, r *provider.Request) (*types.DomainDescriptionType, error) {
		out, err := cognitoClient(r.Session).DescribeUserPoolDomain(ctx, &cognito.DescribeUserPoolDomainInput{Domain: aws.String(text(r.Properties, "Domain"))})
		if err != nil {
			return nil, err
		}
		if d := out.DomainDescription; d != nil && aws.ToString(d.UserPoolId) == text(r.Properties, "UserPoolId") {
			return d, nil
		}
		return nil, provider.ErrNotFound
	}
	return provider.Resource{
		Type:    "AWS::Cognito::UserPoolDomain",
		Adopt:   adoptedWhole(func(r *provider.Request) string { return text(r.Properties, "UserPoolId") + "|" + r.PhysicalID }),
		Inputs:  []provider.Input{createDomainInput},
		Updates: []provider.Input{updateDomainInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, cognitoOnce, (*cognito.Client).CreateUserPoolDomain, createDomainInput)
			if err != nil {
				return provider.Created{}, err
			}
			known := value.NewObject()
			set(known, "CloudFrontDistribution", out.CloudFrontDomain)
			return provider.Created{PhysicalID: text(r.Properties, "UserPoolId") + "|" + text(r.Properties, "Domain"), Attributes: known}, nil
		},
		Update: updateBy(cognitoClient, (*cognito.Client).UpdateUserPoolDomain, updateDomainInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			pool, domain, _ := strings.Cut(r.PhysicalID, "|")
			_, err := cognitoClient(r.Session).DeleteUserPoolDomain(ctx, &cognito.DeleteUserPoolDomainInput{UserPoolId: &pool, Domain: &domain})
			return err
		},
		Gone: cognitoGone,
		// A pool has the domain or not.
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			if _, err := describe(ctx, r); errors.Is(err, provider.ErrNotFound) {
				return "", nil
			} else if err != nil {
				return "", unlessGone(err, cognitoGone)
			}
			return text(r.Properties, "UserPoolId") + "|" + text(r.Properties, "Domain"), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			d, err := describe(ctx, r)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			return provider.Unbind(d, shape), nil
		},
	}
}

package awssdk

import (
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// What belongs to a user pool is known as pool|name, and has no tags.

var (
	createPoolGroupInput = provider.Bind[cognito.CreateGroupInput]()
	updatePoolGroupInput = provider.Bind[cognito.UpdateGroupInput](provider.Clear{"Description": "", "Precedence": "0", "RoleArn": ""})
)

func userPoolGroup() provider.Resource {
	k := composite{"UserPoolId", "GroupName"}
	return partOf(k, provider.Resource{
		Type:    "AWS::Cognito::UserPoolGroup",
		Name:    "GroupName",
		Inputs:  []provider.Input{createPoolGroupInput},
		Updates: []provider.Input{updatePoolGroupInput},
		Create:  k.made(provider.Call(cognitoOnce, (*cognito.Client).CreateGroup, createPoolGroupInput)),
		Update:  updateBy(cognitoClient, (*cognito.Client).UpdateGroup, updatePoolGroupInput),
		Delete:  provider.Call(cognitoClient, (*cognito.Client).DeleteGroup, provider.Bind[cognito.DeleteGroupInput]()),
		Gone:    cognitoGone,
		Read: readBy(cognitoClient, (*cognito.Client).GetGroup, provider.Bind[cognito.GetGroupInput](),
			func(out *cognito.GetGroupOutput) any { return out.Group }),
	})
}

var (
	createServerInput = provider.Bind[cognito.CreateResourceServerInput]()
	// An update is of the whole: scopes that it does not have go.
	updateServerInput = provider.Bind[cognito.UpdateResourceServerInput](provider.Clear{"Scopes": []any{}})
)

func userPoolResourceServer() provider.Resource {
	k := composite{"UserPoolId", "Identifier"}
	return partOf(k, provider.Resource{
		Type:    "AWS::Cognito::UserPoolResourceServer",
		Inputs:  []provider.Input{createServerInput},
		Updates: []provider.Input{updateServerInput},
		Create:  k.made(provider.Call(cognitoOnce, (*cognito.Client).CreateResourceServer, createServerInput)),
		Update:  updateBy(cognitoClient, (*cognito.Client).UpdateResourceServer, updateServerInput),
		Delete:  provider.Call(cognitoClient, (*cognito.Client).DeleteResourceServer, provider.Bind[cognito.DeleteResourceServerInput]()),
		Gone:    cognitoGone,
		Read: readBy(cognitoClient, (*cognito.Client).DescribeResourceServer, provider.Bind[cognito.DescribeResourceServerInput](),
			func(out *cognito.DescribeResourceServerOutput) any { return out.ResourceServer }),
	})
}

var (
	createPoolProviderInput = provider.Bind[cognito.CreateIdentityProviderInput]()
	updatePoolProviderInput = provider.Bind[cognito.UpdateIdentityProviderInput](provider.Clear{"AttributeMapping": value.NewObject(), "IdpIdentifiers": []any{}})
)

func userPoolIdentityProvider() provider.Resource {
	k := composite{"UserPoolId", "ProviderName"}
	return partOf(k, provider.Resource{
		Type:    "AWS::Cognito::UserPoolIdentityProvider",
		Inputs:  []provider.Input{createPoolProviderInput},
		Updates: []provider.Input{updatePoolProviderInput},
		Create:  k.made(provider.Call(cognitoOnce, (*cognito.Client).CreateIdentityProvider, createPoolProviderInput)),
		Update:  updateBy(cognitoClient, (*cognito.Client).UpdateIdentityProvider, updatePoolProviderInput),
		Delete:  provider.Call(cognitoClient, (*cognito.Client).DeleteIdentityProvider, provider.Bind[cognito.DeleteIdentityProviderInput]()),
		Gone:    cognitoGone,
		Read: readBy(cognitoClient, (*cognito.Client).DescribeIdentityProvider, provider.Bind[cognito.DescribeIdentityProviderInput](),
			func(out *cognito.DescribeIdentityProviderOutput) any { return out.IdentityProvider }),
	})
}

package engine

import "cmp"

// What an unanswered create made is found by a tag, a natural key or a name,
// as the type's description has it. These types have none of them.

// resendable are those whose create may be sent again, with the reason: it makes
// nothing twice.
var resendable = map[string]string{
	"AWS::ApiGateway::Account":                        "it puts the one setting that there is",
	"AWS::AppSync::GraphQLSchema":                     "it puts the one schema that there is",
	"AWS::CloudFront::Distribution":                   byKnownToken,
	"AWS::CloudFront::CloudFrontOriginAccessIdentity": byKnownToken,
	"AWS::Scheduler::Schedule":                        byKnownToken,
	"AWS::EC2::LaunchTemplate":                        byKnownToken,
	"AWS::ECS::ClusterCapacityProviderAssociations":   "it puts the one setting that there is",
	"AWS::ServiceDiscovery::HttpNamespace":            byKnownToken,
	"AWS::ServiceDiscovery::PrivateDnsNamespace":      byKnownToken,
	"AWS::ServiceDiscovery::PublicDnsNamespace":       byKnownToken,
	"AWS::ServiceDiscovery::Service":                  byKnownToken,
	"AWS::IAM::Policy":                                "it puts the one policy of that name",
	"AWS::Lambda::EventInvokeConfig":                  "it puts the one setting that there is",
	"AWS::Lambda::Version":                            "the same code is not published twice",
	"AWS::CloudWatch::AnomalyDetector":                "it puts the one detector of that metric",
	"AWS::IAM::UserToGroupAddition":                   "nobody becomes a member twice",
	"AWS::Logs::ResourcePolicy":                       "it puts the one policy of that name",
	"AWS::AutoScaling::LifecycleHook":                 "it puts the one hook of that name",
	"AWS::Scheduler::ScheduleGroup":                   byKnownToken,
	"AWS::SecretsManager::ResourcePolicy":             "it puts the one policy that there is",
	"AWS::Logs::MetricFilter":                         "it puts the one filter of that name",
	"AWS::Logs::SubscriptionFilter":                   "it puts the one filter of that name",
	"AWS::S3::BucketPolicy":                           "it puts the one policy that there is",
	"AWS::SNS::Subscription":                          "the same endpoint is not subscribed twice",
	"AWS::SNS::TopicPolicy":                           "it puts the one policy that there is",
	"AWS::SQS::QueuePolicy":                           "it puts the one policy that there is",
}

const byKnownToken = "its token is known, and answered with the first one's"

// unfindable are those of which a second create may make a second one, with what
// keeps the first from being found.
var unfindable = map[string]string{
	"AWS::ApiGateway::Deployment":         "deployments of an API have neither a name nor a tag to be told apart by",
	"AWS::ApiGateway::RequestValidator":   "validators of an API have neither a name of their own nor a tag to be told apart by",
	"AWS::ApiGatewayV2::Integration":      "integrations of an API have neither a name nor a tag to be told apart by",
	"AWS::AppSync::ApiKey":                "keys of an API have neither a name nor a tag to be told apart by",
	"AWS::AppSync::FunctionConfiguration": "functions of an API have neither a name of their own nor a tag to be told apart by",
	"AWS::Cognito::UserPoolClient":        "clients of a pool have no tag to be told apart by",
	"AWS::Glue::Database":                 "a database has no tag that tells whose it is",
	"AWS::Glue::Table":                    "a table has no tag that tells whose it is",
	"AWS::IAM::AccessKey":                 "keys of a user have neither a name nor a tag to be told apart by",
	"AWS::IAM::Group":                     "a group has no tag that tells whose it is",
	"AWS::IAM::ServiceLinkedRole":         "such a role has no tag that tells whose it is",
	"AWS::Lambda::LayerVersion":           "versions of a layer have no tag to be told apart by",
}

// notFindable says why what an unanswered create of a type made cannot be told.
func notFindable(typ string) string {
	return cmp.Or(unfindable[typ], "what a create of its type made cannot be found exactly")
}

// parts are types of what belongs to another resource, and is gone with that.
// A stack that is taken down takes the other along, so that what a killed create
// of these may have made keeps nobody waiting.
var parts = []string{
	"AWS::ApiGateway::Account",
	"AWS::ApiGateway::Authorizer",
	"AWS::ApiGateway::Deployment",
	"AWS::ApiGateway::Method",
	"AWS::ApiGateway::Model",
	"AWS::ApiGateway::RequestValidator",
	"AWS::ApiGateway::Resource",
	"AWS::ApiGateway::UsagePlanKey",
	"AWS::ApiGatewayV2::Authorizer",
	"AWS::ApiGatewayV2::Integration",
	"AWS::ApiGatewayV2::Route",
	"AWS::AppSync::ApiKey",
	"AWS::AppSync::DataSource",
	"AWS::AppSync::FunctionConfiguration",
	"AWS::AppSync::GraphQLSchema",
	"AWS::AppSync::Resolver",
	"AWS::Cognito::UserPoolClient",
	"AWS::Cognito::UserPoolGroup",
	"AWS::Cognito::UserPoolIdentityProvider",
	"AWS::Cognito::UserPoolResourceServer",
	"AWS::EC2::NetworkAclEntry",
	"AWS::EC2::Route",
	"AWS::EC2::SecurityGroupEgress",
	"AWS::EC2::SecurityGroupIngress",
	"AWS::EC2::SubnetNetworkAclAssociation",
	"AWS::EC2::SubnetRouteTableAssociation",
	"AWS::EC2::VPCCidrBlock",
	"AWS::EC2::VPCGatewayAttachment",
	"AWS::ECS::ClusterCapacityProviderAssociations",
	"AWS::Glue::Table",
	"AWS::IAM::Policy",
	"AWS::Lambda::Alias",
	"AWS::Lambda::EventInvokeConfig",
	"AWS::Lambda::Permission",
	"AWS::Lambda::Url",
	"AWS::Lambda::Version",
	"AWS::Logs::LogStream",
	"AWS::Logs::MetricFilter",
	"AWS::Logs::SubscriptionFilter",
	"AWS::S3::BucketPolicy",
	"AWS::SecretsManager::ResourcePolicy",
	"AWS::SNS::Subscription",
	"AWS::SNS::TopicPolicy",
	"AWS::SQS::QueuePolicy",
}

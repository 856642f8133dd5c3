package awssdk

import (
	"flag"
	"slices"
	"testing"

	"github.com/org/cdkd-action/engine/provider"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestTypesAreDescribedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Resources() {
		if seen[r.Type] {
			t.Errorf("%s is described twice", r.Type)
		}
		seen[r.Type] = true
		if len(r.Gone) == 0 {
			t.Errorf("%s does not say how its service tells that a resource is gone", r.Type)
		}
	}
}

// Types whose create would take over what is there under the name are looked up
// before it (T-513).
func TestNamesAreLookedUp(t *testing.T) {
	for _, typ := range []string{
		"AWS::SQS::Queue", "AWS::SNS::Topic", "AWS::Logs::LogGroup", "AWS::CloudWatch::Alarm", "AWS::Events::Rule", "AWS::S3::Bucket",
		"AWS::ECS::Cluster", "AWS::ElasticLoadBalancingV2::LoadBalancer", "AWS::ElasticLoadBalancingV2::TargetGroup", "AWS::StepFunctions::StateMachine",
	} {
		if !slices.ContainsFunc(Resources(), func(r provider.Resource) bool { return r.Type == typ && r.Lookup != nil }) {
			t.Errorf("%s has no look-up of its name", typ)
		}
	}
}

// What an unanswered create made is found by Find, or by sending it again
// (P-34).
func TestUnansweredCreates(t *testing.T) {
	repeatable := map[string]string{
		"AWS::ApiGateway::Account":                        "a put",
		"AWS::CloudFront::Distribution":                   "the token is refused a second time, and the refusal names what the first made",
		"AWS::AppSync::GraphQLSchema":                     "a put",
		"AWS::CloudFront::CloudFrontOriginAccessIdentity": "the token gives the same identity",
		"AWS::ServiceDiscovery::HttpNamespace":            "the creator's request id gives the same operation",
		"AWS::ServiceDiscovery::PrivateDnsNamespace":      "the creator's request id gives the same operation",
		"AWS::ServiceDiscovery::PublicDnsNamespace":       "the creator's request id gives the same operation",
		"AWS::ServiceDiscovery::Service":                  "the creator's request id is refused a second time, and the refusal names what the first made",
		"AWS::Scheduler::Schedule":                        "the client token gives the same schedule",
		"AWS::CloudWatch::AnomalyDetector":                "a put",
		"AWS::CloudWatch::CompositeAlarm":                 "a put",
		"AWS::CloudWatch::Dashboard":                      "a put",
		"AWS::IAM::UserToGroupAddition":                   "a member is added once",
		"AWS::AutoScaling::LifecycleHook":                 "a put",
		"AWS::Scheduler::ScheduleGroup":                   "the client token gives the same group",
		"AWS::SecretsManager::ResourcePolicy":             "a put",
		"AWS::Logs::ResourcePolicy":                       "a put",
		"AWS::Logs::MetricFilter":                         "a put",
		"AWS::Logs::SubscriptionFilter":                   "a put",
		"AWS::CloudWatch::Alarm":                          "a put",
		"AWS::ECS::ClusterCapacityProviderAssociations":   "a put",
		"AWS::EC2::LaunchTemplate":                        "the client token gives the same template",
		"AWS::Events::Rule":                               "a put",
		"AWS::IAM::Policy":                                "a put on each principal",
		"AWS::Lambda::EventInvokeConfig":                  "a put",
		"AWS::Lambda::Version":                            "the same code and configuration give the same version",
		"AWS::Logs::LogGroup":                             "the name is taken by ourselves",
		"AWS::S3::Bucket":                                 "the name is taken by ourselves",
		"AWS::S3::BucketPolicy":                           "a put",
		"AWS::SNS::Subscription":                          "topic, protocol and endpoint give the same subscription",
		"AWS::SNS::Topic":                                 "the name gives the same topic",
		"AWS::SNS::TopicPolicy":                           "a put on each topic",
		"AWS::SQS::Queue":                                 "the name gives the same queue",
		"AWS::SQS::QueuePolicy":                           "a put on each queue",
		"AWS::StepFunctions::StateMachine":                "the name gives the same state machine",
	}
	lost := map[string]string{
		"AWS::ApiGateway::Deployment":         "takes no tags and has no name: leaves a deployment that no stage uses, gone with its API",
		"AWS::ApiGateway::RequestValidator":   "takes no tags, and its name may be another's: leaves a validator that no method uses, gone with its API",
		"AWS::AppSync::FunctionConfiguration": "takes no tags, and its name may be another's: leaves a function that no resolver uses, gone with its API",
		"AWS::ApiGatewayV2::Integration":      "takes no tags and has no name: leaves an integration that no route uses, gone with its API",
		"AWS::Cognito::UserPoolClient":        "takes no tags, and its name may be another's: leaves a client that nothing uses, gone with its pool",
		"AWS::AppSync::ApiKey":                "takes no tags and has no name: leaves a key that nobody knows, and that expires",
		"AWS::Glue::Database":                 "takes no tags: refused as a taken name, to be imported",
		"AWS::Glue::Table":                    "takes no tags: refused as a taken name, to be imported",
		"AWS::IAM::AccessKey":                 "takes no tags and has no name: leaves a key that nobody knows the secret of",
		"AWS::IAM::ServiceLinkedRole":         "takes no tags at the create: refused as a taken name, to be imported",
		"AWS::IAM::Group":                     "takes no tags: refused as a taken name, to be imported",
		"AWS::Lambda::LayerVersion":           "takes no tags and has no name of its own: leaves a version that nothing uses",
	}
	for _, r := range Resources() {
		_, again := repeatable[r.Type]
		_, known := lost[r.Type]
		if n := count(r.Find != nil, again, known); n != 1 {
			t.Errorf("%s: Find %t, repeatable %t, known to be lost %t: want one of them", r.Type, r.Find != nil, again, known)
		}
	}
}

func count(facts ...bool) (n int) {
	for _, f := range facts {
		if f {
			n++
		}
	}
	return n
}

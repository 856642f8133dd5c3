package awssdk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/provider"
)

func livesOf(t *testing.T, s *provider.Session, lives map[string]life) {
	t.Helper()
	for name, l := range lives {
		t.Run(name, func(t *testing.T) { l.run(t, s) })
	}
}

// What is known by names of its own and of what it belongs to.
func TestKeyed(t *testing.T) {
	s := emulated(t)
	pool := made(t, s, "AWS::Cognito::UserPool", "keyed-pool", `{}`)
	made(t, s, "AWS::Logs::LogGroup", "keyed-group", `{"LogGroupName": "keyed-group"}`)
	policy := func(service string) string {
		return `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "` + service + `"}, "Action": "logs:PutLogEvents", "Resource": "*"}]}`
	}
	livesOf(t, s, map[string]life{
		"log stream": {typ: "AWS::Logs::LogStream", physical: "named", id: "keyed-group|named", steps: []step{
			{name: "of a group", props: `{"LogGroupName": "keyed-group"}`},
		}},
		"log policy": {typ: "AWS::Logs::ResourcePolicy", id: "keyed", steps: []step{
			{name: "of DNS", props: `{"PolicyName": "keyed", "PolicyDocument": ` + policy("route53.amazonaws.com") + `}`},
			{name: "of events", props: `{"PolicyName": "keyed", "PolicyDocument": ` + policy("events.amazonaws.com") + `}`},
		}},
		"dashboard": {typ: "AWS::CloudWatch::Dashboard", physical: "keyed", id: "keyed", steps: []step{
			{name: "of nothing", props: `{"DashboardBody": "{\"widgets\":[]}"}`},
			{name: "with a period", props: `{"DashboardBody": "{\"periodOverride\":\"auto\",\"widgets\":[]}"}`},
		}},
		"pool group": {typ: "AWS::Cognito::UserPoolGroup", physical: "admins", id: pool + "|admins", steps: []step{
			{name: "first", props: fmt.Sprintf(`{"UserPoolId": %q, "Description": "one", "Precedence": 1}`, pool)},
			{name: "second", props: fmt.Sprintf(`{"UserPoolId": %q, "Description": "two", "Precedence": 2}`, pool)},
		}},
		"resource server": {typ: "AWS::Cognito::UserPoolResourceServer", id: pool + "|orders", undeleted: "it has no such call", refused: map[string]string{"named otherwise": "UpdateResourceServer"}, steps: []step{
			{name: "with a scope", props: fmt.Sprintf(`{"UserPoolId": %q, "Identifier": "orders", "Name": "Orders", "Scopes": [{"ScopeName": "read", "ScopeDescription": "see"}]}`, pool)},
			{name: "named otherwise", props: fmt.Sprintf(`{"UserPoolId": %q, "Identifier": "orders", "Name": "All orders", "Scopes": [{"ScopeName": "read", "ScopeDescription": "see"}]}`, pool)},
		}},
		"identity provider": {typ: "AWS::Cognito::UserPoolIdentityProvider", id: pool + "|Work", steps: []step{
			{name: "of one client", props: fmt.Sprintf(`{"UserPoolId": %q, "ProviderName": "Work", "ProviderType": "OIDC", "ProviderDetails": {"client_id": "a"}, "AttributeMapping": {"email": "mail"}}`, pool)},
			{name: "of another", props: fmt.Sprintf(`{"UserPoolId": %q, "ProviderName": "Work", "ProviderType": "OIDC", "ProviderDetails": {"client_id": "b"}, "AttributeMapping": {"email": "upn"}}`, pool)},
		}},
	})
}

// What is put on, or made for, a resource that is there already.
func TestBeside(t *testing.T) {
	s := emulated(t)
	stream := made(t, s, "AWS::Kinesis::Stream", "beside", `{"Name": "beside", "ShardCount": 1}`)
	secret := made(t, s, "AWS::SecretsManager::Secret", "beside-what-the-token-is-made-of", `{"Name": "beside", "SecretString": "not-a-secret"}`)
	vpc := made(t, s, "AWS::EC2::VPC", "", `{"CidrBlock": "10.8.0.0/16"}`)
	subnet := made(t, s, "AWS::EC2::Subnet", "", fmt.Sprintf(`{"VpcId": %q, "CidrBlock": "10.8.0.0/24"}`, vpc))
	template := made(t, s, "AWS::EC2::LaunchTemplate", "", `{"LaunchTemplateName": "beside", "LaunchTemplateData": {"ImageId": "ami-12c6146b", "InstanceType": "t3.micro"}}`)
	made(t, s, "AWS::AutoScaling::AutoScalingGroup", "beside", fmt.Sprintf(`{"AutoScalingGroupName": "beside", "MinSize": "0", "MaxSize": "1", "LaunchTemplate": {"LaunchTemplateId": %q, "Version": "1"}, "VPCZoneIdentifier": [%q]}`, template, subnet))
	policy := func(action string) string {
		return `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "` + action + `", "Resource": "*"}]}`
	}
	lives := map[string]life{
		"lifecycle hook": {typ: "AWS::AutoScaling::LifecycleHook", physical: "hook", id: "beside|hook", unread: []string{"NotificationMetadata"}, steps: []step{
			{name: "with a word", props: `{"AutoScalingGroupName": "beside", "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING", "NotificationMetadata": "a", "HeartbeatTimeout": 60}`},
			{name: "with another", props: `{"AutoScalingGroupName": "beside", "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING", "NotificationMetadata": "b", "HeartbeatTimeout": 90}`},
		}},
		"schedule group": {typ: "AWS::Scheduler::ScheduleGroup", physical: "nights", id: "nights", deletedOnce: true, steps: []step{
			{name: "tagged", props: `{"Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "tagged otherwise", props: `{"Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"consumer": {typ: "AWS::Kinesis::StreamConsumer", steps: []step{
			{name: "of a stream", props: fmt.Sprintf(`{"StreamARN": %q, "ConsumerName": "reader"}`, arn(&provider.Request{Stack: stack}, "kinesis", "stream/"+stream))},
		}},
		"secret's policy": {typ: "AWS::SecretsManager::ResourcePolicy", id: secret, steps: []step{
			{name: "to read", props: fmt.Sprintf(`{"SecretId": %q, "ResourcePolicy": %s}`, secret, policy("secretsmanager:GetSecretValue"))},
			{name: "to look", props: fmt.Sprintf(`{"SecretId": %q, "ResourcePolicy": %s}`, secret, policy("secretsmanager:DescribeSecret"))},
		}},
	}
	for _, of := range []string{"DocDB", "Neptune"} {
		name := "subnets-" + strings.ToLower(of)
		lives["subnet group of "+of] = life{typ: "AWS::" + of + "::DBSubnetGroup", physical: name, id: name, steps: []step{
			{name: "of a subnet", props: fmt.Sprintf(`{"DBSubnetGroupDescription": "one", "SubnetIds": [%q], "Tags": [{"Key": "a", "Value": "1"}]}`, subnet)},
			{name: "tagged otherwise", props: fmt.Sprintf(`{"DBSubnetGroupDescription": "one", "SubnetIds": [%q], "Tags": [{"Key": "a", "Value": "2"}]}`, subnet)},
		}}
	}
	livesOf(t, s, lives)
}

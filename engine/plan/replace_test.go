package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func TestReplacement(t *testing.T) {
	for _, c := range []struct {
		rule     string
		typ      string
		old, new string
		want     Action
	}{
		{"a registry rule (T-411)", "AWS::SQS::Queue", `{"QueueName":"a"}`, `{"QueueName":"b"}`, Replace},
		{"a name that appears replaces (T-410)", "AWS::SQS::Queue", `{}`, `{"QueueName":"b"}`, Replace},
		{"a name that disappears replaces (T-410)", "AWS::SQS::Queue", `{"QueueName":"a"}`, `{}`, Replace},
		{"in place (T-411)", "AWS::SQS::Queue", `{"DelaySeconds":1}`, `{"DelaySeconds":2}`, Update},
		{"equal by meaning is no change (T-406)", "AWS::SQS::Queue", `{"DelaySeconds":"1"}`, `{"DelaySeconds":1}`, NoChange},
		{"renamed in place (T-411)", "AWS::CodeCommit::Repository", `{"RepositoryName":"a"}`, `{"RepositoryName":"b"}`, Update},
		{"TableName and KeySchema (T-411)", "AWS::DynamoDB::Table", `{"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}`, `{"KeySchema":[{"AttributeName":"b","KeyType":"HASH"}]}`, Replace},
		{"an attribute is added (T-411)", "AWS::DynamoDB::Table", `{"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}]}`, `{"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"}]}`, Update},
		{"an attribute goes (T-411)", "AWS::DynamoDB::Table", `{"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}]}`, `{"AttributeDefinitions":[{"AttributeName":"b","AttributeType":"S"}]}`, Update},
		{"an attribute changes its type (T-411)", "AWS::DynamoDB::Table", `{"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}]}`, `{"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"N"}]}`, Replace},
		{"DurableConfig appears (T-411)", "AWS::Lambda::Function", `{}`, `{"DurableConfig":{"ExecutionTimeout":1}}`, Replace},
		{"DurableConfig disappears (T-411)", "AWS::Lambda::Function", `{"DurableConfig":{"ExecutionTimeout":1}}`, `{}`, Replace},
		{"DurableConfig changes (T-411)", "AWS::Lambda::Function", `{"DurableConfig":{"ExecutionTimeout":1}}`, `{"DurableConfig":{"ExecutionTimeout":2}}`, Update},
		{"another budget name (T-411)", "AWS::Budgets::Budget", `{"Budget":{"BudgetName":"a","T":1}}`, `{"Budget":{"BudgetName":"b","T":1}}`, Replace},
		{"the same budget name (T-411)", "AWS::Budgets::Budget", `{"Budget":{"BudgetName":"a","T":1}}`, `{"Budget":{"BudgetName":"a","T":2}}`, Update},
		{"the schema decides what no rule names (T-410)", "AWS::SNS::Topic", `{"FifoTopic":true}`, `{}`, Replace},
		{"a role's path replaces (T-412)", "AWS::IAM::Role", `{"Path":"/a/"}`, `{"Path":"/b/"}`, Replace},
		{"a REST API is renamed in place (T-412)", "AWS::ApiGateway::RestApi", `{"Name":"a"}`, `{"Name":"b"}`, Update},
		{"a parameter's type is the schema's to judge (T-412)", "AWS::SSM::Parameter", `{"Type":"String"}`, `{"Type":"StringList"}`, Update},
		{"EbsOptimized may replace (T-412)", "AWS::EC2::Instance", `{"EbsOptimized":true}`, `{"EbsOptimized":false}`, MayReplace},
		{"a nested path that differs (T-410)", "AWS::EKS::Cluster", `{"KubernetesNetworkConfig":{"IpFamily":"ipv4","ElasticLoadBalancing":{"Enabled":true}}}`, `{"KubernetesNetworkConfig":{"IpFamily":"ipv6","ElasticLoadBalancing":{"Enabled":true}}}`, Replace},
		{"a sibling of a nested path (T-410)", "AWS::EKS::Cluster", `{"KubernetesNetworkConfig":{"IpFamily":"ipv4","ElasticLoadBalancing":{"Enabled":true}}}`, `{"KubernetesNetworkConfig":{"IpFamily":"ipv4","ElasticLoadBalancing":{"Enabled":false}}}`, Update},
		{"the object around a nested path appears (T-410)", "AWS::EKS::Cluster", `{}`, `{"KubernetesNetworkConfig":{"IpFamily":"ipv6"}}`, Replace},
		{"a path through * replaces (T-410)", "AWS::SageMaker::Cluster", `{"InstanceGroups":[{"InstanceType":"a","InstanceCount":1}]}`, `{"InstanceGroups":[{"InstanceType":"a","InstanceCount":2}]}`, Replace},
		{"a path that cannot be told may replace (T-414)", "AWS::EKS::Cluster", `{"KubernetesNetworkConfig":{"IpFamily":"ipv4"}}`, `{"KubernetesNetworkConfig":{"Ref":"P"}}`, MayReplace},
		{"a create-only value that cannot be told may replace (T-414)", "AWS::EC2::Subnet", `{"VpcId":"vpc-1"}`, `{"VpcId":{"Ref":"Vpc"}}`, MayReplace},
		{"layers are new ones but for tags", "AWS::Lambda::LayerVersion", `{"Description":"a"}`, `{"Description":"b"}`, Replace},
		{"task definitions are new ones", "AWS::ECS::TaskDefinition", `{"Cpu":"256"}`, `{"Cpu":"512"}`, Replace},
		{"task definitions keep theirs for tags", "AWS::ECS::TaskDefinition", `{"Tags":[{"Key":"a","Value":"1"}]}`, `{"Tags":[{"Key":"a","Value":"2"}]}`, Update},
		{"a user pool's attribute cannot go", "AWS::Cognito::UserPool", `{"Schema":[{"Name":"a"},{"Name":"b"}]}`, `{"Schema":[{"Name":"a"}]}`, Replace},
		{"a user pool's attribute can come", "AWS::Cognito::UserPool", `{"Schema":[{"Name":"a"}]}`, `{"Schema":[{"Name":"a"},{"Name":"b"}]}`, Update},
		{"a custom resource's handler decides (T-632)", "Custom::Thing", `{"ServiceToken":"a"}`, `{"ServiceToken":"b"}`, Update},
		{"an unknown type does not replace (T-410)", "AWS::Nope::Nope", `{"Name":"a"}`, `{"Name":"b"}`, Update},
	} {
		t.Run(c.rule, func(t *testing.T) {
			p := compute(t, Input{
				Current: recordOf(t, "R", c.typ, c.old),
				Desired: []Resource{{LogicalID: "R", Type: c.typ, Properties: object(t, c.new)}},
			})
			if got := p.Changes[0].Action; got != c.want {
				t.Errorf("%s from %s to %s: got %s, want %s", c.typ, c.old, c.new, got, c.want)
			}
		})
	}
}

// Every type and property in the table exists, so that no rule is a typo.
func TestRulesNameRealProperties(t *testing.T) {
	for typ, r := range rules {
		shape, ok := schema.Lookup(typ)
		if !ok {
			t.Errorf("no type %s", typ)
			continue
		}
		list := slices.Concat(r.replace, r.update)
		for p := range r.when {
			list = append(list, p)
		}
		for _, p := range list {
			if shape.Properties[p] == nil {
				t.Errorf("%s has no %s", typ, p)
			}
		}
	}
	for typ, r := range names {
		shape, ok := schema.Lookup(typ)
		if !ok || shape.Properties[r.Property] == nil {
			t.Errorf("%s has no %s", typ, r.Property)
		}
	}
	for _, typ := range slices.Concat(stateful, snapshotTypes) {
		if _, ok := schema.Lookup(typ); !ok {
			t.Errorf("no type %s", typ)
		}
	}
}

func TestDeletionPolicy(t *testing.T) { // T-845
	for _, c := range []struct{ rule, typ, properties, declared, want string }{
		{"the declared one", "AWS::RDS::DBCluster", `{}`, "Delete", "Delete"},
		{"none deletes", "AWS::SQS::Queue", `{}`, "", "Delete"},
		{"a database cluster is snapshotted (S-40)", "AWS::RDS::DBCluster", `{}`, "", "Snapshot"},
		{"so is a standalone instance (S-40)", "AWS::RDS::DBInstance", `{}`, "", "Snapshot"},
		{"an instance of a cluster is not (S-40)", "AWS::RDS::DBInstance", `{"DBClusterIdentifier":"c"}`, "", "Delete"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := DeletionPolicy(c.typ, object(t, c.properties), c.declared); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
	if got := DeletionPolicy("AWS::RDS::DBInstance", (*value.Object)(nil), ""); got != "Snapshot" {
		t.Errorf("without properties: got %s", got)
	}
	for policy, want := range map[string]bool{"Retain": true, "RetainExceptOnCreate": true, "Snapshot": false, "Delete": false, "": false} {
		if Keeps(policy) != want {
			t.Errorf("%q keeps: %v", policy, !want)
		}
	}
}

func TestStateful(t *testing.T) {
	for typ, want := range map[string]bool{
		"AWS::DynamoDB::Table": true, "AWS::S3::Bucket": true, "AWS::Logs::LogGroup": true,
		"AWS::SQS::Queue": false, "AWS::Lambda::Function": false, "Custom::Thing": false,
	} {
		if Stateful(typ) != want {
			t.Errorf("%s (T-840, T-841): got %v", typ, !want)
		}
	}
	if !TakesFinalSnapshot("AWS::RDS::DBInstance") || TakesFinalSnapshot("AWS::DynamoDB::Table") {
		t.Error("final snapshots (T-836)")
	}
}

func TestFinalSnapshotName(t *testing.T) {
	at := time.Date(2026, 8, 1, 13, 5, 9, 0, time.FixedZone("", 3600))
	for name, test := range map[string]struct{ typ, id, want string }{
		"the id and the time in UTC (T-836)":         {"AWS::RDS::DBInstance", "shop-db", "shop-db-final-20260801-120509"},
		"other characters become one hyphen (T-836)": {"AWS::RDS::DBInstance", "arn:aws::db_1-", "arn-aws-db-1-final-20260801-120509"},
		"it begins with a letter (T-836)":            {"AWS::RDS::DBInstance", "1db", "s-1db-final-20260801-120509"},
		"at most 255 characters (T-836)":             {"AWS::RDS::DBInstance", strings.Repeat("a", 300), strings.Repeat("a", 255-22) + "-final-20260801-120509"},
		"at most 50 of a cache (T-836)":              {"AWS::ElastiCache::ReplicationGroup", strings.Repeat("a", 40), strings.Repeat("a", 50-22) + "-final-20260801-120509"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := FinalSnapshotName(test.typ, test.id, at); got != test.want {
				t.Errorf("%s is named %s, want %s", test.id, got, test.want)
			}
		})
	}
}

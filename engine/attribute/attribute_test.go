package attribute_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/attribute"
	"github.com/org/cdkd-action/engine/value"
)

func TestRef(t *testing.T) {
	for _, c := range []struct {
		name string
		row  attribute.Row
		want string
	}{
		{"the physical id itself (T-249)", attribute.Row{Type: "AWS::S3::Bucket", PhysicalID: "b"}, "b"},
		{"after the last bar (T-249)", attribute.Row{Type: "AWS::ApiGateway::Resource", PhysicalID: "api|res"}, "res"},
		{"after the last bar, without one", attribute.Row{Type: "AWS::ApiGateway::Resource", PhysicalID: "res"}, "res"},
		{"before the first bar (T-249)", attribute.Row{Type: "AWS::EC2::EIP", PhysicalID: "1.2.3.4|eipalloc-1"}, "1.2.3.4"},
		{"rule from its ARN (T-249)", attribute.Row{Type: "AWS::Events::Rule", PhysicalID: "arn:aws:events:eu-west-1:1:rule/r"}, "r"},
		{"rule of a bus (T-249)", attribute.Row{Type: "AWS::Events::Rule", PhysicalID: "arn:aws:events:eu-west-1:1:rule/bus/r"}, "bus|r"},
		{"rule by name", attribute.Row{Type: "AWS::Events::Rule", PhysicalID: "r"}, "r"},
		{"trail from its ARN (T-249)", attribute.Row{Type: "AWS::CloudTrail::Trail", PhysicalID: "arn:aws:cloudtrail:eu-west-1:1:trail/t"}, "t"},
		{"second of three (T-249)", attribute.Row{Type: "AWS::Route53::RecordSet", PhysicalID: "Z1|www.example.com.|A"}, "www.example.com."},
		{"not three parts (T-249)", attribute.Row{Type: "AWS::Route53::RecordSet", PhysicalID: "www.example.com."}, "www.example.com."},
		{"recorded ARN (T-249)", attribute.Row{Type: "AWS::AppSync::ApiKey", PhysicalID: "api|key", Attributes: value.NewObject("Arn", "arn:aws:appsync:eu-west-1:1:apis/a/apikeys/k")}, "arn:aws:appsync:eu-west-1:1:apis/a/apikeys/k"},
		{"placeholder ARN is refused (T-249)", attribute.Row{Type: "AWS::AppSync::ApiKey", PhysicalID: "api|key", Attributes: value.NewObject("Arn", "arn:aws:appsync:*:*:apis/a/apikeys/k")}, "api|key"},
		{"table without a bar (T-249)", attribute.Row{Type: "AWS::S3Tables::Table", PhysicalID: "x", Properties: value.NewObject("TableName", "t")}, "t"},
		{"web ACL (T-249)", attribute.Row{Type: "AWS::WAFv2::WebACL", PhysicalID: "arn:aws:wafv2:eu-west-1:1:regional/webacl/n/i"}, "n|i|REGIONAL"},
		{"global web ACL (T-249)", attribute.Row{Type: "AWS::WAFv2::WebACL", PhysicalID: "arn:aws:wafv2:us-east-1:1:global/webacl/n/i"}, "n|i|CLOUDFRONT"},
		{"the property that the schema names", attribute.Row{Type: "AWS::Batch::JobDefinition", PhysicalID: "j", Attributes: value.NewObject("JobDefinitionArn", "arn:aws:batch:eu-west-1:1:job-definition/j:1")}, "arn:aws:batch:eu-west-1:1:job-definition/j:1"},
		{"that property is not recorded", attribute.Row{Type: "AWS::Batch::JobDefinition", PhysicalID: "j"}, "j"},
		{"the part of the identifier that the schema names", attribute.Row{Type: "AWS::Logs::LogStream", PhysicalID: "group|stream"}, "stream"},
		{"an identifier of another form", attribute.Row{Type: "AWS::Logs::LogStream", PhysicalID: "stream"}, "stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.row.Ref(); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestGet(t *testing.T) {
	const account, region = "123456789012", "eu-west-1"
	for _, c := range []struct {
		name, typ, id, attribute string
		attributes, properties   *value.Object
		region                   string
		want                     any // nil: only AWS can tell
	}{
		{name: "flat key (T-257)", typ: "AWS::RDS::DBInstance", id: "db", attribute: "Endpoint.Address", attributes: value.NewObject("Endpoint.Address", "flat", "Endpoint", value.NewObject("Address", "nested")), want: "flat"},
		{name: "dotted path (T-257)", typ: "X", id: "x", attribute: "Deep.A.B", attributes: value.NewObject("Deep", value.NewObject("A", value.NewObject("B", "v"))), want: "v"},
		{name: "recorded before constructed (T-257)", typ: "AWS::IAM::Role", id: "r", attribute: "Arn", attributes: value.NewObject("Arn", "arn:aws:iam::1:role/path/r"), want: "arn:aws:iam::1:role/path/r"},
		{name: "placeholder ARN is refused (T-257)", typ: "AWS::Lambda::Function", id: "f", attribute: "Arn", attributes: value.NewObject("Arn", "arn:aws:lambda:*:*:function:f"), want: "arn:aws:lambda:eu-west-1:123456789012:function:f"},
		{name: "IPv6 blocks are always asked for (T-257)", typ: "AWS::EC2::VPC", id: "v", attribute: "Ipv6CidrBlocks", attributes: value.NewObject("Ipv6CidrBlocks", []any{}), want: nil},
		{name: "name servers are split (T-257)", typ: "AWS::Route53::HostedZone", id: "Z", attribute: "NameServers", attributes: value.NewObject("NameServers", "a,b"), want: []any{"a", "b"}},
		{name: "DynamoDB (T-258)", typ: "AWS::DynamoDB::Table", id: "t", attribute: "Arn", want: "arn:aws:dynamodb:eu-west-1:123456789012:table/t"},
		{name: "DynamoDB stream is not known (T-258)", typ: "AWS::DynamoDB::Table", id: "t", attribute: "StreamArn", want: nil},
		{name: "bucket (T-258)", typ: "AWS::S3::Bucket", id: "b", attribute: "Arn", want: "arn:aws:s3:::b"},
		{name: "bucket in China (T-258)", typ: "AWS::S3::Bucket", id: "b", attribute: "RegionalDomainName", region: "cn-north-1", want: "b.s3.cn-north-1.amazonaws.com.cn"},
		{name: "website with a dash (T-258)", typ: "AWS::S3::Bucket", id: "b", attribute: "WebsiteURL", want: "http://b.s3-website-eu-west-1.amazonaws.com"},
		{name: "website with a dot (T-258)", typ: "AWS::S3::Bucket", id: "b", attribute: "WebsiteURL", region: "eu-central-1", want: "http://b.s3-website.eu-central-1.amazonaws.com"},
		{name: "IAM path is in the ARN (T-259e)", typ: "AWS::IAM::Role", id: "r", attribute: "Arn", properties: value.NewObject("Path", "/app/"), want: "arn:aws:iam::123456789012:role/app/r"},
		{name: "no ARN of an inline policy", typ: "AWS::IAM::Policy", id: "p", attribute: "Arn", want: nil},
		{name: "queue (T-258)", typ: "AWS::SQS::Queue", id: "https://sqs.eu-west-1.amazonaws.com/111122223333/q", attribute: "Arn", want: "arn:aws:sqs:eu-west-1:111122223333:q"},
		{name: "queue URL (T-258)", typ: "AWS::SQS::Queue", id: "https://sqs.eu-west-1.amazonaws.com/111122223333/q", attribute: "QueueUrl", want: "https://sqs.eu-west-1.amazonaws.com/111122223333/q"},
		{name: "log group (T-258)", typ: "AWS::Logs::LogGroup", id: "/g", attribute: "Arn", want: "arn:aws:logs:eu-west-1:123456789012:log-group:/g:*"},
		{name: "topic name (T-258)", typ: "AWS::SNS::Topic", id: "arn:aws:sns:eu-west-1:1:t", attribute: "TopicName", want: "t"},
		{name: "rule of a bus (T-258)", typ: "AWS::Events::Rule", id: "r", attribute: "Arn", properties: value.NewObject("EventBusName", "bus"), want: "arn:aws:events:eu-west-1:123456789012:rule/bus/r"},
		{name: "rule of the default bus (T-258)", typ: "AWS::Events::Rule", id: "r", attribute: "Arn", properties: value.NewObject("EventBusName", "default"), want: "arn:aws:events:eu-west-1:123456789012:rule/r"},
		{name: "ECS service by cluster ARN (T-258)", typ: "AWS::ECS::Service", id: "arn:aws:ecs:eu-west-1:1:cluster/c|s", attribute: "ServiceArn", want: "arn:aws:ecs:eu-west-1:1:service/c/s"},
		{name: "ECS service name (T-258)", typ: "AWS::ECS::Service", id: "arn:aws:ecs:eu-west-1:1:service/c/s|c", attribute: "Name", want: "s"},
		{name: "database (T-258)", typ: "AWS::DocDB::DBCluster", id: "c", attribute: "DBClusterArn", want: "arn:aws:rds:eu-west-1:123456789012:cluster:c"},
		{name: "state machine, whose id is the ARN", typ: "AWS::StepFunctions::StateMachine", id: "arn:aws:states:eu-west-1:1:stateMachine:m", attribute: "Arn", want: "arn:aws:states:eu-west-1:1:stateMachine:m"},
		{name: "anything else is not guessed (T-259)", typ: "AWS::S3::Bucket", id: "b", attribute: "Nope", want: nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := attribute.Row{Type: c.typ, PhysicalID: c.id, Attributes: c.attributes, Properties: c.properties, AccountID: account, Region: region}
			if c.region != "" {
				row.Region = c.region
			}
			got, ok := row.Get(c.attribute)
			if ok != (c.want != nil) {
				t.Fatalf("want an answer: %v, got %v", c.want != nil, got)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

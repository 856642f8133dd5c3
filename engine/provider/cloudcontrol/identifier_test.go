package cloudcontrol

import (
	"testing"

	"github.com/org/cdkd-action/engine/provider"
)

func TestRecordedIDsBecomePrimaryIdentifiers(t *testing.T) { // (S-49, D-16)
	for _, c := range []struct{ typ, id, props, attributes, want string }{
		{"AWS::ECR::Repository", "repo", `{"RepositoryName":"other"}`, `{}`, "repo"},
		{"AWS::ApiGateway::Resource", "abc", `{"RestApiId":"api"}`, `{}`, "api|abc"},
		{"AWS::ApiGateway::Resource", "api|abc", `{"RestApiId":"api"}`, `{}`, "api|abc"},
		{"AWS::ApiGateway::Resource", "abc", `{"RestApiId":{"Ref":"Api"}}`, `{}`, "abc"},
		{"AWS::ApiGateway::Stage", "prod", `{"RestApiId":"api","StageName":"prod"}`, `{}`, "api|prod"},
		{"AWS::ApiGateway::Deployment", "dep", `{"RestApiId":"api"}`, `{}`, "dep|api"},
		{"AWS::ECS::Service", "arn:service", `{"Cluster":"c"}`, `{"ServiceArn":"arn:service"}`, "arn:service|c"},
		{"AWS::AppSync::DataSource", "api|name", `{}`, `{"DataSourceArn":"arn:source"}`, "arn:source"},
		{"AWS::AppSync::DataSource", "api|name", `{}`, `{"DataSourceArn":"arn:aws:appsync:*:*:x"}`, "api|name"},
		{"AWS::WAFv2::WebACL", "arn:aws:wafv2:eu-west-1:1:regional/webacl/n/i", `{}`, `{}`, "n|i|REGIONAL"},
		{"AWS::WAFv2::WebACL", "arn:aws:wafv2:us-east-1:1:global/webacl/n/i", `{}`, `{}`, "n|i|CLOUDFRONT"},
		{"AWS::WAFv2::WebACL", "n|i|REGIONAL", `{}`, `{}`, "n|i|REGIONAL"},
		{"AWS::CloudTrail::Trail", "arn:aws:cloudtrail:eu-west-1:1:trail/t", `{}`, `{}`, "t"},
		{"AWS::CloudTrail::Trail", "t", `{}`, `{}`, "t"},
		{"AWS::S3Vectors::VectorBucket", "b", `{}`, `{}`, "arn:aws:s3vectors:eu-west-1:1:bucket/b"},
		{"AWS::EC2::VPCGatewayAttachment", "igw-1|vpc-1", `{}`, `{}`, "IGW|vpc-1"},
		{"AWS::EC2::VPCGatewayAttachment", "IGW|vpc-1", `{}`, `{}`, "IGW|vpc-1"},
		{"AWS::Brand::New", "x", `{}`, `{}`, "x"},
	} {
		r := &provider.Request{Type: c.typ, PhysicalID: c.id, Properties: object(t, c.props), Attributes: object(t, c.attributes),
			Stack: provider.Stack{Partition: "aws", Region: "eu-west-1", AccountID: "1"}}
		if got := Identifier(r); got != c.want {
			t.Errorf("%s %s: want %s, got %s", c.typ, c.id, c.want, got)
		}
	}
}

package awssdk

import (
	"errors"
	"testing"

	"github.com/org/cdkd-action/engine/provider"
)

// That a type which is found by its tag alone is not found without one does not
// mean that it is not there (S-213, P-16).
func TestFoundByTagAlone(t *testing.T) {
	for _, typ := range []string{
		"AWS::ApiGateway::ApiKey", "AWS::ApiGateway::RestApi", "AWS::ApiGateway::UsagePlan", "AWS::ApiGatewayV2::Api", "AWS::AppSync::GraphQLApi",
		"AWS::CertificateManager::Certificate", "AWS::Cognito::UserPool", "AWS::DynamoDB::Table", "AWS::EC2::EIP", "AWS::EC2::Instance",
		"AWS::EC2::Subnet", "AWS::EC2::VPC", "AWS::ECS::TaskDefinition", "AWS::IAM::Role", "AWS::KMS::Key", "AWS::RDS::DBInstance", "AWS::SSM::Parameter",
	} {
		if id, err := describe(t, typ).Find(t.Context(), &provider.Request{Type: typ}); id != "" || !errors.Is(err, provider.ErrUntagged) {
			t.Errorf("%s: %q, %v", typ, id, err)
		}
	}
}

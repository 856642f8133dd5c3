package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An ARN leads to the id of a resource, in whatever form its service has it. Which
// of several it is, the resource that is read says (S-315).
func TestIDsOfARN(t *testing.T) {
	for _, c := range []struct {
		typ, arn string
		want     []string
	}{
		{"AWS::SQS::Queue", "arn:aws:sqs:eu-west-1:1:orders", []string{"https://sqs.eu-west-1.amazonaws.com/1/orders"}},
		{"AWS::SNS::Topic", "arn:aws:sns:eu-west-1:1:orders", []string{"arn:aws:sns:eu-west-1:1:orders"}},
		{"AWS::Lambda::Function", "arn:aws:lambda:eu-west-1:1:function:orders", []string{"orders", "function:orders"}},
		{"AWS::DynamoDB::Table", "arn:aws:dynamodb:eu-west-1:1:table/orders", []string{"orders", "table/orders"}},
		{"AWS::Logs::LogGroup", "arn:aws:logs:eu-west-1:1:log-group:/aws/f:*", []string{"/aws/f", "aws/f", "f", "log-group:/aws/f"}},
		{"AWS::SSM::Parameter", "arn:aws:ssm:eu-west-1:1:parameter/shop/word", []string{"/shop/word", "shop/word"}},
		{"AWS::ApiGateway::RestApi", "arn:aws:apigateway:eu-west-1::/restapis/abc", []string{"restapis/abc", "abc", "/restapis/abc"}},
		{"AWS::AutoScaling::AutoScalingGroup", "arn:aws:autoscaling:eu-west-1:1:autoScalingGroup:u:autoScalingGroupName/web",
			[]string{"u:autoScalingGroupName/web", "autoScalingGroupName/web", "web", "autoScalingGroup:u:autoScalingGroupName/web"}},
		{"AWS::StepFunctions::StateMachine", "arn:aws:states:eu-west-1:1:stateMachine:s", []string{"arn:aws:states:eu-west-1:1:stateMachine:s"}},
		{"AWS::SecretsManager::Secret", "arn:aws:secretsmanager:eu-west-1:1:secret:s-1", []string{"arn:aws:secretsmanager:eu-west-1:1:secret:s-1", "s-1", "secret:s-1"}},
		{"AWS::SQS::Queue", "orders", nil},
	} {
		if diff := cmp.Diff(c.want, idsOfARN(c.typ, c.arn)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.arn, diff)
		}
	}
}

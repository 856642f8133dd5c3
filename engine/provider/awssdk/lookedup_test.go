package awssdk

import (
	"slices"
	"testing"
)

// Looking for who has a name takes these permissions, for each type of which that
// is looked for; what else is named is for creation times and tags (S-202).
func TestPermissionsToLookNamesUp(t *testing.T) {
	for typ, action := range map[string]string{
		"AWS::SQS::Queue":                           "sqs:GetQueueUrl",
		"AWS::SNS::Topic":                           "sns:GetTopicAttributes",
		"AWS::Logs::LogGroup":                       "logs:DescribeLogGroups",
		"AWS::CloudWatch::Alarm":                    "cloudwatch:DescribeAlarms",
		"AWS::Events::Rule":                         "events:DescribeRule",
		"AWS::ECS::Cluster":                         "ecs:DescribeClusters",
		"AWS::ElasticLoadBalancingV2::LoadBalancer": "elasticloadbalancing:DescribeLoadBalancers",
		"AWS::ElasticLoadBalancingV2::TargetGroup":  "elasticloadbalancing:DescribeTargetGroups",
		"AWS::StepFunctions::StateMachine":          "states:DescribeStateMachine",
		"AWS::S3::Bucket":                           "s3:ListBucket",
	} {
		needed, ok := ActionsOf(typ)
		if !ok || !slices.Contains(needed.Plan, action) || !slices.Contains(needed.Deploy, action) {
			t.Errorf("%s: a plan needs %v, want %s among them", typ, needed.Plan, action)
		}
	}
}

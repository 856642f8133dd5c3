package permission

import (
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A Purpose is what a policy is for.
type Purpose string

// The purposes.
const (
	Plan    Purpose = "plan"
	Deploy  Purpose = "deploy"
	Destroy Purpose = "destroy"
	Drift   Purpose = "drift"  // to be found; what accepts or reverts it deploys
	Import  Purpose = "import" // with its stack taken over from CloudFormation, or not
	Export  Purpose = "export"
)

// dependent are actions that AWS asks for beside that of a call, and that no
// call of ours shows.
// https://docs.aws.amazon.com/service-authorization/latest/reference/
var dependent = []struct {
	types    []string // by their beginnings
	property string   // that it takes; "": any resource of the type
	actions  []string
}{
	{[]string{"AWS::ElasticLoadBalancingV2::LoadBalancer", "AWS::ECS::", "AWS::RDS::", "AWS::AutoScaling::", "AWS::ElastiCache::", "AWS::OpenSearchService::", "AWS::EKS::"}, "", []string{"iam:CreateServiceLinkedRole"}},
	{[]string{"AWS::Lambda::Function"}, "VpcConfig", []string{"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs", "ec2:GetSecurityGroupsForVpc"}},
	{[]string{"AWS::Lambda::Function"}, "ImageUri", []string{"ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:GetRepositoryPolicy", "ecr:SetRepositoryPolicy"}},
	{[]string{"AWS::Lambda::EventSourceMapping"}, "", []string{"lambda:GetFunction"}},
	{[]string{"AWS::EC2::Instance"}, "LaunchTemplate", []string{"ec2:DescribeLaunchTemplates"}},
}

// keys are the properties that name a key of KMS, which the service then uses in
// the caller's name.
var keys = []string{"KmsKeyId", "KmsKeyArn", "KMSKeyId", "KmsMasterKeyId", "KMSMasterKeyId", "KMSMasterKeyID", "EncryptionKey"}

// Dependent adds what a resource's calls ask for in the caller's name.
func (p *Policy) Dependent(typ string, properties *value.Object) {
	for _, d := range dependent {
		if slices.ContainsFunc(d.types, func(begin string) bool { return strings.HasPrefix(typ, begin) }) && (d.property == "" || has(properties, d.property)) {
			p.Allow("", d.actions, Anything)
		}
	}
	if slices.ContainsFunc(keys, func(k string) bool { return has(properties, k) }) {
		p.Allow("", []string{"kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"}, Anything)
	}
}

// has tells whether a property of this name is anywhere.
func has(v any, name string) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(m any) bool { return has(m, name) })
	case *value.Object:
		for key, m := range v.All() {
			if key == name || has(m, name) {
				return true
			}
		}
	}
	return false
}

// References adds what a template asks of the world around it.
func (p *Policy) References(t *template.Template) {
	body := value.JSON(t.Body)
	for _, r := range []struct {
		sign    string
		actions []string
	}{
		{"AWS::SSM::Parameter::Value<", []string{"ssm:GetParameter", "ssm:GetParameters"}},
		{"{{resolve:ssm:", []string{"ssm:GetParameter", "ssm:GetParameters"}},
		{"{{resolve:ssm-secure:", []string{"ssm:GetParameter", "kms:Decrypt"}},
		{"{{resolve:secretsmanager:", []string{"secretsmanager:GetSecretValue"}},
		{`"Fn::GetAZs"`, []string{"ec2:DescribeAvailabilityZones"}},
		{`"Fn::ValueOf`, []string{"ec2:DescribeNetworkAcls", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"}},
		{`"Fn::ImportValue"`, []string{"cloudformation:ListExports"}},
		{`"Fn::GetStackOutput"`, []string{"cloudformation:DescribeStacks"}},
	} {
		if strings.Contains(body, r.sign) {
			p.Allow("", r.actions, Anything)
		}
	}
}

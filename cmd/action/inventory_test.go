package main

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/org/cdkd-action/internal/sandbox"
)

// made asks AWS for all that there is of the types of the crashed stack: lines
// of kind and physical id.
func made(t *testing.T, account *sandbox.Sandbox) []string {
	t.Helper()
	ctx, cfg := t.Context(), account.Config()
	var out []string
	add := func(kind, id string) { out = append(out, kind+" "+id) }
	for _, name := range account.S3.Buckets() {
		if name != stateBucket {
			add("bucket", name)
		}
	}
	for _, r := range account.CloudControl.Resources() {
		add(r.TypeName, r.Identifier)
	}
	for _, t := range listed(t, ctx, sns.NewFromConfig(cfg).ListTopics, &sns.ListTopicsInput{}).Topics {
		add("topic", *t.TopicArn)
	}
	for _, url := range listed(t, ctx, sqs.NewFromConfig(cfg).ListQueues, &sqs.ListQueuesInput{}).QueueUrls {
		add("queue", url)
	}
	for _, a := range listed(t, ctx, cloudwatch.NewFromConfig(cfg).DescribeAlarms, &cloudwatch.DescribeAlarmsInput{}).MetricAlarms {
		add("alarm", *a.AlarmName)
	}
	for _, name := range listed(t, ctx, dynamodb.NewFromConfig(cfg).ListTables, &dynamodb.ListTablesInput{}).TableNames {
		add("table", name)
	}
	for _, r := range listed(t, ctx, iam.NewFromConfig(cfg).ListRoles, &iam.ListRolesInput{}).Roles {
		add("role", *r.RoleName)
	}
	for _, p := range listed(t, ctx, ssm.NewFromConfig(cfg).DescribeParameters, &ssm.DescribeParametersInput{}).Parameters {
		add("parameter", *p.Name)
	}
	networks := ec2.NewFromConfig(cfg)
	for _, v := range listed(t, ctx, networks.DescribeVpcs, &ec2.DescribeVpcsInput{}).Vpcs {
		if v.IsDefault == nil || !*v.IsDefault {
			add("vpc", *v.VpcId)
		}
	}
	for _, s := range listed(t, ctx, networks.DescribeSubnets, &ec2.DescribeSubnetsInput{}).Subnets {
		if s.DefaultForAz == nil || !*s.DefaultForAz {
			add("subnet", *s.SubnetId)
		}
	}
	keys := kms.NewFromConfig(cfg)
	for _, k := range listed(t, ctx, keys.ListKeys, &kms.ListKeysInput{}).Keys {
		key := listed(t, ctx, keys.DescribeKey, &kms.DescribeKeyInput{KeyId: k.KeyId}).KeyMetadata
		if key.KeyState != kmstypes.KeyStatePendingDeletion {
			add("key", *k.KeyId)
		}
	}
	functions := lambda.NewFromConfig(cfg)
	for _, f := range listed(t, ctx, functions.ListFunctions, &lambda.ListFunctionsInput{}).Functions {
		add("function", *f.FunctionName)
		policy, err := functions.GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: f.FunctionName})
		if err != nil {
			continue // it has none
		}
		var document struct{ Statement []struct{ Sid string } }
		if err := json.Unmarshal([]byte(*policy.Policy), &document); err != nil {
			t.Fatal(err)
		}
		for _, s := range document.Statement {
			add("statement", s.Sid)
		}
	}
	slices.Sort(out)
	return out
}

// listed calls AWS for what has to succeed.
func listed[I, O, F any](t *testing.T, ctx context.Context, call func(context.Context, I, ...F) (O, error), in I) O {
	t.Helper()
	out, err := call(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

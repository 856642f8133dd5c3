package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
)

// allCalled are resources of the names that are given.
func allCalled(name string) string {
	return fmt.Sprintf(`{"Resources": {
		"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "%[1]s"}},
		"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "%[1]s"}},
		"Role": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "%[1]s", "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []}}},
		"Secret": {"Type": "AWS::SecretsManager::Secret", "Properties": {"Name": "%[1]s"}},
		"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "%[1]s", "BillingMode": "PAY_PER_REQUEST",
			"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}}}}`, name)
}

// there are those of them that AWS has, with what they are called.
func (f *handover) there(name string) map[string]string {
	f.t.Helper()
	config, found := f.aws.Config(), map[string]string{}
	ctx := f.t.Context()
	if _, err := sns.NewFromConfig(config).GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: new("arn:aws:sns:us-east-1:000000000000:" + name)}); err == nil {
		found["Topic"] = name
	}
	if _, err := sqs.NewFromConfig(config).GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name}); err == nil {
		found["Queue"] = name
	}
	if _, err := iam.NewFromConfig(config).GetRole(ctx, &iam.GetRoleInput{RoleName: &name}); err == nil {
		found["Role"] = name
	}
	if s, err := secretsmanager.NewFromConfig(config).DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &name}); err == nil && s.DeletedDate == nil {
		found["Secret"] = name
	}
	if _, err := dynamodb.NewFromConfig(config).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}); err == nil {
		found["Table"] = name
	}
	return found
}

// What a deploy made under a declared name before it was killed is not left behind
// when the app names it otherwise by the next one: it is deleted, or named where
// nothing tells that it is the stack's (P-10, P-35).
func TestDeployKilledBeforeARename(t *testing.T) {
	first, step := requestsToKill()
	if step > 1 {
		first, step = 12, 2 // where the creates are
	}
	for name, untagged := range map[string]bool{"with the tag": false, "without the tag": true} {
		t.Run(name, func(t *testing.T) {
			kills, gone, told := 0, 0, 0
			for n := first; ; n += step {
				f := assembled(t, allCalled("before"))
				config := configOn(t, f.aws)
				config.NoOwnerTag = untagged
				f.e = engine.New(config)
				if !f.killedAt(n, true, func() { f.e.Deploy(t.Context(), deployAll(f.dir)) }) {
					break
				}
				kills++
				made := f.there("before")
				f.write("formed.json", allCalled("after"))
				opt := deployAll(f.dir)
				opt.DeleteFirst, opt.LoseData = true, []string{"true"}
				run, err := f.e.Deploy(t.Context(), opt)
				if err != nil || run.Outcome != result.Success && run.Outcome != result.Partial {
					t.Fatalf("killed at request %d: %v %+v", n, err, run.Stacks[0])
				}
				if got := f.there("after"); len(got) != 5 {
					t.Errorf("killed at request %d: made of the app: %v", n, got)
				}
				left := f.there("before")
				gone, told = gone+len(made)-len(left), told+len(left)
				said := strings.Join(run.Stacks[0].Warnings, "\n")
				for id, name := range left {
					if !strings.Contains(said, id+" (") || !strings.Contains(said, name) {
						t.Errorf("killed at request %d: %s %s is left, and nobody says so: %s", n, id, name, said)
					}
				}
			}
			t.Logf("killed %d times; of what was made %d were deleted, %d named", kills, gone, told)
			if untagged && told == 0 || !untagged && (gone == 0 || told > 0) {
				t.Errorf("deleted were %d, named %d", gone, told)
			}
		})
	}
}

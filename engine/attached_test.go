package engine_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// attachedTemplate are resources with names, and what is put on them.
const attachedTemplate = `
	"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "on-q"}},
	"QueuePolicy": {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": [{"Ref": "Q"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": {"Fn::GetAtt": ["Q", "Arn"]}}]}}},
	"B": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Delete", "Properties": {"BucketName": "on-b"}},
	"BucketPolicy": {"Type": "AWS::S3::BucketPolicy", "Properties": {"Bucket": {"Ref": "B"}, "PolicyDocument": {"Version": "2012-10-17", "Statement": [
		{"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": {"Fn::GetAtt": ["B", "Arn"]}}]}}},
	"T": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "on-t"}},
	"Subscription": {"Type": "AWS::SNS::Subscription", "Properties": {"TopicArn": {"Ref": "T"}, "Protocol": "sqs", "Endpoint": {"Fn::GetAtt": ["Q", "Arn"]}}},
	"R": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "on-r", "Path": "/one/", "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}}},
	"RolePolicy": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "on-p", "Roles": [{"Ref": "R"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}}},
	"ManagedPolicy": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"ManagedPolicyName": "on-m", "Roles": [{"Ref": "R"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*"}]}}},
	"F": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "on-f", "Runtime": "python3.13", "Handler": "index.handler",
		"Role": {"Fn::GetAtt": ["R", "Arn"]}, "Code": {"ZipFile": "def handler(e, c): return 1"}}},
	"Permission": {"Type": "AWS::Lambda::Permission", "Properties": {"FunctionName": {"Ref": "F"}, "Action": "lambda:InvokeFunction", "Principal": "sns.amazonaws.com"}}`

// attachedNow is what AWS has of what is put on the resources of attachedTemplate.
func (v *van) attachedNow() map[string]bool {
	v.t.Helper()
	ctx, cfg := v.t.Context(), v.aws.Config()
	there := map[string]bool{}
	queues := sqs.NewFromConfig(cfg)
	if q, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("on-q")}); err == nil {
		a, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: q.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"Policy"}})
		there["QueuePolicy"] = err == nil && strings.Contains(a.Attributes["Policy"], "sqs:SendMessage")
	}
	bucketPolicy, err := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }).GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: aws.String("on-b")})
	there["BucketPolicy"] = err == nil && strings.Contains(*bucketPolicy.Policy, "Deny")
	topics, err := sns.NewFromConfig(cfg).ListSubscriptions(ctx, &sns.ListSubscriptionsInput{})
	there["Subscription"] = err == nil && len(topics.Subscriptions) == 1
	roles := iam.NewFromConfig(cfg)
	inline, err := roles.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: aws.String("on-r")})
	there["RolePolicy"] = err == nil && len(inline.PolicyNames) == 1
	managed, err := roles.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: aws.String("on-r")})
	there["ManagedPolicy"] = err == nil && len(managed.AttachedPolicies) == 1
	permission, err := lambda.NewFromConfig(cfg).GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: aws.String("on-f")})
	there["Permission"] = err == nil && strings.Contains(*permission.Policy, "sns.amazonaws.com")
	return there
}

func (v *van) wantAttached(when string) {
	v.t.Helper()
	want := map[string]bool{"QueuePolicy": true, "BucketPolicy": true, "Subscription": true, "RolePolicy": true, "ManagedPolicy": true, "Permission": true}
	if d := cmp.Diff(want, v.attachedNow()); d != "" {
		v.t.Errorf("%s (-want +got):\n%s", when, d)
	}
}

// deployTo deploys the app that was deployed last with other options.
func (v *van) deployTo(change func(*engine.DeployOptions)) *result.Run {
	v.t.Helper()
	opt := deployAll(v.dir)
	change(&opt)
	run, err := v.engine().Deploy(v.t.Context(), opt)
	if err != nil {
		v.t.Fatal(err)
	}
	return run
}

// What AWS deletes with a resource is put again when the resource is made again
// under its name: by recreate, by a replacement that deletes first, by the rollback
// of one, and after somebody deleted it by hand.
func TestAttachedAgain(t *testing.T) {
	all := []string{"Q", "B", "T", "R", "F"}
	moved := strings.Replace(attachedTemplate, "/one/", "/two/", 1)
	for name, lose := range map[string]func(t *testing.T, v *van) *result.Run{
		"recreate": func(t *testing.T, v *van) *result.Run {
			return v.deployTo(func(o *engine.DeployOptions) {
				o.Replacements = engine.Replacements{Recreate: all, LoseData: []string{"true"}}
			})
		},
		"a replacement that deletes first": func(t *testing.T, v *van) *result.Run {
			v.write(parked{"On": moved})
			return v.deployTo(func(o *engine.DeployOptions) { o.DeleteFirst = true })
		},
		"the rollback of one": func(t *testing.T, v *van) *result.Run {
			v.write(parked{"On": moved + doomed("RolePolicy")})
			if run := v.deployTo(func(o *engine.DeployOptions) { o.DeleteFirst = true }); run.Outcome != result.Failed || run.Stacks[0].RollbackIncomplete {
				t.Errorf("%s: %s", run.Outcome, failures(run))
			}
			v.wantAttached("when it is rolled back")
			v.write(parked{"On": attachedTemplate})
			return v.deployTo(func(*engine.DeployOptions) {})
		},
		"a new logical id, under which all of it stays": func(t *testing.T, v *van) *result.Run {
			v.write(parked{"On": strings.NewReplacer(`"Q":`, `"Renamed":`, `"Ref": "Q"`, `"Ref": "Renamed"`, `["Q",`, `["Renamed",`).Replace(attachedTemplate)})
			v.mu.Lock()
			v.events = nil
			v.mu.Unlock()
			run := v.deployTo(func(*engine.DeployOptions) {})
			if v.said("put again") != 0 {
				t.Error("something is said to be put again")
			}
			return run
		},
		"deleted by hand, and forgotten": func(t *testing.T, v *van) *result.Run {
			ctx, cfg := t.Context(), v.aws.Config()
			queues := sqs.NewFromConfig(cfg)
			if q, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("on-q")}); err == nil {
				queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: q.QueueUrl})
			}
			lambda.NewFromConfig(cfg).DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: aws.String("on-f")})
			if _, err := v.engine().StateOrphan(ctx, engine.OrphanOptions{Stacks: []string{"On"}, Region: "us-east-1", Resources: []string{"Q", "F"}}); err != nil {
				t.Fatal(err)
			}
			return v.deployTo(func(*engine.DeployOptions) {})
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVan(t)
			if run := v.deploy(parked{"On": attachedTemplate}); run.Outcome != result.Success {
				t.Fatalf("%s", failures(run))
			}
			v.wantAttached("at first")
			if run := lose(t, v); run.Outcome.ExitCode() != 0 {
				t.Errorf("%s: %s", run.Outcome, failures(run))
			}
			v.wantAttached("in the end")
			if run := v.deployTo(func(*engine.DeployOptions) {}); run.Outcome != result.NoChange {
				t.Errorf("a deploy after it: %s: %s", run.Outcome, failures(run))
			}
		})
	}
}

// What cannot be put again fails the deploy.
func TestAttachedAgainFails(t *testing.T) {
	v := newVan(t)
	v.deploy(parked{"On": attachedTemplate})
	v.aws.AddFault(sandbox.Fault{Action: "PutBucketPolicy", Status: 403, Code: "AccessDenied"})
	run := v.deployTo(func(o *engine.DeployOptions) {
		o.Replacements, o.NoRollback = engine.Replacements{Recreate: []string{"B"}, LoseData: []string{"true"}}, true
	})
	if said := failures(run); run.Outcome != result.Failed || !strings.Contains(said, "put it on B again, which was made again") {
		t.Errorf("%s: %s", run.Outcome, said)
	}
}

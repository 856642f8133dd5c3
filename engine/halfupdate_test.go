package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

const halfTemplate = `{"Resources": {
	"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "half", "VisibilityTimeout": 300, "Tags": [{"Key": "is", "Value": "first"}]}},
	"Group": {"Type": "AWS::Athena::WorkGroup", "Properties": {"Name": "half", "Description": "first"}},
	"Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}]}}},
	"Handler": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "handler", "Role": {"Fn::GetAtt": ["Role", "Arn"]},
		"Runtime": "nodejs22.x", "Handler": "index.handler", "Code": {"ZipFile": "exports.handler = async () => {}"}}},
	"Thing": {"Type": "Custom::Thing", "Properties": {"ServiceToken": {"Fn::GetAtt": ["Handler", "Arn"]}, "Setting": "first"}}}}`

// halfway deploys a stack with a resource for each way in which an update fails
// half done. set is what its handler was told last.
func halfway(t *testing.T) (s *slow, set *string) {
	s, set = startSlow(t, halfTemplate), new(string)
	s.CloudControl.SetDelay(0)
	s.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
		*set = fmt.Sprint(event["ResourceProperties"].(map[string]any)["Setting"])
		if strings.HasPrefix(*set, "bad") {
			return map[string]any{"Status": "FAILED", "Reason": "not wholly", "PhysicalResourceId": "thing"}, nil
		}
		return map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "thing"}, nil
	})
	s.want(s.run().deployWith(engine.DeployOptions{}), result.Success)
	s.ClearLog()
	return s, set
}

// queue is the visibility timeout of the queue in AWS, and its tag.
func (s *slow) queue() string {
	s.t.Helper()
	client := sqs.NewFromConfig(s.Config())
	u, err := client.GetQueueUrl(s.t.Context(), &sqs.GetQueueUrlInput{QueueName: new("half")})
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := client.GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: u.QueueUrl, AttributeNames: []types.QueueAttributeName{"VisibilityTimeout"}})
	if err != nil {
		s.t.Fatal(err)
	}
	tags, err := client.ListQueueTags(s.t.Context(), &sqs.ListQueueTagsInput{QueueUrl: u.QueueUrl})
	if err != nil {
		s.t.Fatal(err)
	}
	return a.Attributes["VisibilityTimeout"] + " " + tags.Tags["is"]
}

// An update that failed and had an effect all the same is put back by the
// rollback, whoever carries it out (C-9, S-115).
func TestFailedUpdateIsPutBack(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new string
		fault    sandbox.Fault
		fail     cloudcontrol.Failure
		sent     string // the call that puts it back
	}{
		"one of two calls was refused": {old: `300, "Tags": [{"Key": "is", "Value": "first"`, new: `5, "Tags": [{"Key": "is", "Value": "second"`,
			fault: sandbox.Fault{Action: "TagQueue", Mentions: "second", Code: "AccessDenied", Status: 403}, sent: "SetQueueAttributes"},
		"Cloud Control says that it did not stabilize": {old: `"Description": "first"`, new: `"Description": "second"`,
			fail: cloudcontrol.Failure{Operation: "UPDATE", Code: "NotStabilized", Remnant: true}, sent: "UpdateResource"},
		"a handler failed": {old: `"Setting": "first"`, new: `"Setting": "bad"`, sent: "Invoke"},
	} {
		t.Run(name, func(t *testing.T) {
			s, set := halfway(t)
			s.edit(tt.old, tt.new)
			if tt.fault.Action != "" {
				s.AddFault(tt.fault)
			}
			if tt.fail.Code != "" {
				s.CloudControl.Fail(tt.fail)
			}
			st := s.run().deployWith(engine.DeployOptions{})
			s.want(st, result.Failed)
			if !st.RolledBack || st.RollbackIncomplete || len(st.Unaddressed) > 0 {
				t.Errorf("rolled back %t, incomplete %t: %+v\n%s", st.RolledBack, st.RollbackIncomplete, st.Unaddressed, s.log.String())
			}
			if s.count(tt.sent) < 2 {
				t.Errorf("%s was not sent to put it back\n%s", tt.sent, s.log.String())
			}
			s.wantFirst(set)
			s.wantSettled()
			if journal := s.object(slowKey + "rollback-journal.json"); journal != "" {
				t.Errorf("the journal has\n%s", journal)
			}
			s.edit(tt.new, tt.old)
			s.want(s.run().deployWith(engine.DeployOptions{}), result.NoChange)
		})
	}
}

// wantFirst fails when something in AWS is not as the first deploy made it.
func (s *slow) wantFirst(set *string) {
	s.t.Helper()
	group := fmt.Sprint(s.CloudControl.Resources()[0].Model["Description"])
	if got, want := s.queue()+" "+group+" "+*set, "300 first first first"; got != want {
		s.t.Errorf("AWS has %s, want %s\n%s", got, want, s.log.String())
	}
}

// What was refused before anything was changed is not sent its old properties,
// which would be refused as well.
func TestRefusedUpdateIsNotPutBack(t *testing.T) {
	for action, edit := range map[string][2]string{
		"SetQueueAttributes": {"300", "5"},
		"UpdateResource":     {`"Description": "first"`, `"Description": "second"`}, // which its handler refuses
	} {
		t.Run(action, func(t *testing.T) {
			s, set := halfway(t)
			s.edit(edit[0], edit[1])
			s.AddFault(sandbox.Fault{Action: "SetQueueAttributes", Status: 403, Code: "AccessDenied"})
			s.CloudControl.Fail(cloudcontrol.Failure{Operation: "UPDATE", Code: "AccessDenied", Message: "not allowed"})
			st := s.run().deployWith(engine.DeployOptions{})
			s.want(st, result.Failed)
			if !st.RolledBack || len(st.Unaddressed) > 0 || s.count(action) != 1 {
				t.Errorf("%+v\n%s", st, s.log.String())
			}
			s.wantFirst(set)
			s.wantSettled()
		})
	}
}

// A failed update that cannot be put back either, or is not to be, is named, and
// is not forgotten: the deploy of the old app, or a rollback told to, puts it back
// (S-134, P-21).
func TestFailedUpdateThatIsNotPutBack(t *testing.T) {
	for name, tt := range map[string]struct {
		noRollback bool
		then       func(*slow) *result.Stack
	}{
		"the old app is deployed": {false, func(s *slow) *result.Stack {
			s.edit(`5, "Tags": [{"Key": "is", "Value": "second"`, `300, "Tags": [{"Key": "is", "Value": "first"`)
			return s.run().deployWith(engine.DeployOptions{})
		}},
		"without a rollback": {true, func(s *slow) *result.Stack {
			s.edit(`5, "Tags": [{"Key": "is", "Value": "second"`, `300, "Tags": [{"Key": "is", "Value": "first"`)
			return s.run().deployWith(engine.DeployOptions{})
		}},
		"rolled back with what failed": {false, func(s *slow) *result.Stack {
			run, err := s.run().e.Rollback(s.t.Context(), engine.RollbackOptions{Stack: "Slow", RevertFailed: true, ResourceTimeout: time.Minute})
			if err != nil {
				s.t.Fatal(err)
			}
			return run.Stacks[0]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, set := halfway(t)
			s.edit(`300, "Tags": [{"Key": "is", "Value": "first"`, `5, "Tags": [{"Key": "is", "Value": "second"`)
			s.AddFault(sandbox.Fault{Action: "TagQueue", Status: 403, Code: "AccessDenied", ID: "tag"})
			s.AddFault(sandbox.Fault{Action: "SetQueueAttributes", Nth: 2, Status: 403, Code: "AccessDenied", ID: "set"})
			st := s.run().deployWith(engine.DeployOptions{NoRollback: tt.noRollback})
			s.want(st, result.Failed)
			if !tt.noRollback && (!st.RollbackIncomplete || len(st.Unaddressed) != 1 || !strings.Contains(st.Unaddressed[0].Remedy, "rollback Slow --revert-failed")) {
				t.Errorf("incomplete %t: %+v", st.RollbackIncomplete, st.Unaddressed)
			}
			if !strings.HasPrefix(s.queue(), "5 ") {
				t.Fatalf("the queue is %s: nothing is left to put back\n%s", s.queue(), s.log.String())
			}
			s.RemoveFault("tag")
			s.RemoveFault("set")
			s.want(tt.then(s), result.Success)
			s.wantFirst(set)
			s.wantSettled()
		})
	}
}

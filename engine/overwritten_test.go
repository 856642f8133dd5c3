package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

const renamedTemplate = `{"Resources": {
	"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "half"}},
	"Policy": {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": [{"Ref": "Queue"}], "PolicyDocument": {"Version": "2012-10-17",
		"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": {"Fn::GetAtt": ["Queue", "Arn"]}}]}}},
	"Last": {"Type": "AWS::SSM::Parameter", "DependsOn": ["Policy"], "Properties": {"Type": "String", "Value": "one"}}}}`

// wantPolicy fails when the queue's policy allows another action.
func (s *slow) wantPolicy(action string) {
	s.t.Helper()
	client := sqs.NewFromConfig(s.Config())
	u, err := client.GetQueueUrl(s.t.Context(), &sqs.GetQueueUrlInput{QueueName: new("half")})
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := client.GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: u.QueueUrl, AttributeNames: []types.QueueAttributeName{"Policy"}})
	if err != nil {
		s.t.Fatal(err)
	}
	if got := a.Attributes["Policy"]; !strings.Contains(got, action) {
		s.t.Errorf("the policy is %s, want one for %s\n%s", got, action, s.log.String())
	}
}

// What a create under a new logical id wrote over what the old one's row says of
// the same resource is put back when the deploy fails, or at the latest by the
// next one of the old app (C-9, P-21).
func TestOverwrittenIsPutBack(t *testing.T) {
	rename := func(s *slow) {
		s.edit(`"Policy"`, `"Renamed"`)
		s.edit("SendMessage", "ReceiveMessage")
	}
	goBack := func(s *slow) {
		s.edit(`"Renamed"`, `"Policy"`)
		s.edit("ReceiveMessage", "SendMessage")
		s.edit(`"two"`, `"one"`)
	}
	for name, tt := range map[string]struct {
		noRollback, refused bool
		then                func(*slow, engine.DeployOptions) *result.Stack // nil: nothing is left to do
	}{
		"by the rollback": {},
		"by the next deploy, when the rollback cannot": {refused: true, then: func(s *slow, opt engine.DeployOptions) *result.Stack {
			goBack(s)
			return s.run().deployWith(opt)
		}},
		"by another rollback": {refused: true, then: func(s *slow, _ engine.DeployOptions) *result.Stack {
			run, err := s.run().e.Rollback(s.t.Context(), engine.RollbackOptions{Stack: "Slow", ResourceTimeout: time.Minute})
			if err != nil {
				s.t.Fatal(err)
			}
			goBack(s)
			return run.Stacks[0]
		}},
		"by the next deploy, without a rollback": {noRollback: true, then: func(s *slow, opt engine.DeployOptions) *result.Stack {
			goBack(s)
			return s.run().deployWith(opt)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSlow(t, renamedTemplate)
			s.want(s.run().deployWith(engine.DeployOptions{}), result.Success)
			rename(s)
			s.edit(`"one"`, `"two"`)
			s.AddFault(sandbox.Fault{Action: "PutParameter", Status: 400, Code: "ValidationException", ID: "last"})
			if tt.refused {
				s.AddFault(sandbox.Fault{Action: "SetQueueAttributes", Nth: 2, Status: 403, Code: "AccessDenied", ID: "policy"})
			}
			st := s.run().deployWith(engine.DeployOptions{NoRollback: tt.noRollback})
			s.want(st, result.Failed)
			if st.RolledBack != (tt.then == nil) || tt.refused && len(st.Unaddressed) != 1 {
				t.Errorf("rolled back %t: %+v\n%s", st.RolledBack, st.Unaddressed, s.log.String())
			}
			if tt.then != nil {
				s.wantPolicy("sqs:ReceiveMessage")
				s.RemoveFault("policy")
				s.RemoveFault("last")
				s.want(tt.then(s, engine.DeployOptions{}), result.Success)
			} else {
				s.RemoveFault("last")
				goBack(s)
			}
			s.wantPolicy("sqs:SendMessage")
			s.want(s.run().deployWith(engine.DeployOptions{}), result.NoChange)
			s.wantSettled()
		})
	}
}

// The new app goes on from a deploy that failed and was not rolled back.
func TestOverwrittenGoesOn(t *testing.T) {
	s := startSlow(t, renamedTemplate)
	s.want(s.run().deployWith(engine.DeployOptions{}), result.Success)
	s.edit(`"Policy"`, `"Renamed"`)
	s.edit("SendMessage", "ReceiveMessage")
	s.edit(`"one"`, `"two"`)
	s.AddFault(sandbox.Fault{Action: "PutParameter", Status: 400, Code: "ValidationException", ID: "last"})
	s.want(s.run().deployWith(engine.DeployOptions{NoRollback: true}), result.Failed)
	s.RemoveFault("last")
	s.want(s.run().deployWith(engine.DeployOptions{}), result.Success)
	s.wantPolicy("sqs:ReceiveMessage")
	s.wantSettled()
	s.want(s.run().deployWith(engine.DeployOptions{}), result.NoChange)
}

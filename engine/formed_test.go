package engine_test

import (
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A first deploy of a stack that CloudFormation has is refused before anything is
// touched, where its creates could be answered with CloudFormation's resources;
// asking costs nothing else, and nothing where no name is declared (S-200, S-263).
func TestFirstDeployOfAStackOfCloudFormation(t *testing.T) {
	const declared = `{"Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "formed"}}}}`
	for name, tt := range map[string]struct {
		before  func(*handover)
		refused bool
		asked   bool
	}{
		"it has the stack":                    {func(*handover) {}, true, true},
		"it has no more than the shell of it": {func(f *handover) { f.aws.CloudFormation.SetStatus("us-east-1", "Formed", "ROLLBACK_COMPLETE") }, false, true},
		"it may not be asked": {func(f *handover) {
			f.aws.AddFault(sandbox.Fault{Service: "cloudformation", Action: "DescribeStacks", Status: 403, Code: "AccessDenied"})
		}, false, true},
		"no name is declared": {func(f *handover) { f.write("formed.json", strings.Replace(declared, `"QueueName": "formed"`, "", 1)) }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := form(t, declared)
			if x, err := f.export(); err != nil || !x.Done {
				t.Fatalf("export: %v", err)
			}
			tt.before(f)
			f.aws.ClearLog()
			run, err := f.e.Deploy(t.Context(), deployAll(f.dir))
			if err != nil {
				t.Fatal(err)
			}
			s, asked := run.Stacks[0], false
			for _, r := range f.aws.Log() {
				asked = asked || r.Action == "DescribeStacks"
				if tt.refused && r.Service == "sqs" {
					t.Errorf("%s was sent", r.Action)
				}
			}
			if asked != tt.asked {
				t.Errorf("CloudFormation was asked: %t", asked)
			}
			if !tt.refused {
				if s.Outcome != result.Success || len(s.Warnings) > 0 {
					t.Errorf("%+v", s)
				}
				return
			}
			if s.Outcome != result.Failed || s.Reason != result.ReasonRegistry || !strings.Contains(s.Message, "stack Formed in us-east-1 is CloudFormation's (UPDATE_COMPLETE)") ||
				!strings.Contains(s.Remedy, "cdkd-action import Formed --migrate-from-cloudformation") {
				t.Errorf("%s %s: %s; %s", s.Outcome, s.Reason, s.Message, s.Remedy)
			}
			if keys := f.recorded(); keys != nil {
				t.Errorf("left: %q", keys)
			}
			if i, err := f.takeOver(); err != nil || !i.Retired {
				t.Fatalf("as the message says: %v", err)
			}
			f.unchanged()
		})
	}
}

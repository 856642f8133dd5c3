package ci

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

func TestAnnotate(t *testing.T) {
	r := &result.Run{Command: "deploy"}
	r.Add(&result.Stack{Name: "Data", Region: "eu-west-1", Outcome: result.Partial, Warnings: []string{"old record"},
		Unaddressed: []result.Unaddressed{{LogicalID: "B", Type: "AWS::S3::Bucket", PhysicalID: "b", Reason: "not empty", Remedy: "empty it"}}})
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Failed, Message: "1 resource failed",
		Failures: []result.Failure{{LogicalID: "Q", Type: "AWS::SQS::Queue", Action: plan.Create, Message: "denied for AKIAIOSFODNN7EXAMPLE\n::set-output name=x::y", Remedy: "allow sqs:CreateQueue"}}})
	s := newStep(t)
	s.Annotate(r)
	want := `::error title=Shop in eu-west-1::1 resource failed
::error title=Shop%3A create of Q failed::AWS::SQS::Queue: denied for (hidden)%0A::set-output name=x::y%0AWhat to do: allow sqs:CreateQueue
::warning title=Data%3A B is left::AWS::S3::Bucket b: not empty%0AWhat to do: empty it
::warning title=Data::old record
`
	if diff := cmp.Diff(want, s.out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A topic that an earlier create may have made, and nothing proves it, is refused
// and not taken: the failure names what holds the name, and an import of it, which
// it prints, is all that the next deploy takes (S-208, S-236, S-241).
func TestUnansweredCreateIsRefusedUntilItIsImported(t *testing.T) {
	e, aws := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"T": {"Type": "AWS::SNS::Topic", "Properties": {}}`})
	denied := aws.AddFault(sandbox.Fault{Service: "sns", Action: "CreateTopic", Mentions: "cdkd-action%3Acreate", Status: 403, Code: "AuthorizationError",
		Message: "not authorized to perform: sns:TagResource"})
	lost := aws.AddFault(sandbox.Fault{Service: "sns", Action: "CreateTopic", After: true, Status: 501, Code: "NotImplemented"})
	if run, _ := e.Deploy(t.Context(), deployAll(dir)); run.Outcome != result.Failed {
		t.Fatalf("%s: %+v", run.Outcome, run.Stacks[0])
	}
	aws.RemoveFault(lost)
	topics := func() []string {
		t.Helper()
		var arns []string
		out, err := sns.NewFromConfig(aws.Config()).ListTopics(t.Context(), &sns.ListTopicsInput{})
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range out.Topics {
			arns = append(arns, *topic.TopicArn)
		}
		return arns
	}
	made := topics()
	if len(made) != 1 {
		t.Fatalf("topics: %v", made)
	}
	for range 2 { // nor is it taken by trying often enough
		run, _ := e.Deploy(t.Context(), deployAll(dir))
		failures := run.Stacks[0].Failures
		if run.Outcome != result.Failed || len(failures) != 1 || !strings.Contains(failures[0].Message, made[0]) ||
			!strings.Contains(failures[0].Remedy, "import Shop --resource T="+made[0]) {
			t.Fatalf("%s: %+v", run.Outcome, failures)
		}
	}
	opt := deployAll(dir)
	if _, err := e.Import(t.Context(), engine.ImportOptions{Selection: opt.Selection, Resources: map[string]string{"T": made[0]}}); err != nil {
		t.Fatal(err)
	}
	aws.RemoveFault(denied)
	run, err := e.Deploy(t.Context(), opt)
	if err != nil || run.Outcome != result.NoChange && run.Outcome != result.Success || !slices.Equal(topics(), made) {
		t.Errorf("%v %s %+v, topics %v", err, run.Outcome, run.Stacks[0], topics())
	}
}

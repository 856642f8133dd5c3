package engine_test

import (
	"testing"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
)

// Of a resource that becomes one of another type nothing is known before the
// deploy: who refers to it is not shown what the old one gives (T-415).
func TestReferenceToAnotherTypeIsUnknown(t *testing.T) {
	const (
		queue = `"X": {"Type": "AWS::SQS::Queue"}, "D": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/d", "Value": {"Fn::GetAtt": ["X", "Arn"]}}}`
		topic = `"X": {"Type": "AWS::SNS::Topic"}, "D": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/d", "Value": {"Ref": "X"}}}`
	)
	e, _ := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": queue})
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks)
	}
	writeApp(t, dir, map[string]string{"Shop": topic})
	run, err := e.Diff(t.Context(), engine.DiffOptions{Selection: deployAll(dir).Selection, StackConcurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := run.Stacks[0].Plan.Change("D")
	if len(d.Properties) != 1 || d.Properties[0].Path != "Value" || !d.Properties[0].Unresolved {
		t.Errorf("%+v", d.Properties)
	}
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks)
	}
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.NoChange {
		t.Errorf("a deploy after it: %v %+v", err, run.Stacks)
	}
}

package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// Whatever is planned is over once, at the end of what was done to it, also when
// that was nothing: else somebody would wait for it.
func TestWhateverIsPlannedIsOver(t *testing.T) {
	const changed = `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "van-q", "VisibilityTimeout": 7}},
		"T": {"Type": "AWS::SNS::Topic", "UpdateReplacePolicy": "Retain", "Properties": {"TopicName": "van-t"}},
		"N": {"Type": "AWS::SQS::Queue"}`
	v := newVan(t)
	if run := v.deploy(parked{"P": goods}); run.Outcome != result.Success {
		t.Fatalf("%+v", run.Stacks)
	}
	if run := v.deploy(parked{"P": changed}); run.Outcome != result.Success {
		t.Fatalf("%+v", run.Stacks)
	}
	planned, over, told := map[string]bool{}, map[string]bool{}, map[string][]engine.EventKind{}
	for _, ev := range v.events {
		switch ev.Kind {
		case engine.StackPlanned:
			for _, c := range ev.Plan.Changes {
				if c.Action != plan.NoChange {
					planned[c.LogicalID] = true
				}
			}
		case engine.ResourceOver:
			over[ev.LogicalID] = true
			fallthrough
		case engine.ResourceStarted, engine.ResourceSucceeded:
			told[ev.LogicalID] = append(told[ev.LogicalID], ev.Kind)
		}
	}
	if diff := cmp.Diff(planned, over); diff != "" {
		t.Errorf("planned and over (-planned +over):\n%s", diff)
	}
	whole := []engine.EventKind{engine.ResourceStarted, engine.ResourceSucceeded, engine.ResourceOver}
	want := map[string][]engine.EventKind{"Q": whole, "N": whole, "T": {engine.ResourceOver}, "L": whole, "B": whole, "E": whole, "A": whole}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

// A handler that answers an update with another id has replaced its resource: the
// old one is deleted when all else is done, by its own id and properties, unless a
// policy keeps it. A delete that fails leaves it to the next run. A change of the
// ServiceToken is an update (T-630, T-631, T-632, T-801).
func TestCustomResourceWithAnotherID(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	var mu sync.Mutex
	var events []string
	refuse := false
	handle := func(_ context.Context, event map[string]any) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		props := event["ResourceProperties"].(map[string]any)
		events = append(events, fmt.Sprintf("%v %v of %v", event["RequestType"], event["PhysicalResourceId"], props["Id"]))
		if refuse && event["RequestType"] == "Delete" {
			return map[string]any{"Status": "FAILED", "Reason": "not now"}, nil
		}
		id := event["PhysicalResourceId"]
		if event["RequestType"] != "Delete" {
			id = props["Id"]
		}
		return map[string]any{"Status": "SUCCESS", "PhysicalResourceId": id, "Data": map[string]any{"A": "of " + fmt.Sprint(props["Id"])}}, nil
	}
	for _, name := range []string{"handler", "other"} {
		cloud.Handle(name, handle)
		makeFunction(t, cloud, name)
	}
	deploy := func(function, id, policy string, want result.Outcome, wanted ...string) *result.Stack {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": `"T": {"Type": "Custom::Thing", ` + policy + `"Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:` + function + `", "Id": "` + id + `"}},
			"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": {"Fn::Sub": "${T} ${T.A}"}}}`})
		events = nil
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Stacks[0].Outcome != want {
			t.Fatalf("%v %+v, want %s", err, run.Stacks[0], want)
		}
		if diff := cmp.Diff(wanted, events); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if row := recordOf(t, cloud, shopKey).Row("P"); row.Properties.String("Value") != id+" of "+id {
			t.Errorf("what reads it was given %q", row.Properties.String("Value"))
		}
		return run.Stacks[0]
	}
	deploy("handler", "one", "", result.Success, "Create <nil> of one")
	deploy("handler", "two", "", result.Success, "Update one of two", "Delete one of one")
	deploy("handler", "three", `"UpdateReplacePolicy": "Retain", `, result.Success, "Update two of three")
	refuse = true
	s := deploy("handler", "four", "", result.Partial, "Update three of four", "Delete three of three")
	if len(s.Unaddressed) != 1 || s.Unaddressed[0].PhysicalID != "three" {
		t.Errorf("left: %+v", s.Unaddressed)
	}
	refuse = false
	deploy("other", "four", "", result.Success, "Update four of four", "Delete three of three")
}

// A nested stack is a stack of its own below its parent's name; what it gives out
// is read from its record, exports included, and what of its properties has no
// meaning here is named. An update never replaces it. One that its policy keeps
// stays on record, for the parent's destroy too (T-700, T-701, T-703, T-705,
// T-708, T-709, T-710, T-713, T-714).
func TestNestedStackIsAStack(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	const key = "cdkd/Shop~In/us-east-1/"
	if err := os.WriteFile(filepath.Join(dir, "in.template.json"), []byte(`{"Parameters": {"List": {"Type": "CommaDelimitedList"}, "On": {"Type": "String"}, "N": {"Type": "String"}},
		"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/in", "Value": {"Fn::Sub": ["${L} ${On} ${N} ${AWS::StackName}", {"L": {"Fn::Join": ["+", {"Ref": "List"}]}}]}}}},
		"Outputs": {"Out": {"Value": {"Ref": "P"}, "Export": {"Name": "in-out"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	deploy := func(policy, list, attribute string, want result.Outcome) *result.Stack {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": `"In": {"Type": "AWS::CloudFormation::Stack", ` + policy + ` "Metadata": {"aws:asset:path": "in.template.json"},
			"Properties": {"TemplateURL": "https://example.com/` + list + `.json", "TimeoutInMinutes": 5, "NotificationARNs": [], "Tags": [{"Key": "a", "Value": "b"}],
				"Parameters": {"List": ["a", "` + list + `"], "On": true, "N": 1}}},
			"R": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/r", "Value": {"Fn::GetAtt": ["In", "Outputs.` + attribute + `"]}}}`})
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Stacks[0].Outcome != want {
			t.Fatalf("%v %+v, want %s", err, run.Stacks[0], want)
		}
		return run.Stacks[0]
	}
	s := deploy("", "b", "Out", result.Success)
	if warned := strings.Join(s.Warnings, "\n"); !strings.Contains(warned, "TimeoutInMinutes of a nested stack has no effect") || !strings.Contains(warned, "NotificationARNs of") || strings.Contains(warned, "Tags of a nested stack") {
		t.Errorf("warned: %s", warned)
	}
	child := recordOf(t, cloud, key)
	if child.ParentStack != "Shop" || child.ParentLogicalID != "In" || child.ParentRegion != "us-east-1" {
		t.Errorf("its record names %s, %s, %s as its parent", child.ParentStack, child.ParentLogicalID, child.ParentRegion)
	}
	if v := child.Row("P").Properties.String("Value"); v != "a+b true 1 Shop~In" {
		t.Errorf("its parameters came as %q", v)
	}
	row := recordOf(t, cloud, shopKey).Row("In")
	if row.PhysicalID != "arn:cdkd-local:us-east-1:123456789012:nested-stack/Shop/In" || row.Attributes.String("Outputs.Out") != "/in" || row.Attributes.String("Outputs.in-out") != "/in" {
		t.Errorf("its row is %+v", row)
	}
	exports, _ := cloud.S3.Object(bucket, "cdkd"+exportsKey)
	if !strings.Contains(string(exports.Body), `"in-out"`) {
		t.Errorf("exported is %s", exports.Body)
	}

	s = deploy("", "c", "Out", result.Success)
	if c := s.Plan.Change("In"); c.Action != plan.Update || recordOf(t, cloud, shopKey).Row("In").PhysicalID != row.PhysicalID {
		t.Errorf("an update is a %s", c.Action)
	}
	s = deploy("", "c", "Nope", result.Failed)
	if len(s.Failures) != 1 || s.Failures[0].LogicalID != "R" || !strings.Contains(s.Failures[0].Message, "In (AWS::CloudFormation::Stack) has no attribute Outputs.Nope") {
		t.Errorf("an output that is none: %+v", s.Failures)
	}

	deploy(`"DeletionPolicy": "Retain",`, "c", "Out", result.Success)
	run, err := e.Destroy(t.Context(), engine.DestroyOptions{Selection: deployAll(dir).Selection, ResourceTimeout: time.Minute})
	if err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks[0])
	}
	if recordOf(t, cloud, shopKey) != nil || recordOf(t, cloud, key).Row("P") == nil {
		t.Error("the destroy went the wrong way")
	}
	stacks, err := e.StateList(t.Context())
	if err != nil || !slices.ContainsFunc(stacks, func(r state.Ref) bool { return r.Stack == "Shop~In" }) {
		t.Errorf("%v, %v: what was kept is not listed", stacks, err)
	}
}

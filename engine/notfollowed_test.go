package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// What CloudFormation does around a resource beside changing it is not done, and a
// plan in which it would be says so; one in which it would not be does not.
func TestPoliciesThatAreNotFollowed(t *testing.T) {
	e, _ := newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	dir := t.TempDir()
	warnings := func(of func() (*result.Run, error)) []string {
		t.Helper()
		run, err := of()
		if err != nil || run.Stacks[0].Outcome.ExitCode() != 0 {
			t.Fatalf("%v, %+v", err, run.Stacks)
		}
		return run.Stacks[0].Warnings
	}
	diff := func() (*result.Run, error) {
		return e.Diff(t.Context(), engine.DiffOptions{Selection: engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}, StackConcurrency: 1})
	}
	deploy := func() (*result.Run, error) { return e.Deploy(t.Context(), deployAll(dir)) }
	const app = `
		"Key": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateName": "k", "LaunchTemplateData": {"ImageId": "ami-12345678", "InstanceType": "t3.micro"}}},
		"Group": {"Type": "AWS::AutoScaling::AutoScalingGroup",
			"CreationPolicy": {"ResourceSignal": {"Count": 2, "Timeout": "PT10M"}, "AutoScalingCreationPolicy": {"MinSuccessfulInstancesPercent": 50}},
			"UpdatePolicy": {"AutoScalingReplacingUpdate": {"WillReplace": false}, "AutoScalingRollingUpdate": {"MinInstancesInService": 1}, "AutoScalingScheduledAction": {"IgnoreUnmodifiedGroupSizeProperties": true}},
			"Properties": {"AutoScalingGroupName": "g", "MinSize": "0", "MaxSize": "1", "AvailabilityZones": ["us-east-1a"], "Cooldown": "300",
				"LaunchTemplate": {"LaunchTemplateId": {"Ref": "Key"}, "Version": "1"}}}`
	write := func(edits ...string) {
		writeApp(t, dir, map[string]string{"Shop": strings.NewReplacer(edits...).Replace(app)})
	}

	write()
	made := []string{"Group (AWS::AutoScaling::AutoScalingGroup): ResourceSignal of its CreationPolicy is not followed: signals are not waited for, so that what depends on it does not wait until it is ready, and it cannot fail the deploy"}
	if d := cmp.Diff(made, warnings(diff)); d != "" {
		t.Errorf("a plan that makes it (-want +got):\n%s", d)
	}
	if d := cmp.Diff(made, warnings(deploy)); d != "" {
		t.Errorf("a deploy that makes it (-want +got):\n%s", d)
	}
	if got := warnings(diff); got != nil {
		t.Errorf("a plan without a change warns: %q", got)
	}
	write(`"Cooldown": "300"`, `"Cooldown": "60"`)
	if got := warnings(diff); got != nil {
		t.Errorf("a plan of a change that the policy is not about warns: %q", got)
	}
	write(`["us-east-1a"]`, `["us-east-1a", "us-east-1b"]`)
	rolled := []string{"Group (AWS::AutoScaling::AutoScalingGroup): AutoScalingRollingUpdate of its UpdatePolicy is not followed: its instances stay as they are until they are replaced: start an instance refresh"}
	if d := cmp.Diff(rolled, warnings(diff)); d != "" {
		t.Errorf("a plan that changes it (-want +got):\n%s", d)
	}
}

// A rule whose assertion does not hold refuses the plan and the deploy with what
// the assertion says, before anything is touched.
func TestRulesRefuseThePlanAndTheDeploy(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"Q": {"Type": "AWS::SQS::Queue"}},
		"Parameters": {"Stage": {"Type": "String", "Default": "prod"}},
		"Rules": {"Stages": {"Assertions": [{"Assert": {"Fn::Contains": [["dev"], {"Ref": "Stage"}]}, "AssertDescription": "only dev"}]}`})
	opt := deployAll(dir)
	diff := engine.DiffOptions{Selection: opt.Selection, StackConcurrency: 1}
	for command, run := range map[string]func() (*result.Run, error){
		"diff":   func() (*result.Run, error) { return e.Diff(t.Context(), diff) },
		"deploy": func() (*result.Run, error) { return e.Deploy(t.Context(), opt) },
	} {
		got, err := run()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		s := got.Stacks[0]
		if s.Reason != result.ReasonTemplate || !strings.Contains(s.Message, "Rules.Stages.Assertions[0]: an assertion of the rule does not hold: only dev") || !strings.Contains(s.Remedy, "parameters") {
			t.Errorf("%s: %+v", command, s)
		}
	}
	for _, r := range cloud.Log() {
		if r.Action == "CreateQueue" {
			t.Error("the queue was made")
		}
	}
	opt.Parameters = map[string]string{"Stage": "dev"}
	if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome != result.Success {
		t.Errorf("with a value that the rule allows: %v, %+v", err, run.Stacks)
	}
}

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/internal/sandbox"
	stacks "github.com/org/cdkd-action/internal/sandbox/cloudformation"
)

// formed by CloudFormation: a stack that was exported, to be taken over.
func formedThere(t *testing.T) *handover {
	t.Helper()
	f := form(t, formed)
	if x, err := f.export(); err != nil || !x.Done {
		t.Fatalf("export: %v", err)
	}
	return f
}

func (f *handover) takeOver(edit ...func(*engine.ImportOptions)) (*engine.Imported, error) {
	opt := engine.ImportOptions{Selection: f.selection(), FromCloudFormation: true}
	for _, e := range edit {
		e(&opt)
	}
	return f.e.Import(f.t.Context(), opt)
}

// unchanged fails unless a deploy has nothing to do.
func (f *handover) unchanged() {
	f.t.Helper()
	run, err := f.e.Deploy(f.t.Context(), deployAll(f.dir))
	if err != nil || run.Outcome.ExitCode() != 0 || run.Stacks[0].Counts.Unchanged == 0 || run.Stacks[0].Counts.Created+run.Stacks[0].Counts.Updated+run.Stacks[0].Counts.Deleted > 0 {
		f.t.Errorf("a deploy afterwards: %v: %+v", err, run.Stacks[0].Counts)
	}
}

// Whatever call of CloudFormation's fails, before or after its effect, either it
// has everything still or everything is recorded; no resource is ever touched;
// and a second run finishes (S-315).
func TestTakeOverGoesOn(t *testing.T) {
	for _, c := range []struct {
		action string
		calls  int
	}{{"DescribeStacks", 5}, {"GetTemplate", 6}, {"ListStackResources", 2}, {"UpdateStack", 2}, {"DeleteStack", 2}} {
		for nth := 1; nth <= c.calls; nth++ {
			for _, after := range []bool{false, true} {
				if after && c.action != "UpdateStack" && c.action != "DeleteStack" {
					continue // reading has no effect
				}
				t.Run(fmt.Sprintf("%s %d, after its effect %t", c.action, nth, after), func(t *testing.T) {
					f := formedThere(t)
					f.aws.ClearLog()
					f.aws.AddFault(sandbox.Fault{Service: "cloudformation", Action: c.action, Nth: nth, Count: 1, After: after, Status: 403, Code: "AccessDenied", Message: "no"})
					i, err := f.takeOver()
					if err == nil {
						t.Fatal("the first run came to its end")
					}
					var retire *engine.RetireError
					switch there := f.has("Formed"); {
					case errors.As(err, &retire):
						if got := strings.Join(f.recorded(), " "); !i.Saved || !strings.Contains(got, "Formed/us-east-1/state.json") || !strings.Contains(got, "Formed~Inner/us-east-1/state.json") {
							t.Errorf("CloudFormation was changed, and recorded is %s", got)
						}
					case there != "UPDATE_COMPLETE Topic Inner" || f.has("Formed-Inner") != "UPDATE_COMPLETE Queue" || f.recorded() != nil:
						t.Errorf("after %v CloudFormation has %q, and recorded is %v", err, there, f.recorded())
					}
					i, err = f.takeOver()
					if err != nil || !i.Retired || f.has("Formed") != "" || f.has("Formed-Inner") != "" {
						t.Fatalf("the second run: %v; CloudFormation has %q and %q", err, f.has("Formed"), f.has("Formed-Inner"))
					}
					for _, r := range f.aws.Log() {
						if (r.Service == "sqs" || r.Service == "sns") && !strings.HasPrefix(r.Action, "Get") && !strings.HasPrefix(r.Action, "List") {
							t.Errorf("a resource was touched: %s %s", r.Service, r.Action)
						}
					}
					f.unchanged()
				})
			}
		}
	}
}

// A stack that could not be retired is refused before anything is done (S-315).
func TestTakeOverRefusals(t *testing.T) {
	f := formedThere(t)
	for _, c := range []struct {
		name     string
		do, undo func()
		want     string
	}{
		{"in progress", func() { f.aws.CloudFormation.SetStatus("us-east-1", "Formed", "UPDATE_IN_PROGRESS") },
			func() { f.aws.CloudFormation.SetStatus("us-east-1", "Formed", "UPDATE_COMPLETE") }, "it is UPDATE_IN_PROGRESS"},
		{"failed", func() { f.aws.CloudFormation.SetStatus("us-east-1", "Formed-Inner", "UPDATE_ROLLBACK_FAILED") },
			func() { f.aws.CloudFormation.SetStatus("us-east-1", "Formed-Inner", "UPDATE_COMPLETE") }, "Formed-Inner cannot be taken over: it is UPDATE_ROLLBACK_FAILED"},
		{"protected", func() { f.aws.CloudFormation.Protect("us-east-1", "Formed", true) },
			func() { f.aws.CloudFormation.Protect("us-east-1", "Formed", false) }, "termination protection"},
	} {
		c.do()
		_, err := f.takeOver()
		var not *cloudformation.NotRetirableError
		if !errors.As(err, &not) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		c.undo()
	}
	if _, err := f.takeOver(func(o *engine.ImportOptions) { o.StackName = "Formed-Inner" }); err == nil || !strings.Contains(err.Error(), "it is nested in") {
		t.Errorf("nested: %v", err)
	}
	if _, err := f.takeOver(func(o *engine.ImportOptions) { o.StackName = "Nope" }); err == nil || !strings.Contains(err.Error(), "CloudFormation has no stack Nope") {
		t.Errorf("not there: %v", err)
	}
	left := formedThere(t)
	left.aws.CloudFormation.Leave("us-east-1", "Formed", stacks.Resource{LogicalID: "Old", Type: "AWS::SNS::Topic", PhysicalID: "arn:old", Status: "CREATE_COMPLETE"})
	if _, err := left.takeOver(); err == nil || !strings.Contains(err.Error(), "it has Old (AWS::SNS::Topic) still, which its template has no more") {
		t.Errorf("with a resource that is not in its template: %v", err)
	}
	// What is gone in AWS is not recorded, and stays CloudFormation's.
	f.aws.AddFault(sandbox.Fault{Service: "sqs", ID: "gone", Status: 400, Code: "AWS.SimpleQueueService.NonExistentQueue", Message: "gone"})
	_, err := f.takeOver()
	var refused *engine.ImportRefusedError
	if !errors.As(err, &refused) || len(refused.Resources) != 1 || refused.Resources[0].LogicalID != "Inner/Queue" {
		t.Errorf("with a resource that is gone: %v", err)
	}
	f.aws.RemoveFault("gone")
	if diff := cmp.Diff([]string{"UPDATE_COMPLETE Topic Inner", "UPDATE_COMPLETE Queue"}, []string{f.has("Formed"), f.has("Formed-Inner")}); diff != "" || f.recorded() != nil {
		t.Errorf("CloudFormation has (-want +got):\n%s\nrecorded is %v", diff, f.recorded())
	}
	if i, err := f.takeOver(); err != nil || !i.Retired {
		t.Errorf("after all of it: %v", err)
	}
}

// An export that another stack of CloudFormation's imports keeps the stack there
// (S-315).
func TestTakeOverOfExportsInUse(t *testing.T) {
	f := form(t, formed)
	f.write("manifest.json", `{"version": "48.0.0", "artifacts": {
		"Formed": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "formed.json"}},
		"User": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "user.json"}, "dependencies": ["Formed"]}}}`)
	f.write("user.json", `{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "user", "Tags": [{"Key": "topic", "Value": {"Fn::ImportValue": "formed-topic"}}]}}}}`)
	f.deploy()
	only := func(stack string) func(*engine.ExportOptions) {
		return func(o *engine.ExportOptions) { o.All, o.Patterns = false, []string{stack} }
	}
	if _, err := f.export(only("User")); err == nil || !strings.Contains(err.Error(), "imports formed-topic, which no CloudFormation stack exports") {
		t.Errorf("an export before that of what it imports: %v", err)
	}
	strict := func(o *engine.ExportOptions) { o.StrictReferences = true }
	if _, err := f.export(only("Formed"), strict); err == nil || !strings.Contains(err.Error(), "stack Formed in us-east-1 is imported from by User") || f.has("Formed") != "" {
		t.Errorf("an export of what is imported, strictly: %v; CloudFormation has %q", err, f.has("Formed"))
	}
	for _, stack := range []string{"Formed", "User"} {
		if x, err := f.export(only(stack)); err != nil || !x.Done {
			t.Fatalf("export %s: %v", stack, err)
		}
	}
	from := func(stack string) func(*engine.ImportOptions) {
		return func(o *engine.ImportOptions) { o.All, o.Patterns = false, []string{stack} }
	}
	if _, err := f.takeOver(from("Formed")); err == nil || !strings.Contains(err.Error(), "its export formed-topic is imported by User") {
		t.Errorf("of an export in use: %v", err)
	}
	for _, stack := range []string{"User", "Formed"} {
		if i, err := f.takeOver(from(stack)); err != nil || !i.Retired {
			t.Fatalf("take over %s: %v", stack, err)
		}
	}
	f.unchanged()
}

// Of two at once one is told that the stack is locked, and the other is done
// (S-97).
func TestTwoTakeOversAtOnce(t *testing.T) {
	f := formedThere(t)
	held := f.aws.AddFault(sandbox.Fault{Service: "cloudformation", Action: "UpdateStack", Hold: true})
	var wg sync.WaitGroup
	var first error
	wg.Go(func() { _, first = f.takeOver() })
	if _, err := f.aws.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.Action == "UpdateStack" && r.State == sandbox.Held }); err != nil {
		t.Fatal(err)
	}
	_, second := f.takeOver()
	f.aws.Release(held)
	wg.Wait()
	if first != nil || second == nil || !strings.Contains(second.Error(), "the lock of stack Formed in us-east-1 is held") {
		t.Errorf("the first: %v; the second: %v", first, second)
	}
}

// What CloudFormation made is recorded as it was deployed there: with the values
// of its parameters, its names and its ids, so that only what the app changed
// since is a change (S-315).
func TestTakeOverOfWhatCloudFormationMade(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	f := &handover{t: t, dir: t.TempDir()}
	f.e, f.aws = newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	const template = `{"Parameters": {"Word": {"Type": "String", "Default": "plain"}}, "Resources": {
		"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Ref": "Word"}}},
		"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 31}},
		"Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "made"}},
		"Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}}}}}`
	f.write("manifest.json", `{"version": "48.0.0", "artifacts": {"Formed": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "formed.json"}}}}`)
	f.write("formed.json", template)
	cfn := sdk.NewFromConfig(f.aws.Config())
	if _, err := cfn.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: new("Formed"), TemplateBody: new(template), Capabilities: []types.Capability{types.CapabilityCapabilityIam},
		Parameters: []types.Parameter{{ParameterKey: new("Word"), ParameterValue: new("given")}}}); err != nil {
		t.Fatal(err)
	}
	i, err := f.takeOver()
	if err != nil || !i.Retired || i.Count(engine.ImportDone) != 4 {
		t.Fatalf("%v: %+v", err, i)
	}
	opt := deployAll(f.dir)
	opt.Parameters = map[string]string{"Word": "given"}
	if run, err := f.e.Deploy(t.Context(), opt); err != nil || run.Stacks[0].Counts.Unchanged != 4 {
		t.Errorf("a deploy with the same parameters: %v: %+v", err, run.Stacks[0].Counts)
	}
	opt.Parameters = nil
	run, err := f.e.Deploy(t.Context(), opt)
	if err != nil || run.Stacks[0].Counts.Updated != 1 || run.Stacks[0].Counts.Unchanged != 3 {
		t.Errorf("a deploy with another parameter: %v: %+v", err, run.Stacks[0].Counts)
	}
	if x, err := f.export(); err != nil || !x.Done || f.has("Formed") == "" {
		t.Errorf("back again: %v", err)
	}
}

// What a parameter of the store was at CloudFormation's last deploy is what is
// recorded, so that what it is by now is a change (S-315, T-212).
func TestTakeOverOfStoredParameters(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	f := &handover{t: t, dir: t.TempDir()}
	f.e, f.aws = newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	const template = `{"Parameters": {"Word": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/word", "AllowedPattern": "/.*"}}, "Resources": {
		"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Ref": "Word"}}}, "Queue": {"Type": "AWS::SQS::Queue", "Properties": {}}}}`
	f.write("manifest.json", `{"version": "48.0.0", "artifacts": {"Formed": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "formed.json"}}}}`)
	f.write("formed.json", template)
	store := func(word string) {
		t.Helper()
		if _, err := ssm.NewFromConfig(f.aws.Config()).PutParameter(t.Context(), &ssm.PutParameterInput{Name: new("/word"), Value: &word, Type: "String", Overwrite: new(true)}); err != nil {
			t.Fatal(err)
		}
	}
	store("before")
	if _, err := sdk.NewFromConfig(f.aws.Config()).CreateStack(t.Context(), &sdk.CreateStackInput{StackName: new("Formed"), TemplateBody: new(template)}); err != nil {
		t.Fatal(err)
	}
	store("after")
	if i, err := f.takeOver(); err != nil || !i.Retired {
		t.Fatalf("%v: %+v", err, i)
	}
	run, err := f.e.Deploy(t.Context(), deployAll(f.dir))
	if err != nil || run.Stacks[0].Counts.Updated != 1 || run.Stacks[0].Counts.Unchanged != 1 {
		t.Fatalf("%v: %+v", err, run.Stacks[0].Counts)
	}
}

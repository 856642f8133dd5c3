package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A handover is a deployed app that CloudFormation is to have, or has.
type handover struct {
	t   *testing.T
	e   *engine.Engine
	aws *sandbox.Sandbox
	dir string
}

// The app has a stack, one nested in it, a resource with an identifier of two
// parts, and one that CloudFormation cannot import, to which another refers.
const (
	formed = `{"Parameters": {"Word": {"Type": "String", "Default": "plain"}}, "Resources": {
		"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Ref": "Word"}}},
		"Inner": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://s3.amazonaws.com/x/inner.json", "Parameters": {"Of": {"Ref": "Topic"}}},
			"Metadata": {"aws:asset:path": "inner.json"}}},
		"Outputs": {"Arn": {"Value": {"Ref": "Topic"}, "Export": {"Name": "formed-topic"}}, "Name": {"Value": {"Fn::GetAtt": ["Inner", "Outputs.Q"]}}}}`
	inner = `{"Parameters": {"Of": {"Type": "String"}}, "Resources": {
		"Queue": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Delete", "Properties": {"QueueName": "inner", "Tags": [{"Key": "of", "Value": {"Ref": "Of"}}]}}},
		"Outputs": {"Q": {"Value": {"Fn::GetAtt": ["Queue", "QueueName"]}}}}`
)

// form deploys the app.
func form(t *testing.T, template string) *handover {
	t.Helper()
	f := assembled(t, template)
	f.deploy()
	return f
}

// assembled is an app that was not deployed yet.
func assembled(t *testing.T, template string) *handover {
	t.Helper()
	f := &handover{t: t, dir: t.TempDir()}
	f.e, f.aws = newEngine(t)
	f.write("manifest.json", `{"version": "48.0.0", "artifacts": {"Formed": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "formed.json"}}}}`)
	f.write("formed.json", template)
	f.write("inner.json", inner)
	f.aws.S3.AddBucket("x", "us-east-1", "")
	return f
}

func (f *handover) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *handover) selection() engine.Selection {
	return engine.Selection{Assembly: f.dir, Selection: assembly.Selection{All: true}}
}

func (f *handover) deploy() {
	f.t.Helper()
	if run, err := f.e.Deploy(f.t.Context(), deployAll(f.dir)); err != nil || run.Outcome.ExitCode() != 0 {
		f.t.Fatalf("deploy: %v: %+v", err, run)
	}
}

func (f *handover) export(edit ...func(*engine.ExportOptions)) (*engine.Exported, error) {
	f.t.Helper()
	opt := engine.ExportOptions{Selection: f.selection()}
	for _, e := range edit {
		e(&opt)
	}
	return f.e.Export(f.t.Context(), opt)
}

func (f *handover) mustExport() {
	f.t.Helper()
	if x, err := f.export(); err != nil || !x.Done {
		f.t.Fatalf("export: %v", err)
	}
}

// recorded are the keys of the stack's objects in the bucket.
func (f *handover) recorded() (keys []string) {
	for _, o := range f.aws.S3.Objects(bucket) {
		if strings.Contains(o.Key, "Formed") && !strings.Contains(o.Key, "/deployments/") && !strings.HasSuffix(o.Key, "retained.json") {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// has are the resources of a CloudFormation stack, with its status.
func (f *handover) has(stack string) string {
	k, ok := f.aws.CloudFormation.Stack("us-east-1", stack)
	if !ok {
		return ""
	}
	text := k.Status
	for _, r := range k.Resources {
		text += " " + r.LogicalID
	}
	return text
}

func includeAll(o *engine.ExportOptions) { o.IncludeNonImportable = true }

// Nested stacks go first, and are taken in by the one that they are nested in.
// The records go when CloudFormation has everything (S-316, S-270).
func TestExportWithNested(t *testing.T) {
	f := form(t, formed)
	x, err := f.export(func(o *engine.ExportOptions) { o.DryRun = true })
	if err != nil || x.Done || len(f.recorded()) == 0 || f.has("Formed") != "" {
		t.Fatalf("a rehearsal: %v, done %t, has %q", err, x.Done, f.has("Formed"))
	}
	x, err = f.export()
	if err != nil || !x.Done {
		t.Fatalf("export: %v", err)
	}
	got := []string{f.has("Formed"), f.has("Formed-Inner")}
	if diff := cmp.Diff([]string{"UPDATE_COMPLETE Topic Inner", "UPDATE_COMPLETE Queue"}, got); diff != "" {
		t.Errorf("CloudFormation has (-want +got):\n%s", diff)
	}
	child, _ := f.aws.CloudFormation.Stack("us-east-1", "Formed-Inner")
	parent, _ := f.aws.CloudFormation.Stack("us-east-1", "Formed")
	if child.Parent != parent.ID {
		t.Errorf("the parent of the nested stack is %q", child.Parent)
	}
	if keys := f.recorded(); keys != nil {
		t.Errorf("left in the bucket: %v", keys)
	}
}

// Nested stacks are called as somebody wants, and a run that goes on knows how
// (S-316).
func TestExportNamesNestedStacks(t *testing.T) {
	f := form(t, formed)
	called := func(path, name string) func(*engine.ExportOptions) {
		return func(o *engine.ExportOptions) { o.ChildNames = map[string]string{path: name} }
	}
	if _, err := f.export(called("Outer", "x")); err == nil || !strings.Contains(err.Error(), "stack Formed has no nested stack Outer") {
		t.Errorf("of one that is not there: %v", err)
	}
	f.stopped("UpdateStack", 2) // of the stack itself
	if _, err := f.export(called("Inner", "Network")); err == nil || f.has("Network") != "UPDATE_COMPLETE Queue" {
		t.Fatalf("the first run: %v; CloudFormation has %q", err, f.has("Network"))
	}
	if _, err := f.export(called("Inner", "Other")); err == nil || !strings.Contains(err.Error(), "began to export nested stack Inner of Formed as Network") {
		t.Errorf("under another name: %v", err)
	}
	if x, err := f.export(); err != nil || !x.Done {
		t.Fatalf("the second run: %v", err)
	}
	if got := []string{f.has("Formed"), f.has("Network"), f.has("Formed-Inner")}; !slices.Equal(got, []string{"UPDATE_COMPLETE Topic Inner", "UPDATE_COMPLETE Queue", ""}) {
		t.Errorf("CloudFormation has %q", got)
	}
}

// Where the template of a nested stack cannot be put, nothing has begun that would have to
// be finished: CloudFormation has nothing, and the stack can be deployed (S-316).
func TestExportWithoutTheBucketOfTemplates(t *testing.T) {
	f := form(t, formed)
	before := f.recorded()
	f.aws.AddFault(sandbox.Fault{ID: "denied", Service: "s3", Action: "PutObject", Mentions: "x/inner.json", Status: 403, Code: "AccessDenied", Message: "no"})
	_, err := f.export()
	if err == nil || !strings.Contains(err.Error(), "the template of nested stack Inner cannot be put into bucket x") || !strings.Contains(engine.Remedy(err), "allow s3:PutObject") {
		t.Fatalf("the first run: %v\n%s", err, engine.Remedy(err))
	}
	if diff := cmp.Diff(before, f.recorded()); diff != "" || f.has("Formed")+f.has("Formed-Inner") != "" {
		t.Errorf("CloudFormation has %q and %q; the records (-before +after):\n%s", f.has("Formed"), f.has("Formed-Inner"), diff)
	}
	f.deploy()
	f.aws.RemoveFault("denied")
	f.mustExport()
}

// Whatever call of CloudFormation's fails, before or after its effect, the
// records stay until it has everything, and a second run finishes (S-316).
func TestExportGoesOn(t *testing.T) {
	for _, action := range []string{"CreateChangeSet", "DescribeChangeSet", "ExecuteChangeSet", "UpdateStack", "ListStackResources"} {
		for _, after := range []bool{false, true} {
			for nth := 1; nth <= 2; nth++ { // of the nested stack, of the stack
				t.Run(fmt.Sprintf("%s %d, after its effect %t", action, nth, after), func(t *testing.T) {
					f := form(t, formed)
					before := f.recorded()
					f.aws.AddFault(sandbox.Fault{Service: "cloudformation", Action: action, Nth: nth, Count: 1, After: after, Status: 403, Code: "AccessDenied", Message: "no"})
					if _, err := f.export(); err == nil {
						t.Fatal("the first run came to its end")
					}
					after := slices.DeleteFunc(f.recorded(), func(key string) bool { return strings.HasSuffix(key, "/handover.json") })
					if diff := cmp.Diff(before, after); diff != "" {
						t.Errorf("the records changed (-before +after):\n%s", diff)
					}
					if x, err := f.export(); err != nil || !x.Done {
						t.Fatalf("the second run: %v", err)
					}
					if keys := f.recorded(); keys != nil || f.has("Formed") != "UPDATE_COMPLETE Topic Inner" {
						t.Errorf("left in the bucket: %v; CloudFormation has %s", keys, f.has("Formed"))
					}
				})
			}
		}
	}
}

// What CloudFormation cannot import is named and nothing is done, or it is made
// anew; what refers to it is imported with the value (S-316).
func TestExportOfWhatCannotBeImported(t *testing.T) {
	const unimportable = `{"Resources": {
		"Queue": {"Type": "AWS::SQS::Queue", "DependsOn": "Policy", "Properties": {"QueueName": "q", "Tags": [{"Key": "policy", "Value": {"Ref": "Policy"}}]}},
		"Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}}},
		"Policy": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "p", "Roles": [{"Ref": "Role"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}]}}}}}`
	f := form(t, unimportable)
	_, err := f.export()
	var refused *engine.ExportRefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff([]string{"Policy (AWS::IAM::Policy): CloudFormation cannot import it"}, refused.Resources); diff != "" || f.has("Formed") != "" {
		t.Errorf("refused (-want +got):\n%s\nCloudFormation has %q", diff, f.has("Formed"))
	}
	x, err := f.export(includeAll)
	if err != nil || x.Count(engine.ExportCreated) != 1 || x.Count(engine.ExportImported) != 2 {
		t.Fatalf("export: %v: %+v", err, x)
	}
	k, _ := f.aws.CloudFormation.Stack("us-east-1", "Formed")
	if diff := cmp.Diff([]string{"Policy"}, k.Created); diff != "" || !strings.Contains(k.Body, `"DependsOn":"Policy"`) {
		t.Errorf("made anew (-want +got):\n%s\ntemplate %s", diff, k.Body)
	}
}

// A mask is never written into a template: the value of a NoEcho parameter is
// asked for (S-160, S-316).
func TestExportAsksForSecrets(t *testing.T) {
	f := &handover{t: t, dir: t.TempDir()}
	f.e, f.aws = newEngine(t)
	f.write("manifest.json", `{"version": "48.0.0", "artifacts": {"Formed": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "formed.json"}}}}`)
	f.write("formed.json", `{"Parameters": {"Word": {"Type": "String", "NoEcho": true}}, "Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Ref": "Word"}}}}}`)
	opt := deployAll(f.dir)
	opt.Parameters = map[string]string{"Word": "hunter2!"}
	if run, err := f.e.Deploy(t.Context(), opt); err != nil || run.Outcome.ExitCode() != 0 {
		t.Fatalf("deploy: %v", err)
	}
	if _, err := f.export(); err == nil || !strings.Contains(err.Error(), "NoEcho parameters, whose values CloudFormation has to be told: Word") {
		t.Fatalf("without the value: %v", err)
	}
	x, err := f.export(func(o *engine.ExportOptions) { o.Parameters = opt.Parameters })
	if err != nil || !x.Done {
		t.Fatalf("with it: %v", err)
	}
	k, _ := f.aws.CloudFormation.Stack("us-east-1", "Formed")
	if k.Parameters["Word"] != "hunter2!" || strings.Contains(k.Body, "***") || strings.Contains(k.Body, "hunter2!") {
		t.Errorf("CloudFormation was told %v and %s", k.Parameters, k.Body)
	}
}

// A CloudFormation stack of the name that has something else is not touched, and
// nor is one exported whose imports nobody exports there (S-316).
func TestExportRefusals(t *testing.T) {
	f := form(t, formed)
	if _, err := f.export(); err != nil {
		t.Fatal(err)
	}
	f.write("formed.json", `{"Resources": {"Other": {"Type": "AWS::SQS::Queue", "Properties": {}}}}`)
	f.deploy()
	if _, err := f.export(); err == nil || !strings.Contains(err.Error(), "with other resources already, such as Topic") {
		t.Errorf("another stack: %v", err)
	}
	x, err := f.export(func(o *engine.ExportOptions) { o.StackName = "Elsewhere" })
	if err != nil || !x.Done || f.has("Elsewhere") != "IMPORT_COMPLETE Other" && f.has("Elsewhere") != "UPDATE_COMPLETE Other" {
		t.Errorf("under another name: %v, CloudFormation has %s", err, f.has("Elsewhere"))
	}
}

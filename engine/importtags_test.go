package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/permission"
	"github.com/org/cdkd-action/internal/sandbox"
)

// component is the tag that says which resource of the app one is.
const component = "component"

func componentTags(id string) string {
	return fmt.Sprintf(`[{"Key": "app", "Value": "shop"}, {"Key": "component", "Value": %q}]`, id)
}

// taggedApp has a resource of each way in which a type's id and its ARN differ.
func taggedApp() map[string]string {
	return map[string]string{"Shop": fmt.Sprintf(`
		"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"Tags": %s}},
		"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"Tags": %s}},
		"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}], "Tags": %s}},
		"Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/shop/log", "Tags": %s}},
		"Word": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/shop/word", "Type": "String", "Value": "v", "Tags": {"app": "shop", "component": "Shop/Word"}}, "Metadata": {"aws:cdk:path": "Shop/Word/Resource"}},
		"Network": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16", "Tags": %s}}`,
		componentTags("Queue"), componentTags("Topic"), componentTags("Table"), componentTags("Log"), componentTags("Network"))}
}

// Resources are found by their tags, whatever their ids look like, and recorded under
// the ids that a deploy records (S-315).
func TestImportByTag(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	e, aws := newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	dir := t.TempDir()
	writeApp(t, dir, taggedApp())
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome.ExitCode() != 0 {
		t.Fatalf("deploy: %v: %+v", err, run.Stacks[0].Failures)
	}
	ids := func() map[string]string {
		shown, err := e.StateShow(t.Context(), "Shop", "us-east-1")
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, id := range shown.Record.LogicalIDs() {
			all[id] = shown.Record.Row(id).PhysicalID
			if _, path, ok := strings.Cut(all[id], "//"); ok { // the emulator's queues have its address
				all[id] = path[strings.Index(path, "/"):]
			}
		}
		return all
	}
	want := ids()
	queue := want["Queue"]
	if _, err := e.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Shop"}, Force: true}); err != nil {
		t.Fatal(err)
	}

	opt := engine.ImportOptions{Selection: deployAll(dir).Selection, Tagged: &engine.Tagged{With: map[string]string{"app": "shop"}, By: component}}
	p, err := e.Permissions(t.Context(), engine.PermissionsOptions{Selection: opt.Selection, For: permission.Import})
	if err != nil {
		t.Fatal(err)
	}
	aws.ClearLog()
	i, err := e.Import(t.Context(), opt)
	allows(t, aws, allowed(p), permission.Import)
	if err != nil || i.Count(engine.ImportDone) != len(want) {
		t.Fatalf("%v: %+v", err, i)
	}
	if diff := cmp.Diff(want, ids()); diff != "" {
		t.Errorf("recorded (-deployed +imported):\n%s", diff)
	}
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Stacks[0].Counts.Unchanged != len(want) {
		t.Errorf("a deploy afterwards: %v: %+v", err, run.Stacks[0].Counts)
	}

	// What two have is nobody's, unless it is named.
	out, err := sqs.NewFromConfig(aws.Config()).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: new("other"), Tags: map[string]string{"app": "shop", component: "Queue"}})
	if err != nil {
		t.Fatal(err)
	}
	opt.Force = true
	if _, err := e.Import(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "several are tagged as it: arn:aws:sqs:us-east-1:123456789012:") {
		t.Errorf("two queues: %v", err)
	}
	opt.Resources = map[string]string{"Queue": aws.URL + queue}
	if i, err := e.Import(t.Context(), opt); err != nil || i.Count(engine.ImportDone) != len(want) {
		t.Errorf("with one of them named: %v: %+v", err, i)
	}
	if strings.HasSuffix(*out.QueueUrl, ids()["Queue"]) {
		t.Error("the other one was recorded")
	}

	opt.Tagged.With["app"] = "else"
	if _, err = e.Import(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "no resource in us-east-1 that has the tags is one of stack Shop") {
		t.Errorf("with tags that nothing has: %v", err)
	}
	if advice := engine.Remedy(err); !strings.Contains(advice, "--tag-filters Key="+component+" Key=app,Values=else ") {
		t.Errorf("the advice lists something else: %s", advice)
	}
}

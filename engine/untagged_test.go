package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// With the tag switched off none is sent. The time of making still proves what a
// rollback may delete (S-213).
func TestWithoutOwnershipTag(t *testing.T) {
	_, cloud := newEngine(t)
	config := configOn(t, cloud)
	config.NoOwnerTag = true
	e := engine.New(config)
	for _, spelling := range []string{"cdkd-action:create", "cdkd-action%3Acreate"} {
		cloud.AddFault(sandbox.Fault{ID: spelling, Mentions: spelling, Status: 400, Code: "ValidationException", Message: "there is the tag"})
	}
	cloud.AddFault(sandbox.Fault{Service: "ssm", Mentions: "FAIL", Status: 400, Code: "ValidationException"})
	dir := t.TempDir()
	const all = `"Q": {"Type": "AWS::SQS::Queue"}, "D": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "declared"}},
		"G": {"Type": "AWS::Logs::LogGroup"}, "T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "t", "BillingMode": "PAY_PER_REQUEST",
			"AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]}}`
	writeApp(t, dir, map[string]string{"Shop": all + `, "Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": ["Q", "D", "G", "T"],
		"Properties": {"Type": "String", "Name": "/fails", "Value": "FAIL"}}`})
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Outcome != result.Failed || !strings.Contains(fmt.Sprint(run.Stacks[0].Failures), "Fails") || run.Stacks[0].Unaddressed != nil {
		t.Fatalf("%v %s %+v", err, run.Outcome, run.Stacks[0])
	}
	if left, err := sqs.NewFromConfig(cloud.Config()).ListQueues(t.Context(), &sqs.ListQueuesInput{}); err != nil || len(left.QueueUrls) != 0 {
		t.Errorf("%v: left are %v", err, left)
	}
	writeApp(t, dir, map[string]string{"Shop": all})
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success || run.Stacks[0].Warnings != nil {
		t.Errorf("%v %s %+v", err, run.Outcome, run.Stacks[0])
	}
}

// A create that was sent without the tag by which alone its type is found, and had
// no answer, is not sent again by anybody, with the tag or without, until somebody
// has looked (S-213, P-17).
func TestUntaggedCreateIsNotSentTwice(t *testing.T) {
	tagging, cloud := newEngine(t)
	config := configOn(t, cloud)
	config.NoOwnerTag = true
	config.Owner += " without"
	e := engine.New(config)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "t", "BillingMode": "PAY_PER_REQUEST",
		"AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]}}`})
	lost := cloud.AddFault(sandbox.Fault{Service: "dynamodb", Action: "CreateTable", After: true, Drop: true})
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Outcome != result.Failed {
		t.Fatalf("%v %s %+v", err, run.Outcome, run.Stacks[0])
	}
	cloud.RemoveFault(lost)
	// As if the create had made nothing that its name would tell.
	if _, err := dynamodb.NewFromConfig(cloud.Config()).DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("t")}); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*engine.Engine{e, tagging} {
		cloud.ClearLog()
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Outcome != result.Failed {
			t.Fatalf("%v %s %+v", err, run.Outcome, run.Stacks[0])
		}
		f := run.Stacks[0].Failures[0]
		if !strings.Contains(f.Message, "without the tag") || !strings.Contains(f.Remedy, "--pending T") {
			t.Errorf("%+v", f)
		}
		for _, r := range cloud.Log() {
			if r.Action == "CreateTable" {
				t.Error("it was sent again")
			}
		}
	}
	if _, err := tagging.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Shop"}, Pending: []string{engine.AllPending}}); err != nil {
		t.Fatal(err)
	}
	if run, err := tagging.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Errorf("%v %s %+v", err, run.Outcome, run.Stacks[0])
	}
}

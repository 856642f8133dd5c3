package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
)

// Resources are read back while others are still being made, and what is read by
// the end is saved with the record: nobody locks the stack once more for it
// (S-48, S-78).
func TestBaselineIsReadBesideTheDeploy(t *testing.T) {
	e, aws := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `
		"Q": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 5}},
		"T": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "t"}},
		"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Ref": "T"}}},
		"L": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 6, "Tags": [{"Key": "p", "Value": {"Ref": "P"}}]}}`})
	opt := deployAll(dir)
	opt.Baselines = true
	making := aws.AddFault(sandbox.Fault{Service: "sns", Action: "CreateTopic", Hold: true})
	deployed := make(chan error, 1)
	go func() {
		run, err := e.Deploy(t.Context(), opt)
		if run.Outcome.ExitCode() != 0 {
			err = fmt.Errorf("%w: %+v", err, run.Stacks)
		}
		deployed <- err
	}()
	if _, err := aws.Await(t.Context(), 1, finished("ListQueueTags")); err != nil {
		t.Fatal(err)
	}
	aws.Release(making)
	if err := <-deployed; err != nil {
		t.Fatal(err)
	}
	if row := recordOfShop(t, aws).Row("Q"); row.Observed == nil || row.Observed.Value("DelaySeconds") == nil {
		t.Errorf("the queue that was read is saved with %v", row.Observed)
	}
	e.CaptureBaselines(t.Context())
	if row := recordOfShop(t, aws).Row("L"); row.Observed == nil {
		t.Error("the queue that was done last has no baseline")
	}
	if n := len(slices.DeleteFunc(aws.Log(), func(r sandbox.Request) bool { return r.Action != "GetQueueAttributes" })); n != 2 {
		t.Errorf("two queues were read %d times", n)
	}
}

// A reading that takes long is waited for neither by the record nor by the lock,
// and is not lost.
func TestNothingWaitsForABaseline(t *testing.T) {
	e, aws := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 5}}`})
	opt := deployAll(dir)
	opt.Baselines = true
	reading := aws.AddFault(sandbox.Fault{Service: "sqs", Action: "GetQueueAttributes", Hold: true})
	if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome.ExitCode() != 0 {
		t.Fatalf("%v: %+v", err, run)
	}
	if _, locked := aws.S3.Object(bucket, "cdkd/Shop/us-east-1/lock.json"); locked {
		t.Error("the stack is still locked")
	}
	if row := recordOfShop(t, aws).Row("Q"); row == nil || row.Observed != nil {
		t.Errorf("recorded while it is being read: %+v", row)
	}
	aws.Release(reading)
	e.CaptureBaselines(t.Context())
	if recordOfShop(t, aws).Row("Q").Observed == nil {
		t.Error("what was read late is not recorded")
	}
}

// A resource is read when what others do to it is done: a policy of its own
// resource shows in the role.
func TestBaselineIsReadAfterWhatChangesIt(t *testing.T) {
	e, aws := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `
		"R": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}]}}},
		"P": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "p", "Roles": [{"Ref": "R"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}]}}}`})
	opt := deployAll(dir)
	opt.Baselines = true
	if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome.ExitCode() != 0 {
		t.Fatalf("%v: %+v", err, run)
	}
	e.CaptureBaselines(t.Context())
	if recordOfShop(t, aws).Row("R").Observed == nil {
		t.Fatal("the role was not read")
	}
	put := slices.IndexFunc(aws.Log(), func(r sandbox.Request) bool { return r.Action == "PutRolePolicy" })
	for _, r := range aws.Log()[:put] {
		if r.Service == "iam" && strings.HasPrefix(r.Action, "List") {
			t.Errorf("%s before PutRolePolicy", r.Action)
		}
	}
}

func finished(action string) func(sandbox.Request) bool {
	return func(r sandbox.Request) bool { return r.Action == action && r.State == sandbox.Done }
}

func recordOfShop(t *testing.T, aws *sandbox.Sandbox) *state.Record {
	t.Helper()
	const key = "cdkd/Shop/us-east-1/state.json"
	o, ok := aws.S3.Object(bucket, key)
	if !ok {
		t.Fatal("nothing is recorded")
	}
	r, err := state.ParseRecord(key, o.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

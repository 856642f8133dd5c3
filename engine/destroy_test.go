package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

// A destroy leaves what is to be kept, and writes down those of the kept whose
// names a create to come would take back. What is gone already counts as deleted.
// What is to be deleted with a snapshot that cannot be taken stays, and so does
// the record of it; a record older than the policies deletes plainly (S-137,
// S-141, S-247, S-301, S-302, S-303, S-304).
func TestDestroyGoesByPolicy(t *testing.T) {
	for name, tt := range map[string]struct {
		resources string
		member    string // that the record gets in place of another, "from => to"
		want      result.Outcome
		left      string // in retained.json
		stays     bool   // the queue, or what it is
	}{
		"kept, under a name that was made":     {`"Q": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain"}`, "", result.Success, `"Q"`, true},
		"kept, under a name of its own":        {`"Q": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain", "Properties": {"QueueName": "Shop-Q"}}`, "", result.Success, "", true},
		"kept except on create":                {`"Q": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "RetainExceptOnCreate"}`, "", result.Success, `"Q"`, true},
		"to be deleted":                        {`"Q": {"Type": "AWS::SQS::Queue"}`, "", result.Success, "", false},
		"with a snapshot that cannot be taken": {`"Q": {"Type": "AWS::SQS::Queue"}`, `"physicalId" => "deletionPolicy": "Snapshot", "physicalId"`, result.Partial, "", true},
		"the same, before there were policies": {`"Q": {"Type": "AWS::SQS::Queue"}`, `"version": 11 => "version": 4`, result.Success, "", false},
		"gone already":                         {`"Q": {"Type": "AWS::SQS::Queue"}, "P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": "x"}}`, "", result.Success, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": tt.resources})
			if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
				t.Fatalf("%v %+v", err, run.Stacks)
			}
			if from, to, ok := strings.Cut(tt.member, " => "); ok {
				o, _ := cloud.S3.Object(bucket, shopKey+"state.json")
				cloud.S3.PutObject(bucket, shopKey+"state.json", []byte(strings.Replace(string(o.Body), from, to, 1)))
			}
			if name == "gone already" {
				cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "DeleteParameter", Status: 400, Code: "ParameterNotFound"})
			}
			run, err := e.StateDestroy(t.Context(), engine.RecordSelection{Stacks: []string{"Shop"}}, engine.DestroyOptions{ResourceTimeout: time.Minute})
			if err != nil || run.Outcome != tt.want || (len(run.Stacks[0].Unaddressed) > 0) != (tt.want == result.Partial) {
				t.Fatalf("%v %+v, want %s", err, run.Stacks[0], tt.want)
			}
			list, err := sqs.NewFromConfig(cloud.Config()).ListQueues(t.Context(), &sqs.ListQueuesInput{})
			if err != nil || len(list.QueueUrls) > 0 != tt.stays {
				t.Errorf("queues %q (%v), want one: %t", list.QueueUrls, err, tt.stays)
			}
			if _, recorded := cloud.S3.Object(bucket, shopKey+"state.json"); recorded != (tt.want == result.Partial) {
				t.Errorf("the record is there: %t", recorded)
			}
			retained, ok := cloud.S3.Object(bucket, shopKey+"retained.json")
			if ok == (tt.want == result.Partial) || strings.Contains(string(retained.Body), `"Q"`) != (tt.left != "") {
				t.Errorf("kept by the list: %s, want %q", retained.Body, tt.left)
			}
			events, _ := cloud.S3.Object(bucket, shopKey+"deployments/"+run.RunID+".jsonl")
			if failed := strings.Contains(string(events.Body), `"result":"FAILED"`); failed != (tt.want == result.Partial) {
				t.Errorf("by the history it failed: %t", failed)
			}
			if kept := strings.Contains(string(events.Body), `"RESOURCE_RETAINED"`); kept != (tt.stays && tt.want == result.Success) {
				t.Errorf("by the history it was kept: %t", kept)
			}
		})
	}
}

// Deletion protection is switched off before the delete, which Cloud Control does for what it
// made, and only for who asked (T-1009, S-302).
func TestRemoveProtectionReachesCloudControl(t *testing.T) {
	for name, tt := range map[string]struct {
		resource string
		unasked  bool
		property string
		want     any
	}{
		"made by Cloud Control":                         {`{"Type": "AWS::DSQL::Cluster", "Properties": {"DeletionProtectionEnabled": true}}`, false, "DeletionProtectionEnabled", false},
		"made by Cloud Control, unasked":                {`{"Type": "AWS::DSQL::Cluster", "Properties": {"DeletionProtectionEnabled": true}}`, true, "DeletionProtectionEnabled", true},
		"made by Cloud Control, protected by an object": {`{"Type": "AWS::VerifiedPermissions::PolicyStore", "Properties": {"ValidationSettings": {"Mode": "OFF"}, "DeletionProtection": {"Mode": "ENABLED"}}}`, false, "DeletionProtection", map[string]any{"Mode": "DISABLED"}},
	} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"R": ` + tt.resource})
			if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
				t.Fatalf("%v %+v", err, run.Stacks)
			}
			cloud.CloudControl.Fail(cloudcontrol.Failure{Operation: "DELETE", Code: "InvalidRequest", Message: "it stays"})
			run, err := e.StateDestroy(t.Context(), engine.RecordSelection{Stacks: []string{"Shop"}}, engine.DestroyOptions{ResourceTimeout: time.Minute, RemoveProtection: !tt.unasked})
			if err != nil || run.Outcome != result.Partial {
				t.Fatalf("%v %+v", err, run.Stacks[0])
			}
			all := cloud.CloudControl.Resources()
			if len(all) != 1 {
				t.Fatalf("%d resources, want 1", len(all))
			}
			if got := all[0].Model[tt.property]; fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("%s is %v, want %v", tt.property, got, tt.want)
			}
		})
	}
}

// What a destroy leaves comes with why, and with advice for what keeps it; what
// the advice ends with lets the next destroy go through (S-304).
func TestDestroySaysWhatKeepsWhatIsLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		resource      string
		service, call string
		code          string
		unprotect     bool
		want          string
	}{
		"a bucket with objects":         {`{"Type": "AWS::S3::Bucket"}`, "s3", "DeleteBucket", "BucketNotEmpty", false, "empty the bucket"},
		"something else uses it":        {`{"Type": "AWS::SQS::Queue"}`, "sqs", "DeleteQueue", "DeleteConflict", false, "something that is not the stack's uses it"},
		"nobody can tell":               {`{"Type": "AWS::SQS::Queue"}`, "sqs", "DeleteQueue", "Whatever", false, "take away what keeps it"},
		"it is protected":               {protectedTable, "dynamodb", "DeleteTable", "ValidationException", false, "as remove-protection does"},
		"it was protected, and is left": {protectedTable, "dynamodb", "DeleteTable", "ValidationException", true, "take away what keeps it"},
	} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"R": ` + tt.resource})
			if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
				t.Fatalf("%v %+v", err, run.Stacks)
			}
			cloud.AddFault(sandbox.Fault{Service: tt.service, Action: tt.call, Status: 400, Code: tt.code, Count: 1})
			destroy := func() *result.Run {
				run, err := e.StateDestroy(t.Context(), engine.RecordSelection{Stacks: []string{"Shop"}}, engine.DestroyOptions{ResourceTimeout: time.Minute, RemoveProtection: tt.unprotect})
				if err != nil {
					t.Fatal(err)
				}
				return run
			}
			run := destroy()
			if run.Outcome != result.Partial || len(run.Stacks[0].Unaddressed) != 1 {
				t.Fatalf("%+v", run.Stacks[0])
			}
			u := run.Stacks[0].Unaddressed[0]
			if !strings.Contains(u.Remedy, tt.want) || !strings.Contains(u.Remedy, "state orphan Shop --stack-region us-east-1 --resource R") {
				t.Errorf("the remedy is %q, want %q and the command that forgets it", u.Remedy, tt.want)
			}
			if beside := run.Stacks[0].FailuresBesideLeft(); len(beside) > 0 {
				t.Errorf("it is told twice: %+v", beside)
			}
			if _, err := e.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Shop"}, Region: "us-east-1", Resources: []string{"R"}}); err != nil {
				t.Fatal(err)
			}
			if run := destroy(); run.Outcome != result.Success {
				t.Errorf("the next destroy: %+v", run.Stacks[0])
			}
		})
	}
}

const protectedTable = `{"Type": "AWS::DynamoDB::Table", "Properties": {"DeletionProtectionEnabled": true, "BillingMode": "PAY_PER_REQUEST",
	"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}}`

package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox"
)

// recordOf reads a stack's record, nil when there is none.
func recordOf(t *testing.T, cloud *sandbox.Sandbox, key string) *state.Record {
	t.Helper()
	o, ok := cloud.S3.Object(bucket, key+"state.json")
	if !ok {
		return nil
	}
	r, err := state.ParseRecord(key+"state.json", o.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// All creates and updates come first, then the old copies of what was replaced,
// then what is gone from the template. When something fails, nothing is deleted
// but what this run made (T-338, T-339, T-850).
func TestPhases(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	deploy := func(resources string, want result.Outcome) trace {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": resources})
		cloud.ClearLog()
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Stacks[0].Outcome != want {
			t.Fatalf("%v %+v, want %s", err, run.Stacks[0], want)
		}
		return trace{t, cloud.Log()}
	}
	queue := func(name string) string {
		return `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "` + name + `"}}`
	}
	const reads = `, "New": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/new", "Value": {"Ref": "Q"}}}`
	deploy(queue("a")+","+made, result.Success)
	tr := deploy(queue("b")+reads, result.Success)
	tr.inOrder(tr.first("CreateQueue", ""), tr.first("PutParameter", ""), tr.first("DeleteQueue", ""), tr.first("DeleteTopic", ""))

	deploy(queue("b")+","+made, result.Success)
	cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
	tr = deploy(queue("c")+reads, result.Failed)
	for _, r := range tr.requests {
		if r.Action == "DeleteTopic" || r.Action == "DeleteQueue" && strings.Contains(string(r.Resource), "/b") {
			t.Errorf("%s %s, though the deploy failed", r.Action, r.Resource)
		}
	}
	if row := recordOf(t, cloud, shopKey).Row("Q"); row == nil || !strings.HasSuffix(row.PhysicalID, "/b") {
		t.Errorf("recorded is %+v", row)
	}
}

// What is made is on record at once, on a first deploy too (T-342, T-343).
func TestFirstDeployRecordsAtOnce(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": made + "," + later})
	held := cloud.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Hold: true})
	var wg routine.Group
	wg.Go(func() {
		if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
			t.Errorf("%v %+v", err, run)
		}
	})
	// The record that names it is written while the next resource is under way.
	if _, err := cloud.Await(t.Context(), 1, func(r sandbox.Request) bool {
		o, ok := cloud.S3.Object(bucket, shopKey+"state.json")
		return r.Action == "CreateQueue" && r.State == sandbox.Held && ok && strings.Contains(string(o.Body), "DisplayName")
	}); err != nil {
		t.Error(err)
	}
	cloud.Release(held)
	wg.Wait()
}

// An operation that takes longer than it may is called off, and fails (T-340,
// T-341).
func TestResourceDeadline(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"Later": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "later"}}`})
	held := cloud.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Hold: true})
	opt := deployAll(dir)
	opt.TypeTimeouts = map[string]time.Duration{"AWS::SQS::Queue": 100 * time.Millisecond} // nothing but the held call can take longer
	run, err := e.Deploy(t.Context(), opt)
	cloud.Release(held)
	if err != nil || run.Outcome != result.Failed || len(run.Stacks[0].Failures) != 1 {
		t.Fatalf("%v %+v", err, run.Stacks[0])
	}
	if f := run.Stacks[0].Failures[0]; f.LogicalID != "Later" || !strings.Contains(f.Message, "gave up after 100ms (resource-timeout)") {
		t.Errorf("got %+v", f)
	}
}

// A stack that fails keeps those that wait for it, directly or not, from
// starting; the others go on, and every stack is in the result (T-153, T-154,
// T-155, T-1204).
func TestStackThatOthersWaitFor(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	parameter := func(name string) string {
		return `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "` + name + `", "Value": "x"}}}}`
	}
	stack := func(name, depends string) string {
		return `"` + name + `": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "dependencies": [` + depends + `], "properties": {"templateFile": "` + name + `.json"}}`
	}
	for file, text := range map[string]string{
		"A.json": `{"Resources": {` + made + `}}`, "B.json": parameter("/b"), "C.json": parameter("/c"), "D.json": parameter("/d"),
		"manifest.json": `{"version": "48.0.0", "artifacts": {` + strings.Join([]string{stack("A", ""), stack("B", `"A"`), stack("C", `"B"`), stack("D", "")}, ",") + `}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cloud.AddFault(sandbox.Fault{Service: "sns", Action: "CreateTopic", Status: 400, Code: "InvalidParameter"})
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Outcome != result.Failed {
		t.Fatalf("%v %+v", err, run)
	}
	got := map[string]string{}
	for _, s := range run.Stacks {
		got[s.Name] = strings.TrimSpace(string(s.Outcome) + " " + s.Message)
	}
	const waits = "failed not started: a stack that it depends on did not get done"
	a := got["A"]
	delete(got, "A")
	if diff := cmp.Diff(map[string]string{"B": waits, "C": waits, "D": "success"}, got); diff != "" || !strings.HasPrefix(a, "failed") {
		t.Errorf("A: %s; the others (-want +got):\n%s", a, diff)
	}
	for _, r := range cloud.Log() {
		if r.Action == "PutObject" && (strings.Contains(r.Resource, "/B/") || strings.Contains(r.Resource, "/C/")) {
			t.Errorf("%s %s, though the stack was not started", r.Action, r.Resource)
		}
	}
}

// A dry run writes nothing anywhere: no lock, no record, no asset, no asset
// storage (T-157, T-158, T-1207).
func TestDryRunWritesNothing(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": made})
	for file, text := range map[string]string{
		"code.txt":         "x",
		"Shop.assets.json": `{"version": "48.0.0", "files": {"h": {"source": {"path": "code.txt", "packaging": "file"}, "destinations": {"d": {"bucketName": "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}", "objectKey": "h.txt"}}}}}`,
		"manifest.json": `{"version": "48.0.0", "artifacts": {"Shop.assets": {"type": "cdk:asset-manifest", "properties": {"file": "Shop.assets.json"}},
			"Shop": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "dependencies": ["Shop.assets"], "properties": {"templateFile": "Shop.json"}}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt := deployAll(dir)
	opt.DryRun, opt.MakeStorage = true, true
	run, err := e.Deploy(t.Context(), opt)
	if err != nil || run.Stacks[0].Plan.Change("Made") == nil {
		t.Fatalf("%v %+v", err, run)
	}
	for _, r := range cloud.Log() {
		reads := []string{"Get", "Head", "List", "Describe"}
		if !slices.ContainsFunc(reads, func(verb string) bool { return strings.HasPrefix(r.Action, verb) }) {
			t.Errorf("%s %s %s", r.Service, r.Action, r.Resource)
		}
	}
}

// A change that follows from another resource's is looked at again when the
// values are there. When they are what they were, AWS is not called, and nothing
// is replaced; of a policy that changes too only the record is told (T-419, T-420,
// T-813).
func TestFollowedChangeThatIsNone(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	deploy := func(queue, policy string) *result.Stack {
		t.Helper()
		// The name of the parameter is made of a part of the queue's that stays.
		writeApp(t, dir, map[string]string{"Shop": `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "` + queue + `"}},
			"P": {"Type": "AWS::SSM::Parameter", ` + policy + ` "Properties": {"Type": "String", "Value": "v",
				"Name": {"Fn::Select": [0, {"Fn::Split": ["-", {"Fn::GetAtt": ["Q", "QueueName"]}]}]}}}`})
		cloud.ClearLog()
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Outcome != result.Success {
			t.Fatalf("%v %+v", err, run.Stacks[0])
		}
		return run.Stacks[0]
	}
	untouched := func() {
		t.Helper()
		for _, r := range cloud.Log() {
			if r.Service == "ssm" && !strings.HasPrefix(r.Action, "Get") && !strings.HasPrefix(r.Action, "Describe") && !strings.HasPrefix(r.Action, "List") {
				t.Errorf("%s was called", r.Action)
			}
		}
	}
	deploy("same-a", "")
	s := deploy("same-b", "")
	if c := s.Plan.Change("P"); c.Action != plan.Replace && c.Action != plan.MayReplace {
		t.Errorf("the plan has to take it for a replacement, got %s", c.Action)
	}
	untouched()
	if s.Counts.Updated != 1 || s.Counts.Unchanged != 1 {
		t.Errorf("counted %+v", s.Counts)
	}
	deploy("same-c", `"DeletionPolicy": "Retain",`)
	untouched()
	if row := recordOf(t, cloud, shopKey).Row("P"); row.DeletionPolicy != "Retain" || row.PhysicalID != "same" {
		t.Errorf("recorded: %+v", row)
	}
}

// Of a nested stack whose conditions hang on what another resource will be, it
// cannot be told before what changes in it. The plan says so, an approval asks for
// it, and the deploy does it.
func TestNestedStackThatCannotBeToldBefore(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "inner.template.json"), []byte(`{"Parameters": {"Of": {"Type": "String"}},
		"Conditions": {"Is": {"Fn::Equals": [{"Ref": "Of"}, "made"]}},
		"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Condition": "Is", "Properties": {"Type": "String", "Name": "/inner", "Value": "x"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	writeApp(t, dir, map[string]string{"Shop": made + `, "Inner": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.template.json"},
		"Properties": {"TemplateURL": "https://example.com/inner.json", "Parameters": {"Of": {"Fn::GetAtt": ["Made", "TopicName"]}}}}`})
	opt := deployAll(dir)
	opt.DryRun = true
	run, err := e.Deploy(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if c := run.Stacks[0].Plan.Change("Inner"); !c.Untold || len(run.Stacks[0].Plan.Children) != 0 {
		t.Errorf("the plan takes it for told: %+v", c)
	}
	if run, err = e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks[0])
	}
	if r := recordOf(t, cloud, "cdkd/Shop~Inner/us-east-1/"); r.Row("P") == nil {
		t.Error("the resource was not made")
	}
	run, err = e.Deploy(t.Context(), opt)
	if c := run.Stacks[0].Plan.Change("Inner"); err != nil || c.Untold || c.Action != plan.NoChange {
		t.Errorf("once it is there it can be told: %v, %+v", err, c)
	}
}

// Deletes of a deploy and what a rollback does are tried again by the schedule of
// the failure's class, like creates and updates. What was spent on that in vain is
// a warning of the run (T-353, T-922, T-924, T-935, T-936).
func TestWhatIsTriedAgain(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	deploy := func(resources string, want result.Outcome) *result.Stack {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": resources})
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Stacks[0].Outcome != want {
			t.Fatalf("%v %+v, want %s", err, run.Stacks[0], want)
		}
		return run.Stacks[0]
	}
	// A role that IAM has not spread yet is waited for a quarter of a second.
	spreads := func(service, action string) {
		cloud.AddFault(sandbox.Fault{Service: service, Action: action, Count: 1, Status: 400, Code: "InvalidParameterValue", Message: "the role is not authorized to perform: x"})
	}
	const gaveUp = "gave up after 1 IAM-propagation retry over 0.25s of propagation backoff - "
	says := func(s *result.Stack, want string) {
		t.Helper()
		if !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.HasPrefix(w, want) }) {
			t.Errorf("want a warning %q, got %q", want, s.Warnings)
		}
	}

	spreads("sns", "CreateTopic")
	deploy(made+","+later, result.Success)

	spreads("sqs", "DeleteQueue")
	deploy(made, result.Success)

	spreads("sqs", "CreateQueue")
	refused := cloud.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Status: 400, Code: "InvalidAttributeValue"})
	says(deploy(made+","+later, result.Failed), "Later: "+gaveUp)
	cloud.RemoveFault(refused)

	// Undone is what was made before something else failed.
	cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
	spreads("sqs", "DeleteQueue")
	if s := deploy(made+","+later+","+fails, result.Failed); !s.RolledBack || s.RollbackIncomplete {
		t.Errorf("not rolled back: %+v", s)
	}
	spreads("sqs", "DeleteQueue")
	cloud.AddFault(sandbox.Fault{Service: "sqs", Action: "DeleteQueue", Status: 403, Code: "AccessDenied"})
	says(deploy(made+","+later+","+fails, result.Failed), "Later: "+gaveUp)
}

// What is recorded is compared with the template, and resources are not asked: a
// secret that was rotated is no change, and a diff costs no call to a service
// (T-296, T-297, T-400).
func TestDiffAsksNoResource(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	secrets := secretsmanager.NewFromConfig(cloud.Config())
	if _, err := secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("db"), SecretString: aws.String("hunter2")}); err != nil {
		t.Fatal(err)
	}
	writeApp(t, dir, map[string]string{"Shop": `"S": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "{{resolve:secretsmanager:db}}"}},
		"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::GetAtt": ["S", "TopicName"]}}}`})
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks[0])
	}
	if _, err := secrets.PutSecretValue(t.Context(), &secretsmanager.PutSecretValueInput{SecretId: aws.String("db"), SecretString: aws.String("rotated")}); err != nil {
		t.Fatal(err)
	}
	cloud.ClearLog()
	run, err := e.Diff(t.Context(), engine.DiffOptions{Selection: deployAll(dir).Selection, StackConcurrency: 1})
	if err != nil || run.Stacks[0].Plan.Changed() {
		t.Errorf("%v %+v", err, run.Stacks[0].Plan.Changes)
	}
	for _, r := range cloud.Log() {
		if r.Service != "s3" && r.Service != "sts" {
			t.Errorf("%s %s was asked", r.Service, r.Action)
		}
	}
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.NoChange {
		t.Errorf("a deploy of a rotated secret: %v %s", err, run.Outcome)
	}
}

// A deploy switches no protection off: what AWS refuses to delete for it stays on
// record, and is named with AWS's own error (T-851).
func TestProtectedResourceStays(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	const protected = `"T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "kept", "DeletionProtectionEnabled": true, "BillingMode": "PAY_PER_REQUEST",
		"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}}`
	for _, tt := range []struct {
		resources string
		want      result.Outcome
	}{{made + "," + protected, result.Success}, {made, result.Partial}} {
		writeApp(t, dir, map[string]string{"Shop": tt.resources})
		cloud.ClearLog()
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Outcome != tt.want {
			t.Fatalf("%v %+v, want %s", err, run.Stacks[0], tt.want)
		}
		left := run.Stacks[0].Unaddressed
		if tt.want == result.Partial && (len(left) != 1 || !strings.Contains(left[0].Reason, "deletion protection")) {
			t.Errorf("left: %+v", left)
		}
		cloud.AddFault(sandbox.Fault{Service: "dynamodb", Action: "DeleteTable", Status: 400, Code: "ValidationException", Message: "deletion protection is enabled"})
	}
	for _, r := range cloud.Log() {
		if r.Action == "UpdateTable" {
			t.Error("the protection was switched off")
		}
	}
	if recordOf(t, cloud, shopKey).Row("T") == nil {
		t.Error("the table is not on record any more")
	}
}

// One operation is: its properties are resolved, its provider is chosen, it is
// called and called again, and what came of it is recorded, before what reads it
// begins (T-800).
func TestOneOperation(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "orders"}},
		"G": {"Type": "AWS::Athena::WorkGroup", "Properties": {"Name": "group", "Description": {"Fn::GetAtt": ["Q", "Arn"]}}},
		"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": {"Fn::Sub": "${G} of ${Q.QueueName}"}}}`})
	for service, action := range map[string]string{"sqs": "CreateQueue", "ssm": "PutParameter"} {
		cloud.AddFault(sandbox.Fault{Service: service, Action: action, Count: 1, Status: 400, Code: "InvalidParameterValue", Message: "the role is not authorized to perform: x"})
	}
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks[0])
	}
	var order []string
	for _, r := range cloud.Log() {
		if slices.Contains([]string{"CreateQueue", "CreateResource", "PutParameter"}, r.Action) {
			order = append(order, r.Action)
		}
	}
	if diff := cmp.Diff([]string{"CreateQueue", "CreateQueue", "CreateResource", "PutParameter", "PutParameter"}, order); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	record := recordOf(t, cloud, shopKey)
	for id, want := range map[string]string{
		"Q": `sdk {"QueueName":"orders"}`,
		"G": `cc-api {"Name":"group","Description":"arn:aws:sqs:us-east-1:123456789012:orders"}`,
		"P": `sdk {"Type":"String","Name":"/p","Value":"group of orders"}`,
	} {
		if row := record.Row(id); row.ProvisionedBy+" "+value.JSON(row.Properties) != want {
			t.Errorf("%s is recorded as %s %s, want %s", id, row.ProvisionedBy, value.JSON(row.Properties), want)
		}
	}
}

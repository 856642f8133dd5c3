package engine_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// A trace is what was asked, in order.
type trace struct {
	t        *testing.T
	requests []sandbox.Request
}

// find returns the requests of an action whose resource ends in some text.
func (tr trace) find(action, resource string) (found []sandbox.Request) {
	for _, r := range tr.requests {
		if r.Action == action && strings.HasSuffix(r.Resource, resource) {
			found = append(found, r)
		}
	}
	if found == nil {
		tr.t.Helper()
		tr.t.Fatalf("%s of %s was not asked", action, resource)
	}
	return found
}

func (tr trace) first(action, resource string) sandbox.Request { return tr.find(action, resource)[0] }

func (tr trace) last(action, resource string) sandbox.Request {
	found := tr.find(action, resource)
	return found[len(found)-1]
}

// inOrder fails where a request was sent before the one in front was answered.
func (tr trace) inOrder(requests ...sandbox.Request) {
	tr.t.Helper()
	for i := 1; i < len(requests); i++ {
		if a, b := requests[i-1], requests[i]; b.Start.Before(a.End) {
			tr.t.Errorf("%s %s was sent before %s %s was answered", b.Action, b.Resource, a.Action, a.Resource)
		}
	}
}

const (
	made  = `"Made": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "made", "DisplayName": "one"}}`
	later = `"Later": {"Type": "AWS::SQS::Queue", "DependsOn": "Made", "Properties": {"QueueName": "later"}}`
	fails = `"Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": ["Later", "Made"], "Properties": {"Type": "String", "Name": "/fails", "Value": "x"}}`

	journalKey = shopKey + "rollback-journal.json"
	exportsKey = "/_index/us-east-1/exports.json"
)

// The lock is there before anything changes; what a deploy did is recorded before
// what only the record answers goes, and the lock goes last. One that fails has
// its work on record and in the journal before any of it is undone, and again
// after that (S-78, S-79, S-108, S-128, S-410, S-437, T-200, T-860).
func TestOrderOfWrites(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	run := func(what string, want result.Outcome, do func() (*result.Run, error)) trace {
		t.Helper()
		cloud.ClearLog()
		run, err := do()
		if err != nil || run.Stacks[0].Outcome != want {
			t.Fatalf("%s: %v, %+v", what, err, run.Stacks)
		}
		return trace{t, cloud.Log()}
	}
	deploy := func(noRollback bool) func() (*result.Run, error) {
		return func() (*result.Run, error) {
			opt := deployAll(dir)
			opt.NoRollback = noRollback
			return e.Deploy(t.Context(), opt)
		}
	}
	fail := func() {
		cloud.AddFault(sandbox.Fault{ID: "no", Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
	}

	writeApp(t, dir, map[string]string{"Shop": made + `}, "Outputs": {"Name": {"Value": {"Ref": "Made"}, "Export": {"Name": "made"}}`})
	run("the first deploy", result.Success, deploy(false))

	cloud.S3.PutObject(bucket, journalKey, []byte(`{"journalVersion": 1, "stackName": "Shop", "region": "us-east-1", "segments": []}`))
	writeApp(t, dir, map[string]string{"Shop": strings.Replace(made, "one", "two", 1) + `}, "Outputs": {"Name": {"Value": {"Fn::Sub": "${Made} "}, "Export": {"Name": "made"}}`})
	tr := run("an update", result.Success, deploy(false))
	change, record, free := tr.first("SetTopicAttributes", ""), tr.last("PutObject", shopKey+"state.json"), tr.first("DeleteObject", shopKey+"lock.json")
	tr.inOrder(tr.first("PutObject", shopKey+"lock.json"), tr.last("GetObject", shopKey+"state.json"), change, record, tr.first("DeleteObject", journalKey), free)
	tr.inOrder(record, tr.first("PutObject", exportsKey), free)

	fail()
	writeApp(t, dir, map[string]string{"Shop": strings.Replace(made, "one", "three", 1) + "," + later + "," + fails})
	tr = run("a deploy that fails", result.Failed, deploy(false))
	undone := tr.first("DeleteQueue", "")
	saved := tr.find("PutObject", shopKey+"state.json")
	tr.inOrder(tr.first("PutParameter", ""), tr.first("PutObject", journalKey), tr.last("SetTopicAttributes", ""), undone, saved[len(saved)-1], tr.last("PutObject", journalKey), tr.first("DeleteObject", shopKey+"lock.json"))
	before := 0
	for _, s := range saved {
		if s.End.Before(undone.Start) && s.Start.After(tr.first("CreateQueue", "").End) {
			before++
		}
	}
	if before == 0 {
		t.Error("what was made was undone before it was on record")
	}

	run("one that is not rolled back", result.Failed, deploy(true))
	cloud.RemoveFault("no")
	tr = run("the rollback", result.Success, func() (*result.Run, error) {
		return e.Rollback(t.Context(), engine.RollbackOptions{Stack: "Shop", ResourceTimeout: time.Minute})
	})
	undone = tr.first("DeleteQueue", "")
	tr.inOrder(tr.last("SetTopicAttributes", ""), undone, tr.last("PutObject", shopKey+"state.json"), tr.first("DeleteObject", journalKey), tr.first("DeleteObject", shopKey+"lock.json"))
}

// A rollback that would delete what its deploy made asks first whose the stack's
// name is. Another prefix's: the resource stays, which is said, and so does the
// journal (S-114, S-268).
func TestRollbackAsksWhoseTheNameIs(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": "x"}}`})
	if _, err := e.Deploy(t.Context(), deployAll(dir)); err != nil {
		t.Fatal(err)
	}
	cloud.S3.PutObject(bucket, "_cdkd-registry/us-east-1/Shop.json", []byte(`{"prefix": "other"}`))
	cloud.S3.PutObject(bucket, "other/Shop/us-east-1/state.json", shop("P"))
	cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
	writeApp(t, dir, map[string]string{"Shop": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": "x"}},` + made + "," + later + "," + fails})
	cloud.ClearLog()
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Stacks[0].Outcome != result.Failed || !run.Stacks[0].RollbackIncomplete {
		t.Fatalf("%v %+v", err, run.Stacks[0])
	}
	for _, r := range cloud.Log() {
		if strings.HasPrefix(r.Action, "Delete") && r.Service != "s3" {
			t.Errorf("%s %s was asked", r.Action, r.Resource)
		}
	}
	journal, _ := cloud.S3.Object(bucket, journalKey)
	for _, id := range []string{"Made", "Later"} {
		if !strings.Contains(string(journal.Body), fmt.Sprintf(`"logicalId": %q`, id)) {
			t.Errorf("the journal has nothing of %s: %s", id, journal.Body)
		}
	}
	events, _ := cloud.S3.Object(bucket, shopKey+"deployments/"+run.RunID+".jsonl")
	if n := strings.Count(string(events.Body), `"ROLLBACK_RESOURCE_SKIPPED"`); n != 2 {
		t.Errorf("%d operations were not undone by the history, want 2: %s", n, events.Body)
	}
}

// The region is in lower case in every key, whatever the environment or the app
// says (S-6).
func TestRegionInLowerCase(t *testing.T) {
	for _, app := range []bool{true, false} {
		e, cloud := newEngine(t)
		dir := t.TempDir()
		writeApp(t, dir, map[string]string{"Shop": made})
		if app {
			manifest := filepath.Join(dir, "manifest.json")
			b, err := os.ReadFile(manifest)
			if err == nil {
				err = os.WriteFile(manifest, bytes.Replace(b, []byte("unknown-region"), []byte("US-East-1"), 1), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		} else {
			config := cloud.Config()
			config.Region = "US-East-1"
			window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
			defer window.Close()
			e = engine.New(engine.Config{AWS: config, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: "me", Window: window})
		}
		if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
			t.Fatalf("%v %+v", err, run.Stacks)
		}
		for _, o := range cloud.S3.Objects(bucket) {
			if strings.Contains(o.Key, "US-East-1") || strings.Contains(string(o.Body), "US-East-1") {
				t.Errorf("%s: %s", o.Key, o.Body)
			}
		}
	}
}

// A rollback puts back what a recorded expression stands for, and the record
// keeps the expression (S-136).
func TestRollbackResolvesAgain(t *testing.T) {
	e, cloud := newEngine(t)
	if _, err := secretsmanager.NewFromConfig(cloud.Config()).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("db"), SecretString: aws.String("hunter2")}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	deploy := func(value, more string, want result.Outcome) {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": `"S": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "` + value + `{{resolve:secretsmanager:db}}"}}` + more})
		opt := deployAll(dir)
		opt.NoRollback = true
		if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome != want {
			t.Fatalf("%v %+v", err, run.Stacks)
		}
	}
	deploy("one-", "", result.Success)
	cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
	deploy("two-", `, "Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": "S", "Properties": {"Type": "String", "Name": "/fails", "Value": "x"}}`, result.Failed)
	if run, err := e.Rollback(t.Context(), engine.RollbackOptions{Stack: "Shop", ResourceTimeout: time.Minute}); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks)
	}
	topic, err := sns.NewFromConfig(cloud.Config()).GetTopicAttributes(t.Context(), &sns.GetTopicAttributesInput{TopicArn: aws.String("arn:aws:sns:us-east-1:123456789012:Shop-S")})
	if err != nil || topic.Attributes["DisplayName"] != "one-hunter2" {
		t.Errorf("the topic is %v (%v)", topic, err)
	}
	record, _ := cloud.S3.Object(bucket, shopKey+"state.json")
	if !strings.Contains(string(record.Body), "one-{{resolve:secretsmanager:db}}") || strings.Contains(string(record.Body), "hunter2") {
		t.Errorf("recorded: %s", record.Body)
	}
}

// What a stack read before stays among its imports while a deploy is under way
// and when it fails, and goes only with one that succeeds (S-77).
func TestImportsAreUnitedUntilTheEnd(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	producer := made + `}, "Outputs": {"A": {"Value": "a", "Export": {"Name": "a"}}, "B": {"Value": "b", "Export": {"Name": "b"}}`
	deploy := func(export, more string, want result.Outcome) []state.Import {
		t.Helper()
		writeApp(t, dir, map[string]string{"Maker": producer, "Shop": `"Q": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "user", "DisplayName": {"Fn::ImportValue": "` + export + `"}}}` + more})
		opt := deployAll(dir)
		opt.NoRollback = true
		if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome != want {
			t.Fatalf("%v %+v", err, run.Stacks)
		}
		o, _ := cloud.S3.Object(bucket, shopKey+"state.json")
		r, err := state.ParseRecord(shopKey+"state.json", o.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.Imports
	}
	of := func(names ...string) (imports []state.Import) {
		for _, n := range names {
			imports = append(imports, state.Import{SourceStack: "Maker", SourceRegion: "us-east-1", ExportName: n})
		}
		return imports
	}
	if diff := cmp.Diff(of("a"), deploy("a", "", result.Success)); diff != "" {
		t.Error(diff)
	}
	no := cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
	if diff := cmp.Diff(of("a", "b"), deploy("b", `, "Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": "Q", "Properties": {"Type": "String", "Name": "/fails", "Value": "x"}}`, result.Failed)); diff != "" {
		t.Error(diff)
	}
	cloud.RemoveFault(no)
	if diff := cmp.Diff(of("b"), deploy("b", "", result.NoChange)); diff != "" {
		t.Error(diff)
	}
}

// A row depends on what its resource refers to itself, by Ref, Fn::GetAtt, Fn::Sub
// or DependsOn, and on no parameter; an import records the same (S-45, T-802).
func TestRecordedDependencies(t *testing.T) {
	topic := func(id, more string) string {
		return `"` + id + `": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "` + id + `"` + more + `}`
	}
	resources := strings.Join([]string{
		topic("A", `, "DisplayName": {"Ref": "Given"}}`),
		topic("B", `, "DisplayName": {"Fn::Sub": "${A.TopicName}-${Given}-${AWS::Region}"}}`),
		topic("C", `, "DisplayName": {"Fn::GetAtt": ["B", "TopicName"]}}`),
		topic("D", `, "DisplayName": {"Fn::GetAtt": ["C", "TopicName"]}, "Tags": [{"Key": "of", "Value": {"Ref": "A"}}]}`),
		topic("E", `}, "DependsOn": ["D", "B"]`),
	}, ",") + `}, "Parameters": {"Given": {"Type": "String", "Default": "g"}`
	want := map[string][]string{"A": nil, "B": {"A"}, "C": {"B"}, "D": {"A", "C"}, "E": {"B", "D"}}
	e, cloud := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": resources})
	recorded := func() map[string][]string {
		t.Helper()
		o, _ := cloud.S3.Object(bucket, shopKey+"state.json")
		r, err := state.ParseRecord(shopKey+"state.json", o.Body)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for id, row := range r.Resources {
			got[id] = slices.Sorted(slices.Values(row.Dependencies))
		}
		return got
	}
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks)
	}
	if diff := cmp.Diff(want, recorded()); diff != "" {
		t.Errorf("after a deploy (-want +got):\n%s", diff)
	}
	cloud.S3.PutObject(bucket, shopKey+"state.json", shop())
	ids := map[string]string{}
	for id := range want {
		ids[id] = "arn:aws:sns:us-east-1:123456789012:" + id
	}
	if _, err := e.Import(t.Context(), engine.ImportOptions{Selection: deployAll(dir).Selection, Resources: ids}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, recorded()); diff != "" {
		t.Errorf("after an import (-want +got):\n%s", diff)
	}
}

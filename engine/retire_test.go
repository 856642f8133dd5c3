package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A nesting is an app of a stack, Shop, with another in it, Mid, and one in that,
// Low.
type nesting struct {
	t   *testing.T
	aws *sandbox.Sandbox
	dir string
}

// What the nested stacks hold and a version of the app takes out of them; what
// is replaced in them; and what changes in the stack above when they are done.
const (
	cellar  = `"Data": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Delete", "Properties": {"BucketName": "%s-data"}}`
	channel = `"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "%s-%s"}}`
	roof    = `"Roof": {"Type": "AWS::SSM::Parameter", "DependsOn": "Mid", "Properties": {"Type": "String", "Name": "/roof", "Value": "%s"}}`
)

func stackIn(file string) string {
	return fmt.Sprintf(`{"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "%s.json"}, "Properties": {"TemplateURL": "x"}}`, file)
}

func newNesting(t *testing.T) *nesting {
	_, aws := newEngine(t)
	return &nesting{t: t, aws: aws, dir: t.TempDir()}
}

func (n *nesting) write(file, resources string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, file+".json"), []byte(`{"Resources": {`+resources+`}}`), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// before is the app with everything in it, after the one without the data and
// with other queues.
func (n *nesting) before() {
	n.t.Helper()
	n.write("Low", fmt.Sprintf(cellar+","+channel, "low", "low", "one"))
	n.write("Mid", fmt.Sprintf(cellar+","+channel+`, "Low": `+stackIn("Low"), "mid", "mid", "one"))
	writeApp(n.t, n.dir, map[string]string{"Shop": `"Mid": ` + stackIn("Mid") + "," + fmt.Sprintf(roof, "old")})
}

func (n *nesting) after() {
	n.t.Helper()
	n.write("Low", fmt.Sprintf(channel, "low", "two"))
	n.write("Mid", fmt.Sprintf(channel+`, "Low": `+stackIn("Low"), "mid", "two"))
	writeApp(n.t, n.dir, map[string]string{"Shop": `"Mid": ` + stackIn("Mid") + "," + fmt.Sprintf(roof, "new")})
}

func (n *nesting) run(edit ...func(*engine.DeployOptions)) (*result.Run, error) {
	n.aws.ClearLog()
	opt := deployAll(n.dir)
	for _, e := range edit {
		e(&opt)
	}
	return engine.New(configOn(n.t, n.aws)).Deploy(n.t.Context(), opt)
}

func (n *nesting) deploy(want result.Outcome, edit ...func(*engine.DeployOptions)) *result.Stack {
	n.t.Helper()
	run, err := n.run(edit...)
	if err != nil {
		n.t.Fatal(err)
	}
	s := run.Stacks[0]
	if s.Outcome != want {
		n.t.Fatalf("%s, want %s: %s\n%+v\n%+v", s.Outcome, want, s.Message, s.Failures, s.Unaddressed)
	}
	return s
}

// asked are the calls of the last run that make or delete what the app holds.
func (n *nesting) asked() (calls []string) {
	for _, r := range n.aws.Log() {
		if slices.Contains([]string{"CreateBucket", "DeleteBucket", "CreateQueue", "DeleteQueue"}, r.Action) {
			calls = append(calls, r.Action+" "+r.Resource[strings.LastIndex(strings.TrimSuffix(r.Resource, "/"), "/")+1:])
		}
	}
	slices.Sort(calls)
	return calls
}

// left are the objects beside the records that say that something is open, and
// the buckets and rows that there are.
func (n *nesting) left() (names []string) {
	n.t.Helper()
	for _, o := range n.aws.S3.Objects(bucket) {
		for _, kind := range []string{"pending.json", "rollback-journal.json", "lock.json"} {
			if strings.HasSuffix(o.Key, kind) {
				names = append(names, o.Key)
			}
		}
		if !strings.HasSuffix(o.Key, "/state.json") {
			continue
		}
		r, err := state.ParseRecord(o.Key, o.Body)
		if err != nil {
			n.t.Fatal(err)
		}
		for _, id := range r.LogicalIDs() {
			names = append(names, r.StackName+" "+id+" "+r.Row(id).PhysicalID[strings.LastIndex(r.Row(id).PhysicalID, "/")+1:])
		}
	}
	for _, name := range n.aws.S3.Buckets() {
		if name != bucket {
			names = append(names, "bucket "+name)
		}
	}
	slices.Sort(names)
	return names
}

var (
	everything = []string{
		"Shop Mid Mid", "Shop Roof roof", "Shop~Mid Data mid-data", "Shop~Mid Low Low", "Shop~Mid Queue mid-one",
		"Shop~Mid~Low Data low-data", "Shop~Mid~Low Queue low-one", "bucket low-data", "bucket mid-data",
	}
	without = []string{"Shop Mid Mid", "Shop Roof roof", "Shop~Mid Low Low", "Shop~Mid Queue mid-two", "Shop~Mid~Low Queue low-two"}
)

func (n *nesting) is(what string, want []string) {
	n.t.Helper()
	if diff := cmp.Diff(want, n.left()); diff != "" {
		n.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (n *nesting) breakRoof() {
	n.aws.AddFault(sandbox.Fault{ID: "roof", Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
}

// What is taken out of nested stacks, at any depth, and what they replaced, is
// there until the top-level stack has succeeded: one that fails is rolled back to
// the very same resources. One that succeeds deletes each once, when everything
// is made (T-338, T-339, T-712, S-168, S-169).
func TestNestedRemovalWaitsForTheTop(t *testing.T) {
	n := newNesting(t)
	n.before()
	n.deploy(result.Success)
	n.is("at first", everything)

	n.after()
	n.breakRoof()
	s := n.deploy(result.Failed)
	if !s.RolledBack || s.RollbackIncomplete || s.Counts.Deleted != 0 {
		t.Errorf("rolled back %t, incomplete %t, counts %+v, left %+v", s.RolledBack, s.RollbackIncomplete, s.Counts, s.Unaddressed)
	}
	if diff := cmp.Diff([]string{"CreateQueue low-two", "CreateQueue mid-two", "DeleteQueue low-two", "DeleteQueue mid-two"}, n.asked()); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	n.aws.RemoveFault("roof")
	failed := slices.DeleteFunc(n.left(), func(name string) bool { return strings.HasSuffix(name, "Shop/us-east-1/rollback-journal.json") })
	if diff := cmp.Diff(everything, failed); diff != "" {
		t.Errorf("after the rollback (-want +got):\n%s", diff)
	}
	n.before()
	n.deploy(result.NoChange)

	n.after()
	if s = n.deploy(result.Success); s.Counts.Deleted != 2 {
		t.Errorf("counts %+v", s.Counts)
	}
	want := []string{"CreateQueue low-two", "CreateQueue mid-two", "DeleteBucket low-data", "DeleteBucket mid-data", "DeleteQueue low-one", "DeleteQueue mid-one"}
	if diff := cmp.Diff(want, n.asked()); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	tr := trace{t, n.aws.Log()}
	for _, q := range []string{"low-one", "mid-one"} {
		tr.inOrder(tr.first("PutParameter", ""), tr.first("DeleteQueue", q), tr.first("DeleteBucket", "low-data"))
	}
	n.is("in the end", without)
	n.deploy(result.NoChange)
}

// The same holds where nothing is rolled back at once: the rollback that comes
// later finds what was taken out, and so does the next deploy (S-112, S-169).
func TestNestedRemovalIsLeftByAFailure(t *testing.T) {
	for _, again := range []bool{false, true} {
		n := newNesting(t)
		n.before()
		n.deploy(result.Success)
		n.after()
		n.breakRoof()
		n.deploy(result.Failed, func(opt *engine.DeployOptions) { opt.NoRollback = true })
		if diff := cmp.Diff([]string{"CreateQueue low-two", "CreateQueue mid-two"}, n.asked()); diff != "" {
			t.Errorf("asked for (-want +got):\n%s", diff)
		}
		n.aws.RemoveFault("roof")
		if again {
			n.deploy(result.Success)
			n.is("deployed again", without)
			continue
		}
		n.aws.ClearLog()
		run, err := engine.New(configOn(t, n.aws)).Rollback(t.Context(), engine.RollbackOptions{Stack: "Shop", ResourceTimeout: deployAll("").ResourceTimeout})
		if err != nil || run.Outcome != result.Success {
			t.Fatalf("%v %+v", err, run.Stacks[0])
		}
		if diff := cmp.Diff([]string{"DeleteQueue low-two", "DeleteQueue mid-two"}, n.asked()); diff != "" {
			t.Errorf("asked for (-want +got):\n%s", diff)
		}
		n.is("rolled back", everything)
	}
}

// A nested stack that is taken out of another goes with what is in it when the
// top-level stack has succeeded, not before.
func TestNestedStackGoesLast(t *testing.T) {
	n := newNesting(t)
	n.before()
	n.deploy(result.Success)
	n.after()
	n.write("Mid", fmt.Sprintf(cellar+","+channel, "mid", "mid", "one"))
	n.breakRoof()
	if s := n.deploy(result.Failed); !s.RolledBack || n.asked() != nil {
		t.Errorf("rolled back %t, asked for %s", s.RolledBack, n.asked())
	}
	n.aws.RemoveFault("roof")
	n.deploy(result.Success)
	if diff := cmp.Diff([]string{"DeleteBucket low-data", "DeleteQueue low-one"}, n.asked()); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	tr := trace{t, n.aws.Log()}
	tr.inOrder(tr.first("PutParameter", ""), tr.first("DeleteBucket", "low-data"))
	n.is("in the end", []string{"Shop Mid Mid", "Shop Roof roof", "Shop~Mid Data mid-data", "Shop~Mid Queue mid-one", "bucket mid-data"})
}

// What cannot be deleted in the end undoes nothing. It is named, stays on record,
// and goes with the next deploy, although nothing else is to be done. What does
// not depend on it is deleted (T-804, T-831, T-850).
func TestUndeletedInTheEnd(t *testing.T) {
	n := newNesting(t)
	n.before()
	n.deploy(result.Success)
	n.after()
	for _, f := range []sandbox.Fault{
		{ID: "bucket", Service: "s3", Action: "DeleteBucket", Mentions: "low-data", Status: 409, Code: "BucketNotEmpty"},
		{ID: "queue", Service: "sqs", Action: "DeleteQueue", Mentions: "mid-one", Status: 403, Code: "AccessDenied"},
	} {
		n.aws.AddFault(f)
	}
	s := n.deploy(result.Partial)
	var names []string
	for _, u := range s.Unaddressed {
		names = append(names, u.Stack+" "+u.LogicalID)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"Shop~Mid Queue", "Shop~Mid~Low Data"}, names); diff != "" || s.RolledBack || s.Outcome.ExitCode() != 2 {
		t.Errorf("rolled back %t, exit code %d, left (-want +got):\n%s", s.RolledBack, s.Outcome.ExitCode(), diff)
	}
	n.is("after the first", slices.Sorted(slices.Values(append(slices.Clone(without),
		"Shop~Mid~Low Data low-data", "bucket low-data", "cdkd/Shop/us-east-1/pending.json", "cdkd/Shop~Mid/us-east-1/pending.json"))))
	n.aws.RemoveFault("")
	n.deploy(result.Success)
	if diff := cmp.Diff([]string{"DeleteBucket low-data", "DeleteQueue mid-one"}, n.asked()); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	n.is("after the second", without)
	n.deploy(result.NoChange)
}

// A removed resource that cannot be deleted does not undo a stack without nested
// ones either: what was removed beside it is gone already (T-850).
func TestUndeletedOfTheTop(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	deploy := func(want result.Outcome, resources string) *result.Stack {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": resources})
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Stacks[0].Outcome != want {
			t.Fatalf("%v %+v, want %s", err, run.Stacks[0], want)
		}
		return run.Stacks[0]
	}
	deploy(result.Success, fmt.Sprintf(cellar, "shop")+","+made)
	cloud.AddFault(sandbox.Fault{ID: "full", Service: "s3", Action: "DeleteBucket", Status: 409, Code: "BucketNotEmpty"})
	s := deploy(result.Partial, strings.Replace(later, `"DependsOn": "Made", `, "", 1))
	if s.RolledBack || len(s.Unaddressed) != 1 || s.Unaddressed[0].LogicalID != "Data" || s.Counts != (result.Counts{Created: 1, Deleted: 1, Skipped: 1}) {
		t.Errorf("rolled back %t, counts %+v, left %+v", s.RolledBack, s.Counts, s.Unaddressed)
	}
	cloud.RemoveFault("full")
	deploy(result.Success, strings.Replace(later, `"DependsOn": "Made", `, "", 1))
	if names := cloud.S3.Buckets(); !slices.Equal(names, []string{bucket}) {
		t.Errorf("there are %s", names)
	}
}

// Where an output that cannot be told fails the deploy, it does so before anything
// is deleted.
func TestNothingGoesBeforeTheOutputsAreTold(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	deploy := func(resources string) *result.Stack {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": resources})
		opt := deployAll(dir)
		opt.StrictGetAtt = true
		run, err := e.Deploy(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		return run.Stacks[0]
	}
	deploy(fmt.Sprintf(cellar, "shop"))
	const output = `}, "Outputs": {"Part": {"Value": {"Fn::Select": [9, {"Fn::Split": ["-", {"Ref": "Made"}]}]}}`
	s := deploy(made + output)
	if s.Outcome != result.Failed || s.RolledBack || !strings.Contains(s.Message, "outputs are not complete") {
		t.Errorf("%s, rolled back %t: %s", s.Outcome, s.RolledBack, s.Message)
	}
	if !slices.Contains(cloud.S3.Buckets(), "shop-data") {
		t.Error("the bucket is gone")
	}
}

// What goes from several stacks goes in one order: each after what depended on it,
// through the outputs and the parameters of nested stacks, too (T-350).
func TestNestedRemovalOrder(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deploy := func(resources string) {
		t.Helper()
		cloud.ClearLog()
		writeApp(t, dir, map[string]string{"Shop": resources})
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Stacks[0].Outcome != result.Success {
			t.Fatalf("%v %+v", err, run.Stacks[0])
		}
	}
	const (
		stays  = `"Stays": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "stays-%s"}}`
		reads  = `"Reads": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/reads", "Value": {"Fn::GetAtt": ["Feeds", "Outputs.Made"]}}}`
		nested = `%q: {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "%s.json"}, "Properties": {"TemplateURL": "x"%s}}`
	)
	write("Feeds", `{"Resources": {`+made+","+fmt.Sprintf(stays, "f")+`}, "Outputs": {"Made": {"Value": {"Ref": "Made"}}}}`)
	write("Takes", `{"Parameters": {"P": {"Type": "String"}}, "Resources": {"Took": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": {"Fn::Sub": "/took${P}"}}},`+fmt.Sprintf(stays, "t")+`}}`)
	deploy(fmt.Sprintf(nested, "Feeds", "Feeds", "") + "," + reads + "," +
		fmt.Sprintf(nested, "Takes", "Takes", `, "Parameters": {"P": {"Ref": "Reads"}}`))
	write("Feeds", `{"Resources": {`+fmt.Sprintf(stays, "f")+`}}`)
	write("Takes", `{"Resources": {`+fmt.Sprintf(stays, "t")+`}}`)
	deploy(fmt.Sprintf(nested, "Feeds", "Feeds", "") + "," + fmt.Sprintf(nested, "Takes", "Takes", ""))
	tr := trace{t, cloud.Log()}
	tr.inOrder(tr.first("DeleteLogGroup", ""), tr.first("DeleteParameter", ""), tr.first("DeleteTopic", ""))
}

// Whenever the run dies, nothing that was taken out or replaced is gone before the
// top-level stack has changed everything, and the next deploy ends as an undisturbed
// one (P-23, P-24, P-35).
func TestNestedRemovalKilledAtAnyRequest(t *testing.T) {
	first, step := requestsToKill()
	kills := 0
	for _, after := range []bool{false, true} {
		for nth := first; ; nth += step {
			n := newNesting(t)
			n.before()
			n.deploy(result.Success)
			n.after()
			dying := n.aws.AddFault(sandbox.Fault{Nth: nth, Count: 1, After: after, Status: 400, Code: "Gone", Message: "killed"})
			dead := n.aws.AddFault(sandbox.Fault{Nth: nth + 1, Status: 400, Code: "Gone", Message: "killed"})
			_, _ = n.run() // its end is nobody's to see
			log := n.aws.Log()
			n.aws.RemoveFault(dying)
			n.aws.RemoveFault(dead)
			if len(log) < nth {
				break
			}
			kills++
			at := fmt.Sprintf("killed at request %d, %s %s, after its effect %t", nth, log[nth-1].Action, log[nth-1].Resource, after)
			whole := slices.ContainsFunc(log[:nth], func(r sandbox.Request) bool { return r.Action == "PutParameter" })
			for _, name := range []string{"mid-data", "low-data"} {
				if there := slices.Contains(n.aws.S3.Buckets(), name); !there && !whole {
					t.Errorf("%s: bucket %s is gone", at, name)
				}
			}
			e := engine.New(configOn(t, n.aws))
			if _, err := e.ForceUnlock(t.Context(), []string{"Shop", "Shop~Mid", "Shop~Mid~Low"}, "us-east-1"); err != nil {
				t.Fatal(err)
			}
			if run, err := n.run(); err != nil || run.Outcome.ExitCode() != 0 {
				t.Errorf("%s: %v: %s\n%+v", at, err, run.Outcome, run.Stacks)
			}
			n.is(at, without)
		}
	}
	if kills < 8 {
		t.Errorf("died %d times", kills)
	}
}

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A removal van is an app whose resources move from one stack to another.
type van struct {
	t      *testing.T
	aws    *sandbox.Sandbox
	mu     sync.Mutex
	events []engine.Event

	dir     string        // of the app that was deployed last
	waiting chan struct{} // closes when a stack waits for another; nil: nobody asks
}

// goods are resources whose creates are answered with what is there.
const goods = `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "van-q"}},
	"T": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "van-t"}},
	"L": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/van/l"}},
	"B": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Delete", "Properties": {"BucketName": "van-b"}},
	"E": {"Type": "AWS::Events::Rule", "Properties": {"Name": "van-e", "ScheduleExpression": "rate(1 hour)"}},
	"A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"AlarmName": "van-a", "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "MetricName": "m", "Namespace": "n", "Period": 60, "Statistic": "Sum", "Threshold": 1}}`

// stays is what a stack has in any case.
const stays = `"K": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/van/%s", "Value": "k"}}`

// doomed is a resource that cannot be made, because a fault is in its way, and
// comes after another.
func doomed(after string) string {
	return fmt.Sprintf(`, "Bad": {"Type": "AWS::SSM::Parameter", "DependsOn": [%q], "Properties": {"Type": "String", "Name": "/van/bad", "Value": "BOOM"}}`, after)
}

func newVan(t *testing.T) *van {
	t.Helper()
	aws, err := startSandbox(t, sandbox.Options{Upstream: sandbox.Kumo})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(bucket, "us-east-1", "")
	aws.S3.AddBucket("x", "us-east-1", "")
	aws.AddFault(sandbox.Fault{ID: "boom", Service: "ssm", Mentions: "BOOM", Status: 400, Code: "ValidationException", Message: "BOOM"})
	return &van{t: t, aws: aws}
}

// parked are the stacks of an app: "Name", "Name~Nested" and, with what it depends
// on, "Name<Other".
type parked map[string]string

// deploy runs the app in a process of its own; only are the stacks that are
// deployed, all when there are none.
func (v *van) deploy(app parked, only ...string) *result.Run {
	v.t.Helper()
	v.write(app)
	opt := deployAll(v.dir)
	if only != nil {
		opt.Selection.Selection = assembly.Selection{Patterns: only, Exclusively: true}
	}
	v.mu.Lock()
	v.events = nil
	v.mu.Unlock()
	run, err := v.engine().Deploy(v.t.Context(), opt)
	if err != nil {
		v.t.Fatal(err)
	}
	return run
}

// write makes an app the one that is deployed.
func (v *van) write(app parked) {
	v.t.Helper()
	dir := v.t.TempDir()
	v.dir = dir
	write := func(name, text string) {
		v.t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			v.t.Fatal(err)
		}
	}
	var artifacts []string
	for key, resources := range app {
		key, after, _ := strings.Cut(key, "<")
		write(key+".json", `{"Resources": {`+resources+`}}`)
		if strings.Contains(key, "~") {
			continue
		}
		depends, _ := json.Marshal(strings.Fields(after))
		artifacts = append(artifacts, fmt.Sprintf(`%q: {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "dependencies": %s, "properties": {"templateFile": %q}}`, key, depends, key+".json"))
	}
	write("manifest.json", `{"version": "48.0.0", "artifacts": {`+strings.Join(artifacts, ",")+`}}`)
}

func (v *van) engine() *engine.Engine {
	config := configOn(v.t, v.aws)
	config.Observe = func(e engine.Event) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.events = append(v.events, e)
		if v.waiting != nil && strings.HasPrefix(e.Text, "waiting for stack") {
			close(v.waiting)
			v.waiting = nil
		}
	}
	return engine.New(config)
}

// nest is a nested stack's row, whose version makes its template another.
func nest(file string, version int) string {
	return fmt.Sprintf(`"C": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://s3.amazonaws.com/x/%d.json"}, "Metadata": {"aws:asset:path": %q}}`, version, file+".json")
}

// records are the logical ids that each stack's record names.
func (v *van) records() map[string]string {
	v.t.Helper()
	all := map[string]string{}
	for _, o := range v.aws.S3.Objects(bucket) {
		if !strings.HasSuffix(o.Key, "/state.json") {
			continue
		}
		r, err := state.ParseRecord(o.Key, o.Body)
		if err != nil {
			v.t.Fatal(err)
		}
		ids := r.LogicalIDs()
		slices.Sort(ids)
		all[r.StackName] = strings.Join(ids, " ")
	}
	return all
}

// deleted are the calls that delete goods.
func (v *van) deleted() (calls []string) {
	for _, r := range v.aws.Log() {
		switch r.Action {
		case "DeleteQueue", "DeleteTopic", "DeleteLogGroup", "DeleteBucket", "DeleteRule", "DeleteAlarms":
			calls = append(calls, r.Action)
		}
	}
	return calls
}

func (v *van) said(text string) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range v.events {
		if strings.Contains(e.Text, text) {
			n++
		}
	}
	return n
}

func k(name string) string { return fmt.Sprintf(stays, name) }

// What another stack of the run, or of another run, has by now is not deleted for
// the row that goes (P-3, P-12).
func TestMoveBetweenStacks(t *testing.T) {
	const all = "A B E K L Q T"
	for name, tt := range map[string]struct {
		before, after parked
		then          map[string]string // what is recorded
		moved         string            // to which stack
	}{
		"into a nested stack": {
			before: parked{"P": k("p") + "," + goods},
			after:  parked{"P": k("p") + "," + nest("P~C", 1), "P~C": goods},
			then:   map[string]string{"P": "C K", "P~C": "A B E L Q T"}, moved: "P~C",
		},
		"out of a nested stack": {
			before: parked{"P": k("p") + "," + nest("P~C", 1), "P~C": k("c") + "," + goods},
			after:  parked{"P": k("p") + "," + strings.Replace(nest("P~C", 2), `"Metadata"`, `"DependsOn": ["A", "B", "E", "L", "Q", "T"], "Metadata"`, 1) + "," + goods, "P~C": k("c")},
			then:   map[string]string{"P": "A B C E K L Q T", "P~C": "K"}, moved: "P",
		},
		"out of a nested stack that goes": {
			before: parked{"P": k("p") + "," + nest("P~C", 1), "P~C": goods},
			after:  parked{"P": k("p") + "," + goods},
			then:   map[string]string{"P": all}, moved: "P",
		},
		"to a stack that comes first": {
			before: parked{"WA": k("a") + "," + goods, "WB": k("b")},
			after:  parked{"WA<WB": k("a"), "WB": k("b") + "," + goods},
			then:   map[string]string{"WA": "K", "WB": all}, moved: "WB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVan(t)
			if run := v.deploy(tt.before); run.Outcome != result.Success {
				t.Fatalf("%+v", run.Stacks[0])
			}
			v.aws.ClearLog()
			run := v.deploy(tt.after)
			if run.Outcome != result.Success {
				t.Fatalf("%+v", run.Stacks)
			}
			if calls := v.deleted(); calls != nil {
				t.Errorf("deleted: %v", calls)
			}
			if diff := cmp.Diff(tt.then, v.records()); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			if n := v.said("of stack " + tt.moved + " now"); n != 6 {
				t.Errorf("said of %d of 6 where they went", n)
			}
			if run := v.deploy(tt.after); run.Outcome != result.NoChange {
				t.Errorf("a deploy after it: %+v", run.Stacks)
			}
		})
	}
}

// A move takes two deploys where each is of one stack, and the second may be a
// destroy.
func TestMoveInTwoRuns(t *testing.T) {
	before := parked{"WA": k("a") + "," + goods, "WB": k("b")}
	after := parked{"WA": k("a"), "WB": k("b") + "," + goods}
	for name, second := range map[string]func(*van) *result.Run{
		"a deploy": func(v *van) *result.Run { return v.deploy(after, "WA") },
		"a destroy": func(v *van) *result.Run {
			run, err := v.engine().Destroy(t.Context(), engine.DestroyOptions{Selection: engine.Selection{Assembly: v.dir, Selection: assembly.Selection{Patterns: []string{"WA"}}},
				ResourceTimeout: time.Minute, StackConcurrency: 1})
			if err != nil {
				t.Fatal(err)
			}
			return run
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVan(t)
			v.deploy(before)
			if run := v.deploy(after, "WB"); run.Outcome != result.Success {
				t.Fatalf("%+v", run.Stacks)
			}
			v.aws.ClearLog()
			if run := second(v); run.Outcome != result.Success {
				t.Errorf("%+v", run.Stacks[0])
			}
			if calls := v.deleted(); calls != nil || v.said("of stack WB now") != 6 {
				t.Errorf("deleted: %v; said %d times where things went", calls, v.said("of stack WB now"))
			}
			if got := v.records(); got["WB"] != "A B E K L Q T" || strings.Contains(got["WA"], "Q") {
				t.Errorf("recorded: %v", got)
			}
		})
	}
}

// A name belongs to one stack of a run: the create that would share it is refused
// before it is sent, whichever of the stacks comes first.
func TestNameOfAnotherStack(t *testing.T) {
	const queue = `"%s": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "van-q"}}`
	mine, yours := fmt.Sprintf(queue, "Mine"), fmt.Sprintf(queue, "Yours")
	for name, tt := range map[string]struct{ before, after parked }{
		"the holder comes later":     {parked{"WA": k("a") + "," + mine, "WB": k("b")}, parked{"WA<WB": k("a") + "," + mine, "WB": k("b") + "," + yours}},
		"the holder is done":         {parked{"WA": k("a") + "," + mine, "WB": k("b")}, parked{"WA": k("a") + "," + mine, "WB<WA": k("b") + "," + yours}},
		"both are new":               {parked{"WA": k("a"), "WB": k("b")}, parked{"WA": k("a") + "," + mine, "WB<WA": k("b") + "," + yours}},
		"the holder is nested in it": {parked{"WA": k("a") + "," + nest("WA~C", 1), "WA~C": mine, "WB": k("b")}, parked{"WA": k("a") + "," + nest("WA~C", 1), "WA~C": mine, "WB": k("b") + "," + yours}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVan(t)
			v.deploy(tt.before)
			v.aws.ClearLog()
			run := v.deploy(tt.after)
			text := fmt.Sprintf("%+v", run.Stacks)
			holder := "stack WA in us-east-1"
			if strings.Contains(name, "nested") {
				holder = "stack WA~C in us-east-1"
			}
			if run.Outcome != result.Failed || !strings.Contains(failures(run), "AWS::SQS::Queue Yours was not created: "+holder+` has the resource of the name "van-q" as Mine`) {
				t.Errorf("%s %s", failures(run), text)
			}
			if got := v.records(); strings.Contains(got["WB"], "Yours") || v.deleted() != nil {
				t.Errorf("recorded: %v; deleted: %v", got, v.deleted())
			}
		})
	}
}

func failures(run *result.Run) (text string) {
	for _, s := range run.Stacks {
		for _, f := range s.Failures {
			text += f.Message + "\n"
		}
	}
	return text
}

// A rollback of the new owner, or of the old one after it, deletes nothing of what
// moved. It is the old owner's again where that still has it on record.
func TestMoveRolledBack(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after parked
		then          map[string]string
	}{
		"the new owner fails": {
			before: parked{"WA": k("a") + "," + goods, "WB": k("b")},
			after:  parked{"WA<WB": k("a"), "WB": k("b") + "," + goods + strings.Replace(doomed("Q"), `["Q"]`, `["A", "B", "E", "L", "Q", "T"]`, 1)},
			then:   map[string]string{"WA": "A B E K L Q T", "WB": "K"},
		},
		"the parent fails after its child took it over": {
			before: parked{"P": k("p") + "," + goods},
			after:  parked{"P": k("p") + "," + nest("P~C", 1) + doomed("C"), "P~C": goods},
			then:   map[string]string{"P": "A B E K L Q T"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVan(t)
			v.deploy(tt.before)
			v.aws.ClearLog()
			run := v.deploy(tt.after)
			if run.Outcome != result.Failed || run.Stacks[0].RollbackIncomplete {
				t.Errorf("%+v", run.Stacks)
			}
			if calls := v.deleted(); calls != nil {
				t.Errorf("deleted: %v", calls)
			}
			if diff := cmp.Diff(tt.then, v.records()); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			if run := v.deploy(tt.before); run.Outcome != result.NoChange {
				t.Errorf("a deploy of what was before: %+v", run.Stacks)
			}
		})
	}
}

// A create waits for the delete of another stack that is under way, and makes the
// resource anew.
func TestCreateWaitsForDelete(t *testing.T) {
	const topic = `"T": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "van-t"}}`
	v := newVan(t)
	v.deploy(parked{"WA": k("a") + "," + topic, "WB": k("b")})
	v.aws.ClearLog()
	held := v.aws.AddFault(sandbox.Fault{Action: "DeleteTopic", Hold: true})
	// The create comes after a call that waits until the delete is under way.
	first := v.aws.AddFault(sandbox.Fault{Service: "ssm", Mentions: "/van/first", Hold: true})
	waiting := make(chan struct{})
	v.waiting = waiting
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := v.aws.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.Action == "DeleteTopic" }); err != nil {
			t.Error(err)
		}
		v.aws.Release(first)
		select {
		case <-waiting:
		case <-t.Context().Done():
			t.Error("the create did not wait")
		}
		v.aws.Release(held)
	})
	run := v.deploy(parked{"WA": k("a"), "WB": k("b") + `, "First": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/van/first", "Value": "x"}},` +
		strings.Replace(topic, `"Properties"`, `"DependsOn": ["First"], "Properties"`, 1)})
	wg.Wait()
	if run.Outcome != result.Success {
		t.Fatalf("%+v", run.Stacks)
	}
	tr := trace{t, v.aws.Log()}
	tr.inOrder(tr.first("DeleteTopic", ""), tr.first("CreateTopic", ""))
	told := slices.ContainsFunc(v.events, func(ev engine.Event) bool {
		return ev.Kind == engine.ResourceAwaits && ev.Stack == "WB" && ev.LogicalID == "T" && ev.Action == plan.Create && strings.HasPrefix(ev.Text, "waiting for stack WA")
	})
	if !told {
		t.Error("nobody is told what the create waits for")
	}
	if diff := cmp.Diff(map[string]string{"WA": "K", "WB": "First K T"}, v.records()); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

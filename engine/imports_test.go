package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// deployOne deploys one stack of an app and none that it depends on.
func deployOne(t *testing.T, e *engine.Engine, dir, stack string) *result.Stack {
	t.Helper()
	opt := deployAll(dir)
	opt.Selection.Selection = assembly.Selection{Patterns: []string{stack}, Exclusively: true}
	run, err := e.Deploy(t.Context(), opt)
	if err != nil || len(run.Stacks) != 1 {
		t.Errorf("%v %+v", err, run)
		return &result.Stack{}
	}
	return run.Stacks[0]
}

// A stack that begins to import what another run is taking away, and whose importers
// that run has asked for already, waits for the end of that run and goes by what is
// exported then (S-142, S-153).
func TestImportOfWhatIsWithdrawn(t *testing.T) {
	const (
		queue    = `"Old": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "old"}}, "Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q"}}`
		export   = `}, "Outputs": {"Q": {"Value": "VALUE", "Export": {"Name": "q"}}`
		consumer = `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": {"Fn::ImportValue": "q"}}}`
		withOnly = `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q"}}`
	)
	destroy := func(t *testing.T, e *engine.Engine) *result.Stack {
		run, err := e.StateDestroy(t.Context(), engine.RecordSelection{Stacks: []string{"Producer"}}, engine.DestroyOptions{ResourceTimeout: time.Minute})
		if err != nil || len(run.Stacks) != 1 {
			t.Fatalf("%v %+v", err, run)
		}
		return run.Stacks[0]
	}
	for _, tt := range []struct {
		name     string
		producer string // what the other run deploys; "" destroys
		fails    bool   // the other run does, and its stack is as it was
		want     string // of what the consumer fails of; "" succeeds
	}{
		{"a destroy", "", false, "which does not export it any more"},
		{"a deploy without the export", withOnly, false, "which does not export it any more"},
		{"a deploy with another value", withOnly + strings.Replace(export, "VALUE", "two", 1), false, "which gave it another value meanwhile"},
		{"a deploy that is rolled back", `"New": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "new"}}, ` + queue, true, ""},
		{"a deploy that keeps the export", withOnly + strings.Replace(export, "VALUE", "one", 1), false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, cloud := newEngine(t)
			apps := t.TempDir()
			app := func(name, producer string) string {
				dir := filepath.Join(apps, name)
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				writeApp(t, dir, map[string]string{"Producer": producer, "Consumer": consumer})
				return dir
			}
			one := app("one", queue+strings.Replace(export, "VALUE", "one", 1))
			if st := deployOne(t, e, one, "Producer"); st.Outcome != result.Success {
				t.Fatalf("%+v", st)
			}
			fault := sandbox.Fault{Service: "sqs", Action: "DeleteQueue", Hold: true}
			if tt.fails {
				fault = sandbox.Fault{Service: "sns", Action: "CreateTopic", Hold: true, Status: 400, Code: "InvalidParameter"}
			}
			held := cloud.AddFault(fault)
			cloud.ClearLog()
			other := make(chan *result.Stack, 1)
			go func() {
				e := engine.New(configOn(t, cloud))
				if tt.producer == "" {
					other <- destroy(t, e)
					return
				}
				other <- deployOne(t, e, app("two", tt.producer), "Producer")
			}()
			if _, err := cloud.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.Action == fault.Action }); err != nil {
				t.Fatal(err)
			}
			waiting := make(chan string, 1)
			config := configOn(t, cloud)
			config.Observe = func(ev engine.Event) {
				if ev.Kind == engine.Notice && strings.Contains(ev.Text, "still exports what this stack begins to import") {
					waiting <- ev.Text
				}
			}
			importer := make(chan *result.Stack, 1)
			go func() { importer <- deployOne(t, engine.New(config), one, "Consumer") }()
			if strings.HasSuffix(tt.name, "keeps the export") {
				if st := <-importer; st.Outcome != result.Success { // at once
					t.Errorf("%+v", st)
				}
				cloud.Release(held)
				<-other
				return
			}
			select {
			case text := <-waiting:
				t.Log(text)
			case st := <-importer:
				t.Fatalf("did not wait: %+v", st)
			}
			cloud.Release(held)
			cloud.RemoveFault(held)
			if st := <-other; (st.Outcome == result.Success) == tt.fails {
				t.Errorf("the other: %+v", st)
			}
			st := <-importer
			if tt.want == "" {
				if st.Outcome != result.Success {
					t.Errorf("%+v", st)
				}
				return
			}
			if st.Outcome != result.Failed || !strings.Contains(st.Message, tt.want) || st.Page == "" {
				t.Errorf("%+v", st)
			}
			if o, ok := cloud.S3.Object(bucket, "cdkd/Consumer/us-east-1/state.json"); ok {
				t.Errorf("left: %s", o.Body)
			}
		})
	}
}

// Two deploys that each take away what the other begins to import do not wait for
// each other: both see it, and are refused (S-153).
func TestImportsThatCross(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	queue := func(name string) string {
		return `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "` + name + `"}}`
	}
	exports := func(name string) string {
		return queue(name) + `}, "Outputs": {"Out": {"Value": "` + name + `", "Export": {"Name": "` + name + `"}}`
	}
	imports := func(name, other string) string {
		return queue(name) + `, "P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/` + name + `", "Value": {"Fn::ImportValue": "` + other + `"}}}`
	}
	writeApp(t, dir, map[string]string{"A": exports("a"), "B": exports("b")})
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run)
	}
	writeApp(t, dir, map[string]string{"A": imports("a", "b"), "B": imports("b", "a")})
	held := cloud.AddFault(sandbox.Fault{Service: "s3", Action: "PutObject", Mentions: "/state.json", Hold: true})
	cloud.ClearLog()
	ends := make(chan *result.Stack, 2)
	for _, stack := range []string{"A", "B"} {
		go func() {
			ends <- deployOne(t, engine.New(configOn(t, cloud)), dir, stack)
		}()
	}
	if _, err := cloud.Await(t.Context(), 2, func(r sandbox.Request) bool {
		return r.Action == "PutObject" && strings.HasSuffix(r.Resource, "/state.json")
	}); err != nil {
		t.Fatal(err)
	}
	cloud.Release(held)
	for range 2 {
		st := <-ends
		// By whom depends on which of the two looks comes first.
		if st.Outcome != result.Failed || st.RollbackIncomplete ||
			!strings.Contains(st.Message, "while this one does so with exports of its own") && !strings.Contains(st.Message, "has to keep what other stacks import") {
			t.Errorf("%+v", st)
		}
	}
	for _, name := range []string{"a", "b"} {
		o, _ := cloud.S3.Object(bucket, "cdkd/_index/us-east-1/exports.json")
		if !strings.Contains(string(o.Body), `"`+name+`"`) {
			t.Errorf("%s is not exported any more: %s", name, o.Body)
		}
	}
}

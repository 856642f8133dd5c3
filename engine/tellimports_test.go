package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// An export is kept from the first work on on the first stack that imports it, not
// only from its end: neither a destroy nor a deploy takes it away or changes it
// meanwhile. A stack that then does nothing after all leaves no record (S-142).
func TestFirstImportKeepsAnExport(t *testing.T) {
	const producer = `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q"}}}, "Outputs": {"Q": {"Value": "VALUE", "Export": {"Name": "q"}}`
	const consumer = `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": {"Fn::ImportValue": "q"}}}`
	const consumerKey = "cdkd/Consumer/us-east-1/state.json"
	e, cloud := newEngine(t)
	apps := t.TempDir()
	app := func(name, value string) string {
		dir := filepath.Join(apps, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		writeApp(t, dir, map[string]string{"Producer": strings.Replace(producer, "VALUE", value, 1), "Consumer": consumer})
		return dir
	}
	one, two := app("one", "one"), app("two", "two")
	if st := deployOne(t, e, one, "Producer"); st.Outcome != result.Success {
		t.Fatalf("%+v", st)
	}
	for rule, disturb := range map[string]func(*engine.Engine) *result.Stack{
		"a destroy": func(e *engine.Engine) *result.Stack {
			run, err := e.StateDestroy(t.Context(), engine.RecordSelection{Stacks: []string{"Producer"}}, engine.DestroyOptions{ResourceTimeout: time.Minute})
			if err != nil || len(run.Stacks) != 1 {
				t.Fatalf("%v %+v", err, run)
			}
			return run.Stacks[0]
		},
		"another value": func(e *engine.Engine) *result.Stack { return deployOne(t, e, two, "Producer") },
	} {
		t.Run(rule, func(t *testing.T) {
			cloud.ClearLog()
			held := cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Hold: true, Status: 400, Code: "ValidationException"})
			done := make(chan *result.Stack, 1)
			go func() { done <- deployOne(t, engine.New(configOn(t, cloud)), one, "Consumer") }()
			for _, wanted := range []func(sandbox.Request) bool{
				func(r sandbox.Request) bool { return r.Action == "PutParameter" },
				func(r sandbox.Request) bool {
					return r.Action == "PutObject" && strings.HasSuffix(r.Resource, consumerKey) && r.State == sandbox.Done
				},
			} {
				if _, err := cloud.Await(t.Context(), 1, wanted); err != nil {
					t.Fatal(err)
				}
			}
			st := disturb(engine.New(configOn(t, cloud)))
			if text := fmt.Sprintf("%+v", st); st.Outcome == result.Success || !strings.Contains(text, "and Consumer in us-east-1 imports it") && !strings.Contains(text, "other stacks import: Consumer in us-east-1 (q)") {
				t.Error(text)
			}
			cloud.Release(held)
			if st := <-done; st.Outcome != result.Failed {
				t.Errorf("%+v", st)
			}
			cloud.RemoveFault(held)
			if o, ok := cloud.S3.Object(bucket, consumerKey); ok {
				t.Errorf("left: %s", o.Body)
			}
		})
	}
	t.Run("nothing is begun: no create could be written down", func(t *testing.T) {
		writeApp(t, one, map[string]string{"Consumer": `"P": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "p", "Tags": [{"Key": "q", "Value": {"Fn::ImportValue": "q"}}]}}`})
		held := cloud.AddFault(sandbox.Fault{Service: "s3", Action: "PutObject", Mentions: "create-tokens.json", Hold: true, Status: 403, Code: "AccessDenied"})
		cloud.ClearLog()
		done := make(chan *result.Stack, 1)
		go func() { done <- deployOne(t, engine.New(configOn(t, cloud)), one, "Consumer") }()
		for _, wanted := range []func(sandbox.Request) bool{
			func(r sandbox.Request) bool {
				return r.Action == "PutObject" && strings.HasSuffix(r.Resource, consumerKey) && r.State == sandbox.Done
			},
			func(r sandbox.Request) bool {
				return r.Action == "PutObject" && strings.HasSuffix(r.Resource, "create-tokens.json")
			},
		} {
			if _, err := cloud.Await(t.Context(), 1, wanted); err != nil {
				t.Fatal(err)
			}
		}
		cloud.Release(held)
		if st := <-done; st.Outcome != result.Failed || st.RolledBack {
			t.Errorf("%+v", st)
		}
		if _, ok := cloud.S3.Object(bucket, consumerKey); ok {
			t.Error("the record is left")
		}
	})
}

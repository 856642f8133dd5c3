package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// A slow stack has resources of which none is ready until the test says so: one
// that Cloud Control makes, one that a handler makes, and a table.
type slow struct {
	*sandbox.Sandbox
	t   *testing.T
	dir string

	tableReady atomic.Bool
	mu         sync.Mutex
	events     []map[string]any // that the handler was sent, not answered yet
	log        bytes.Buffer
}

const (
	slowKey     = "cdkd/Slow/us-east-1/"
	slowPending = slowKey + "pending.json"
)

const slowTemplate = `{
  "Resources": {
    "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [
      {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}]}}},
    "Handler": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "handler", "Role": {"Fn::GetAtt": ["Role", "Arn"]},
      "Runtime": "nodejs22.x", "Handler": "index.handler", "Code": {"ZipFile": "exports.handler = async () => {}"}}},
    "Thing": {"Type": "Custom::Thing", "Properties": {"ServiceToken": {"Fn::GetAtt": ["Handler", "Arn"]}, "Size": 3}},
    "Group": {"Type": "AWS::Athena::WorkGroup", "Properties": {"Name": "group", "Description": "one"}},
    "Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"BillingMode": "PAY_PER_REQUEST",
      "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}},
    "Name": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/slow",
      "Value": {"Fn::Join": ["/", [{"Ref": "Thing"}, {"Fn::GetAtt": ["Thing", "Size"]}, {"Ref": "Group"}, {"Fn::GetAtt": ["Table", "Arn"]}]]}}}
  }
}`

func startSlow(t *testing.T, template string) *slow {
	t.Helper()
	aws, err := sandbox.Start(t.Context(), sandbox.Options{ProgressDelay: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(bucket, "us-east-1", "")
	s := &slow{Sandbox: aws, t: t, dir: t.TempDir()}
	aws.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, event)
		return nil, nil // it answers later
	})
	s.write("manifest.json", `{"version": "48.0.0", "artifacts": {"Slow": {"type": "aws:cloudformation:stack",
		"environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "Slow.template.json"}}}}`)
	s.write("Slow.template.json", template)
	return s
}

func (s *slow) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Do shows a table as being created until it is to be ready.
func (s *slow) Do(r *http.Request) (*http.Response, error) {
	out, err := http.DefaultClient.Do(r)
	if err != nil || s.tableReady.Load() || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
		return out, err
	}
	body, err := io.ReadAll(out.Body)
	out.Body.Close()
	body = bytes.ReplaceAll(body, []byte(`"ACTIVE"`), []byte(`"CREATING"`))
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.Header.Del("X-Amz-Crc32")
	return out, err
}

// A slowRun is one process that works on the stack.
type slowRun struct {
	s       *slow
	signals chan os.Signal
	window  *signals.Window
	e       *engine.Engine
}

func (s *slow) run() *slowRun {
	r := &slowRun{s: s, signals: make(chan os.Signal, 1)}
	r.window = signals.Open(signals.Options{Actions: true, Signals: r.signals})
	s.t.Cleanup(r.window.Close)
	cfg := s.Config()
	cfg.HTTPClient = s
	r.e = engine.New(engine.Config{
		AWS: cfg, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix,
		Owner: fmt.Sprintf("me@test-%p", r), Version: "test", Window: r.window,
		Observe: func(ev engine.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			fmt.Fprintf(&s.log, "%s %s %s\n", ev.Kind, ev.LogicalID, ev.Text)
		},
	})
	return r
}

func (r *slowRun) deploy() *result.Stack {
	r.s.t.Helper()
	run, err := r.e.Deploy(r.s.t.Context(), engine.DeployOptions{
		Selection: engine.Selection{Assembly: r.s.dir, Selection: assembly.Selection{All: true}}, ResourceTimeout: time.Hour, NoRollback: true,
	})
	if err != nil {
		r.s.t.Fatal(err)
	}
	return run.Stacks[0]
}

func (r *slowRun) destroy() *result.Stack {
	r.s.t.Helper()
	run, err := r.e.StateDestroy(r.s.t.Context(), engine.RecordSelection{Stacks: []string{"Slow"}}, engine.DestroyOptions{ResourceTimeout: time.Hour})
	if err != nil {
		r.s.t.Fatal(err)
	}
	return run.Stacks[0]
}

// cancelled deploys and sends a signal once all of what is named was asked for.
func (s *slow) cancelled(actions ...string) *result.Stack {
	s.t.Helper()
	r := s.run()
	done := make(chan *result.Stack, 1)
	go func() { done <- r.deploy() }()
	for _, a := range actions {
		s.await(a)
	}
	r.signals <- syscall.SIGINT
	return <-done
}

func (s *slow) await(action string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Await(ctx, 1, func(r sandbox.Request) bool { return r.Action == action && r.State != sandbox.Open }); err != nil {
		s.t.Fatalf("%s: %v\n%s", action, err, s.log.String())
	}
}

// answer has the handler answer what it was asked, once.
func (s *slow) answer(body string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		text := fmt.Sprintf(body, e["RequestId"], e["LogicalResourceId"], e["StackId"])
		req, err := http.NewRequest(http.MethodPut, e["ResponseURL"].(string), strings.NewReader(text))
		if err != nil {
			s.t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		resp.Body.Close()
	}
	s.events = nil
}

const succeeded = `{"Status": "SUCCESS", "RequestId": %q, "LogicalResourceId": %q, "StackId": %q, "PhysicalResourceId": "thing-1", "Data": {"Size": "three"}}`

func (s *slow) count(action string) (n int) {
	for _, r := range s.Log() {
		if r.Action == action {
			n++
		}
	}
	return n
}

func (s *slow) object(key string) string {
	o, ok := s.S3.Object(bucket, key)
	if !ok {
		return ""
	}
	return string(o.Body)
}

func (s *slow) want(st *result.Stack, outcome result.Outcome) {
	s.t.Helper()
	if st.Outcome != outcome {
		s.t.Fatalf("outcome %s (%s %v %v), want %s\n%s", st.Outcome, st.Message, st.Failures, st.Unaddressed, outcome, s.log.String())
	}
}

// wantOnce fails when a create was sent more than once over all runs (P-35).
func (s *slow) wantOnce(actions ...string) {
	s.t.Helper()
	for _, a := range actions {
		if n := s.count(a); n != 1 {
			s.t.Errorf("%s was sent %d times\n%s", a, n, s.log.String())
		}
	}
}

// wantSettled fails when something is still written down, or an answer of a
// handler is still there.
func (s *slow) wantSettled() {
	s.t.Helper()
	if body := s.object(slowPending); body != "" {
		s.t.Errorf("still open:\n%s\n%s", body, s.log.String())
	}
	for _, o := range s.S3.Objects(bucket) {
		if strings.HasPrefix(o.Key, "custom-resource-responses/") {
			s.t.Errorf("%s is left", o.Key)
		}
	}
}

// What takes ten minutes and is cancelled in the middle is finished by the next
// run, without any of it being started again (P-9, P-14, P-18, P-19, P-35).
func TestCancelledInTheMiddle(t *testing.T) {
	s := startSlow(t, slowTemplate)
	st := s.cancelled("Invoke", "GetResourceRequestStatus", "DescribeTable")
	s.want(st, result.Cancelled)
	if s.object(slowKey+"lock.json") != "" {
		t.Error("the lock was kept")
	}
	if len(st.Pending) != 3 {
		t.Errorf("pending: %+v", st.Pending)
	}
	body := s.object(slowPending)
	for _, want := range []string{`"logicalId": "Thing"`, `"logicalId": "Group"`, `"logicalId": "Table"`, `"requestToken"`, `"responseKey"`, `"stage": "settling"`, `"sealedAt"`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in\n%s", want, body)
		}
	}
	if strings.Count(body, `"stage": "accepted"`) != 2 {
		t.Errorf("want two accepted operations in\n%s", body)
	}

	s.CloudControl.Finish()
	s.answer(succeeded)
	s.tableReady.Store(true)
	s.want(s.run().deploy(), result.Success)
	s.wantOnce("Invoke", "CreateResource", "CreateTable", "CreateFunction")
	s.wantSettled()
	if !strings.Contains(s.object(slowKey+"state.json"), "thing-1/three/group/arn:aws:dynamodb") {
		t.Errorf("what depends on them got\n%s", s.object(slowKey+"state.json"))
	}
	s.want(s.run().deploy(), result.NoChange)
}

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/provider/awssdk"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
	"github.com/org/cdkd-action/signals"
)

// A slow stack has resources of which none is ready until the test says so: one
// that Cloud Control makes, one that a handler makes, and a table.
type slow struct {
	*sandbox.Sandbox
	t   *testing.T
	dir string

	tableReady atomic.Bool
	instead    func(*http.Request) *http.Response // nil, or answers nil: AWS is asked
	mu         sync.Mutex
	events     []map[string]any // that the handler was sent, not answered yet
	things     map[string]bool  // that the handler made, by stack and id
	log        bytes.Buffer
	hear       func(engine.Event) // nil: nobody
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
	box, err := startSandbox(t, sandbox.Options{ProgressDelay: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	box.S3.AddBucket(bucket, "us-east-1", "")
	s := &slow{Sandbox: box, t: t, dir: t.TempDir(), things: map[string]bool{}}
	box.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
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
	if s.instead != nil {
		if out := s.instead(r); out != nil {
			return out, nil
		}
	}
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
			if s.hear != nil {
				s.hear(ev)
			}
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
	deadline := time.Now()
	if slices.ContainsFunc(s.Log(), func(r sandbox.Request) bool { return r.State == sandbox.Held }) {
		deadline = deadline.Add(signals.DrainLimit) // there is a call to wait for
	}
	r.signals <- syscall.SIGINT
	st := <-done
	s.wantSealed(deadline)
	return st
}

// wantSealed fails when what was open was written down, or the lock given back,
// later than a second after the deadline, as far as the requests tell (S-189).
// What comes on top is for a machine that does other things.
func (s *slow) wantSealed(deadline time.Time) {
	s.t.Helper()
	const busy = 2 * time.Second
	var sealed, free time.Time
	for _, r := range s.Log() {
		switch {
		case r.Action == "PutObject" && strings.HasSuffix(r.Resource, "/pending.json"):
			sealed = r.End
		case r.Action == "DeleteObject" && strings.HasSuffix(r.Resource, "/lock.json"):
			free = r.End
		}
	}
	for what, at := range map[string]time.Time{"sealed": sealed, "the lock given back": free} {
		if at.IsZero() || at.Sub(deadline) > time.Second+busy {
			s.t.Errorf("%s at %v, want a second after %v at the latest", what, at, deadline)
		}
	}
	if sealed.After(free) {
		s.t.Errorf("the lock was given back at %v, and what is open written down at %v", free, sealed)
	}
}

func (s *slow) await(action string) {
	s.t.Helper()
	s.awaitAll(1, action)
}

func (s *slow) awaitAll(n int, action string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Await(ctx, n, func(r sandbox.Request) bool { return r.Action == action && r.State != sandbox.Open }); err != nil {
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
		if body == succeeded {
			s.things[stackOf(e)+" thing-1"] = true
		}
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

// stackOf is the stack that an event is about.
func stackOf(event map[string]any) string { return strings.Split(fmt.Sprint(event["StackId"]), "/")[1] }

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

// edit changes the template.
func (s *slow) edit(old, new string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "Slow.template.json")
	b, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(b, []byte(old)) {
		s.t.Fatalf("%v: no %s", err, old)
	}
	s.write("Slow.template.json", strings.ReplaceAll(string(b), old, new))
}

// only is the template with one of the slow resources and what that needs.
func only(id string) string {
	o := struct{ Resources map[string]json.RawMessage }{}
	if err := json.Unmarshal([]byte(slowTemplate), &o); err != nil {
		panic(err)
	}
	for name := range o.Resources {
		if name != id && (id != "Thing" || name != "Role" && name != "Handler") {
			delete(o.Resources, name)
		}
	}
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// finish lets everything slow end well.
func (s *slow) finish() {
	s.CloudControl.Finish()
	s.CloudControl.SetDelay(0)
	s.tableReady.Store(true)
}

func (s *slow) forget(names ...string) {
	s.t.Helper()
	client := s3.NewFromConfig(s.Config())
	for _, n := range names {
		if _, err := client.DeleteObject(s.t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String(slowKey + n)}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *slow) groups() (names []string) {
	for _, r := range s.CloudControl.Resources() {
		names = append(names, r.Identifier)
	}
	return names
}

// A create that failed after it was let go made nothing, and is sent anew
// (P-14).
func TestCreateFailsAfterTheSeal(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.CloudControl.Fail(cloudcontrol.Failure{TypeName: "AWS::Athena::WorkGroup", Operation: "CREATE", Code: "InternalFailure", Times: 1})
	s.want(s.cancelled("GetResourceRequestStatus"), result.Cancelled)
	s.finish()
	s.want(s.run().deploy(), result.Success)
	if n := s.count("CreateResource"); n != 2 {
		t.Errorf("%d creates, want a second one\n%s", n, s.log.String())
	}
	s.wantSettled()
}

// A handler that failed a create is told to delete what it gave an id for, and
// then asked anew (P-18).
func TestHandlerFailsAfterTheSeal(t *testing.T) {
	s := startSlow(t, only("Thing"))
	s.want(s.cancelled("Invoke"), result.Cancelled)
	s.answer(`{"Status": "FAILED", "Reason": "no", "RequestId": %q, "LogicalResourceId": %q, "StackId": %q, "PhysicalResourceId": "half"}`)
	var types []string
	s.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
		s.mu.Lock()
		types = append(types, fmt.Sprint(event["RequestType"], " ", event["PhysicalResourceId"]))
		s.mu.Unlock()
		return map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "whole"}, nil
	})
	s.want(s.run().deploy(), result.Success)
	if got := strings.Join(types, ", "); got != "Delete half, Create <nil>" {
		t.Errorf("the handler was asked: %s", got)
	}
	s.wantSettled()
}

// An update and a delete that were let go are followed to their end (P-13, P-14).
func TestUpdateAndDeleteAfterTheSeal(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.CloudControl.SetDelay(0)
	s.want(s.run().deploy(), result.Success)
	s.CloudControl.SetDelay(10 * time.Minute)
	s.ClearLog()
	s.edit(`"one"`, `"two"`)
	s.want(s.cancelled("UpdateResource", "GetResourceRequestStatus"), result.Cancelled)
	s.finish()
	s.want(s.run().deploy(), result.NoChange)
	s.wantOnce("UpdateResource")
	s.wantSettled()
	if !strings.Contains(s.object(slowKey+"state.json"), `"two"`) {
		t.Error("the record does not say so")
	}

	s.CloudControl.SetDelay(10 * time.Minute)
	s.ClearLog()
	s.write("Slow.template.json", `{"Resources": {"Other": {"Type": "AWS::SQS::Queue"}}}`)
	s.want(s.cancelled("DeleteResource", "GetResourceRequestStatus"), result.Cancelled)
	s.finish()
	s.want(s.run().deploy(), result.NoChange)
	s.wantOnce("DeleteResource")
	s.wantSettled()
	if strings.Contains(s.object(slowKey+"state.json"), "WorkGroup") {
		t.Error("the record still names it")
	}
}

// An update of which nobody knows what it did is applied again, also where the
// commit was taken back (P-21).
func TestUpdateOfUnknownOutcome(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.CloudControl.SetDelay(0)
	s.want(s.run().deploy(), result.Success)
	s.ClearLog()
	s.edit(`"one"`, `"two"`)
	fault := s.AddFault(sandbox.Fault{Action: "UpdateResource", Hold: true, After: true})
	s.want(s.cancelled("UpdateResource"), result.Cancelled)
	s.RemoveFault(fault)
	if body := s.object(slowPending); !strings.Contains(body, `"stage": "sent"`) {
		t.Fatalf("written down:\n%s", body)
	}
	s.edit(`"two"`, `"one"`)
	s.want(s.run().deploy(), result.Success)
	s.wantSettled()
	if text := fmt.Sprint(s.CloudControl.Resources()); strings.Contains(text, "two") {
		t.Errorf("AWS keeps what was taken back: %s", text)
	}
	s.want(s.run().deploy(), result.NoChange)
}

// A create through Cloud Control that had no answer is sent once more with its
// token, which is answered with the first one's resource (P-15).
func TestCreateWithoutAnAnswer(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.CloudControl.SetDelay(0)
	fault := s.AddFault(sandbox.Fault{Action: "CreateResource", Hold: true, After: true})
	s.want(s.cancelled("CreateResource"), result.Cancelled)
	s.RemoveFault(fault)
	s.edit(`"one"`, `"two"`) // so that only the recorded input can be answered
	s.want(s.run().deploy(), result.Success)
	s.wantSettled()
	if got := s.groups(); len(got) != 1 {
		t.Errorf("made: %v\n%s", got, s.log.String())
	}
	s.wantOnce("UpdateResource")
}

// A destroy ends what goes on, and leaves nothing (P-28).
func TestDestroyAfterTheSeal(t *testing.T) {
	s := startSlow(t, slowTemplate)
	s.want(s.cancelled("Invoke", "GetResourceRequestStatus", "DescribeTable"), result.Cancelled)
	s.tableReady.Store(true)
	s.answer(succeeded)
	s.Handle("handler", func(context.Context, map[string]any) (any, error) { return map[string]any{"Status": "SUCCESS"}, nil })
	s.want(s.run().destroy(), result.Success)
	s.wantOnce("CancelResourceRequest", "DeleteTable")
	if n := s.count("Invoke"); n != 2 {
		t.Errorf("the handler was invoked %d times, want a Create and a Delete", n)
	}
	s.wantSettled()
	if s.object(slowKey+"state.json") != "" || len(s.groups()) > 0 {
		t.Errorf("left: %v\n%s", s.groups(), s.object(slowKey+"state.json"))
	}
}

// Every type can be found after an unanswered create, may be sent again, or is
// on the list of those that are refused (P-34).
func TestEveryTypeCanBeSettled(t *testing.T) {
	for _, r := range awssdk.Resources() {
		_, again := engine.Resendable[r.Type]
		_, refused := engine.Unfindable[r.Type]
		found := r.Find != nil || r.Lookup != nil
		if n := map[bool]int{true: 1}; n[found]+n[again]+n[refused] != 1 {
			t.Errorf("%s: found %t, sent again %t, refused %t; want one of them", r.Type, found, again, refused)
		}
	}
}

// What a nested stack let go is settled when the stack around it is deployed
// again, whether or not that changed (P-9, P-23).
func TestNestedStackAfterTheSeal(t *testing.T) {
	s := startSlow(t, `{"Resources": {"Inner": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.template.json"},
		"Properties": {"TemplateURL": "https://example.com/inner.json"}}}}`)
	s.write("inner.template.json", only("Group"))
	s.want(s.cancelled("GetResourceRequestStatus"), result.Cancelled)
	const inner = "cdkd/Slow~Inner/us-east-1/"
	if s.object(slowPending) == "" || s.object(inner+"pending.json") == "" {
		t.Fatalf("written down:\n%s\n%s", s.object(slowPending), s.object(inner+"pending.json"))
	}
	for _, key := range []string{slowKey, inner} {
		if s.object(key+"lock.json") != "" {
			t.Errorf("%slock.json was kept", key)
		}
	}
	s.finish()
	s.want(s.run().deploy(), result.Success)
	s.wantOnce("CreateResource")
	s.wantSettled()
	if body := s.object(inner + "pending.json"); body != "" {
		t.Errorf("still open:\n%s", body)
	}
	if !strings.Contains(s.object(inner+"state.json"), `"physicalId": "group"`) {
		t.Errorf("recorded:\n%s", s.object(inner+"state.json"))
	}
	s.want(s.run().deploy(), result.NoChange)
}

// What cannot be told keeps the resource from being touched, and nothing else
// (P-17).
func TestUnresolved(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.CloudControl.SetDelay(0)
	fault := s.AddFault(sandbox.Fault{Action: "CreateResource", Hold: true, After: true})
	s.want(s.cancelled("CreateResource"), result.Cancelled)
	s.RemoveFault(fault)
	s.S3.PutObject(bucket, slowPending, []byte(strings.Replace(s.object(slowPending), `"clientToken"`, `"formerToken"`, 1)))
	st := s.run().deploy()
	s.want(st, result.Failed)
	if len(st.Failures) != 1 || !strings.Contains(st.Failures[0].Remedy, "state orphan Slow --pending Group") {
		t.Errorf("failures: %+v", st.Failures)
	}
	s.wantOnce("CreateResource")

	s.write("Slow.template.json", `{"Resources": {"Other": {"Type": "AWS::SQS::Queue"}}}`)
	s.want(s.run().deploy(), result.Success)
	s.want(s.run().destroy(), result.Partial)
	if s.object(slowPending) == "" || s.object(slowKey+"state.json") == "" {
		t.Error("a destroy forgot what nobody can tell")
	}
}

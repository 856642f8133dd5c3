package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/internal/sandbox"
)

func start(t *testing.T, o sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := sandbox.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// once is a configuration whose clients do not retry.
func once(s *sandbox.Sandbox) aws.Config {
	cfg := s.Config()
	cfg.RetryMaxAttempts = 1
	return cfg
}

func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	if err != nil {
		return "no answer"
	}
	return "ok"
}

func TestIdentityAndRegistry(t *testing.T) {
	s := start(t, sandbox.Options{AccountID: "111122223333", Upstream: sandbox.None})
	id, err := sts.NewFromConfig(once(s)).GetCallerIdentity(t.Context(), nil)
	if err != nil || *id.Account != "111122223333" || *id.Arn != "arn:aws:iam::111122223333:user/sandbox" {
		t.Errorf("caller: %+v, %v", id, err)
	}
	cfn := cloudformation.NewFromConfig(once(s))
	typ, err := cfn.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: aws.String("AWS::SQS::Queue")})
	if err != nil || typ.ProvisioningType != cfntypes.ProvisioningTypeFullyMutable || !strings.Contains(*typ.Schema, `"/properties/QueueName"`) {
		t.Errorf("DescribeType: %+v, %v", typ, err)
	}
	_, err = cfn.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: aws.String("AWS::No::Such")})
	if code(err) != "TypeNotFoundException" {
		t.Errorf("DescribeType of nothing: %v", err)
	}
	_, err = cfn.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("x")})
	if code(err) != "ValidationError" || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("DescribeStacks of nothing: %v", err)
	}
	if out, err := cfn.ListExports(t.Context(), &cloudformation.ListExportsInput{}); err != nil || len(out.Exports) != 0 {
		t.Errorf("ListExports: %v, %v", out, err)
	}
	if _, err := sqs.NewFromConfig(once(s)).ListQueues(t.Context(), nil); code(err) != "NotImplemented" {
		t.Errorf("without an upstream: %v", err)
	}
}

// Errors come in the protocol of each service, so that its client reads the code.
func TestFaultsSpeakEveryProtocol(t *testing.T) {
	s := start(t, sandbox.Options{Upstream: sandbox.None})
	cfg := once(s)
	s.AddFault(sandbox.Fault{Status: 400, Code: "ThrottlingException", Message: "Rate exceeded"})
	ctx := t.Context()
	name := aws.String("x")
	for service, ask := range map[string]func() error{
		"s3":         func() error { _, err := awss3.NewFromConfig(cfg).ListBuckets(ctx, nil); return err },
		"sqs":        func() error { _, err := sqs.NewFromConfig(cfg).ListQueues(ctx, nil); return err },
		"dynamodb":   func() error { _, err := dynamodb.NewFromConfig(cfg).ListTables(ctx, nil); return err },
		"iam":        func() error { _, err := iam.NewFromConfig(cfg).ListRoles(ctx, nil); return err },
		"ec2":        func() error { _, err := ec2.NewFromConfig(cfg).DescribeVpcs(ctx, nil); return err },
		"sts":        func() error { _, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil); return err },
		"monitoring": func() error { _, err := cloudwatch.NewFromConfig(cfg).DescribeAlarms(ctx, nil); return err },
		"cloudcontrolapi": func() error {
			_, err := cloudcontrol.NewFromConfig(cfg).ListResources(ctx, &cloudcontrol.ListResourcesInput{TypeName: name})
			return err
		},
		"lambda": func() error {
			_, err := lambda.NewFromConfig(cfg).GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: name})
			return err
		},
	} {
		err := ask()
		if code(err) != "ThrottlingException" || !strings.Contains(err.Error(), "Rate exceeded") {
			t.Errorf("%s: %v", service, err)
		}
		last := s.Log()[len(s.Log())-1]
		if last.Service != service || last.Status != 400 || strings.Contains(last.Action, " ") {
			t.Errorf("%s is in the log as %+v", service, last)
		}
	}
}

func TestFaultReplacesInTheAnswer(t *testing.T) {
	s := start(t, sandbox.Options{Upstream: sandbox.None})
	s.S3.AddBucket("b-1", "us-east-1", "")
	s.S3.PutObject("b-1", "k", []byte("ready, ready"))
	id := s.AddFault(sandbox.Fault{Service: "s3", Action: "GetObject", Replace: [2]string{"ready", "being made"}})
	c := awss3.NewFromConfig(once(s))
	for _, want := range []string{"being made, being made", "ready, ready"} {
		out, err := c.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String("b-1"), Key: aws.String("k")})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(out.Body); err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		s.RemoveFault(id)
	}
}

func TestFaults(t *testing.T) {
	type outcome struct {
		Codes []string
		Keys  []string // that are there afterwards
	}
	for name, tc := range map[string]struct {
		fault sandbox.Fault
		want  outcome
	}{
		"refused before the effect": {
			sandbox.Fault{Service: "s3", Action: "PutObject", Nth: 2, Count: 1, Status: 503, Code: "SlowDown"},
			outcome{[]string{"ok", "SlowDown", "ok"}, []string{"k1", "k3"}},
		},
		"refused after the effect": {
			sandbox.Fault{Action: "PutObject", Nth: 2, Count: 1, Status: 500, Code: "InternalError", After: true},
			outcome{[]string{"ok", "InternalError", "ok"}, []string{"k1", "k2", "k3"}},
		},
		"dropped before the effect": {
			sandbox.Fault{Mentions: "k2", Drop: true},
			outcome{[]string{"ok", "no answer", "ok"}, []string{"k1", "k3"}},
		},
		"dropped after the effect": {
			sandbox.Fault{Mentions: "k2", Drop: true, After: true},
			outcome{[]string{"ok", "no answer", "ok"}, []string{"k1", "k2", "k3"}},
		},
		"from the second call on": {
			sandbox.Fault{Action: "PutObject", Nth: 2, Code: "SlowDown"},
			outcome{[]string{"ok", "SlowDown", "SlowDown"}, []string{"k1"}},
		},
		"another service": {
			sandbox.Fault{Service: "sqs", Code: "SlowDown"},
			outcome{[]string{"ok", "ok", "ok"}, []string{"k1", "k2", "k3"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, sandbox.Options{Upstream: sandbox.None})
			s.S3.AddBucket("b-1", "us-east-1", "")
			s.AddFault(tc.fault)
			c := awss3.NewFromConfig(once(s))
			var got outcome
			for i := range 3 {
				_, err := c.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String("b-1"), Key: aws.String(fmt.Sprintf("k%d", i+1)), Body: strings.NewReader("x")})
				got.Codes = append(got.Codes, code(err))
			}
			for _, o := range s.S3.Objects("b-1") {
				got.Keys = append(got.Keys, o.Key)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHoldAndRelease(t *testing.T) {
	s := start(t, sandbox.Options{Upstream: sandbox.None})
	s.S3.AddBucket("b-1", "us-east-1", "")
	id := s.AddFault(sandbox.Fault{Service: "s3", Action: "PutObject", Hold: true})
	c := awss3.NewFromConfig(once(s))
	answered := make(chan error, 1)
	go func() {
		_, err := c.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String("b-1"), Key: aws.String("k"), Body: strings.NewReader("x")})
		answered <- err
	}()
	held, err := s.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.State == sandbox.Held })
	if err != nil || held[0].Resource != "b-1/k" || held[0].Fault != id {
		t.Fatalf("held: %+v, %v", held, err)
	}
	if _, there := s.S3.Object("b-1", "k"); there {
		t.Error("a call that is held has had its effect")
	}
	if !s.Release(id) {
		t.Error("nothing to release")
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if _, there := s.S3.Object("b-1", "k"); !there {
		t.Error("a call that was released had no effect")
	}
}

// What a client asked before it died takes effect all the same, in the
// sandbox and in an upstream.
func TestEffectAfterTheClientIsGone(t *testing.T) {
	s := start(t, sandbox.Options{})
	s.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Hold: true})
	queues := sqs.NewFromConfig(once(s))
	ctx, die := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("late")})
		gone <- err
	}()
	if _, err := s.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.State == sandbox.Held }); err != nil {
		t.Fatal(err)
	}
	die()
	if err := <-gone; err == nil {
		t.Fatal("the client got an answer to a call that is held")
	}
	s.Release("")
	if _, err := s.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.Resource == "late" && r.State == sandbox.Done }); err != nil {
		t.Fatal(err)
	}
	if _, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("late")}); err != nil {
		t.Errorf("the queue was not made: %v", err)
	}
}

func TestLogAndLatency(t *testing.T) {
	s := start(t, sandbox.Options{Upstream: sandbox.None})
	s.S3.AddBucket("b-1", "eu-west-1", "")
	s.SetLatency("", "", time.Hour)
	s.SetLatency("s3", "", time.Hour)
	s.SetLatency("s3", "GetObject", 20*time.Millisecond)
	s.S3.PutObject("b-1", "a/b c.json", []byte("12345"))
	cfg := once(s)
	cfg.Region = "eu-west-1"
	if _, err := awss3.NewFromConfig(cfg).GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String("b-1"), Key: aws.String("a/b c.json")}); err != nil {
		t.Fatal(err)
	}
	log, err := s.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.State == sandbox.Done })
	if err != nil {
		t.Fatal(err)
	}
	got := log[0]
	if took := got.End.Sub(got.Start); took < 20*time.Millisecond || took > time.Minute {
		t.Errorf("took %s", took)
	}
	got.Start, got.End = time.Time{}, time.Time{}
	want := sandbox.Request{ID: 1, Service: "s3", Action: "GetObject", Region: "eu-west-1", Resource: "b-1/a/b c.json", State: sandbox.Done, Status: 200, Out: 5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A held call does not keep the sandbox from closing.
func TestCloseWhileHolding(t *testing.T) {
	s := start(t, sandbox.Options{Upstream: sandbox.None})
	s.AddFault(sandbox.Fault{Hold: true})
	answered := make(chan error, 1)
	go func() {
		_, err := sts.NewFromConfig(once(s)).GetCallerIdentity(t.Context(), nil)
		answered <- err
	}()
	if _, err := s.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.State == sandbox.Held }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-answered; err == nil {
		t.Error("a call that was cut off got an answer")
	}
}

// Another process steers the sandbox over HTTP.
func TestControl(t *testing.T) {
	s := start(t, sandbox.Options{Upstream: sandbox.None})
	send := func(method, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/_sandbox/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.Status[:3] + " " + string(text)
	}
	if got := send("POST", "faults", `{"ID":"slow","Service":"sts","Hold":true}`); !strings.Contains(got, `"slow"`) {
		t.Errorf("add a fault: %s", got)
	}
	if got := send("POST", "faults", `{"Sevice":"sts"}`); !strings.HasPrefix(got, "400") {
		t.Errorf("a fault with a typing error: %s", got)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := sts.NewFromConfig(once(s)).GetCallerIdentity(t.Context(), nil)
		answered <- err
	}()
	if got := send("GET", "await?n=1&service=sts&state=held", ""); !strings.Contains(got, `"GetCallerIdentity"`) {
		t.Errorf("await: %s", got)
	}
	if got := send("POST", "release?id=slow", ""); !strings.Contains(got, "true") {
		t.Errorf("release: %s", got)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if got := send("GET", "log", ""); !strings.Contains(got, `"Action": "GetCallerIdentity"`) || strings.Contains(got, "_sandbox") {
		t.Errorf("log: %s", got)
	}
	if got := send("POST", "fail", `{"TypeName":"AWS::SQS::Queue","Code":"Throttling"}`); !strings.HasPrefix(got, "200") {
		t.Errorf("fail: %s", got)
	}
	queue := aws.String("AWS::SQS::Queue")
	cc := cloudcontrol.NewFromConfig(once(s))
	made, err := cc.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{TypeName: queue, DesiredState: aws.String("{}")})
	if err != nil {
		t.Fatal(err)
	}
	status, err := cc.GetResourceRequestStatus(t.Context(), &cloudcontrol.GetResourceRequestStatusInput{RequestToken: made.ProgressEvent.RequestToken})
	if err != nil || status.ProgressEvent.ErrorCode != "Throttling" {
		t.Errorf("a handler that was to fail: %+v, %v", status, err)
	}
	if got := send("POST", "latency?d=soon", ""); !strings.HasPrefix(got, "400") {
		t.Errorf("bad duration: %s", got)
	}
	if got := send("GET", "nothing", ""); !strings.HasPrefix(got, "404") {
		t.Errorf("unknown: %s", got)
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// BenchmarkPlan plans stacks of 500 to 5,000 resources that refer to each other, as
// a first deploy and against a record from which every fifth differs: reading the
// assembly and the record, evaluating, ordering, routing and comparing.
//
//	go test -run '^$' -bench Plan/ ./internal/measure
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{500, 1000, 2000, 5000} {
		for _, recorded := range []bool{false, true} {
			b.Run(fmt.Sprintf("resources=%d/recorded=%t", n, recorded), func(b *testing.B) {
				e, diff := web(b, n, recorded)
				start := processorTime()
				b.ReportAllocs()
				for b.Loop() {
					run, err := e.Diff(b.Context(), diff)
					check(b)(run, err)
					changes := run.Stacks[0].Plan.Counts()
					if recorded && changes[plan.Update] < n/5 || !recorded && changes[plan.Create] != n {
						b.Fatalf("%v", changes)
					}
				}
				used := processorTime() - start
				b.ReportMetric(float64(used.Microseconds())/1e3/float64(b.N), "cpu-ms/op")
				b.ReportMetric(float64(used.Microseconds())/float64(b.N)/float64(n), "cpu-µs/resource")
			})
		}
	}
}

// What a plan costs grows with the stack, and not faster: five times the resources
// take five times the memory. (Time is for the benchmark.)
func TestPlanGrowsWithTheStack(t *testing.T) {
	each := func(n int) float64 {
		e, diff := web(t, n, true)
		var before, after runtime.MemStats
		if _, err := e.Diff(t.Context(), diff); err != nil { // with what is decoded once
			t.Fatal(err)
		}
		runtime.ReadMemStats(&before)
		if _, err := e.Diff(t.Context(), diff); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	}
	small, large := each(500), each(2500)
	if small*500 > 100e6 {
		t.Errorf("a plan of 500 resources takes %.0f MB, want less than 100", small*500/1e6)
	}
	if large > 1.3*small {
		t.Errorf("a resource takes %.0f bytes among 500, and %.0f among 2500", small, large)
	}
}

// processorTime is what the process used of all processors so far. Other than the
// time of a clock it does not depend on what else the machine does.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// web is an app of groups of five that hang together: a role, a queue and a topic,
// a policy that names all three, a function that names the role and the queue, and
// the topic of the group before.
func web(b testing.TB, n int, recorded bool) (*engine.Engine, engine.DiffOptions) {
	b.Helper()
	written := webTemplate(n, "old")
	aws, err := sandbox.Start(b.Context(), sandbox.Options{Upstream: sandbox.None})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(bucket, aws.Config().Region, "")
	if recorded {
		record, err := recordOf(b.Context(), written)
		if err != nil {
			b.Fatal(err)
		}
		aws.S3.PutObject(bucket, "cdkd/Web/us-east-1/state.json", record)
	}
	dir := b.TempDir()
	files := map[string]string{
		"manifest.json":     `{"version": "48.0.0", "artifacts": {"Web": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/us-east-1", "properties": {"templateFile": "Web.template.json"}}}}`,
		"Web.template.json": webTemplate(n, "new"),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	window := signals.Open(signals.Options{})
	b.Cleanup(window.Close)
	e := engine.New(engine.Config{
		AWS: aws.Config(), Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: "measure", Version: "measure", Window: window,
	})
	return e, engine.DiffOptions{Selection: engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}, StackConcurrency: 1}
}

func webTemplate(n int, stage string) string {
	var b strings.Builder
	b.WriteString(`{"Parameters": {"Stage": {"Type": "String", "Default": "` + stage + `"}}, "Resources": {`)
	for i := range n / 5 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `
"Role%[1]d": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}]},
	"ManagedPolicyArns": [{"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]]}], "Tags": [{"Key": "a", "Value": "b"}]}},
"Queue%[1]d": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 300, "Tags": [{"Key": "a", "Value": "b"}]}},
"Topic%[1]d": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Fn::Sub": "${AWS::StackName} %[1]d"}}},
"Policy%[1]d": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "p%[1]d", "Roles": [{"Ref": "Role%[1]d"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": [
	{"Effect": "Allow", "Action": ["sqs:SendMessage", "sqs:ReceiveMessage"], "Resource": {"Fn::GetAtt": ["Queue%[1]d", "Arn"]}}, {"Effect": "Allow", "Action": "sns:Publish", "Resource": {"Ref": "Topic%[1]d"}}]}}},
"Function%[1]d": {"Type": "AWS::Lambda::Function", "DependsOn": ["Policy%[1]d", "Role%[1]d"], "Properties": {"Code": {"ZipFile": "exports.handler = async () => {}"}, "Handler": "index.handler", "Runtime": "nodejs22.x", "MemorySize": 256,
	"Role": {"Fn::GetAtt": ["Role%[1]d", "Arn"]}, "Environment": {"Variables": {"STAGE": {"Ref": "Stage"}, "QUEUE": {"Ref": "Queue%[1]d"}, "TOPIC": {"Ref": "Topic%[2]d"}}}}}`, i, max(i-1, 0))
	}
	b.WriteString("}}")
	return b.String()
}

// recordOf is what a deploy of the template would have recorded.
func recordOf(ctx context.Context, written string) ([]byte, error) {
	t, err := template.Parse("Web.template.json", []byte(written))
	if err != nil {
		return nil, err
	}
	s, err := t.Bind(ctx, template.Environment{AccountID: "123456789012", Region: "us-east-1", StackName: "Web"}, nil, made{})
	if err != nil {
		return nil, err
	}
	r := state.NewRecord("Web", "us-east-1")
	for _, want := range s.Resources() {
		properties, err := s.Properties(ctx, want.LogicalID)
		if err != nil {
			return nil, err
		}
		r.Set(want.LogicalID, &state.Resource{
			ResourceType: want.Type, PhysicalID: "id-" + want.LogicalID, Properties: properties,
			Attributes: value.NewObject("Arn", "arn-"+want.LogicalID), ProvisionedBy: state.BySDK,
		})
	}
	return r.Marshal()
}

// made answers for resources that are there.
type made struct{ template.World }

func (made) Ref(_ context.Context, id string) (any, error) { return "id-" + id, nil }

func (made) Attribute(_ context.Context, id, _ string) (any, error) { return "arn-" + id, nil }

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/internal/sandbox"
)

// A change is what the second version of an app makes of one resource: nil
// properties are none. The resource's name in AWS begins with rb-ID-.
type change struct {
	id, typ, service string
	before, after    map[string]any
	more             map[string]any // beside the properties
}

var role = map[string]any{"Statement": []any{}, "Version": "2012-10-17"}

// mixed is a deploy of twenty resources that creates, updates, replaces and
// deletes.
var mixed = []change{
	{"U1", "AWS::SQS::Queue", "sqs", props("QueueName", "rb-U1-q", "DelaySeconds", 1), props("QueueName", "rb-U1-q", "DelaySeconds", 2), nil},
	{"U2", "AWS::SSM::Parameter", "ssm", props("Name", "rb-U2-p", "Type", "String", "Value", "a"), props("Name", "rb-U2-p", "Type", "String", "Value", "b"), after("U1")},
	{"U3", "AWS::SNS::Topic", "sns", props("TopicName", "rb-U3-t", "DisplayName", "a"), props("TopicName", "rb-U3-t", "DisplayName", "b"), nil},
	{"U4", "AWS::Logs::LogGroup", "logs", props("LogGroupName", "rb-U4-l", "RetentionInDays", 1), props("LogGroupName", "rb-U4-l", "RetentionInDays", 3), after("C1")},
	{"U5", "AWS::SQS::Queue", "sqs", props("QueueName", "rb-U5-q", "DelaySeconds", 1), props("QueueName", "rb-U5-q", "DelaySeconds", 2), after("R1")},
	{"R1", "AWS::SQS::Queue", "sqs", props("QueueName", "rb-R1-old"), props("QueueName", "rb-R1-new", "DelaySeconds", 5), nil},
	{"R2", "AWS::SNS::Topic", "sns", props("TopicName", "rb-R2-old"), props("TopicName", "rb-R2-new"), after("U3")},
	{"R3", "AWS::SQS::Queue", "sqs", props("QueueName", "rb-R3-old"), props("QueueName", "rb-R3-new"), after("R2")},
	{"R4", "AWS::SNS::Topic", "sns", props("TopicName", "rb-R4-old"), props("TopicName", "rb-R4-new"),
		map[string]any{"UpdateReplacePolicy": "Retain", "DependsOn": []string{"C2"}}},
	{"D1", "AWS::SQS::Queue", "sqs", props("QueueName", "rb-D1-q"), nil, nil},
	{"D2", "AWS::SNS::Topic", "sns", props("TopicName", "rb-D2-t"), nil, nil},
	{"D3", "AWS::SSM::Parameter", "ssm", props("Name", "rb-D3-p", "Type", "String", "Value", "a"), nil, nil},
	{"D4", "AWS::SQS::Queue", "sqs", props("QueueName", "rb-D4-q"), nil, after("D1")},
	{"C1", "AWS::SQS::Queue", "sqs", nil, props("QueueName", "rb-C1-q"), nil},
	{"C2", "AWS::SSM::Parameter", "ssm", nil, props("Name", "rb-C2-p", "Type", "String", "Value", "a"), after("C1")},
	{"C3", "AWS::SNS::Topic", "sns", nil, props("TopicName", "rb-C3-t"), after("C2")},
	{"C4", "AWS::IAM::Role", "iam", nil, props("RoleName", "rb-C4-r", "AssumeRolePolicyDocument", role), nil},
	{"C5", "AWS::Logs::LogGroup", "logs", nil, props("LogGroupName", "rb-C5-l"), after("C3")},
	{"C6", "AWS::SNS::Topic", "sns", nil, props("TopicName", "rb-C6-t"), after("R3", "U5")},
	{"C7", "AWS::SQS::Queue", "sqs", nil, props("QueueName", "rb-C7-q"), map[string]any{"DeletionPolicy": "RetainExceptOnCreate", "DependsOn": []string{"U2"}}},
}

func props(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func after(ids ...string) map[string]any { return map[string]any{"DependsOn": ids} }

// TestRollbackOfEachFailure lets each resource of a mixed deploy fail, once with
// the rollback that follows and once with the command afterwards: each thing in
// AWS and each row of the record is as before, or is named as left, and nothing
// else is (S-115, S-132, S-135). A delete that fails undoes nothing.
func TestRollbackOfEachFailure(t *testing.T) {
	if testing.Short() {
		t.Skip("fails and rolls back some dozens of deploys")
	}
	w := newMixedWorld(t)
	w.deploy("before")
	aws, record := w.inventory(), w.record()
	for _, c := range mixed {
		for _, byHand := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s by hand %t", c.id, byHand), func(t *testing.T) {
				w := *w
				w.t = t
				fault := w.aws.AddFault(sandbox.Fault{Service: c.service, Mentions: "rb-" + c.id + "-", Status: 403, Code: "AccessDenied", Message: "as the test wants it"})
				args := []string{"deploy", "--app", "after", "--json"}
				if byHand {
					args = append(args, "--rollback=false")
				}
				code, out := w.run(args...)
				w.aws.RemoveFault(fault)
				// A delete comes last, when everything else has succeeded: it is left.
				want := 1
				if c.after == nil {
					want = 2
				}
				if code != want {
					t.Fatalf("the deploy ended with %d, and not with %d\n%s", code, want, out)
				}
				if c.after == nil {
					if left := w.left(out); !slices.Contains(left, c.id) {
						t.Errorf("left %v", left)
					}
					w.deploy("before")
					w.sweep()
					w.sweepQueue("rb-C7-q") // kept by its policy
					if diff := cmp.Diff(aws, w.inventory()); diff != "" {
						t.Fatalf("deployed again (-before +after):\n%s", diff)
					}
					return
				}
				if byHand {
					code, out = w.run("rollback", "Mixed", "--yes", "--json")
				}
				left := w.left(out)
				if byHand && code != map[bool]int{true: 0, false: 2}[len(left) == 0] {
					t.Errorf("the rollback ended with %d, left %v", code, left)
				}
				w.compare([]map[string]string{aws, record}, []map[string]string{w.inventory(), w.record()}, left)
				w.sweep()
				w.deploy("before")
				if diff := cmp.Diff(aws, w.inventory()); diff != "" {
					t.Fatalf("deployed again (-before +after):\n%s", diff)
				}
			})
		}
	}
}

type mixedWorld struct {
	t   *testing.T
	aws *sandbox.Sandbox
	dir string
}

func newMixedWorld(t *testing.T) *mixedWorld {
	aws, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(stateBucket, "us-east-1", "")
	w := &mixedWorld{t: t, aws: aws, dir: t.TempDir()}
	for app, version := range map[string]func(change) map[string]any{
		"before": func(c change) map[string]any { return c.before },
		"after":  func(c change) map[string]any { return c.after },
	} {
		resources := map[string]any{}
		for _, c := range mixed {
			if p := version(c); p != nil {
				r := map[string]any{"Type": c.typ, "Properties": p}
				maps.Copy(r, c.more)
				resources[c.id] = r
			}
		}
		for _, r := range resources { // not every version has what others wait for
			r := r.(map[string]any)
			if on, ok := r["DependsOn"].([]string); ok {
				r["DependsOn"] = slices.DeleteFunc(slices.Clone(on), func(id string) bool { return resources[id] == nil })
			}
		}
		w.write(app+"/manifest.json", map[string]any{"version": "48.0.0", "artifacts": map[string]any{"Mixed": map[string]any{
			"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region",
			"properties": map[string]any{"templateFile": "Mixed.template.json"},
		}}})
		w.write(app+"/Mixed.template.json", map[string]any{"Resources": resources})
	}
	return w
}

func (w *mixedWorld) write(name string, v any) {
	b, err := json.Marshal(v)
	if err == nil {
		err = os.MkdirAll(filepath.Join(w.dir, filepath.Dir(name)), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(w.dir, name), b, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// run runs the program and returns its exit code and standard output.
func (w *mixedWorld) run(args ...string) (int, []byte) {
	w.t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), "cdkd-action", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, &out, &log
	cmd.Env = append(os.Environ(), w.aws.Env()...)
	cmd.Env = append(cmd.Env, "CDKD_STATE_BUCKET="+stateBucket)
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("%s:\n%s", strings.Join(args, " "), &log)
		}
	})
	return cmd.ProcessState.ExitCode(), out.Bytes()
}

func (w *mixedWorld) deploy(app string) {
	w.t.Helper()
	if code, out := w.run("deploy", "--app", app); code != 0 {
		w.t.Fatalf("deploy of %s ended with %d:\n%s", app, code, out)
	}
}

// left are the logical ids that a run says it left.
func (w *mixedWorld) left(out []byte) (ids []string) {
	w.t.Helper()
	var run struct {
		Stacks []struct {
			Unaddressed []struct{ LogicalID string }
		}
	}
	if err := json.Unmarshal(out, &run); err != nil {
		w.t.Fatalf("%v in:\n%s", err, out)
	}
	for _, s := range run.Stacks {
		for _, u := range s.Unaddressed {
			ids = append(ids, u.LogicalID)
		}
	}
	slices.Sort(ids)
	return ids
}

// compare wants of each resource that it is named as left if, and only if, it
// differs in AWS or on record.
func (w *mixedWorld) compare(before, after []map[string]string, left []string) {
	w.t.Helper()
	for _, c := range mixed {
		of := func(all []map[string]string) (one []map[string]string) {
			for _, m := range all {
				m = maps.Clone(m)
				maps.DeleteFunc(m, func(key, _ string) bool { return !strings.HasPrefix(key, "rb-"+c.id+"-") })
				one = append(one, m)
			}
			return one
		}
		diff := cmp.Diff(of(before), of(after))
		if named := slices.Contains(left, c.id); named != (diff != "") {
			w.t.Errorf("%s is named: %t; AWS and record (-before +after):\n%s", c.id, named, diff)
		}
	}
}

// record is what the record says of each resource.
func (w *mixedWorld) record() map[string]string {
	w.t.Helper()
	o, ok := w.aws.S3.Object(stateBucket, "cdkd/Mixed/us-east-1/state.json")
	if !ok {
		w.t.Fatal("there is no record")
	}
	var r struct {
		Resources map[string]struct {
			PhysicalID string
			Properties json.RawMessage
		}
	}
	if err := json.Unmarshal(o.Body, &r); err != nil {
		w.t.Fatal(err)
	}
	rows := map[string]string{}
	for id, row := range r.Resources {
		var p bytes.Buffer
		if err := json.Compact(&p, row.Properties); err != nil {
			w.t.Fatal(err)
		}
		rows["rb-"+id+"-"] = row.PhysicalID + " " + p.String()
	}
	return rows
}

// inventory is what there is in AWS, by name.
func (w *mixedWorld) inventory() map[string]string {
	w.t.Helper()
	cfg, ctx, all := w.aws.Config(), w.t.Context(), map[string]string{}
	queues := sqs.NewFromConfig(cfg)
	for _, url := range must(queues.ListQueues(ctx, &sqs.ListQueuesInput{}))(w.t).QueueUrls {
		a := must(queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{"DelaySeconds"}}))(w.t)
		all[lastOf(url, "/")] = "delay " + a.Attributes["DelaySeconds"]
	}
	topics := sns.NewFromConfig(cfg)
	for _, t := range must(topics.ListTopics(ctx, &sns.ListTopicsInput{}))(w.t).Topics {
		a := must(topics.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: t.TopicArn}))(w.t)
		all[lastOf(*t.TopicArn, ":")] = "topic " + a.Attributes["DisplayName"]
	}
	parameters := ssm.NewFromConfig(cfg)
	for _, p := range must(parameters.DescribeParameters(ctx, &ssm.DescribeParametersInput{}))(w.t).Parameters {
		v := must(parameters.GetParameter(ctx, &ssm.GetParameterInput{Name: p.Name}))(w.t)
		all[*p.Name] = string(ssmtypes.ParameterTypeString) + " " + *v.Parameter.Value
	}
	for _, g := range must(cloudwatchlogs.NewFromConfig(cfg).DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{}))(w.t).LogGroups {
		all[*g.LogGroupName] = fmt.Sprintf("kept for %d", aws.ToInt32(g.RetentionInDays))
	}
	for _, r := range must(iam.NewFromConfig(cfg).ListRoles(ctx, &iam.ListRolesInput{}))(w.t).Roles {
		all[*r.RoleName] = "role"
	}
	return all
}

// sweep deletes by hand what a rollback kept by its policy.
func (w *mixedWorld) sweep() {
	topics := sns.NewFromConfig(w.aws.Config())
	for _, t := range must(topics.ListTopics(w.t.Context(), &sns.ListTopicsInput{}))(w.t).Topics {
		if strings.HasSuffix(*t.TopicArn, ":rb-R4-new") {
			must(topics.DeleteTopic(w.t.Context(), &sns.DeleteTopicInput{TopicArn: t.TopicArn}))(w.t)
		}
	}
}

// sweepQueue deletes a queue.
func (w *mixedWorld) sweepQueue(name string) {
	queues := sqs.NewFromConfig(w.aws.Config())
	for _, url := range must(queues.ListQueues(w.t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: &name}))(w.t).QueueUrls {
		must(queues.DeleteQueue(w.t.Context(), &sqs.DeleteQueueInput{QueueUrl: &url}))(w.t)
	}
}

func lastOf(s, separator string) string { return s[strings.LastIndex(s, separator)+1:] }

// must is for calls of the test's own, which have to succeed.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

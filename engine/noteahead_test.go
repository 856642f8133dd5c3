package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A forsaken stack is one of queues that a run died over when AWS had done what it
// asked for and the record did not say so.
type forsaken struct {
	t   *testing.T
	aws *sandbox.Sandbox
	dir string
}

const (
	queueA  = `"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "a", "VisibilityTimeout": 30}}`
	queueA2 = `"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "a", "VisibilityTimeout": 60}}`
	queueB  = `"B": {"Type": "AWS::SQS::Queue", "DependsOn": "A", "Properties": {"QueueName": "b"}}`
	queueB0 = `"B": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "b"}}`
	breaks  = `"Breaks": {"Type": "AWS::SSM::Parameter", "DependsOn": ["A", "B"], "Properties": {"Type": "String", "Name": "/breaks", "Value": "x"}}`
)

func (f *forsaken) engine() *engine.Engine { return engine.New(configOn(f.t, f.aws)) }

// deploy deploys resources, of which the one that breaks does if it is to fail.
func (f *forsaken) deploy(want result.Outcome, resources ...string) *result.Stack {
	f.t.Helper()
	run, err := f.try(want == result.Failed, false, resources...)
	if err != nil || run.Outcome != want {
		f.t.Fatalf("%v %s, want %s: %+v", err, run.Outcome, want, run.Stacks)
	}
	return run.Stacks[0]
}

func (f *forsaken) try(fails, keep bool, resources ...string) (*result.Run, error) {
	writeApp(f.t, f.dir, map[string]string{"Shop": strings.Join(resources, ",")})
	if fails {
		defer f.aws.RemoveFault(f.aws.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"}))
	}
	opt := deployAll(f.dir)
	opt.NoRollback = keep
	return f.engine().Deploy(f.t.Context(), opt)
}

// dies does work and ends it when AWS has done an action on a queue for the nth
// time: dead answers all later requests that it matches.
func (f *forsaken) dies(action string, nth int, dead sandbox.Fault, work func()) {
	f.t.Helper()
	f.aws.ClearLog()
	last := f.aws.AddFault(sandbox.Fault{Service: "sqs", Action: action, Nth: nth, Hold: true, After: true})
	ctx, cancel := context.WithCancel(f.t.Context())
	var wg routine.Group
	wg.Go(func() {
		defer cancel()
		work()
	})
	if _, err := f.aws.Await(ctx, 1, func(r sandbox.Request) bool { return r.Action == action && r.State == sandbox.Held }); err != nil {
		f.t.Fatalf("it ended without %s: %v", action, err)
	}
	end := f.aws.AddFault(dead)
	f.aws.Release(last)
	wg.Wait()
	f.aws.RemoveFault(end)
	if _, err := f.engine().ForceUnlock(f.t.Context(), []string{"Shop"}, "us-east-1"); err != nil {
		f.t.Fatal(err)
	}
}

// timeouts are the queues that there are, with what an update changes of them.
func (f *forsaken) timeouts() string {
	f.t.Helper()
	client := sqs.NewFromConfig(f.aws.Config())
	list, err := client.ListQueues(f.t.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, url := range list.QueueUrls {
		got, err := client.GetQueueAttributes(f.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: aws.String(url), AttributeNames: []types.QueueAttributeName{"All"}})
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, url[strings.LastIndex(url, "/")+1:]+" "+got.Attributes["VisibilityTimeout"])
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// A run that is killed, or cannot save, when AWS has deleted a resource or brought
// it back leaves a record that says otherwise. The next deploy looks, whatever it
// is that it deploys (P-10, P-21, P-22, P-35).
func TestDiesBetweenTheEffectAndTheSave(t *testing.T) {
	killed := sandbox.Fault{Status: 400, Code: "Gone", Message: "killed"}
	unsaved := sandbox.Fault{Service: "s3", Action: "PutObject", Mentions: "state.json", Status: 403, Code: "AccessDenied"}
	fails := func(f *forsaken) { _, _ = f.try(true, false, queueA2, queueB, breaks) }
	for name, c := range map[string]struct {
		before []string // deployed without a fault
		action string   // the last one that AWS does
		dead   sandbox.Fault
		dies   func(*forsaken)
		next   []string
		want   string
	}{
		"rollback, then fixed forward":           {nil, "DeleteQueue", killed, fails, []string{queueA2, queueB, breaks}, "a 60, b 30"},
		"rollback, then the app before":          {[]string{queueB0}, "DeleteQueue", killed, fails, []string{queueB0}, "b 30"},
		"rollback whose record is not saved":     {nil, "DeleteQueue", unsaved, fails, []string{queueA2, queueB, breaks}, "a 60, b 30"},
		"rollback of an update, then fixed":      {[]string{queueA, queueB}, "SetQueueAttributes", killed, fails, []string{queueA2, queueB, breaks}, "a 60, b 30"},
		"rollback of an update, then taken back": {[]string{queueA, queueB}, "SetQueueAttributes", killed, fails, []string{queueA, queueB}, "a 30, b 30"},
		"command rollback, then fixed forward": {nil, "DeleteQueue", killed, func(f *forsaken) {
			_, _ = f.engine().Rollback(f.t.Context(), engine.RollbackOptions{Stack: "Shop", ResourceTimeout: time.Minute})
		}, []string{queueA2, queueB, breaks}, "a 60, b 30"},
		"taken out of the template, then taken back": {[]string{queueA, queueB}, "DeleteQueue", killed, func(f *forsaken) {
			_, _ = f.try(false, false, queueA)
		}, []string{queueA, queueB}, "a 30, b 30"},
	} {
		t.Run(name, func(t *testing.T) {
			_, aws := newEngine(t)
			f := &forsaken{t: t, aws: aws, dir: t.TempDir()}
			if c.before != nil {
				f.deploy(result.Success, c.before...)
			}
			if strings.HasPrefix(name, "command") {
				if run, err := f.try(true, true, queueA2, queueB, breaks); err != nil || run.Outcome != result.Failed {
					t.Fatalf("%v %+v", err, run)
				}
			}
			nth := 1
			if c.action == "SetQueueAttributes" {
				nth = 2 // the first one is the deploy's own
			}
			f.dies(c.action, nth, c.dead, func() { c.dies(f) })
			run, err := f.try(false, false, c.next...)
			if err != nil || run.Outcome.ExitCode() != 0 {
				t.Errorf("%v %s: %+v", err, run.Outcome, run.Stacks[0])
			}
			if got := f.timeouts(); got != c.want {
				t.Errorf("there is %s, want %s", got, c.want)
			}
			for _, o := range aws.S3.Objects(bucket) {
				if strings.HasSuffix(o.Key, "/pending.json") || strings.HasSuffix(o.Key, "/rollback-journal.json") {
					t.Errorf("left is %s: %s", o.Key, o.Body)
				}
			}
			f.deploy(result.NoChange, c.next...)
		})
	}
}

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
)

const brokenLock = "cdkd/Shop/us-east-1/lock.json"

func (f *forsaken) destroy(e *engine.Engine) (*result.Run, error) {
	return e.Destroy(f.t.Context(), engine.DestroyOptions{Selection: deployAll(f.dir).Selection, ResourceTimeout: time.Minute})
}

// brokenOff destroys the stack and ends that before the nth delete has its effect,
// or after. What is given is done while it is under way.
func (f *forsaken) brokenOff(nth int, after bool, meanwhile func(*engine.Engine)) {
	f.t.Helper()
	f.aws.ClearLog()
	last := f.aws.AddFault(sandbox.Fault{Service: "sqs", Action: "DeleteQueue", Nth: nth, Count: 1, Hold: true, Drop: true, After: after})
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	e := f.engine()
	var wg routine.Group
	wg.Go(func() {
		defer cancel()
		_, _ = f.destroy(e)
	})
	if _, err := f.aws.Await(ctx, 1, func(r sandbox.Request) bool { return r.Action == "DeleteQueue" && r.State == sandbox.Held }); err != nil {
		f.t.Fatalf("it ended before: %v", err)
	}
	meanwhile(e)
	end := f.aws.AddFault(sandbox.Fault{Status: 400, Code: "Gone", Message: "killed"})
	f.aws.Release(last)
	wg.Wait()
	f.aws.RemoveFault(end)
}

// lock reads the lock that is left.
func (f *forsaken) lock() (lock map[string]any) {
	f.t.Helper()
	o, ok := f.aws.S3.Object(bucket, brokenLock)
	if !ok {
		f.t.Fatal("there is no lock")
	}
	d := json.NewDecoder(bytes.NewReader(o.Body))
	d.UseNumber()
	if err := d.Decode(&lock); err != nil {
		f.t.Fatal(err)
	}
	return lock
}

func (f *forsaken) wantNothingOpen() {
	f.t.Helper()
	for _, o := range f.aws.S3.Objects(bucket) {
		if strings.HasSuffix(o.Key, "/pending.json") || strings.HasSuffix(o.Key, "/lock.json") {
			f.t.Errorf("left is %s: %s", o.Key, o.Body)
		}
	}
}

// A destroy that is killed leaves its lock and a record that may name what is
// gone. However the lock goes, the next deploy looks at each resource, and makes
// again what is not there; another destroy ends what was begun (P-22, P-35).
func TestDestroyThatIsBrokenOff(t *testing.T) {
	unlocks := map[string]func(*forsaken){
		"expired": func(f *forsaken) {
			lock := f.lock()
			lock["expiresAt"] = time.Now().Add(-time.Minute).UnixMilli()
			body, err := json.Marshal(lock)
			if err != nil {
				f.t.Fatal(err)
			}
			f.aws.S3.PutObject(bucket, brokenLock, body)
		},
		"unlocked by hand": func(f *forsaken) {
			if _, err := f.engine().ForceUnlock(f.t.Context(), []string{"Shop"}, "us-east-1"); err != nil {
				f.t.Fatal(err)
			}
		},
		"unlocked by the post step": func(f *forsaken) {
			owner, _ := f.lock()["owner"].(string)
			done, err := f.engine().CleanUpAfter(f.t.Context(), owner, time.Now(), []engine.Locked{{Ref: state.Ref{Stack: "Shop", Region: "us-east-1"}}})
			if err != nil || len(done) != 1 || !done[0].Released {
				f.t.Fatalf("%+v %v", done, err)
			}
		},
		"interrupted twice": nil,
	}
	for name, unlock := range unlocks {
		for _, c := range []struct {
			name  string
			nth   int
			after bool
			next  []string // nil: destroyed
			want  string
		}{
			{"before a delete", 1, false, []string{queueA, queueB}, "a 30, b 30"},
			{"after a delete", 1, true, []string{queueA, queueB}, "a 30, b 30"},
			{"after a delete that follows another", 2, true, []string{queueA, queueB}, "a 30, b 30"},
			{"after a delete, another app", 1, true, []string{queueA2}, "a 60"},
			{"before a delete, destroyed", 1, false, nil, ""},
			{"after a delete, destroyed", 1, true, nil, ""},
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				_, aws := newEngine(t)
				f := &forsaken{t: t, aws: aws, dir: t.TempDir()}
				f.deploy(result.Success, queueA, queueB)
				f.brokenOff(c.nth, c.after, func(e *engine.Engine) {
					if unlock == nil {
						_, done := e.ReleaseLocks(t.Context())
						<-done
					}
				})
				if unlock != nil {
					unlock(f)
				}
				if c.next == nil {
					if run, err := f.destroy(f.engine()); err != nil || run.Outcome != result.Success {
						t.Errorf("%v %s: %+v", err, run.Outcome, run.Stacks)
					}
				} else if run, err := f.try(false, false, c.next...); err != nil || run.Outcome.ExitCode() != 0 {
					t.Errorf("%v %s: %+v", err, run.Outcome, run.Stacks)
				}
				if got := f.timeouts(); got != c.want {
					t.Errorf("there is %s, want %s", got, c.want)
				}
				f.wantNothingOpen()
				if c.next != nil {
					f.deploy(result.NoChange, c.next...)
				}
			})
		}
	}
}

// The same holds for a destroy that could not save what it deleted, and left
// something (P-22).
func TestDestroyWhoseRecordIsNotSaved(t *testing.T) {
	_, aws := newEngine(t)
	f := &forsaken{t: t, aws: aws, dir: t.TempDir()}
	f.deploy(result.Success, queueA, queueB)
	kept := aws.AddFault(sandbox.Fault{Service: "sqs", Action: "DeleteQueue", Mentions: "/a", Status: 400, Code: "InvalidAddress"})
	unsaved := aws.AddFault(sandbox.Fault{Service: "s3", Action: "PutObject", Mentions: "/state.json", Status: 403, Code: "AccessDenied"})
	if run, err := f.destroy(f.engine()); err == nil && run.Outcome.ExitCode() == 0 {
		t.Errorf("it ended with %s", run.Outcome)
	}
	aws.RemoveFault(kept)
	aws.RemoveFault(unsaved)
	if got := f.timeouts(); got != "a 30" {
		t.Fatalf("there is %s", got)
	}
	f.deploy(result.Success, queueA, queueB)
	if got := f.timeouts(); got != "a 30, b 30" {
		t.Errorf("there is %s", got)
	}
	f.wantNothingOpen()
	f.deploy(result.NoChange, queueA, queueB)
}

// AWS has taken a delete, and the destroy may not look whether the resource is gone:
// it is named as left, and the next run looks (P-22).
func TestDestroyThatMayNotLook(t *testing.T) {
	for _, next := range []string{"deploy", "destroy", "orphan"} {
		t.Run(next, func(t *testing.T) {
			e, aws := newEngine(t)
			f := &forsaken{t: t, aws: aws, dir: t.TempDir()}
			const table = `"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "taken", "BillingMode": "PAY_PER_REQUEST",
				"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}}`
			f.deploy(result.Success, queueA, table)
			aws.ClearLog()
			denied := aws.AddFault(sandbox.Fault{Service: "dynamodb", Action: "DescribeTable", Status: 403, Code: "AccessDeniedException"})
			if run, err := f.destroy(f.engine()); err != nil || run.Outcome != result.Partial {
				t.Errorf("%v %s: %+v", err, run.Outcome, run.Stacks)
			}
			aws.RemoveFault(denied)
			if !slices.ContainsFunc(aws.Log(), func(r sandbox.Request) bool { return r.Action == "DeleteTable" && r.Status == 200 }) {
				t.Fatal("nothing was deleted")
			}
			switch next {
			case "deploy":
				f.deploy(result.Success, queueA, table)
				tables := dynamodb.NewFromConfig(aws.Config())
				if _, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: new("taken")}); err != nil {
					t.Error(err)
				}
				f.wantNothingOpen()
				f.deploy(result.NoChange, queueA, table)
			case "destroy":
				if run, err := f.destroy(f.engine()); err != nil || run.Outcome != result.Success {
					t.Errorf("%v %s: %+v", err, run.Outcome, run.Stacks)
				}
				f.wantNothingOpen()
			case "orphan": // as the destroy advised
				done, err := e.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Shop"}, Region: "us-east-1", Resources: []string{"Table"}})
				if err != nil || len(done) != 1 || !slices.Equal(done[0].Resources, []string{"Table"}) {
					t.Errorf("%v %+v", err, done)
				}
				f.wantNothingOpen()
			}
		})
	}
}

// What a destroy that was killed had AWS delete, and is still to be seen, is waited
// for: it is as good as gone (P-22).
func TestDestroyIsBrokenOffWhileSomethingGoes(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	_, cloud := newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	f := &forsaken{t: t, aws: cloud, dir: t.TempDir()}
	const table = `"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "goes", "BillingMode": "PAY_PER_REQUEST",
		"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}}`
	const first = `"First": {"Type": "AWS::SQS::Queue", "DependsOn": "Table", "Properties": {}}` // of those that go
	f.deploy(result.Success, first, table)
	f.brokenOff(1, true, func(*engine.Engine) {})
	if _, err := f.engine().ForceUnlock(t.Context(), []string{"Shop"}, "us-east-1"); err != nil {
		t.Fatal(err)
	}
	tables := dynamodb.NewFromConfig(cloud.Config())
	cloud.ClearLog()
	leaving := cloud.AddFault(sandbox.Fault{Service: "dynamodb", Action: "DescribeTable", Replace: [2]string{`"ACTIVE"`, `"DELETING"`}})
	var wg routine.Group
	var again *result.Run
	var err error
	wg.Go(func() { again, err = f.try(false, false, first, table) })
	if _, err := cloud.Await(t.Context(), 2, func(r sandbox.Request) bool { return r.Fault == leaving && r.State == sandbox.Done }); err != nil {
		t.Fatal(err)
	}
	if _, err := tables.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("goes")}); err != nil {
		t.Fatal(err)
	}
	cloud.RemoveFault(leaving)
	wg.Wait()
	if err != nil || again.Outcome != result.Success {
		t.Errorf("%v %s: %+v", err, again.Outcome, again.Stacks)
	}
	if _, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("goes")}); err != nil {
		t.Error(err)
	}
	f.wantNothingOpen()
}

package engine_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// A stack that an interrupted run did not come to is cancelled and has not failed, and
// nothing of it was touched (T-1204).
func TestInterruptedBeforeAStack(t *testing.T) {
	cloud, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	cloud.S3.AddBucket(bucket, "us-east-1", "")
	sent := make(chan os.Signal, 1)
	window := signals.Open(signals.Options{Actions: true, Signals: sent})
	defer window.Close()
	e := engine.New(engine.Config{AWS: cloud.Config(), Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: "me", Window: window})
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"A": `"Q": {"Type": "AWS::SQS::Queue"}`, "B": `"Q": {"Type": "AWS::SQS::Queue"}`})
	held := cloud.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Hold: true})
	opt := deployAll(dir)
	opt.StackConcurrency = 1
	done := make(chan *result.Run)
	go func() {
		run, _ := e.Deploy(t.Context(), opt)
		done <- run
	}()
	if _, err := cloud.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.State == sandbox.Held }); err != nil {
		t.Error(err)
	}
	sent <- syscall.SIGINT
	<-window.Draining()
	cloud.Release(held)
	run := <-done
	var second *result.Stack
	for _, s := range run.Stacks {
		if s.Name == "B" {
			second = s
		}
	}
	if second == nil || run.Outcome != result.Cancelled {
		t.Fatalf("%+v", run)
	}
	got := []string{string(second.Outcome), string(second.Reason), second.Message}
	if diff := cmp.Diff([]string{"cancelled", "", "not started: the run was interrupted before"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, there := cloud.S3.Object(bucket, "cdkd/B/us-east-1/state.json"); there {
		t.Error("it has a record")
	}
}

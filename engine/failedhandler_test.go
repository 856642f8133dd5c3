package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// What a custom resource's create made before it failed its handler is told to
// delete, by the rollback or before it is asked to create again, and never once
// another is there (T-648, P-18, S-109).
func TestHandlerThatFailsItsCreate(t *testing.T) {
	failed := map[string]any{"Status": "FAILED", "Reason": "no", "PhysicalResourceId": "half"}
	deleted := map[string]any{"Status": "SUCCESS"}
	for name, tt := range map[string]struct {
		create     any // what it says to the first
		delete     any
		noRollback bool
		first      string // what it is asked by the deploy that fails
		left       bool   // something of the stack is recorded then
		second     string // and by the next one
	}{
		"the rollback has it deleted":           {failed, deleted, false, "Create <nil>, Delete half", false, "Create <nil>"},
		"no id was given: it made nothing":      {map[string]any{"Status": "FAILED", "Reason": "no"}, deleted, false, "Create <nil>", false, "Create <nil>"},
		"it crashed: by its logical id":         {fmt.Errorf("crashed"), deleted, false, "Create <nil>, Delete Thing", false, "Create <nil>"},
		"its delete fails: before the next":     {failed, map[string]any{"Status": "FAILED", "Reason": "later"}, false, "Create <nil>, Delete half", true, "Delete half, Create <nil>"},
		"there is no rollback: before the next": {failed, deleted, true, "Create <nil>", true, "Delete half, Create <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSlow(t, strings.Replace(only("Thing"), `"Size"`, `"Length"`, 1))
			var asked []string
			create, del := tt.create, tt.delete
			s.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				asked = append(asked, fmt.Sprint(event["RequestType"], " ", event["PhysicalResourceId"]))
				if event["RequestType"] == "Delete" {
					return del, nil
				}
				if err, crash := create.(error); crash {
					return nil, err
				}
				return create, nil
			})
			st := s.run().deployWith(engine.DeployOptions{NoRollback: tt.noRollback})
			s.want(st, result.Failed)
			if got := strings.Join(asked, ", "); got != tt.first {
				t.Errorf("it was asked %s, want %s\n%s", got, tt.first, s.log.String())
			}
			if left := s.object(slowKey+"state.json")+s.object(slowKey+"rollback-journal.json") != ""; left != tt.left {
				t.Errorf("left: %t\n%s\n%s", left, s.object(slowKey+"state.json"), s.object(slowKey+"rollback-journal.json"))
			}
			if unaddressed := len(st.Unaddressed) > 0; unaddressed != (tt.left && !tt.noRollback) {
				t.Errorf("unaddressed: %+v", st.Unaddressed)
			}
			asked, create, del = nil, map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "whole"}, deleted
			s.want(s.run().deployWith(engine.DeployOptions{}), result.Success)
			if got := strings.Join(asked, ", "); got != tt.second {
				t.Errorf("the next time it was asked %s, want %s\n%s", got, tt.second, s.log.String())
			}
			s.wantSettled()
			if body := s.object(slowKey + "rollback-journal.json"); body != "" {
				t.Errorf("the journal is left:\n%s", body)
			}
			s.want(s.run().deployWith(engine.DeployOptions{}), result.NoChange)
		})
	}
}

// How often a denied handler is invoked again is what the variable says: not at all
// when it is 0 (T-641, T-644).
func TestDeniedHandlerIsNotInvokedAgain(t *testing.T) {
	_, cloud := newEngine(t)
	config := configOn(t, cloud)
	config.HandlerRetries = "0"
	var creates atomic.Int32
	cloud.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
		if event["RequestType"] == "Create" {
			creates.Add(1)
		}
		return map[string]any{"Status": "FAILED", "Reason": "not authorized to perform: s3:PutObject"}, nil
	})
	makeFunction(t, cloud, "handler")
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"T": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:handler"}}`})
	run, err := engine.New(config).Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Outcome != result.Failed || creates.Load() != 1 {
		t.Errorf("%v, %+v, %d creates", err, run.Stacks[0], creates.Load())
	}
}

// makeFunction makes a function for a handler of the sandbox.
func makeFunction(t *testing.T, cloud *sandbox.Sandbox, name string) {
	t.Helper()
	if _, err := lambda.NewFromConfig(cloud.Config()).CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Role: aws.String("arn:aws:iam::123456789012:role/r"), Runtime: types.RuntimeNodejs22x,
		Handler: aws.String("index.handler"), Code: &types.FunctionCode{ZipFile: []byte("zip")},
	}); err != nil {
		t.Fatal(err)
	}
}

// A run that is cut off while it looks at a handler that it was to invoke leaves
// nothing open: the next one asks it at once (T-611, T-645, P-18).
func TestCutOffBeforeTheHandler(t *testing.T) {
	s := startSlow(t, only("Thing"))
	var creates atomic.Int32
	s.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
		creates.Add(1)
		return map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "thing-1"}, nil
	})
	fault := s.AddFault(sandbox.Fault{Action: "GetFunctionConfiguration", Hold: true})
	s.want(s.cancelled("GetFunctionConfiguration"), result.Cancelled)
	s.RemoveFault(fault)
	if left := s.object(slowPending); creates.Load() != 0 || left != "" {
		t.Errorf("it was asked %d times, and this is open: %s", creates.Load(), left)
	}
	s.want(s.run().deploy(), result.Success)
	if creates.Load() != 1 {
		t.Errorf("it was asked %d times", creates.Load())
	}
	s.wantSettled()
}

package engine_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

// removed removes what cdkd removes with a stack.
func (s *slow) removed() { s.forget("create-tokens.json", "state.json", "rollback-journal.json") }

// A void create that made nothing stands in nobody's way (P-11).
func TestVoidCreateThatMadeNothing(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.CloudControl.Fail(cloudcontrol.Failure{TypeName: "AWS::Athena::WorkGroup", Operation: "CREATE", Code: "InternalFailure"})
	s.want(s.cancelled("GetResourceRequestStatus"), result.Cancelled)
	s.removed()
	s.want(s.run().deploy(), result.Failed) // it goes on
	s.finish()
	s.want(s.run().deploy(), result.Success)
	s.wantSettled()
}

// What a void create made is recorded by an import, as its refusal says (P-11, P-28).
func TestVoidCreateIsImported(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.want(s.cancelled("GetResourceRequestStatus"), result.Cancelled)
	s.removed()
	s.finish()
	st := s.run().deploy()
	s.want(st, result.Failed)
	if want := "cdkd-action import Slow --resource Group=group\n"; len(st.Failures) != 1 || !strings.Contains(st.Failures[0].Remedy, want) {
		t.Fatalf("%+v", st.Failures)
	}
	if _, err := s.run().e.Import(t.Context(), engine.ImportOptions{
		Selection: engine.Selection{Assembly: s.dir}, Resources: map[string]string{"Group": "group"},
	}); err != nil {
		t.Fatalf("%v\n%s", err, s.log.String())
	}
	s.wantSettled()
	s.want(s.run().deploy(), result.NoChange)
	s.wantOnce("CreateResource")
}

// What a failed create left is named once its record was removed, and not deleted
// (P-11).
func TestVoidCreateThatFailed(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.CloudControl.Fail(cloudcontrol.Failure{TypeName: "AWS::Athena::WorkGroup", Operation: "CREATE", Code: "InternalFailure", Remnant: true})
	s.want(s.cancelled("GetResourceRequestStatus"), result.Cancelled)
	s.removed()
	s.finish()
	st := s.run().deploy()
	s.want(st, result.Failed)
	if len(st.Failures) != 1 || !strings.Contains(st.Failures[0].Message, "there is group,") {
		t.Errorf("%+v", st.Failures)
	}
	if n := s.count("DeleteResource"); n > 0 || len(s.groups()) != 1 {
		t.Errorf("%d deletes, and there is %v", n, s.groups())
	}
}

// Entries that are void do not void what a later run lets go (P-11).
func TestVoidBesideLive(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.want(s.cancelled("GetResourceRequestStatus"), result.Cancelled)
	s.removed()
	s.write("Slow.template.json", `{"Resources": {"Other": {"Type": "AWS::Athena::WorkGroup", "Properties": {"Name": "other"}}}}`)
	s.ClearLog()
	s.want(s.cancelled("CreateResource"), result.Cancelled)
	s.refresh() // looks once, and writes down what is left
	if n := strings.Count(s.object(slowPending), `"void": true`); n != 1 {
		t.Errorf("%d entries are void, want the first run's\n%s", n, s.object(slowPending))
	}
	s.finish()
	s.want(s.run().deploy(), result.NoChange)
	if n := s.count("CreateResource"); n != 1 {
		t.Errorf("it was made %d times", n)
	}
}

// What is found and has not settled yet is waited for, like anything that was let
// go: also when the run that made it was killed, so that only the ledger tells of it
// (P-10, P-20).
func TestFoundResourceIsWaitedFor(t *testing.T) {
	for name, killed := range map[string]bool{"cancelled": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			s := startSlow(t, only("Table"))
			fault := s.AddFault(sandbox.Fault{Action: "CreateTable", Hold: true, After: true})
			s.want(s.cancelled("CreateTable"), result.Cancelled)
			s.RemoveFault(fault)
			if killed {
				s.forget("pending.json")
			}
			r := s.run()
			done := make(chan *result.Stack, 1)
			go func() { done <- r.deploy() }()
			s.awaitAll(4, "DescribeTable") // it is found by the first
			r.signals <- syscall.SIGINT
			s.want(<-done, result.Cancelled)
			if body := s.object(slowPending); !strings.Contains(body, `"stage": "settling"`) || !strings.Contains(body, `"physicalId": "Slow-Table"`) {
				t.Errorf("that it is not ready is not written down:\n%s", body)
			}
			s.finish()
			s.want(s.run().deploy(), result.Success)
			s.wantSettled()
			s.wantOnce("CreateTable")
		})
	}
}

// A destroy that ends a create takes what that had made by then, when it bears the
// tag that only this create gave, and names it when not (P-14, P-28, T-1003).
func TestDestroyOfHalfACreate(t *testing.T) {
	for name, mine := range map[string]bool{"ours": true, "somebody's": false} {
		t.Run(name, func(t *testing.T) {
			s := startSlow(t, only("Group"))
			s.want(s.cancelled("GetResourceRequestStatus"), result.Cancelled)
			var open struct {
				Operations []struct{ ClientToken string }
			}
			if err := json.Unmarshal([]byte(s.object(slowPending)), &open); err != nil {
				t.Fatal(err)
			}
			tag := map[string]any{"Key": provider.OwnerTagKey, "Value": "another"}
			if mine {
				tag["Value"] = open.Operations[0].ClientToken
			}
			s.instead = func(r *http.Request) *http.Response {
				if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".CancelResourceRequest") {
					s.CloudControl.Put("us-east-1", "AWS::Athena::WorkGroup", map[string]any{"Name": "group", "Tags": []any{tag}})
					s.CloudControl.SetDelay(0) // for its delete
				}
				return nil
			}
			st := s.run().destroy()
			if mine {
				s.want(st, result.Success)
				s.wantSettled()
			} else {
				s.want(st, result.Partial)
				if len(st.Unaddressed) != 1 || !strings.Contains(st.Unaddressed[0].Remedy, "Group=group") {
					t.Errorf("%+v", st.Unaddressed)
				}
			}
			if left := len(s.groups()) > 0; left == mine {
				t.Errorf("there is %v", s.groups())
			}
		})
	}
}

// An answer with another status than the two is none yet: it is waited for
// (T-619).
func TestAnswerThatIsNone(t *testing.T) {
	s := startSlow(t, only("Thing"))
	s.want(s.cancelled("Invoke"), result.Cancelled)
	s.mu.Lock()
	events := s.events
	s.mu.Unlock()
	s.answer(`{"Status": "MAYBE", "RequestId": %q, "LogicalResourceId": %q, "StackId": %q}`)
	s.refresh()
	if s.object(slowPending) == "" {
		t.Fatal("it was taken for an answer")
	}
	s.mu.Lock()
	s.events = events
	s.mu.Unlock()
	s.answer(succeeded)
	s.Handle("handler", func(context.Context, map[string]any) (any, error) { panic("invoked again") })
	s.want(s.run().deploy(), result.NoChange)
	s.wantSettled()
}

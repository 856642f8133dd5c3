package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
)

func (s *slow) refresh() map[string]engine.Refresh {
	s.t.Helper()
	all, err := s.run().e.RefreshObserved(s.t.Context(), engine.RefreshOptions{RecordSelection: engine.RecordSelection{Stacks: []string{"Slow"}}})
	if err != nil || len(all) != 1 || all[0].Err != nil {
		s.t.Fatalf("%v %+v\n%s", err, all, s.log.String())
	}
	came := map[string]engine.Refresh{}
	for _, r := range all[0].Resources {
		came[r.LogicalID] = r.Refresh
	}
	return came
}

// Commands that do not wait look once at what is open: what is decided is
// recorded, and what is not is left alone (P-12).
func TestSettleOnce(t *testing.T) {
	s := startSlow(t, strings.Replace(only("Group"), `"AWS::Athena::WorkGroup",`, `"AWS::Athena::WorkGroup", "Metadata": {"aws:cdk:path": "Slow/Group"},`, 1))
	s.CloudControl.SetDelay(0)
	s.want(s.run().deploy(), result.Success)
	s.CloudControl.SetDelay(10 * time.Minute)
	s.ClearLog()
	s.edit(`"one"`, `"two"`)
	s.want(s.cancelled("UpdateResource", "GetResourceRequestStatus"), result.Cancelled)
	before := s.object(slowPending)
	runID := s.member(slowPending, "runId")

	s.ClearLog()
	if d := cmp.Diff(map[string]engine.Refresh{"Group": engine.RefreshOpen}, s.refresh()); d != "" {
		t.Errorf("while it goes on (-want +got)\n%s", d)
	}
	s.wantOnce("GetResourceRequestStatus")
	if !strings.Contains(s.log.String(), "an earlier run's update is still open, and is left alone") {
		t.Errorf("nothing was said of it:\n%s", s.log.String())
	}
	_, err := s.run().e.OrphanPaths(t.Context(), engine.OrphanPathOptions{Selection: engine.Selection{Assembly: s.dir}, Paths: []string{"Slow/Group"}})
	if err == nil || !strings.Contains(err.Error(), "still open") {
		t.Errorf("it was forgotten while it goes on: %v", err)
	}
	scrubbed, err := s.run().e.Scrub(t.Context(), engine.ScrubOptions{Selection: engine.Selection{Assembly: s.dir, Selection: assembly.Selection{All: true}}})
	if err != nil || scrubbed[0].Err != nil || !scrubbed[0].Clean() {
		t.Errorf("scrub: %v %+v", err, scrubbed)
	}
	_, was, _ := strings.Cut(before, `"operations"`)
	_, is, _ := strings.Cut(s.object(slowPending), `"operations"`)
	if d := cmp.Diff(was, is); d != "" || s.member(slowPending, "runId") != runID {
		t.Errorf("what is open changed\n%s", d)
	}

	s.CloudControl.Finish()
	s.ClearLog()
	s.refresh()
	s.wantSettled()
	if s.count("UpdateResource") != 0 || !strings.Contains(s.object(slowKey+"state.json"), `"two"`) {
		t.Errorf("its update is not recorded\n%s\n%s", s.object(slowKey+"state.json"), s.log.String())
	}
	s.want(s.run().deploy(), result.NoChange)
}

// A handler is not invoked by a command that only looks: what its failed create
// left is for a deploy to have deleted (P-12, P-18).
func TestSettleOnceInvokesNothing(t *testing.T) {
	s := startSlow(t, only("Thing"))
	s.want(s.cancelled("Invoke"), result.Cancelled)
	s.answer(`{"Status": "FAILED", "Reason": "no", "RequestId": %q, "LogicalResourceId": %q, "StackId": %q, "PhysicalResourceId": "half"}`)
	s.refresh()
	s.wantOnce("Invoke")
	if !strings.Contains(s.object(slowPending), `"responseKey"`) {
		t.Fatalf("it is not open any more\n%s", s.log.String())
	}
	var types []string
	s.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		types = append(types, fmt.Sprint(event["RequestType"]))
		return map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "whole"}, nil
	})
	s.want(s.run().deploy(), result.Success)
	if got := strings.Join(types, ", "); got != "Delete, Create" {
		t.Errorf("the handler was asked: %s", got)
	}
	s.wantSettled()
}

// An export waits for what is open, since nobody settles it afterwards (P-12, P-28).
func TestExportSettles(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.CloudControl.SetDelay(0)
	s.want(s.run().deploy(), result.Success)
	s.CloudControl.SetDelay(10 * time.Minute)
	s.ClearLog()
	s.edit(`"one"`, `"two"`)
	s.want(s.cancelled("UpdateResource", "GetResourceRequestStatus"), result.Cancelled)
	s.ClearLog()
	done := make(chan error, 1)
	go func() {
		_, err := s.run().e.Export(t.Context(), engine.ExportOptions{Selection: engine.Selection{Assembly: s.dir}})
		done <- err
	}()
	s.awaitAll(3, "GetResourceRequestStatus")
	s.finish()
	if err := <-done; err != nil {
		t.Errorf("%v\n%s", err, s.log.String())
	}
	if body := s.object(slowPending); body != "" {
		t.Errorf("still open:\n%s", body)
	}
	if s.object(slowKey+"state.json") != "" {
		t.Error("it is not exported")
	}
}

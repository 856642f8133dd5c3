package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine/result"
)

// A nested stack that somebody else holds is not settled, nor is the row that
// waits for it, and nothing waits for that lock (P-23).
func TestHeldNestedStackStaysOpen(t *testing.T) {
	s := startSlow(t, `{"Resources": {"Inner": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.template.json"},
		"Properties": {"TemplateURL": "https://example.com/inner.json"}}}}`)
	s.write("inner.template.json", only("Table"))
	s.want(s.cancelled("DescribeTable"), result.Cancelled)
	const inner = "cdkd/Slow~Inner/us-east-1/"
	outerOpen, innerOpen := s.object(slowPending), s.object(inner+"pending.json")
	if outerOpen == "" || innerOpen == "" {
		t.Fatalf("open is %q, and below it %q", outerOpen, innerOpen)
	}
	s.finish()
	now := time.Now()
	s.S3.PutObject(bucket, inner+"lock.json", fmt.Appendf(nil, `{"owner": "somebody@else", "operation": "deploy", "timestamp": %d, "expiresAt": %d}`,
		now.UnixMilli(), now.Add(time.Hour).UnixMilli()))
	st := s.run().deploy()
	if st.Outcome != result.Locked || !strings.Contains(st.Message+fmt.Sprint(st.Failures), "somebody@else") {
		t.Errorf("%s %s %v\n%s", st.Outcome, st.Message, st.Failures, s.log.String())
	}
	if s.object(inner+"pending.json") != innerOpen || s.object(slowPending) == "" {
		t.Errorf("open is by now\n%s\nand below it\n%s", s.object(slowPending), s.object(inner+"pending.json"))
	}
	if _, err := s.run().e.ForceUnlock(t.Context(), []string{"Slow~Inner"}, "us-east-1"); err != nil {
		t.Fatal(err)
	}
	s.want(s.run().deploy(), result.Success)
	s.wantOnce("CreateTable")
	s.wantSettled()
}

// A create that is open keeps its entry in the ledger until it is settled, and the
// stack its name in the registry although nothing of it is recorded. Who takes its
// lock away bounds what the run can have made, changes nothing else, and is told
// what is open (P-27).
func TestOpenCreateInLedgerAndRegistry(t *testing.T) {
	s := startSlow(t, only("Group"))
	s.want(s.cancelled("GetResourceRequestStatus"), result.Cancelled)
	const ledger, marker = slowKey + "create-tokens.json", "_cdkd-registry/us-east-1/Slow.json"
	if !strings.Contains(s.object(ledger), `"Group"`) || s.object(marker) == "" {
		t.Errorf("ledger %s\nmarker %s", s.object(ledger), s.object(marker))
	}
	open := s.object(slowPending)
	past := time.Now().Add(-time.Hour)
	s.S3.PutObject(bucket, slowKey+"lock.json", fmt.Appendf(nil, `{"owner": "me@gone", "operation": "deploy", "timestamp": %d, "expiresAt": %d}`,
		past.UnixMilli(), past.Add(30*time.Minute).UnixMilli()))
	unlocked, err := s.run().e.ForceUnlock(t.Context(), []string{"Slow"}, "us-east-1")
	if err != nil || len(unlocked) != 1 || unlocked[0].Err != nil || !unlocked[0].There || unlocked[0].Open != 1 {
		t.Fatalf("%v %+v", err, unlocked)
	}
	if s.object(slowPending) != open || !strings.Contains(s.object(ledger), `"Group"`) {
		t.Errorf("it changed what is open to %s\nand the ledger to %s", s.object(slowPending), s.object(ledger))
	}
	s.finish()
	s.want(s.run().deploy(), result.NoChange)
	s.wantOnce("CreateResource")
	if strings.Contains(s.object(ledger), `"Group"`) {
		t.Errorf("the ledger still has it: %s", s.object(ledger))
	}
}

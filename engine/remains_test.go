package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// left are the objects of a stack that is gone: its history may stay, and the
// list of what was kept.
func left(cloud *sandbox.Sandbox) (keys []string) {
	for _, o := range cloud.S3.Objects(bucket) {
		if !strings.Contains(o.Key, "/deployments/") && !strings.HasSuffix(o.Key, "/retained.json") && !strings.Contains(o.Key, "/_index/") {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// A command that ended before one of its last removals clears the rest away when
// it is run again (S-74, S-130, S-171, P-25).
func TestLastRemovals(t *testing.T) {
	const (
		template = `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q"}}, "Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": "Q", "Properties": {"Type": "String", "Name": "/fails", "Value": "x"}}`
		pending  = `{"pendingVersion": 1, "stackName": "Shop", "region": "us-east-1", "runId": "r", "owner": "o", "writtenAt": 1, "ledgerNonce": "gone", "recordLastModified": 5, "leftovers": [],
			"operations": [{"logicalId": "C", "resourceType": "Custom::C", "changeType": "DELETE", "provisionedBy": "sdk", "stage": "sent", "startedAt": 1, "physicalId": "c"}]}`
		ledger = `{"ledgerVersion": 1, "nonce": "n", "sent": {}}`
	)
	for command, commands := range map[string]func(*engine.Engine, string) (*result.Run, error){
		"rollback": func(e *engine.Engine, _ string) (*result.Run, error) {
			return e.Rollback(t.Context(), engine.RollbackOptions{Stack: "Shop", ResourceTimeout: time.Minute})
		},
		"destroy": func(e *engine.Engine, dir string) (*result.Run, error) {
			return e.Destroy(t.Context(), engine.DestroyOptions{Selection: engine.Selection{Assembly: dir, Selection: deployAll(dir).Selection.Selection}, ResourceTimeout: time.Minute})
		},
		"state destroy": func(e *engine.Engine, _ string) (*result.Run, error) {
			return e.StateDestroy(t.Context(), engine.RecordSelection{Stacks: []string{"Shop"}}, engine.DestroyOptions{ResourceTimeout: time.Minute})
		},
	} {
		for _, kept := range []string{"create-tokens.json", "state.json", "rollback-journal.json"} {
			t.Run(command+" that could not remove "+kept, func(t *testing.T) {
				e, cloud := newEngine(t)
				dir := t.TempDir()
				writeApp(t, dir, map[string]string{"Shop": template})
				cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
				opt := deployAll(dir)
				opt.NoRollback = true
				if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome != result.Failed {
					t.Fatalf("%v %+v", err, run)
				}
				cloud.AddFault(sandbox.Fault{ID: "no", Service: "s3", Action: "DeleteObject", Mentions: kept, Status: 403, Code: "AccessDenied"})
				commands(e, dir)
				if !slices.ContainsFunc(left(cloud), func(key string) bool { return strings.HasSuffix(key, kept) }) {
					t.Fatalf("%s was removed all the same", kept)
				}
				cloud.RemoveFault("no")
				if run, err := commands(e, dir); err != nil || run.Outcome.ExitCode() != 0 {
					t.Errorf("run again: %v %+v", err, run)
				}
				if diff := cmp.Diff([]string(nil), left(cloud)); diff != "" {
					t.Errorf("(-want +left):\n%s", diff)
				}
			})
		}
		if command == "rollback" {
			continue // it needs the journal
		}
		t.Run(command+" of what is left beside a record", func(t *testing.T) {
			e, cloud := newEngine(t)
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": template})
			cloud.S3.PutObject(bucket, shopKey+"pending.json", []byte(pending))
			cloud.S3.PutObject(bucket, shopKey+"create-tokens.json", []byte(ledger))
			if run, err := commands(e, dir); err != nil || run.Outcome != result.Success {
				t.Errorf("%v %+v", err, run)
			}
			if diff := cmp.Diff([]string(nil), left(cloud)); diff != "" {
				t.Errorf("(-want +left):\n%s", diff)
			}
		})
	}
}

// The empty record that a first deploy left goes when a later one fails as well
// and is undone; that of a stack which was deployed whole stays (S-270).
func TestEmptyRecordOfAFirstDeploy(t *testing.T) {
	for name, first := range map[string]bool{"a first deploy failed": true, "one without resources succeeded": false} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			dir := t.TempDir()
			cloud.S3.PutObject(bucket, shopKey+"state.json", shop())
			cloud.S3.PutObject(bucket, "_cdkd-registry/us-east-1/Shop.json", []byte(`{"prefix": "cdkd"}`))
			if first {
				cloud.S3.PutObject(bucket, journalKey, []byte(`{"journalVersion": 1, "stackName": "Shop", "region": "us-east-1", "segments": [
					{"runId": "20260101T000000000Z-00000000", "timestamp": 1, "reason": "auto-rollback-clean", "initialDeploy": true, "operations": [],
					"failedOperations": [{"logicalId": "Fails", "resourceType": "AWS::SSM::Parameter", "changeType": "CREATE"}]}]}`))
			}
			writeApp(t, dir, map[string]string{"Shop": made + "," + later + "," + fails})
			cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
			if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Failed || !run.Stacks[0].RolledBack {
				t.Fatalf("%v %+v", err, run)
			}
			if keys := left(cloud); (len(keys) == 0) != first {
				t.Errorf("left: %q", keys)
			}
		})
	}
}

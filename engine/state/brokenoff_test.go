package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Whoever unlocks a stack for a destroy writes down what that may have deleted,
// beside what was open, and of any other run nothing (P-11, P-22).
func TestDeletesOfADestroyThatIsBrokenOff(t *testing.T) {
	const record = `{"version":9,"stackName":"Shop","region":"eu-west-1","resources":{
		"Queue":{"physicalId":"q","resourceType":"AWS::SQS::Queue","properties":{},"provisionedBy":"cc-api"},
		"Topic":{"physicalId":"t","resourceType":"AWS::SNS::Topic","properties":{}},
		"Kept":{"physicalId":"k","resourceType":"AWS::SNS::Topic","properties":{},"deletionPolicy":"Retain"},
		"Thing":{"physicalId":"x","resourceType":"Custom::Thing","properties":{}},
		"Inner":{"physicalId":"i","resourceType":"AWS::CloudFormation::Stack","properties":{}}},"outputs":{},"lastModified":7}`
	const ledger = `{"ledgerVersion":1,"nonce":"n","sent":{}}`
	pending := func(nonce string) string {
		return fmt.Sprintf(`{"pendingVersion":1,"stackName":"Shop","region":"eu-west-1","runId":"r","owner":"me","writtenAt":1,"ledgerNonce":%q,"recordLastModified":null,
			"operations":[{"logicalId":"Topic","resourceType":"AWS::SNS::Topic","changeType":"DELETE","provisionedBy":"sdk","stage":"accepted","startedAt":5,"physicalId":"t"}],"leftovers":[]}`, nonce)
	}
	lock := func(operation string) string {
		return fmt.Sprintf(`{"owner":"dead","operation":%q,"timestamp":4,"expiresAt":5}`, operation)
	}
	all := []string{"Inner sent 4 by sdk", "Queue sent 4 by cc-api", "Topic sent 4 by sdk"}
	for name, c := range map[string]struct {
		lock, record, ledger, pending string
		want                          []string
		by                            string
	}{
		"destroy":               {lock("destroy"), record, ledger, "", all, "a run of dead"},
		"destroy, no ledger":    {lock("destroy"), record, "", "", all, "a run of dead"},
		"destroy, sealed":       {lock("destroy"), record, ledger, pending("n"), []string{"Inner sent 4 by sdk", "Queue sent 4 by cc-api", "Topic accepted 5 by sdk"}, "run r"},
		"destroy after another": {lock("destroy"), record, ledger, pending("other"), []string{"Inner sent 4 by sdk", "Queue sent 4 by cc-api", "Topic sent 4 by sdk"}, "run r"},
		"destroy, all gone":     {lock("destroy"), "", ledger, "", nil, ""},
		"deploy":                {lock("deploy"), record, ledger, "", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, k := shop(t)
			for key, body := range map[string]string{lockKey: c.lock, recordKey: c.record, ledgerKey: c.ledger, pendingKey: c.pending} {
				if body != "" {
					cloud.PutObject(bucket, key, []byte(body))
				}
			}
			if _, _, err := k.ForceUnlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			found, err := k.ReadPending(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if found == nil {
				found = &Pending{}
			}
			var got []string
			for _, op := range found.Operations {
				line := fmt.Sprintf("%s %s %d by %s", op.LogicalID, op.Stage, op.StartedAt, op.ProvisionedBy)
				if op.Void {
					line += " void"
				}
				got = append(got, line)
				if op.ChangeType != OpDelete || op.PhysicalID != strings.ToLower(op.LogicalID[:1]) {
					t.Errorf("entered %+v", op)
				}
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("open is %q, want %q", got, c.want)
			}
			if got == nil {
				return
			}
			if !found.Live(c.ledger, &Record{LastModified: 7}) || found.Live("", &Record{LastModified: 8}) || found.By() != c.by {
				t.Errorf("they are those of %s, beside %d", found.By(), found.RecordModified)
			}
			if c.ledger != "" && !found.Live("n", nil) {
				t.Error("the ledger does not prove that they are the stack's")
			}
		})
	}
}

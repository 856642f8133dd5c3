package engine_test

import (
	"fmt"
	"testing"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// member is a member of an object in the bucket.
func (s *slow) member(key, name string) string {
	s.t.Helper()
	o, err := value.ParseObject([]byte(s.object(key)))
	if err != nil {
		s.t.Fatalf("%s: %v", key, err)
	}
	return o.String(name)
}

// What a deploy lets go of by its policy changes the ledger's nonce, so that a
// create to come is not answered with it. What is open stays proved (S-244, P-2,
// P-11).
func TestLetGoRenewsTheLedger(t *testing.T) {
	s := startSlow(t, `{"Resources": {
		"Kept": {"Type": "AWS::Athena::WorkGroup", "DeletionPolicy": "Retain", "Properties": {"Name": "kept"}},
		"Name": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/slow", "Value": "one"}}}}`)
	s.finish()
	s.want(s.run().deploy(), result.Success)
	const ledger = slowKey + "create-tokens.json"
	first := s.member(ledger, "nonce")
	s.edit(`"one"`, `"two"`)
	s.want(s.run().deploy(), result.Success)
	if got := s.member(ledger, "nonce"); got != first {
		t.Error("the nonce changed, though nothing was let go")
	}
	s.S3.PutObject(bucket, slowPending, fmt.Appendf(nil, `{"pendingVersion": 1, "stackName": "Slow", "region": "us-east-1",
		"runId": "r", "owner": "o", "writtenAt": 1, "ledgerNonce": %q, "recordLastModified": null, "operations": [], "leftovers": [
		{"logicalId": "Table", "resourceType": "AWS::DynamoDB::Table", "physicalId": "twice", "provisionedBy": "sdk", "reason": "superseded", "since": 1}]}`, first))
	s.write("Slow.template.json", `{"Resources": {"Name": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/slow", "Value": "two"}}}}`)
	s.want(s.run().deploy(), result.Partial)
	second := s.member(ledger, "nonce")
	if second == first {
		t.Errorf("the nonce is still the one that made what was let go\n%s", s.log.String())
	}
	if got := s.member(slowPending, "ledgerNonce"); got != second {
		t.Errorf("what is open is proved by %s, and the ledger has %s", got, second)
	}
	if s.count("DeleteResource") != 0 {
		t.Error("it was deleted")
	}
}

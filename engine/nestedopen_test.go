package engine_test

import (
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/result"
)

// What a nested stack let go is gone on with although the one above it was killed
// before it wrote down that something is open, and nothing else changes (P-23).
func TestNestedStackAfterAKill(t *testing.T) {
	s := startSlow(t, `{"Resources": {"Inner": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.template.json"},
		"Properties": {"TemplateURL": "https://example.com/inner.json"}}}}`)
	const one = `"Name": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "one"}}`
	s.write("inner.template.json", `{"Resources": {`+one+`}}`)
	s.want(s.run().deploy(), result.Success)
	s.write("inner.template.json", strings.Replace(only("Table"), `"Resources":{`, `"Resources":{`+one+`,`, 1))
	s.want(s.cancelled("DescribeTable"), result.Cancelled)
	const inner = "cdkd/Slow~Inner/us-east-1/"
	if s.object(inner+"pending.json") == "" {
		t.Fatal("nothing is written down of the nested stack")
	}
	s.forget("pending.json")
	s.finish()
	st := s.run().deploy()
	if st.Outcome != result.Success && st.Outcome != result.NoChange {
		t.Errorf("%s %s\n%s", st.Outcome, st.Message, s.log.String())
	}
	if body := s.object(inner + "pending.json"); body != "" {
		t.Errorf("still open:\n%s\n%s", body, s.log.String())
	}
	s.wantOnce("CreateTable")
	s.want(s.run().deploy(), result.NoChange)
}

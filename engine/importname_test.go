package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
)

// An id of something that has another name than the template declares is refused
// with nothing recorded; that of what is declared is taken (S-315).
func TestImportOfAnotherThanDeclared(t *testing.T) {
	const one = `{"Resources": {
		"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "%[1]s"}},
		"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "%[1]s"}},
		"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "%[1]s"}},
		"Role": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "%[1]s", "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}}},
		"Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/%[1]s"}}}}`
	f := form(t, fmt.Sprintf(one, "orders"))
	ids := map[string]string{}
	record, err := f.e.StateResources(t.Context(), "Formed", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range record.LogicalIDs() {
		ids[id] = record.Row(id).PhysicalID
	}
	if _, err := f.e.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Formed"}}); err != nil {
		t.Fatal(err)
	}
	read := func(id string) error {
		_, err := f.e.Import(t.Context(), engine.ImportOptions{Selection: f.selection(), Resources: map[string]string{id: ids[id]}})
		return err
	}
	f.write("formed.json", fmt.Sprintf(one, "payments"))
	for id, physical := range ids {
		var refused *engine.ImportRefusedError
		err := read(id)
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "and the template declares ") || !strings.Contains(err.Error(), physical) {
			t.Errorf("%s as %s: %v", id, physical, err)
		}
	}
	if keys := f.recorded(); keys != nil {
		t.Errorf("recorded: %v", keys)
	}
	f.write("formed.json", fmt.Sprintf(one, "orders"))
	for id := range ids {
		if err := read(id); err != nil {
			t.Errorf("%s, as declared: %v", id, err)
		}
	}
}

// A mapping says one thing of each resource, however it is written down (S-315).
func TestParseMapping(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]string
		err        string
	}{
		{"ids", `{"A": "x", "B": {"RestApiId": "y", "ResourceId": "z"}}`, map[string]string{"A": "x", "B": "y|z"}, ""},
		{"begun as some editors do", "\ufeff" + `{"A": "x"}`, map[string]string{"A": "x"}, ""},
		{"a resource twice", `{"A": "x", "B": "y", "A": "z"}`, nil, "A is given twice"},
		{"a part twice", `{"A": {"Id": "x", "Id": "y"}}`, nil, "A.Id is given twice"},
		{"no text", `{"A": 1}`, nil, "its physical id is"},
		{"no object", `["A"]`, nil, ""},
	} {
		got, err := engine.ParseMapping([]byte(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

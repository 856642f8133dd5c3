package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

// A nested stack has its own record and lock, held inside that of the stack
// around it, and no claim to its name; its row says what the cdkd command line's
// would. One that still holds skipped deletes is visited though nothing of it
// changed. When its row goes, it is taken down, and who holds its lock fails the
// row at once (S-42, S-44, S-166, S-170, S-260).
func TestNestedStack(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	const (
		inner    = `"Inner": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.template.json"}, "Properties": {"TemplateURL": "https://example.com/inner.json"}}`
		outer    = `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": "x"}}`
		innerKey = "cdkd/Shop~Inner/us-east-1/"
	)
	if err := os.WriteFile(filepath.Join(dir, "inner.template.json"), []byte(`{"Resources": {`+made+`}, "Outputs": {"Made": {"Value": "a value"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	deploy := func(resources string, want result.Outcome) *result.Stack {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": resources})
		cloud.ClearLog()
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Stacks[0].Outcome != want {
			t.Fatalf("%v %+v, want %s", err, run.Stacks[0], want)
		}
		return run.Stacks[0]
	}
	row := func() *state.Resource {
		t.Helper()
		o, _ := cloud.S3.Object(bucket, shopKey+"state.json")
		r, err := state.ParseRecord(shopKey+"state.json", o.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.Row("Inner")
	}
	visited := func() {
		t.Helper()
		tr := trace{t, cloud.Log()}
		tr.inOrder(tr.first("PutObject", shopKey+"lock.json"), tr.first("PutObject", innerKey+"lock.json"),
			tr.last("DeleteObject", innerKey+"lock.json"), tr.last("DeleteObject", shopKey+"lock.json"))
	}

	deploy(inner+","+outer, result.Success)
	visited()
	if r := row(); r.PhysicalID != "arn:cdkd-local:us-east-1:123456789012:nested-stack/Shop/Inner" || r.ProvisionedBy != state.BySDK || r.Attributes.Value("Outputs.Made") != "a value" {
		t.Errorf("recorded: %+v", r)
	}
	for _, o := range cloud.S3.Objects(bucket) {
		if strings.HasPrefix(o.Key, "_cdkd-registry/") && (o.Key != "_cdkd-registry/us-east-1/Shop.json" || strings.Join(strings.Fields(string(o.Body)), "") != `{"prefix":"cdkd"}`) {
			t.Errorf("%s says %s", o.Key, o.Body)
		}
	}

	o, _ := cloud.S3.Object(bucket, shopKey+"state.json")
	body := strings.Replace(string(o.Body), `"TemplateURL":`, `"cdkd:PendingChildDeletes": ["Gone"], "TemplateURL":`, 1)
	cloud.S3.PutObject(bucket, shopKey+"state.json", []byte(body))
	deploy(inner+","+outer, result.Success)
	visited()
	if r := row(); r.Properties.Has("cdkd:PendingChildDeletes") {
		t.Errorf("recorded: %+v", r)
	}

	lock := `{"owner": "somebody", "timestamp": 1, "expiresAt": 4000000000000, "operation": "deploy"}`
	cloud.S3.PutObject(bucket, innerKey+"lock.json", []byte(lock))
	s := deploy(outer, result.Partial)
	if len(s.Unaddressed) != 1 || !strings.Contains(s.Unaddressed[0].Reason, "held by somebody") || !strings.Contains(s.Unaddressed[0].Reason, "(1 attempt)") || row() == nil {
		t.Errorf("%+v, recorded %v", s.Unaddressed, row())
	}
	if err := os.Remove(filepath.Join(dir, "inner.template.json")); err != nil {
		t.Fatal(err)
	}
	cloud.S3.PutObject(bucket, innerKey+"lock.json", []byte(strings.Replace(lock, "4000000000000", "2", 1)))
	deploy(outer, result.Success)
	visited()
	if _, left := cloud.S3.Object(bucket, innerKey+"state.json"); left || row() != nil {
		t.Error("the nested stack is still on record")
	}
	trace{t, cloud.Log()}.first("DeleteTopic", "")
}

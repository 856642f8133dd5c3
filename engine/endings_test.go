package engine_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A meanwhile is a connection that lets a stack's name be given back once the lock
// of another was taken.
type meanwhile struct{ cloud *sandbox.Sandbox }

func (m meanwhile) Do(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultClient.Do(r)
	if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/Made/us-east-1/lock.json") {
		m.cloud.Release("name")
	}
	return answer, err
}

// What is left to write of a stack that is destroyed is written while the next
// one is, the list of what was kept and the name's release beside the exports.
// One stack's comes after the other's, and each is under its own lock (S-271).
func TestEndsOfDestroysOverlap(t *testing.T) {
	cloud, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	cloud.S3.AddBucket(bucket, "us-east-1", "")
	config := configOn(t, cloud)
	config.AWS.HTTPClient = meanwhile{cloud}
	e := engine.New(config)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{
		"Made": `"T": {"Type": "AWS::SNS::Topic"}}, "Outputs": {"Name": {"Value": {"Ref": "T"}, "Export": {"Name": "made"}}`,
		"Used": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::ImportValue": "made"}}}`,
	})
	manifest := `{"version": "48.0.0", "artifacts": {
		"Made": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "Made.json"}},
		"Used": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "Used.json"}, "dependencies": ["Made"]}}}`
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := deployAll(dir)
	if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks)
	}
	cloud.ClearLog()
	cloud.AddFault(sandbox.Fault{ID: "name", Service: "s3", Action: "DeleteObject", Mentions: "_cdkd-registry/us-east-1/Used", Hold: true})
	run, err := e.Destroy(t.Context(), engine.DestroyOptions{Selection: opt.Selection, ResourceTimeout: time.Minute, StackConcurrency: 1})
	if err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks)
	}
	tr := trace{t, cloud.Log()}
	used, made := func(name string) string { return "/Used/us-east-1/" + name }, func(name string) string { return "/Made/us-east-1/" + name }
	tr.inOrder(tr.first("DeleteObject", used("state.json")), tr.first("PutObject", used("retained.json")), tr.first("DeleteObject", "_cdkd-registry/us-east-1/Used.json"),
		tr.first("DeleteObject", used("lock.json")), tr.first("PutObject", made("retained.json")), tr.first("DeleteObject", "_cdkd-registry/us-east-1/Made.json"), tr.first("DeleteObject", made("lock.json")))
	tr.inOrder(tr.first("DeleteObject", used("state.json")), tr.first("PutObject", made("lock.json")))
}

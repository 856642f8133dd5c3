package engine_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// In a bucket with versions a deploy that changes something removes what earlier
// runs left of the lock, and never the lock that is held. One that may not says
// nothing: whoever deploys often would be told each time (S-19, S-93).
func TestDeployTidiesItsLock(t *testing.T) {
	e, cloud := newEngine(t)
	_, err := s3.NewFromConfig(cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true }).PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: aws.String(bucket), VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	deploy := func(name string) []string {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": strings.Replace(made, "one", name, 1)})
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Outcome == result.Failed {
			t.Fatalf("%v %+v", err, run.Stacks)
		}
		return run.Stacks[0].Warnings
	}
	deploy("one")
	deploy("one")
	deploy("two")
	if left := cloud.S3.Versions(bucket, shopKey+"lock.json"); len(left) != 2 { // its own, and that it is gone
		t.Errorf("of the lock are left %d versions, want 2", len(left))
	}
	if kept := cloud.S3.Versions(bucket, shopKey+"state.json"); len(kept) < 2 {
		t.Errorf("of the record are left %d versions, want all", len(kept))
	}
	cloud.AddFault(sandbox.Fault{Service: "s3", Action: "ListObjectVersions", Status: 403, Code: "AccessDenied"})
	if warnings := deploy("three"); warnings != nil {
		t.Errorf("warned of %q", warnings)
	}
}

// A pacemaker is a connection that lets the settings of a bucket be put once the
// bucket is on record, and the last save go on once the ledger is settled.
type pacemaker struct{ cloud *sandbox.Sandbox }

func (p pacemaker) Do(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultClient.Do(r)
	if err != nil || r.Method != http.MethodPut {
		return answer, err
	}
	if strings.HasSuffix(r.URL.Path, "/state.json") {
		p.cloud.Release("settings")
	}
	if o, _ := p.cloud.S3.Object(bucket, ledgerKey); strings.Contains(string(o.Body), `"sent": {}`) {
		p.cloud.Release("last save")
	}
	return answer, nil
}

// What the ledger says of creates that are on record is taken back beside the
// last save of the record, and not after it (S-234, S-410).
func TestLedgerIsSettledBesideTheLastSave(t *testing.T) {
	cloud, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	cloud.S3.AddBucket(bucket, "us-east-1", "")
	cloud.AddFault(sandbox.Fault{ID: "settings", Service: "s3", Action: "PutBucketVersioning", Hold: true})
	cloud.AddFault(sandbox.Fault{ID: "last save", Service: "s3", Action: "PutObject", Mentions: "the last word", Hold: true})
	window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
	defer window.Close()
	config := cloud.Config()
	config.HTTPClient = pacemaker{cloud}
	e := engine.New(engine.Config{AWS: config, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: "me", Window: window})
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"Made": {"Type": "AWS::S3::Bucket", "Properties": {"VersioningConfiguration": {"Status": "Enabled"}}}}, "Outputs": {"Last": {"Value": "the last word"}`})
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Outcome != result.Success || run.Stacks[0].Warnings != nil {
		t.Fatalf("%v %+v", err, run.Stacks[0])
	}
	writes := 0
	for _, r := range cloud.Log() {
		if r.Action == "PutObject" && strings.HasSuffix(r.Resource, ledgerKey) {
			writes++
		}
	}
	if writes > 3 { // what is intended, that a record is there, and what it answers
		t.Errorf("the ledger was written %d times", writes)
	}
}

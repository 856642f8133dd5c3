package engine_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// A formation answers for CloudFormation, which expands every template to the same
// one, and sends all else to the sandbox.
type formation struct {
	processed string

	mu      sync.Mutex
	actions []string
	lent    string // the address of a template
}

func (f *formation) Do(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.Header.Get("Authorization"), "/cloudformation/") {
		return http.DefaultClient.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	action := form.Get("Action")
	f.actions = append(f.actions, action)
	answer := ""
	switch action {
	case "CreateChangeSet":
		f.lent = form.Get("TemplateURL")
	case "DescribeChangeSet":
		answer = "<Status>CREATE_COMPLETE</Status>"
	case "GetTemplate":
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(f.processed)) // into memory
		answer = "<TemplateBody>" + b.String() + "</TemplateBody>"
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/xml"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(fmt.Sprintf("<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, answer, action, action)))}, nil
}

// A stack whose template has macros is deployed as CloudFormation expands it, and
// compared in the same way (T-80, T-81, T-86, T-87).
func TestMacros(t *testing.T) {
	aws, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(bucket, "us-east-1", "")
	f := &formation{processed: `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/made", "Value": "by a macro"}}}}`}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("manifest.json", `{"version": "48.0.0", "artifacts": {"Sam": {"type": "aws:cloudformation:stack",
		"environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "Sam.template.json"}}}}`)
	write("Sam.template.json", `{"Transform": "AWS::Serverless-2016-10-31", "Description": "`+strings.Repeat("x", 60000)+`", "Resources": {"F": {"Type": "AWS::Serverless::SimpleTable"}}}`)
	window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
	t.Cleanup(window.Close)
	cfg := aws.Config()
	cfg.HTTPClient = f
	e := engine.New(engine.Config{
		AWS: cfg, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix,
		Owner: "me@test-" + t.Name(), Version: "test", Window: window,
	})
	selection := engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}

	run, err := e.Diff(t.Context(), engine.DiffOptions{Selection: selection, NoMacros: true})
	if err == nil || run.Reason != result.ReasonTemplate || !strings.Contains(run.Message, "uses AWS::Serverless-2016-10-31") || len(f.actions) > 0 {
		t.Errorf("switched off: %v, %v", err, f.actions)
	}
	run, err = e.Diff(t.Context(), engine.DiffOptions{Selection: selection})
	if err != nil || run.Stacks[0].Plan.Change("P") == nil {
		t.Fatalf("diff: %v", err)
	}
	run, err = e.Deploy(t.Context(), engine.DeployOptions{Selection: selection, ResourceTimeout: time.Minute})
	if err != nil || run.Outcome != result.Success {
		t.Fatalf("deploy: %v, %s %s", err, run.Outcome, run.Stacks[0].Message)
	}
	// Last comes whether it has the stack: the app declares a name.
	if want := "CreateChangeSet,DescribeChangeSet,GetTemplate,DeleteStack,"; strings.Join(f.actions, ",") != want+want+"DescribeStacks" {
		t.Errorf("CloudFormation was asked %v", f.actions)
	}
	lent, err := url.Parse(f.lent)
	if err != nil || !strings.HasPrefix(f.lent, "https://state.s3.us-east-1.amazonaws.com/cdkd-migrate-tmp/cdkd-macro-expand-") {
		t.Errorf("a long template was lent at %s, %v", f.lent, err)
	}
	if _, ok := aws.S3.Object(bucket, strings.TrimPrefix(lent.Path, "/")); ok {
		t.Error("the template is still in the state bucket (T-82)")
	}
	if run, err = e.Deploy(t.Context(), engine.DeployOptions{Selection: selection, ResourceTimeout: time.Minute}); err != nil || run.Outcome != result.NoChange {
		t.Errorf("again: %v, %s", err, run.Outcome)
	}

	// What a macro makes of a SAM application is a nested stack from elsewhere.
	f.processed = `{"Resources": {"App": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://elsewhere"}}}}`
	run, err = e.Deploy(t.Context(), engine.DeployOptions{Selection: selection, ResourceTimeout: time.Minute})
	if err == nil || !strings.Contains(run.Message, "stack Sam: a macro makes App a nested stack, whose template is not in the assembly") {
		t.Errorf("a nested stack by macro: %v", err)
	}
}

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// A lockWatch is a connection that notes what locks are taken for, and what else
// is written to the state bucket.
type lockWatch struct {
	mu         sync.Mutex
	operations []string
	writes     []string
}

func (w *lockWatch) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Method == http.MethodPut {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.mu.Lock()
		if strings.HasSuffix(r.URL.Path, "/lock.json") {
			var lock struct{ Operation string }
			if err := json.Unmarshal(body, &lock); err != nil {
				return nil, err
			}
			w.operations = append(w.operations, lock.Operation)
		}
		w.mu.Unlock()
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && strings.HasPrefix(r.URL.Path, "/"+bucket+"/") {
		w.mu.Lock()
		w.writes = append(w.writes, r.Method+" "+r.URL.Path)
		w.mu.Unlock()
	}
	return http.DefaultClient.Do(r)
}

// Who changes a stack takes its lock and says what for; who only looks takes
// none, and writes nothing. No lock outlives its command (S-87, S-100, S-411, S-433, T-457).
func TestWhoLocks(t *testing.T) {
	cloud, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	cloud.S3.AddBucket(bucket, "us-east-1", "")
	w := &lockWatch{}
	window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
	defer window.Close()
	config := cloud.Config()
	config.HTTPClient = w
	e := engine.New(engine.Config{AWS: config, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: "me", Version: "test", Window: window})

	dir := t.TempDir()
	write := func(delay string) {
		writeApp(t, dir, map[string]string{"Shop": `"Q": {"Type": "AWS::SQS::Queue", "Metadata": {"aws:cdk:path": "Shop/Q/Resource"}, "Properties": {"QueueName": "q", "DelaySeconds": ` + delay + `}}`})
	}
	sel := engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}
	deploy := func(ctx context.Context, noRollback bool) error {
		opt := deployAll(dir)
		opt.NoRollback = noRollback
		_, err := e.Deploy(ctx, opt)
		return err
	}
	drift := func(mode result.DriftMode, dry bool) func(context.Context) error {
		return func(ctx context.Context) error {
			run := e.Drift(ctx, engine.DriftOptions{Recorded: engine.RecordSelection{Stacks: []string{"Shop"}}, Mode: mode, DryRun: dry})
			if run.Outcome == result.Failed {
				t.Errorf("drift: %s %+v", run.Message, run.Stacks)
			}
			return nil
		}
	}
	const url = "http://localhost:4566/123456789012/q"
	delay := 10
	elsewhere := func() { // somebody changed the queue by hand
		delay++
		_, err := sqs.NewFromConfig(cloud.Config()).SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
			QueueUrl: aws.String(url), Attributes: map[string]string{"DelaySeconds": strconv.Itoa(delay)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		command string
		before  func()
		run     func(context.Context) error
		want    []string
	}{
		{"deploy --dry-run", func() { write("1") }, func(ctx context.Context) error {
			opt := deployAll(dir)
			opt.DryRun = true
			_, err := e.Deploy(ctx, opt)
			return err
		}, nil},
		{"deploy", nil, func(ctx context.Context) error { return deploy(ctx, false) }, []string{"deploy"}},
		{"diff", nil, func(ctx context.Context) error { _, err := e.Diff(ctx, engine.DiffOptions{Selection: sel}); return err }, nil},
		{"list", nil, func(ctx context.Context) error { _, err := e.List(ctx, sel); return err }, nil},
		{"state list", nil, func(ctx context.Context) error { _, err := e.StateList(ctx); return err }, nil},
		{"state info", nil, func(ctx context.Context) error { _, err := e.StateInfo(ctx); return err }, nil},
		{"state show", nil, func(ctx context.Context) error { _, err := e.StateShow(ctx, "Shop", ""); return err }, nil},
		{"state resources", nil, func(ctx context.Context) error { _, err := e.StateResources(ctx, "Shop", ""); return err }, nil},
		{"events", nil, func(ctx context.Context) error { _, err := e.Events(ctx, "Shop", ""); return err }, nil},
		{"drift", elsewhere, drift(result.DriftDetect, false), nil},
		{"drift --accept --dry-run", nil, drift(result.DriftAccept, true), nil},
		{"drift --accept", nil, drift(result.DriftAccept, false), []string{"drift-accept"}},
		{"drift --revert --dry-run", elsewhere, drift(result.DriftRevert, true), nil},
		{"drift --revert", nil, drift(result.DriftRevert, false), []string{"drift-revert"}},
		{"state refresh-observed --dry-run", elsewhere, func(ctx context.Context) error {
			_, err := e.RefreshObserved(ctx, engine.RefreshOptions{RecordSelection: engine.RecordSelection{Stacks: []string{"Shop"}}, DryRun: true})
			return err
		}, nil},
		{"state refresh-observed", nil, func(ctx context.Context) error {
			_, err := e.RefreshObserved(ctx, engine.RefreshOptions{RecordSelection: engine.RecordSelection{Stacks: []string{"Shop"}}})
			return err
		}, []string{"state-refresh-observed"}},
		{"orphan --dry-run", nil, func(ctx context.Context) error {
			_, err := e.OrphanPaths(ctx, engine.OrphanPathOptions{Selection: sel, Paths: []string{"Shop/Q"}, DryRun: true})
			return err
		}, nil},
		{"orphan", nil, func(ctx context.Context) error {
			_, err := e.OrphanPaths(ctx, engine.OrphanPathOptions{Selection: sel, Paths: []string{"Shop/Q"}})
			return err
		}, []string{"orphan"}},
		{"import --dry-run", nil, func(ctx context.Context) error {
			_, err := e.Import(ctx, engine.ImportOptions{Selection: sel, Resources: map[string]string{"Q": url}, DryRun: true})
			return err
		}, nil},
		{"import", nil, func(ctx context.Context) error {
			_, err := e.Import(ctx, engine.ImportOptions{Selection: sel, Resources: map[string]string{"Q": url}})
			return err
		}, []string{"import"}},
		{"a deploy that fails", func() {
			write("2")
			cloud.AddFault(sandbox.Fault{Service: "sqs", Action: "SetQueueAttributes", Status: 403, Code: "AccessDenied"})
		}, func(ctx context.Context) error { return deploy(ctx, true) }, []string{"deploy"}},
		{"rollback", nil, func(ctx context.Context) error {
			_, err := e.Rollback(ctx, engine.RollbackOptions{Stack: "Shop", ResourceTimeout: time.Minute})
			return err
		}, []string{"rollback"}},
		{"state orphan --resource", nil, func(ctx context.Context) error {
			_, err := e.StateOrphan(ctx, engine.OrphanOptions{Stacks: []string{"Shop"}, Resources: []string{"Q"}})
			return err
		}, []string{"orphan"}},
		{"state orphan", nil, func(ctx context.Context) error {
			_, err := e.StateOrphan(ctx, engine.OrphanOptions{Stacks: []string{"Shop"}})
			return err
		}, nil},
		{"destroy", func() { cloud.S3.PutObject(bucket, shopKey+"state.json", shop("P")) }, func(ctx context.Context) error {
			_, err := e.Destroy(ctx, engine.DestroyOptions{Selection: sel, ResourceTimeout: time.Minute})
			return err
		}, []string{"destroy"}},
		{"state destroy", func() { cloud.S3.PutObject(bucket, shopKey+"state.json", shop("P")) }, func(ctx context.Context) error {
			_, err := e.StateDestroy(ctx, engine.RecordSelection{Stacks: []string{"Shop"}}, engine.DestroyOptions{ResourceTimeout: time.Minute})
			return err
		}, []string{"destroy"}},
	} {
		if tt.before != nil {
			tt.before()
		}
		w.operations, w.writes = nil, nil
		if err := tt.run(t.Context()); err != nil {
			t.Fatalf("%s: %v", tt.command, err)
		}
		if diff := cmp.Diff(tt.want, w.operations); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.command, diff)
		}
		if tt.want == nil && tt.command != "state orphan" && len(w.writes) > 0 {
			t.Errorf("%s wrote %q", tt.command, w.writes)
		}
		if _, left := cloud.S3.Object(bucket, shopKey+"lock.json"); left {
			t.Errorf("%s left its lock", tt.command)
		}
	}
}

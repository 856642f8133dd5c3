package engine_test

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// A bucket whose name is held by nobody's that is known is looked at again every
// ten seconds for about 65, since a deleted one is seen for a while. Only its own
// create waits, and a signal ends the wait at once (S-187, S-206).
func TestHeldNameIsLookedAtAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		gone, signal time.Duration // after the deploy began; 0: never
		looks        int
		took         time.Duration
		want         result.Outcome
	}{
		"it was being deleted":     {gone: 25 * time.Second, looks: 4, took: 30 * time.Second, want: result.Success},
		"it is somebody's":         {looks: 8, took: 70 * time.Second, want: result.Failed},
		"a signal comes meanwhile": {signal: 15 * time.Second, looks: 2, took: 15 * time.Second, want: result.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, err := startSandbox(t, sandbox.Options{Upstream: sandbox.None})
			if err != nil {
				t.Fatal(err)
			}
			defer cloud.Close()
			cloud.S3.AddBucket(bucket, "us-east-1", "")
			cloud.S3.AddBucket("shop-data", "us-east-1", "")
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"Data": {"Type": "AWS::S3::Bucket", "Properties": {}},
				"Pool": {"Type": "AWS::Cognito::IdentityPool", "Properties": {"AllowUnauthenticatedIdentities": false}}`})
			synctest.Test(t, func(t *testing.T) {
				sent := make(chan os.Signal, 1)
				window := signals.Open(signals.Options{Actions: true, Signals: sent})
				defer window.Close()
				config := cloud.Config()
				config.HTTPClient = &http.Client{Transport: unscheduled{cloud}}
				e := engine.New(engine.Config{AWS: config, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: "me", Window: window})
				start := time.Now()
				if tt.gone > 0 {
					time.AfterFunc(tt.gone, func() {
						if _, err := awss3.NewFromConfig(config).DeleteBucket(t.Context(), &awss3.DeleteBucketInput{Bucket: aws.String("shop-data")}); err != nil {
							t.Error(err)
						}
					})
				}
				if tt.signal > 0 {
					time.AfterFunc(tt.signal, func() { sent <- syscall.SIGINT })
				}
				opt := deployAll(dir)
				opt.NoRollback = true
				run, err := e.Deploy(t.Context(), opt)
				if err != nil {
					t.Fatal(err)
				}
				s := run.Stacks[0]
				if took := time.Since(start); took < tt.took || took > tt.took+5*time.Second {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
				if s.Outcome != tt.want || (s.Outcome == result.Failed) != (s.Reason == result.ReasonNameHeld) {
					t.Errorf("outcome %s, %s: %s", s.Outcome, s.Reason, s.Message)
				}
			})
			looks := 0
			for _, r := range cloud.Log() {
				if r.Action == "HeadBucket" && strings.HasPrefix(r.Resource, "shop-data") {
					looks++
				}
			}
			if looks != tt.looks {
				t.Errorf("looked %d times, want %d", looks, tt.looks)
			}
			record, _ := cloud.S3.Object(bucket, shopKey+"state.json")
			if !strings.Contains(string(record.Body), `"Pool"`) || strings.Contains(string(record.Body), `"Data"`) != (tt.want == result.Success) {
				t.Errorf("recorded: %s", record.Body)
			}
		})
	}
}

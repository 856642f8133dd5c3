package engine_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// The ledger's entry of a create that failed goes when AWS rejected it outright,
// and stays, with the time, when it may have been carried out (S-234, S-240).
func TestLedgerOfAFailedCreate(t *testing.T) {
	for name, tt := range map[string]struct {
		fault sandbox.Fault
		kept  bool
	}{
		"refused as invalid":           {sandbox.Fault{Status: 400, Code: "InvalidBucketName"}, false},
		"denied":                       {sandbox.Fault{Status: 403, Code: "AccessDenied"}, false},
		"in conflict":                  {sandbox.Fault{Status: 409, Code: "BucketAlreadyExists"}, false},
		"timed out":                    {sandbox.Fault{Status: 408, Code: "RequestTimeout"}, true},
		"throttled":                    {sandbox.Fault{Status: 429, Code: "TooManyRequests"}, true},
		"throttled with a 400":         {sandbox.Fault{Status: 400, Code: "ThrottlingException"}, true},
		"answered 500":                 {sandbox.Fault{Status: 500, Code: "InternalError"}, true},
		"answered 503":                 {sandbox.Fault{Status: 503, Code: "ServiceUnavailable"}, true},
		"not answered before its turn": {sandbox.Fault{Drop: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, err := startSandbox(t, sandbox.Options{Upstream: sandbox.None})
			if err != nil {
				t.Fatal(err)
			}
			defer cloud.Close()
			cloud.S3.AddBucket(bucket, "us-east-1", "")
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"Data": {"Type": "AWS::S3::Bucket", "Properties": {}}`})
			tt.fault.Service, tt.fault.Action, tt.fault.Mentions = "s3", "CreateBucket", "shop-data"
			cloud.AddFault(tt.fault)
			synctest.Test(t, func(t *testing.T) {
				window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
				defer window.Close()
				config := cloud.Config()
				config.HTTPClient = &http.Client{Transport: unscheduled{cloud}}
				e := engine.New(engine.Config{AWS: config, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: "me", Window: window})
				opt := deployAll(dir)
				opt.NoRollback, opt.ResourceTimeout = true, opt.ResourceTimeout*30
				run, err := e.Deploy(t.Context(), opt)
				if err != nil || run.Outcome != result.Failed {
					t.Fatalf("%v %+v", err, run)
				}
			})
			ledger, _ := cloud.S3.Object(bucket, shopKey+"create-tokens.json")
			if kept := strings.Contains(string(ledger.Body), `"Data"`); kept != tt.kept || kept != strings.Contains(string(ledger.Body), `"failedAt"`) {
				t.Errorf("ledger: %s", ledger.Body)
			}
		})
	}
}

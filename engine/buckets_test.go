package engine_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A retention is that of a bucket with Object Lock: what is written needs a
// checksum, and no version can be deleted before its time.
type retention struct {
	mu       sync.Mutex
	unsigned []string // objects that were written without a checksum
	refused  int
}

func (x *retention) Do(r *http.Request) (*http.Response, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	object := strings.HasPrefix(r.URL.Path, "/"+bucket+"/")
	switch {
	case r.Method == http.MethodPut && object && !hasChecksum(r.Header):
		x.unsigned = append(x.unsigned, r.URL.Path)
	case r.Method == http.MethodPost && r.URL.Query().Has("delete"):
		x.refused++
		return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(
			`<DeleteResult><Error><Key>k</Key><VersionId>v</VersionId><Code>AccessDenied</Code><Message>protected by object lock</Message></Error></DeleteResult>`))}, nil
	}
	return http.DefaultClient.Do(r)
}

func hasChecksum(h http.Header) bool {
	for name := range h {
		if name = strings.ToLower(name); name == "content-md5" || strings.HasPrefix(name, "x-amz-checksum-") || name == "x-amz-trailer" {
			return true
		}
	}
	return false
}

// A stack lives the same life whatever the state bucket is like: a deploy, one
// that fails and is rolled back, one that changes nothing, a destroy. What cannot
// be cleared away is said once a run at most (S-14, S-18, S-19, S-400).
func TestStateBucketsOfEveryKind(t *testing.T) {
	on := func(status types.BucketVersioningStatus) func(*testing.T, *sandbox.Sandbox) {
		return func(t *testing.T, cloud *sandbox.Sandbox) {
			_, err := s3.NewFromConfig(cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true }).PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
				Bucket: aws.String(bucket), VersioningConfiguration: &types.VersioningConfiguration{Status: status},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		region  string
		prepare func(*testing.T, *sandbox.Sandbox)
		locked  bool
	}{
		"without versions":           {region: "us-east-1"},
		"with versions":              {region: "us-east-1", prepare: on(types.BucketVersioningStatusEnabled)},
		"with versions switched off": {region: "us-east-1", prepare: on(types.BucketVersioningStatusSuspended)},
		"in another region":          {region: "eu-central-1"},
		"with Object Lock":           {region: "us-east-1", prepare: on(types.BucketVersioningStatusEnabled), locked: true},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, err := startSandbox(t, sandbox.Options{Upstream: sandbox.Kumo})
			if err != nil {
				t.Fatal(err)
			}
			defer cloud.Close()
			cloud.S3.AddBucket(bucket, tt.region, "")
			if tt.prepare != nil {
				tt.prepare(t, cloud)
			}
			lock := &retention{}
			run := func(command func(*engine.Engine) (*result.Run, error), want result.Outcome) {
				t.Helper()
				config := configOn(t, cloud)
				if tt.locked {
					config.AWS.HTTPClient = lock
					config.AWS.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenSupported // as when it is loaded
				}
				var mu sync.Mutex
				var warnings []string
				config.Observe = func(ev engine.Event) {
					mu.Lock()
					defer mu.Unlock()
					if ev.Kind == engine.Warning {
						warnings = append(warnings, ev.Text)
					}
				}
				done, err := command(engine.New(config))
				if done.Outcome != want {
					t.Fatalf("%s, want %s: %v %+v", done.Outcome, want, err, done.Stacks)
				}
				kept := slices.DeleteFunc(slices.Clone(warnings), func(w string) bool { return !strings.Contains(w, "s3:DeleteObjectVersion") })
				if len(kept) != len(warnings) || len(kept) > 1 || len(kept) > 0 && !tt.locked {
					t.Errorf("warnings: %q", warnings)
				}
			}
			dir := t.TempDir()
			opt := deployAll(dir)
			deploy := func(resources string, want result.Outcome) {
				t.Helper()
				writeApp(t, dir, map[string]string{"Shop": resources})
				run(func(e *engine.Engine) (*result.Run, error) { return e.Deploy(t.Context(), opt) }, want)
			}
			queue := `"Q": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 30}}`
			deploy(queue, result.Success)
			fault := cloud.AddFault(sandbox.Fault{Service: "sns", Action: "CreateTopic", Status: 400, Code: "InvalidParameter"})
			deploy(strings.Replace(queue, "30", "40", 1)+`, "T": {"Type": "AWS::SNS::Topic", "DependsOn": "Q", "Properties": {}}`, result.Failed)
			cloud.RemoveFault(fault)
			deploy(queue, result.NoChange)
			run(func(e *engine.Engine) (*result.Run, error) {
				return e.Destroy(t.Context(), engine.DestroyOptions{Selection: opt.Selection, ResourceTimeout: time.Minute})
			}, result.Success)
			for _, o := range cloud.S3.Objects(bucket) {
				if name, own := strings.CutPrefix(o.Key, shopKey); own && name != "retained.json" && !strings.HasPrefix(name, "deployments/") || !strings.HasPrefix(o.Key, "cdkd/") {
					t.Errorf("%s is left", o.Key)
				}
			}
			if lock.unsigned != nil || tt.locked && lock.refused == 0 {
				t.Errorf("without a checksum: %v; %d deletes of versions were refused", lock.unsigned, lock.refused)
			}
		})
	}
}

package engine_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// A skewed client reads times that are off.
type skewed struct {
	aws.HTTPClient
	by time.Duration
}

func (s skewed) Do(r *http.Request) (*http.Response, error) {
	resp, err := s.HTTPClient.Do(r)
	if err == nil {
		resp.Header.Set("Date", time.Now().Add(s.by).UTC().Format(http.TimeFormat))
	}
	return resp, err
}

// A clock that is off is told from what AWS answers, since locks expire by it.
func TestDoctorReadsTheClock(t *testing.T) {
	sandboxed, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sandboxed.Close() })
	sandboxed.S3.AddBucket(bucket, "us-east-1", "")
	window := signals.Open(signals.Options{})
	t.Cleanup(window.Close)
	for name, tt := range map[string]struct {
		by   time.Duration
		want result.Verdict
	}{
		"right":                 {0, result.OK},
		"a few seconds":         {-10 * time.Second, result.OK},
		"minutes behind":        {3 * time.Minute, result.Warn},
		"minutes ahead":         {-3 * time.Minute, result.Warn},
		"so far that AWS minds": {-10 * time.Minute, result.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sandboxed.Config()
			cfg.HTTPClient = skewed{http.DefaultClient, tt.by}
			e := engine.New(engine.Config{AWS: cfg, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Window: window})
			for _, f := range e.Doctor(t.Context(), "") {
				if f.Subject == "clock" {
					if f.Verdict != tt.want || (f.Verdict == result.OK) != (f.Remedy == "") {
						t.Errorf("got %+v, want %s", f, tt.want)
					}
					return
				}
			}
			t.Error("nothing was said of the clock")
		})
	}
}

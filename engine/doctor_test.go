package engine_test

import (
	"net/http"
	"strings"
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

// What a deploy asks CloudFormation is asked before it is needed, where it is: who
// may not gets a line with what to allow.
func TestDoctorAsksCloudFormation(t *testing.T) {
	const plain = `{"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {}}}}`
	const declared = `{"Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "formed"}}}}`
	const importing = `{"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Fn::ImportValue": "a"}}}}}`
	denied := func(action string) func(*handover) {
		return func(f *handover) {
			f.aws.AddFault(sandbox.Fault{Service: "cloudformation", Action: action, Status: 403, Code: "AccessDenied", Message: "no"})
		}
	}
	for name, tt := range map[string]struct {
		template string
		before   func(*handover)
		verdict  result.Verdict // "": nothing is said
		subject  string
		remedy   string
	}{
		"nothing has to be asked":         {plain, func(*handover) {}, "", "", ""},
		"a first deploy of names":         {declared, func(*handover) {}, result.OK, "CloudFormation", ""},
		"a first deploy of what it has":   {declared, func(f *handover) { f.deploy(); f.mustExport() }, result.Fail, "stack Formed", "import Formed --migrate-from-cloudformation"},
		"it is deployed already":          {declared, func(f *handover) { f.deploy(); denied("DescribeStacks")(f) }, "", "", ""},
		"a first deploy that may not ask": {declared, denied("DescribeStacks"), result.Warn, "CloudFormation", "allow cloudformation:DescribeStacks"},
		"exports that may not be listed":  {importing, denied("ListExports"), result.Warn, "CloudFormation", "allow cloudformation:ListExports"},
		"a handover that may not be gone on with": {plain, func(f *handover) {
			f.deploy()
			f.stopped("ExecuteChangeSet", 1)
			if _, err := f.export(); err == nil {
				f.t.Fatal("the export came to its end")
			}
			denied("DescribeStacks")(f)
		}, result.Warn, "CloudFormation", "permissions prints it"},
	} {
		t.Run(name, func(t *testing.T) {
			f := assembled(t, tt.template)
			tt.before(f)
			var found []result.Finding
			for _, one := range f.e.Doctor(t.Context(), f.dir) {
				if one.Subject == "CloudFormation" || one.Subject == "stack Formed" {
					found = append(found, one)
				}
			}
			switch {
			case tt.verdict == "" && found == nil:
			case len(found) != 1 || found[0].Verdict != tt.verdict || found[0].Subject != tt.subject || !strings.Contains(found[0].Remedy, tt.remedy):
				t.Errorf("found %+v", found)
			}
		})
	}
}

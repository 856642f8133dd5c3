package engine_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

const (
	bucket  = "state"
	shopKey = "cdkd/Shop/us-east-1/"
)

func newEngine(t *testing.T) (*engine.Engine, *sandbox.Sandbox) {
	t.Helper()
	return newEngineOn(t, sandbox.Options{Upstream: sandbox.Kumo})
}

func newEngineOn(t *testing.T, options sandbox.Options) (*engine.Engine, *sandbox.Sandbox) {
	t.Helper()
	aws, err := startSandbox(t, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(bucket, "us-east-1", "")
	return engine.New(configOn(t, aws)), aws
}

func configOn(t *testing.T, aws *sandbox.Sandbox) engine.Config {
	window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
	t.Cleanup(window.Close)
	return engine.Config{
		AWS: aws.Config(), Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix,
		Owner: "me@test-" + t.Name(), Version: "test", Window: window,
	}
}

// shop is a record with the rows given, each a parameter that is not in AWS.
func shop(rows ...string) []byte {
	r := state.NewRecord("Shop", "us-east-1")
	for _, id := range rows {
		r.Set(id, &state.Resource{ResourceType: "AWS::SSM::Parameter", PhysicalID: "/shop/" + id})
	}
	b, err := r.Marshal()
	if err != nil {
		panic(err)
	}
	return b
}

// A yes covers what was shown: what appeared since is not deleted (S-172). A
// record without resources is not asked about, and has grown when it has some
// (S-171).
func TestConsentCoversWhatWasSeen(t *testing.T) {
	for name, tt := range map[string]struct {
		shown, then []string
		asked       bool
		want        string // the new row; "": all is deleted
	}{
		"nothing changed":                       {shown: []string{"A"}, then: []string{"A"}, asked: true},
		"a row went":                            {shown: []string{"A", "B"}, then: []string{"A"}, asked: true},
		"a row came":                            {shown: []string{"A"}, then: []string{"A", "New"}, asked: true, want: "New is new"},
		"an empty record goes without question": {},
	} {
		t.Run(name, func(t *testing.T) {
			e, aws := newEngine(t)
			aws.S3.PutObject(bucket, shopKey+"state.json", shop(tt.shown...))
			asked := false
			run, _ := e.StateDestroy(t.Context(), engine.RecordSelection{Stacks: []string{"Shop"}}, engine.DestroyOptions{
				ResourceTimeout: time.Minute,
				Consent: func(string, *plan.Plan) bool {
					asked = true
					aws.S3.PutObject(bucket, shopKey+"state.json", shop(tt.then...))
					return true
				},
			})
			if asked != tt.asked {
				t.Errorf("asked: %t, want %t", asked, tt.asked)
			}
			_, left := aws.S3.Object(bucket, shopKey+"state.json")
			switch message := run.Stacks[0].Message; {
			case tt.want == "" && (left || run.Outcome != result.Success):
				t.Errorf("ended %s (%s), record left: %t; want it gone: %v", run.Outcome, message, left, run.Stacks[0].Unaddressed)
			case tt.want != "" && (!left || run.Outcome != result.Failed || !strings.Contains(message, tt.want)):
				t.Errorf("ended %s (%s), record left: %t; want it refused with %q", run.Outcome, message, left, tt.want)
			}
			if _, locked := aws.S3.Object(bucket, shopKey+"lock.json"); locked {
				t.Error("the lock is left")
			}
		})
	}
}

// While a question stands somebody may begin to work on the stack: what they
// hold, and what they wrote, is not removed (S-310, S-172).
func TestOrphanLooksAgainAfterTheQuestion(t *testing.T) {
	const lock = `{"owner": "bob@laptop:1", "timestamp": 4000000000000, "expiresAt": 4000001800000, "operation": "deploy"}`
	for name, tt := range map[string]struct {
		meanwhile func(*sandbox.Sandbox)
		opt       engine.OrphanOptions
		refused   func(error) bool
	}{
		"locked": {
			func(aws *sandbox.Sandbox) { aws.S3.PutObject(bucket, shopKey+"lock.json", []byte(lock)) }, engine.OrphanOptions{},
			func(err error) bool { return errors.As(err, new(*state.HeldError)) },
		},
		"deployed": {
			func(aws *sandbox.Sandbox) { aws.S3.PutObject(bucket, shopKey+"state.json", shop("A", "B")) }, engine.OrphanOptions{},
			func(err error) bool { return errors.As(err, new(*state.ConflictError)) },
		},
		"the row was replaced": {
			func(aws *sandbox.Sandbox) {
				aws.S3.PutObject(bucket, shopKey+"state.json", []byte(strings.ReplaceAll(string(shop("A")), "/shop/A", "/shop/A2")))
			},
			engine.OrphanOptions{Resources: []string{"A"}},
			func(err error) bool { return errors.As(err, new(*state.ConflictError)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, aws := newEngine(t)
			aws.S3.PutObject(bucket, shopKey+"state.json", shop("A"))
			tt.opt.Stacks = []string{"Shop"}
			tt.opt.Consent = func([]engine.Orphaned) bool { tt.meanwhile(aws); return true }
			done, err := e.StateOrphan(t.Context(), tt.opt)
			if !tt.refused(err) || len(done) > 0 {
				t.Errorf("done %v, error %v; want it refused", done, err)
			}
			if _, there := aws.S3.Object(bucket, shopKey+"state.json"); !there {
				t.Error("the record is gone")
			}
		})
	}
}

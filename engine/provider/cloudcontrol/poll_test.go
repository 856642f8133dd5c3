package cloudcontrol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
)

func TestStatusIsReadOnSchedule(t *testing.T) { // (T-1020)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 45*time.Second)
		if _, err := New(Options{}).Create(t.Context(), w.request(t, workgroup, `{"Name":"w"}`, "")); err != nil {
			t.Fatal(err)
		}
		want := []float64{0, 0.25, 0.5, 1, 2.5, 4.75, 8.125, 13.188, 20.783, 30.783, 40.783, 50.783}
		if diff := cmp.Diff(want, w.times("GetResourceRequestStatus")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestStatuses(t *testing.T) {
	for _, c := range []struct {
		rule     string
		statuses []string
		want     string
		reads    []float64
	}{
		{"SUCCESS ends (T-1021)", nil, "made w", []float64{0}},
		{"PENDING and IN_PROGRESS wait (T-1021)", []string{`"OperationStatus":"PENDING"`, `"OperationStatus":"IN_PROGRESS"`}, "made w", []float64{0, 0.25, 0.5}},
		{"so does CANCEL_IN_PROGRESS (T-1021)", []string{`"OperationStatus":"CANCEL_IN_PROGRESS"`}, "made w", []float64{0, 0.25}},
		{"one that is not known warns and waits (T-1021)", []string{`"OperationStatus":"RESTING"`, `"OperationStatus":"RESTING"`},
			`made w, notices: Thing (AWS::Athena::WorkGroup): Cloud Control reports the status "RESTING", which is not known; waiting`, []float64{0, 0.25, 0.5}},
		{"FAILED is an error (T-1021)", []string{`"OperationStatus":"FAILED","ErrorCode":"InvalidRequest","StatusMessage":"no such shape"`}, "*cloudcontrol.FailedError", []float64{0}},
		{"CANCEL_COMPLETE too (T-1021)", []string{`"OperationStatus":"CANCEL_COMPLETE"`}, "*cloudcontrol.CancelledError", []float64{0}},
		{"RetryAfter overrides a shorter wait (T-1021)", []string{fmt.Sprintf(`"OperationStatus":"IN_PROGRESS","RetryAfter":%d`, bubbleStart.Unix()+4)}, "made w", []float64{0, 4}},
		{"but not a longer one (T-1021)", []string{fmt.Sprintf(`"OperationStatus":"IN_PROGRESS","RetryAfter":%d`, bubbleStart.Unix())}, "made w", []float64{0, 0.25}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, 0)
				w.statuses = c.statuses
				r := w.request(t, workgroup, `{"Name":"w"}`, "")
				var notices []string
				r.Notice = func(text string) { notices = append(notices, text) }
				made, err := New(Options{}).Create(t.Context(), r)
				got := "made " + made.PhysicalID
				if err != nil {
					got = ""
					for e := err; e != nil; e = errors.Unwrap(e) {
						got = fmt.Sprintf("%T", e)
					}
				}
				if len(notices) > 0 {
					got += ", notices: " + strings.Join(notices, "; ")
				}
				if got != c.want {
					t.Errorf("got %s (%v), want %s", got, err, c.want)
				}
				if diff := cmp.Diff(c.reads, w.times("GetResourceRequestStatus")); diff != "" {
					t.Errorf("reads (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestLimits(t *testing.T) { // (T-1026)
	for typeName, want := range map[string][3]time.Duration{
		"AWS::OpenSearchService::Domain": {60, 60, 60}, "AWS::Elasticsearch::Domain": {60, 60, 60},
		"AWS::Redshift::Cluster": {60, 15, 60}, "AWS::ElastiCache::ReplicationGroup": {60, 15, 60}, "AWS::ElastiCache::CacheCluster": {60, 15, 60},
		"AWS::RDS::DBInstance": {60, 15, 60}, "AWS::RDS::DBCluster": {60, 15, 60},
		"AWS::EKS::Cluster": {30, 15, 30}, workgroup: {15, 15, 15},
	} {
		for i, op := range []types.Operation{types.OperationCreate, types.OperationUpdate, types.OperationDelete} {
			if got := Limit(typeName, op); got != want[i]*time.Minute {
				t.Errorf("%s of %s may take %s, want %s", op, typeName, got, want[i]*time.Minute)
			}
		}
	}
}

func TestOutageWhilePolling(t *testing.T) {
	for _, c := range []struct {
		rule  string
		until int // status reads that fail, from the second on
		how   int
		ok    bool
		reads []float64
	}{
		{"no network for a while: the same request is followed on (T-1023)", 5, -1, true, []float64{0, 0.25, 2.25, 6.25, 14.25, 24.25}},
		{"server errors count too (T-1024)", 3, 500, true, []float64{0, 0.25, 2.25, 6.25}},
		{"throttling too (T-1024)", 3, 429, true, []float64{0, 0.25, 2.25, 6.25}},
		{"two minutes are the limit (T-1023)", 1000, -1, false, []float64{0, 0.25, 2.25, 6.25, 14.25, 24.25, 34.25, 44.25, 54.25, 64.25, 74.25, 84.25, 94.25, 104.25, 114.25, 124.25}},
		{"a refusal is no outage (T-1024)", 1000, 400, false, []float64{0, 0.25}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, time.Second)
				w.fail = func(action string, nth int) int {
					if action == "GetResourceRequestStatus" && nth > 0 && nth < c.until {
						return c.how
					}
					return 0
				}
				_, err := New(Options{}).Create(t.Context(), w.request(t, workgroup, `{"Name":"w"}`, ""))
				if (err == nil) != c.ok {
					t.Errorf("want success %t, got %v", c.ok, err)
				}
				if err != nil && (retry.Classifier{}).Of(err) != retry.Final {
					t.Errorf("an operation that may still be working must not be sent again: %v", err)
				}
				if diff := cmp.Diff(c.reads, w.times("GetResourceRequestStatus")); diff != "" {
					t.Errorf("reads (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestDrainingLetsTheWaitGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 10*time.Minute)
		draining := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(draining) })
		r := w.request(t, workgroup, `{"Name":"w"}`, "")
		r.Draining, r.Token = draining, "token-1"
		_, err := New(Options{}).Create(t.Context(), r)
		var open *OpenError
		if !errors.As(err, &open) || !errors.Is(err, provider.ErrDraining) {
			t.Fatalf("want an OpenError that is ErrDraining, got %v", err)
		}
		if time.Since(w.start) != 3*time.Second {
			t.Errorf("want the wait to end at 3s, it ended at %s", time.Since(w.start))
		}
		if open.RequestToken == "" || open.ClientToken != "token-1" || open.Operation != types.OperationCreate || open.Identifier != "w" {
			t.Errorf("what a later run needs is missing: %+v", open)
		}
		// A later run follows the same request.
		w.SetDelay(0)
		r.Draining = nil
		made, err := New(Options{}).Settle(t.Context(), r, open.RequestToken, open.Operation, time.Now())
		if err != nil || made.PhysicalID != "w" || made.Attributes.Len() == 0 {
			t.Errorf("settle: want w with its attributes, got %+v, %v", made, err)
		}
	})
}

// A request that an earlier run let go is cancelled when its type's time is over,
// and goes by what came of it all the same (P-14).
func TestSettleGoesByWhatCameOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		takes   time.Duration
		refused bool // the cancellation
		after   time.Duration
		want    string
	}{
		"in time":                         {10 * time.Minute, false, 10 * time.Minute, "made w"},
		"cancelled":                       {time.Hour, false, 15 * time.Minute, "*cloudcontrol.CancelledError"},
		"it ended well all the same":      {16 * time.Minute, true, 16 * time.Minute, "made w"},
		"it neither ends nor can be told": {time.Hour, true, 17 * time.Minute, "*cloudcontrol.TimeoutError"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, c.takes)
				draining := make(chan struct{})
				close(draining)
				r := w.request(t, workgroup, `{"Name":"w"}`, "")
				r.Draining = draining
				_, err := New(Options{}).Create(t.Context(), r)
				open, ok := errors.AsType[*OpenError](err)
				if !ok {
					t.Fatal(err)
				}
				if c.refused {
					w.refuse = map[string]string{"CancelResourceRequest": "ConcurrentModificationException"}
				}
				r.Draining = nil
				made, err := New(Options{}).Settle(t.Context(), r, open.RequestToken, open.Operation, w.start)
				got := "made " + made.PhysicalID
				if err != nil {
					got = fmt.Sprintf("%T", err)
				}
				if got != c.want {
					t.Errorf("got %s (%v), want %s", got, err, c.want)
				}
				if took := time.Since(w.start); took < c.after || took > c.after+10*time.Second {
					t.Errorf("it took %s, want %s", took, c.after)
				}
			})
		})
	}
}

func TestDeadlineCancels(t *testing.T) { // (T-1022, T-1025)
	for typeName, limit := range map[string]time.Duration{workgroup: 15 * time.Minute, "AWS::EKS::Cluster": 30 * time.Minute} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 100*time.Hour)
			props := `{"Name":"w"}`
			if typeName != workgroup {
				props = `{"Name":"w","RoleArn":"arn:r","ResourcesVpcConfig":{"SubnetIds":["s"]}}`
			}
			_, err := New(Options{}).Create(t.Context(), w.request(t, typeName, props, ""))
			var late *TimeoutError
			if !errors.As(err, &late) || time.Since(w.start) != limit {
				t.Errorf("%s: want a TimeoutError after %s, got %v after %s", typeName, limit, err, time.Since(w.start))
			}
			if len(w.times("CancelResourceRequest")) != 1 {
				t.Errorf("%s: the request was not cancelled", typeName)
			}
			if (retry.Classifier{}).Of(err) != retry.Final {
				t.Errorf("%s: what ran out of time must not be sent again", typeName)
			}
		})
	}
}

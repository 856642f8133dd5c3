package state

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// roundTrip is how long each request takes in these tests.
const roundTrip = 100 * time.Millisecond

func slowShop(t *testing.T) (*cloud, *Stack) {
	c, k := bubbleShop(t)
	for _, op := range []string{"GetObject", "PutObject", "DeleteObject", "ListObjectsV2"} {
		c.on(op, "", 0, 0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			time.Sleep(roundTrip)
			next.ServeHTTP(w, r)
		})
	}
	return c, k
}

// begin is what every deploy does first, beside each other.
func begin(t *testing.T, k *Stack) (l *Lock, r *Record, etag ETag, p Presence) {
	t.Helper()
	var wg sync.WaitGroup
	var errs [3]error
	wg.Go(func() { l, errs[0] = k.Lock(t.Context(), lockOptions(new(notes))) })
	wg.Go(func() { r, etag, errs[1] = k.ReadProvisional(t.Context()) })
	wg.Go(func() { p, errs[2] = k.Presence(t.Context()) })
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return l, r, etag, p
}

func TestFirstDeployCreatesAfterThreeRoundTrips(t *testing.T) { // (S-230, S-267, S-272)
	synctest.Test(t, func(t *testing.T) {
		c, k := slowShop(t)
		start := time.Now()
		lock, r, etag, p := begin(t, k)
		if r != nil || p.Ledger || p.Pending || p.Retained {
			t.Fatalf("not a first deploy: %v, %+v", r, p)
		}
		ledger, name := k.OpenLedger(t.Context(), p.Ledger, r), k.Registry()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := k.Confirm(t.Context(), etag); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := name.Claim(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wg.Wait() // the lookups take no longer
		var creates sync.WaitGroup
		for _, i := range []Intent{queueIntent("Q"), topicIntent("T"), {LogicalID: "K", Type: "AWS::KMS::Key"}} {
			creates.Go(func() {
				intend(t, ledger, i)
				if d := time.Since(start); d > 3*roundTrip+gatherWindow {
					t.Errorf("%s is created after %s, longer than three round trips", i.LogicalID, d)
				}
			})
		}
		creates.Wait()
		registry := slices.DeleteFunc(c.requests(), func(r string) bool {
			return !strings.Contains(r, registryFolder) && !strings.Contains(r, ledgerName)
		})
		if want := []string{"PutObject " + markerKey, "PutObject " + ledgerKey}; !slices.Equal(registry, want) {
			t.Errorf("requests %v, want %v", registry, want)
		}
		lock.Release(t.Context())
	})
}

func TestDeployWithoutCreatesAsksNothing(t *testing.T) { // (S-233, S-268, S-272)
	synctest.Test(t, func(t *testing.T) {
		c, k := slowShop(t)
		c.PutObject(bucket, recordKey, []byte(ownRecord))
		lock, r, etag, p := begin(t, k)
		ledger := k.OpenLedger(t.Context(), p.Ledger, r)
		k.Evidence(r, ledger)
		k.Registry()
		if _, err := k.OpenPending(t.Context(), p.Pending); err != nil {
			t.Fatal(err)
		}
		if err := k.Confirm(t.Context(), etag); err != nil {
			t.Fatal(err)
		}
		if err := k.Retain(t.Context(), p.Retained, nil, r); err != nil {
			t.Fatal(err)
		}
		ledger.Recorded()
		if err := ledger.Settle(t.Context(), Settlement{Record: r}); err != nil {
			t.Fatal(err)
		}
		lock.Release(t.Context())
		got := c.requests()
		slices.Sort(got)
		want := []string{"DeleteObject " + lockKey, "GetObject " + recordKey, "GetObject " + recordKey, "ListObjectsV2", "PutObject " + lockKey}
		if !slices.Equal(got, want) {
			t.Errorf("requests %v, want %v", got, want)
		}
	})
}

func TestDestroyBudget(t *testing.T) { // (S-270, S-272)
	for _, tt := range []struct {
		name string
		kept []Kept
		want []string
	}{
		{"nothing kept", nil, []string{"DeleteObject " + markerKey, "GetObject " + markerKey, "PutObject " + retainedKey}},
		{"something kept", []Kept{keptQueue("Q")}, []string{"DeleteObject " + markerKey, "GetObject " + markerKey,
			"HeadObject " + retainedKey, "PutObject " + retainedKey}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				c.PutObject(bucket, recordKey, []byte(ownRecord))
				c.PutObject(bucket, markerKey, marker("cdkd"))
				name := k.Registry()
				if err := name.Check(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, etag, err := k.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := k.Delete(t.Context(), etag); err != nil {
					t.Fatal(err)
				}
				if err := k.Vacate(t.Context(), tt.kept, name); err != nil {
					t.Fatal(err)
				}
				got := slices.DeleteFunc(c.requests(), func(r string) bool {
					return !strings.HasSuffix(r, markerKey) && !strings.HasSuffix(r, retainedKey)
				})
				slices.Sort(got)
				if !slices.Equal(got, tt.want) {
					t.Errorf("requests %v, want %v", got, tt.want)
				}
			})
		})
	}
}

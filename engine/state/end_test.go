package state

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// What a run wrote and can wait for no longer is called off, not left to go on
// behind its back: nothing sleeps between two tries when End returns (S-189).
func TestEndCallsWritesOff(t *testing.T) {
	given := func(t *testing.T) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	for name, tt := range map[string]struct {
		key string
		// write begins to write, waits for a second and ends; it returns what writes again.
		write func(*testing.T, *Stack) (again func() error)
	}{
		"the record": {recordName, func(t *testing.T, k *Stack) func() error {
			warned := 0
			s := NewSaver(t.Context(), k, Absent, SaverOptions{Warn: func(string) { warned++ }})
			s.Save(rows(1))
			if s.Flush(given(t)) == nil {
				t.Error("it was saved")
			}
			s.End()
			if warned > 0 {
				t.Error("who called it off was told of it, too")
			}
			return func() error {
				s.Save(rows(1))
				return s.Flush(t.Context())
			}
		}},
		"the ledger": {ledgerName, func(t *testing.T, k *Stack) func() error {
			l := k.OpenLedger(t.Context(), false, nil)
			if _, err := l.Intend(given(t), queueIntent("A")); err == nil {
				t.Error("it was written down")
			}
			l.End(given(t))
			return func() error {
				_, err := l.Intend(t.Context(), queueIntent("A"))
				return err
			}
		}},
		"what is open": {pendingName, func(t *testing.T, k *Stack) func() error {
			f := openPending(t, k, false)
			enter := func(p *Pending) { p.Enter(openCreate("A")) }
			if f.Change(given(t), enter) == nil {
				t.Error("it was written down")
			}
			f.End(given(t))
			return func() error { return f.Change(t.Context(), enter) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				c.on("PutObject", tt.key, 0, 12, answer(http.StatusInternalServerError, "InternalError"))
				c.on("PutObject", tt.key, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
				again := tt.write(t, k)
				tried := len(c.requests())
				time.Sleep(persistTime)
				if more := c.requests(); tried == 0 || more != nil {
					t.Errorf("%d tries, and %d after the end", tried, len(more))
				}
				as[*AccessError](t, again()) // it can be written to all the same
			})
		})
	}
}

// A lock that is left behind expires when it says so: nobody renews it (S-433).
func TestLockLeftIsNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		l, err := k.Lock(t.Context(), LockOptions{Operation: "deploy", Owner: "me"})
		if err != nil {
			t.Fatal(err)
		}
		l.Leave()
		c.requests()
		time.Sleep(LockTTL)
		if more := c.requests(); more != nil || !c.has(k.key(lockName)) {
			t.Errorf("left, and then %v", more)
		}
	})
}

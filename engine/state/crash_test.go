package state

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deployTwo is a deploy of two resources, as far as this package sees it. It
// creates what is free or licensed, and returns what it refused.
func deployTwo(t *testing.T, k *Stack, holders map[string]Holder) (refused map[string]*NameHeldError, lock *Lock, end func(Settlement)) {
	t.Helper()
	opt := lockOptions(new(notes))
	opt.FailFast = true
	lock, err := k.Lock(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := k.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := k.Presence(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := k.OpenLedger(t.Context(), p.Ledger, r)
	evidence := k.Evidence(r.Clone(), l)
	refused = map[string]*NameHeldError{}
	for _, i := range []Intent{queueIntent("Q"), topicIntent("T")} {
		h, held := holders[i.LogicalID]
		if held {
			if v := evidence.License(t.Context(), h); v.Proof == "" {
				refused[i.LogicalID] = evidence.Refusal(h, v)
				continue
			}
		}
		i.Keep = held
		intend(t, l, i)
	}
	return refused, lock, func(s Settlement) {
		if err := l.Settle(t.Context(), s); err != nil {
			t.Error(err)
		}
		if err := lock.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestRunAfterACrash(t *testing.T) {
	queue := func(created time.Time) Holder {
		return Holder{LogicalID: "Q", Type: typeQueue, Name: "shop-Q", PhysicalID: "https://sqs.eu-west-1.amazonaws.com/1/shop-Q", Created: created}
	}
	topic := Holder{LogicalID: "T", Type: typeTopic, Name: "shop-T", PhysicalID: "arn:aws:sns:eu-west-1:1:shop-T"}

	// crash leaves a run dead after it made both, and returns when that was and
	// the tag that its topic carries.
	crash := func(t *testing.T, c *cloud, k *Stack) (made time.Time, tag string) {
		r := LockRecord{Owner: "dead", Operation: "deploy", Acquired: time.Now(), Expires: at(LockTTL)}
		c.PutObject(bucket, lockKey, r.marshal())
		l := k.OpenLedger(t.Context(), false, nil)
		tag = intend(t, l, queueIntent("Q"), topicIntent("T"))[1].OwnerTag
		made = time.Now()
		time.Sleep(LockTTL)
		return made, tag
	}
	both := map[string]Fate{"Q": FateOver, "T": FateOver}

	t.Run("takes back what its tag or its creation time proves (S-213, S-235, S-238)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			made, tag := crash(t, c, k)
			ours := topic
			ours.OwnerTag = tag
			holders := map[string]Holder{"Q": queue(made), "T": ours}
			refused, lock, _ := deployTwo(t, k, holders)
			if len(refused) != 0 {
				t.Fatalf("refused %v", refused)
			}
			// It ends unsettled too, before its first save: what proved it still does.
			lock.Release(t.Context())
			refused, _, end := deployTwo(t, k, holders)
			if len(refused) != 0 {
				t.Fatalf("then refused %v", refused)
			}
			end(Settlement{Fates: both})
			if d := c.ledger(t); len(d.sent) != 0 {
				t.Errorf("entries left: %v", d.sent)
			}
			// Without an open entry the tag proves nothing.
			refused, _, end = deployTwo(t, k, holders)
			if len(refused) != 2 {
				t.Errorf("refused %v, want both", refused)
			}
			end(Settlement{})
		})
	})
	t.Run("refuses what may be another's, and says how to import it (S-208, S-236)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			made, _ := crash(t, c, k)
			refused, _, end := deployTwo(t, k, map[string]Holder{"Q": queue(made.Add(LockInterval + 2*skew)), "T": topic})
			end(Settlement{})
			for _, id := range []string{"Q", "T"} {
				if err := refused[id]; err == nil || !err.Own || !strings.Contains(err.Remedy(), "cdkd-action import Shop --resource "+id+"=") {
					t.Errorf("%s: %v", id, err)
				}
			}
			if d := c.ledger(t); len(d.sent) != 2 || d.sent["Q"].FailedAt != 0 {
				t.Errorf("ledger %+v", d)
			}
		})
	})
	t.Run("creates anew what is free (S-230)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			crash(t, c, k)
			refused, _, end := deployTwo(t, k, nil)
			if len(refused) != 0 {
				t.Fatalf("refused %v", refused)
			}
			if e := c.ledger(t).sent["Q"]; e.FirstSentAt < time.Now().Add(-time.Second).UnixMilli() {
				t.Errorf("the new create is vouched for by the old entry: %+v", e)
			}
			end(Settlement{Fates: both})
		})
	})
	t.Run("two runs at once: one writes (S-232)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			first, second := k.OpenLedger(t.Context(), false, nil), k.OpenLedger(t.Context(), false, nil)
			intend(t, first, queueIntent("Q"))
			_, err := second.Intend(t.Context(), queueIntent("Q"))
			if _, ok := errors.AsType[*ConflictError](err); !ok {
				t.Fatalf("got %v", err)
			}
			if err := second.Settle(t.Context(), Settlement{}); err == nil {
				t.Error("the refused run settled")
			}
			if d := c.ledger(t); d.nonce != first.Nonce() || d.sent["Q"].FailedAt != 0 {
				t.Errorf("ledger %+v", d)
			}
		})
	})
}

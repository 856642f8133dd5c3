package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

const ledgerKey = shopKey + ledgerName

func (c *cloud) ledger(t *testing.T) *ledgerDoc {
	t.Helper()
	d, err := parseLedger(ledgerKey, []byte(c.body(t, ledgerKey)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func queueIntent(id string) Intent { return Intent{LogicalID: id, Type: typeQueue, Name: "shop-" + id} }
func topicIntent(id string) Intent { return Intent{LogicalID: id, Type: typeTopic, Name: "shop-" + id} }

func intend(t *testing.T, l *Ledger, intents ...Intent) []Ticket {
	t.Helper()
	tickets, err := l.Intend(t.Context(), intents...)
	if err != nil {
		t.Fatal(err)
	}
	return tickets
}

// recordOf has a row for the physical id of each logical id.
func recordOf(rows ...string) *Record {
	r := NewRecord("Shop", "eu-west-1")
	for i := 0; i < len(rows); i += 3 {
		r.Set(rows[i], &Resource{ResourceType: rows[i+1], PhysicalID: rows[i+2]})
	}
	return r
}

func TestLedgerShape(t *testing.T) { // (S-230, S-230a, section 14.2)
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		l := k.OpenLedger(t.Context(), false, nil)
		tickets := intend(t, l, queueIntent("Q"), Intent{LogicalID: "K", Type: "AWS::KMS::Key"},
			Intent{LogicalID: "R", Type: "AWS::KMS::Key", Replaces: "old"})
		c.wantRequests(t, "PutObject "+ledgerKey) // and no read of one that is not there (S-231)
		ms := time.Now().UnixMilli()
		want := fmt.Sprintf(`{
  "ledgerVersion": 1,
  "nonce": %q,
  "sent": {
    "K": {
      "base": "create:AWS::KMS::Key",
      "token": %q,
      "firstSentAt": %d
    },
    "Q": {
      "base": "adopt-by-name:AWS::SQS::Queue",
      "token": "shop-Q",
      "firstSentAt": %[3]d
    },
    "R": {
      "base": "replace:AWS::KMS::Key:2a9e8f1e",
      "token": %[4]q,
      "firstSentAt": %[3]d
    }
  }
}`, l.Nonce(), tickets[1].Token, ms, tickets[2].Token)
		want = strings.Replace(want, "2a9e8f1e", shortHash("old"), 1)
		if diff := cmp.Diff(want, c.body(t, ledgerKey)); diff != "" {
			t.Errorf("ledger (-want +got):\n%s", diff)
		}
		if len(tickets[1].Token) != 32 || tickets[1].Token == tickets[2].Token || tickets[1].OwnerTag != tickets[1].Token {
			t.Errorf("tickets %+v", tickets)
		}
		if tickets[0].Token != "shop-Q" || len(tickets[0].OwnerTag) != 32 {
			t.Errorf("ticket of a name %+v", tickets[0])
		}
	})
}

func TestLedgerKeepsWhatItDoesNotKnow(t *testing.T) { // (S-2)
	const body = `{"ledgerVersion":1,"nonce":"n","future":[1],"abandonedAt":7,"stateRecorded":true,
"sent":{"A":{"base":"efs-token","token":"t","firstSentAt":5,"failedAt":6,"future":{}}}}`
	d, err := parseLedger("k", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	out, err := d.marshal()
	if err != nil {
		t.Fatal(err)
	}
	was, _ := value.ParseObject([]byte(body))
	is, _ := value.ParseObject(out)
	if !value.Equal(was, is) {
		t.Errorf("something was lost or changed:\n%s", cmp.Diff(body, string(out)))
	}
}

func TestLedgerRefused(t *testing.T) {
	for _, tt := range []struct{ name, body, problem string }{
		{"not JSON", `{`, "not JSON"},
		{"not an object", `[]`, "must be an object"},
		{"no nonce", `{"ledgerVersion":1,"sent":{}}`, "nonce of the ledger is null"},
		{"a nonce that is not a string", `{"ledgerVersion":1,"nonce":1,"sent":{}}`, "nonce of the ledger is a number"},
		{"no version", `{"nonce":"n","sent":{}}`, "version 0"},
		{"another version", `{"ledgerVersion":2,"nonce":"n","sent":{}}`, "version 2"},
		{"no entries", `{"ledgerVersion":1,"nonce":"n"}`, "sent of the ledger is null"},
		{"a bound that is not a time", `{"ledgerVersion":1,"nonce":"n","sent":{},"abandonedAt":"x"}`, "abandonedAt of the ledger is a string"},
	} {
		t.Run(tt.name+" (S-232)", func(t *testing.T) {
			c, k := shop(t)
			c.PutObject(bucket, ledgerKey, []byte(tt.body))
			l := k.OpenLedger(t.Context(), true, nil)
			_, err := l.Intend(t.Context(), queueIntent("Q"))
			if err == nil || !strings.Contains(err.Error(), tt.problem) || !strings.Contains(err.Error(), ledgerKey) {
				t.Errorf("got %v, want %q and the key", err, tt.problem)
			}
			if err := l.Settle(t.Context(), Settlement{Record: recordOf()}); err != nil {
				t.Error(err)
			}
			l.Recorded()
			if got := c.body(t, ledgerKey); got != tt.body {
				t.Errorf("it was overwritten with %s", got)
			}
		})
	}
	t.Run("denied (S-232)", func(t *testing.T) {
		c, k := shop(t)
		c.on("GetObject", ledgerName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		_, err := k.OpenLedger(t.Context(), true, nil).Intend(t.Context(), queueIntent("Q"))
		as[*AccessError](t, err)
	})
	t.Run("a malformed entry is dropped (S-232)", func(t *testing.T) {
		d, err := parseLedger("k", []byte(`{"ledgerVersion":1,"nonce":"n","sent":{
"A":1,"B":{"base":"b","token":"t"},"C":{"base":"","token":"t","firstSentAt":1},"D":{"base":"b","token":"t","firstSentAt":1,"failedAt":"x"},
"E":{"base":"b","token":"t","firstSentAt":1}}}`))
		if err != nil || len(d.sent) != 1 || d.sent["E"].Token != "t" {
			t.Errorf("got %+v, %v", d, err)
		}
	})
}

func TestLedgerBatches(t *testing.T) {
	t.Run("what is intended within 5 ms shares a write (S-233)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			l := k.OpenLedger(t.Context(), false, nil)
			var wg sync.WaitGroup
			for i := range 10 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 499 * time.Microsecond)
					intend(t, l, queueIntent(fmt.Sprint(i)))
				})
			}
			start := time.Now()
			wg.Wait()
			if d := time.Since(start); d != gatherWindow {
				t.Errorf("took %s", d)
			}
			c.wantRequests(t, "PutObject "+ledgerKey)
			if n := len(c.ledger(t).sent); n != 10 {
				t.Errorf("%d entries", n)
			}
		})
	})
	t.Run("what comes during a write shares the next: two serial writes at most (S-233)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			c.on("PutObject", ledgerName, 0, 0, first(func() { time.Sleep(100 * time.Millisecond) }))
			l := k.OpenLedger(t.Context(), false, nil)
			var wg sync.WaitGroup
			longest := time.Duration(0)
			var mu sync.Mutex
			for i := range 10 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 10 * time.Millisecond)
					start := time.Now()
					intend(t, l, queueIntent(fmt.Sprint(i)))
					mu.Lock()
					longest = max(longest, time.Since(start))
					mu.Unlock()
				})
			}
			wg.Wait()
			c.wantRequests(t, "PutObject "+ledgerKey, "PutObject "+ledgerKey)
			if longest > 200*time.Millisecond {
				t.Errorf("waited for %s, longer than for two writes", longest)
			}
		})
	})
	t.Run("a failed write refuses those who waited, and a later one does not carry them (S-233)", func(t *testing.T) {
		c, k := shop(t)
		c.on("PutObject", ledgerName, 0, 1, answer(http.StatusForbidden, "AccessDenied"))
		l := k.OpenLedger(t.Context(), false, nil)
		_, err := l.Intend(t.Context(), queueIntent("A"))
		as[*AccessError](t, err)
		intend(t, l, queueIntent("B"))
		if d := c.ledger(t); len(d.sent) != 1 || d.sent["B"].Token == "" {
			t.Errorf("entries %v", d.sent)
		}
	})
	t.Run("a write whose answer was lost is recognised (S-436)", func(t *testing.T) {
		c, k := shop(t)
		c.on("PutObject", ledgerName, 0, 1, lose)
		l := k.OpenLedger(t.Context(), false, nil)
		intend(t, l, queueIntent("A"))
		intend(t, l, queueIntent("B"))
		if d := c.ledger(t); len(d.sent) != 2 {
			t.Errorf("entries %v", d.sent)
		}
	})
	t.Run("another process's ledger is not overwritten, then or later (S-232)", func(t *testing.T) {
		c, k := shop(t)
		l := k.OpenLedger(t.Context(), false, nil)
		theirs := c.PutObject(bucket, ledgerKey, []byte(`{"ledgerVersion":1,"nonce":"theirs","sent":{}}`))
		for range 2 {
			_, err := l.Intend(t.Context(), queueIntent("A"))
			as[*ConflictError](t, err)
		}
		if o, _ := c.Object(bucket, ledgerKey); o.ETag != theirs.ETag {
			t.Errorf("overwritten with %s", o.Body)
		}
	})
	t.Run("an endpoint without conditions is written without (S-232)", func(t *testing.T) {
		c, k := shop(t)
		c.on("PutObject", ledgerName, 0, 0, withoutConditions)
		l := k.OpenLedger(t.Context(), false, nil)
		intend(t, l, queueIntent("A"))
		intend(t, l, queueIntent("B"))
		if d := c.ledger(t); len(d.sent) != 2 {
			t.Errorf("entries %v", d.sent)
		}
	})
}

func TestLedgerSettles(t *testing.T) {
	const url = "https://sqs.eu-west-1.amazonaws.com/1/shop-"
	synctest.Test(t, func(t *testing.T) { // (S-234)
		c, k := bubbleShop(t)
		l := k.OpenLedger(t.Context(), false, nil)
		intend(t, l, queueIntent("Recorded"), queueIntent("NotSent"), queueIntent("RolledBack"), queueIntent("Failed"), queueIntent("Unnamed"))
		l.Recorded()
		time.Sleep(time.Minute)
		synctest.Wait()
		c.requests()
		err := l.Settle(t.Context(), Settlement{
			Record: recordOf("Recorded", typeQueue, url+"Recorded"),
			Fates:  map[string]Fate{"NotSent": FateNothing, "RolledBack": FateOver, "Failed": FateUnknown},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.wantRequests(t, "PutObject "+ledgerKey)
		d := c.ledger(t)
		failed := time.Now().Add(-gatherWindow).UnixMilli()
		if len(d.sent) != 2 || d.sent["Failed"].FailedAt != failed || d.sent["Unnamed"].FailedAt != failed || !d.recorded || d.abandonedAt != 0 {
			t.Errorf("ledger %+v", d)
		}
		// The next run, in which both are recorded.
		l = k.OpenLedger(t.Context(), true, recordOf())
		if n := len(l.Open()); n != 2 {
			t.Errorf("%d open entries", n)
		}
		r := recordOf("Failed", typeQueue, url+"Failed", "Unnamed", typeQueue, url+"Unnamed")
		for _, want := range [][]string{{"GetObject " + ledgerKey, "PutObject " + ledgerKey}, nil} { // nothing changed: no write
			if err := l.Settle(t.Context(), Settlement{Record: r}); err != nil {
				t.Fatal(err)
			}
			c.wantRequests(t, want...)
		}
		if d := c.ledger(t); len(d.sent) != 0 {
			t.Errorf("ledger %+v", d)
		}
	})
	t.Run("what a rollback needs to know stays as it was", func(t *testing.T) {
		c, k := shop(t)
		c.PutObject(bucket, ledgerKey, []byte(`{"ledgerVersion":1,"nonce":"n","sent":{
"A":{"base":"create:AWS::SQS::Queue","token":"t","firstSentAt":5},"B":{"base":"create:AWS::SQS::Queue","token":"u","firstSentAt":5}}}`))
		r := recordOf("A", typeQueue, url+"A", "B", typeQueue, url+"B")
		l := k.OpenLedger(t.Context(), true, r)
		if err := l.Settle(t.Context(), Settlement{Record: r, Keep: func(id string, _ *Resource) bool { return id == "A" }}); err != nil {
			t.Fatal(err)
		}
		if d := c.ledger(t); len(d.sent) != 1 || d.sent["A"].FirstSentAt != 5 || d.sent["A"].FailedAt != 0 {
			t.Errorf("ledger %+v", d)
		}
		if e, tag := l.Sent("A"); e.Token != "t" || tag != "t" || len(l.Open()) != 0 {
			t.Errorf("sent: %+v with tag %q, open: %v", e, tag, l.Open())
		}
		if e, tag := l.Sent("B"); e.Base != "" || tag != "" {
			t.Errorf("not kept, and sent: %+v with tag %q", e, tag)
		}
	})
	t.Run("what was recorded and let go since vouches for nothing", func(t *testing.T) {
		c, k := shop(t)
		c.PutObject(bucket, ledgerKey, []byte(`{"ledgerVersion":1,"nonce":"n","sent":{
"Kept":{"base":"adopt-by-name:AWS::SQS::Queue","token":"shop-Kept","firstSentAt":5},"Open":{"base":"adopt-by-name:AWS::SQS::Queue","token":"shop-Open","firstSentAt":5}}}`))
		l := k.OpenLedger(t.Context(), true, recordOf("Kept", typeQueue, url+"Kept"))
		if err := l.Settle(t.Context(), Settlement{Record: recordOf()}); err != nil {
			t.Fatal(err)
		}
		if d := c.ledger(t); len(d.sent) != 1 || d.sent["Open"].FirstSentAt != 5 {
			t.Errorf("ledger %+v", d)
		}
	})
	t.Run("with the last entry goes what bounded it", func(t *testing.T) {
		c, k := shop(t)
		c.PutObject(bucket, ledgerKey, []byte(`{"ledgerVersion":1,"nonce":"n","abandonedAt":9,"sent":{
"A":{"base":"adopt-by-name:AWS::SQS::Queue","token":"shop-A","firstSentAt":5}}}`))
		r := recordOf("A", typeQueue, url+"A")
		if err := k.OpenLedger(t.Context(), true, r).Settle(t.Context(), Settlement{Record: r}); err != nil {
			t.Fatal(err)
		}
		if d := c.ledger(t); len(d.sent) != 0 || d.abandonedAt != 0 {
			t.Errorf("ledger %+v", d)
		}
	})
	t.Run("a run without intents leaves no ledger", func(t *testing.T) {
		c, k := shop(t)
		l := k.OpenLedger(t.Context(), false, nil)
		l.Recorded()
		if err := l.Settle(t.Context(), Settlement{Record: recordOf()}); err != nil {
			t.Fatal(err)
		}
		c.wantRequests(t)
	})
	t.Run("at a seal, what is open stays and is bounded (S-190)", func(t *testing.T) {
		c, k := shop(t)
		l := k.OpenLedger(t.Context(), false, nil)
		intend(t, l, queueIntent("A"))
		sealed := time.Now().Add(time.Second)
		if err := l.Settle(t.Context(), Settlement{Fates: map[string]Fate{"A": FateOpen}, Sealed: sealed}); err != nil {
			t.Fatal(err)
		}
		if d := c.ledger(t); d.sent["A"].FailedAt != 0 || d.abandonedAt != sealed.UnixMilli() {
			t.Errorf("ledger %+v", d)
		}
	})
	t.Run("an entry of an earlier run that is kept stays as it is", func(t *testing.T) {
		c, k := shop(t)
		c.PutObject(bucket, ledgerKey, []byte(`{"ledgerVersion":1,"nonce":"n","sent":{
"A":{"base":"adopt-by-name:AWS::SQS::Queue","token":"shop-A","firstSentAt":5},"K":{"base":"create:AWS::KMS::Key","token":"tt","firstSentAt":5},
"B":{"base":"adopt-by-name:AWS::SQS::Queue","token":"shop-B","firstSentAt":5}}}`))
		l := k.OpenLedger(t.Context(), true, nil)
		keep := func(i Intent) Intent { i.Keep = true; return i }
		tickets := intend(t, l, keep(queueIntent("A")), keep(Intent{LogicalID: "K", Type: "AWS::KMS::Key"}), queueIntent("B"))
		if tickets[1].Token != "tt" {
			t.Errorf("token %s", tickets[1].Token)
		}
		err := l.Settle(t.Context(), Settlement{Fates: map[string]Fate{"A": FateUnknown, "K": FateNothing, "B": FateUnknown}})
		if err != nil {
			t.Fatal(err)
		}
		d := c.ledger(t)
		if e := d.sent["A"]; e.FirstSentAt != 5 || e.FailedAt != 0 {
			t.Errorf("A is %+v", e)
		}
		if e := d.sent["K"]; e.Token != "tt" {
			t.Errorf("K is %+v", e)
		}
		if e := d.sent["B"]; e.FirstSentAt == 5 || e.FailedAt == 0 {
			t.Errorf("B is %+v", e)
		}
	})
	t.Run("a settle that fails is repeated once (S-241)", func(t *testing.T) {
		c, k := shop(t)
		l := k.OpenLedger(t.Context(), false, nil)
		intend(t, l, queueIntent("A"))
		c.on("PutObject", ledgerName, 0, 1, answer(http.StatusForbidden, "AccessDenied"))
		if err := l.Settle(t.Context(), Settlement{Fates: map[string]Fate{"A": FateOver}}); err != nil {
			t.Fatal(err)
		}
		if d := c.ledger(t); len(d.sent) != 0 {
			t.Errorf("ledger %+v", d)
		}
	})
	t.Run("failing twice, it says at least when the run ended (S-241)", func(t *testing.T) {
		c, k := shop(t)
		l := k.OpenLedger(t.Context(), false, nil)
		intend(t, l, queueIntent("A"))
		c.on("PutObject", ledgerName, 0, 2, answer(http.StatusForbidden, "AccessDenied"))
		err := l.Settle(t.Context(), Settlement{Fates: map[string]Fate{"A": FateOver}})
		as[*AccessError](t, err)
		if d := c.ledger(t); len(d.sent) != 1 || d.abandonedAt == 0 || d.sent["A"].FailedAt != 0 {
			t.Errorf("ledger %+v", d)
		}
	})
	t.Run("failing for good, it says so (S-241)", func(t *testing.T) {
		c, k := shop(t)
		l := k.OpenLedger(t.Context(), false, nil)
		intend(t, l, queueIntent("A"))
		c.requests()
		c.on("PutObject", ledgerName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		err := l.Settle(t.Context(), Settlement{Fates: map[string]Fate{"A": FateOver}})
		as[*AccessError](t, err)
		c.wantRequests(t, "PutObject "+ledgerKey, "PutObject "+ledgerKey, "PutObject "+ledgerKey)
	})
}

func TestLedgerOfARecordRemovedBehindItsBack(t *testing.T) { // (S-243)
	c, k := shop(t)
	l := k.OpenLedger(t.Context(), false, nil)
	intend(t, l, queueIntent("A"))
	nonce := l.Nonce()
	l.Recorded()
	if err := l.series.idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !c.ledger(t).recorded {
		t.Fatal("the ledger does not say that a record was saved")
	}
	l = k.OpenLedger(t.Context(), true, recordOf())
	if len(l.Open()) != 1 || l.Nonce() != nonce {
		t.Error("with a record the entries stay")
	}
	l = k.OpenLedger(t.Context(), true, nil)
	if len(l.Open()) != 0 || l.Nonce() == nonce {
		t.Errorf("without one they prove nothing: %v", l.Open())
	}
	intend(t, l, queueIntent("B"))
	if d := c.ledger(t); len(d.sent) != 1 || d.recorded || d.nonce == nonce {
		t.Errorf("ledger %+v", d)
	}
}

func TestLedgerBegunAfterTheRecord(t *testing.T) { // (S-243)
	c, k := shop(t)
	l := k.OpenLedger(t.Context(), false, nil)
	l.Recorded() // there is nothing to write it into yet
	intend(t, l, queueIntent("A"))
	if !c.ledger(t).recorded {
		t.Error("the ledger does not say that a record was saved")
	}
}

func TestLedgerDropAndRenew(t *testing.T) { // (S-244, S-246)
	c, k := shop(t)
	l := k.OpenLedger(t.Context(), false, nil)
	intend(t, l, queueIntent("A"), queueIntent("B"), queueIntent("C"))
	nonce := l.Nonce()
	if err := l.Drop(t.Context(), "A", "none"); err != nil {
		t.Fatal(err)
	}
	if d := c.ledger(t); len(d.sent) != 2 || d.nonce != nonce {
		t.Errorf("ledger %+v", d)
	}
	if err := l.Renew(t.Context(), "B"); err != nil {
		t.Fatal(err)
	}
	if d := c.ledger(t); len(d.sent) != 1 || d.nonce == nonce || d.nonce != l.Nonce() {
		t.Errorf("ledger %+v", d)
	}
}

// An entry that is set aside still proves what it did, under the logical id that
// it was made for, while another takes its place (P-10, S-213).
func TestLedgerSetsAside(t *testing.T) {
	c, k := shop(t)
	first := k.OpenLedger(t.Context(), false, nil)
	tag := intend(t, first, queueIntent("A"))[0].OwnerTag

	l := k.OpenLedger(t.Context(), true, NewRecord("Shop", "eu-west-1"))
	if err := l.SetAside(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	intend(t, l, Intent{LogicalID: "A", Type: "AWS::KMS::Key"})
	open := k.OpenLedger(t.Context(), true, NewRecord("Shop", "eu-west-1")).Open()
	if len(open) != 2 || open["A"].Type() != "AWS::KMS::Key" {
		t.Fatalf("open: %+v", open)
	}
	for name, e := range open {
		if name != "A" && (Subject(name) != "A" || e.Type() != typeQueue || e.OwnerTag(l.Nonce(), name) != tag) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	holder := Holder{LogicalID: "A", Type: typeQueue, Name: "shop-A", PhysicalID: "q", OwnerTag: tag}
	if v := k.Evidence(nil, l).License(t.Context(), holder); v.Proof != ProvedByTag {
		t.Errorf("verdict %+v", v)
	}
	if err := l.Settle(t.Context(), Settlement{Record: recordOf("A", "AWS::KMS::Key", "k")}); err != nil {
		t.Fatal(err)
	}
	if d := c.ledger(t); len(d.sent) != 1 || d.sent["A"].Base != "" {
		t.Errorf("once the other is recorded: %+v", d.sent)
	}
}

func TestAbandonedLedger(t *testing.T) {
	ledger := func(abandoned int64, base string) []byte {
		return fmt.Appendf(nil, `{"ledgerVersion":1,"nonce":"n","abandonedAt":%d,"sent":{"A":{"base":%q,"token":"t","firstSentAt":5}}}`, abandoned, base)
	}
	adopt := adoptBase + typeQueue
	lockTwoWays := func(t *testing.T, k *Stack) []func() {
		return []func(){
			func() {
				l, err := k.Lock(t.Context(), lockOptions(new(notes)))
				if err != nil {
					t.Fatal(err)
				}
				l.Release(t.Context())
			},
			func() {
				if _, _, err := k.ForceUnlock(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
		}
	}
	const renewed = 28 * time.Minute // from the end of the run to the expiry of its lock
	for _, tt := range []struct {
		name   string
		before time.Duration // the bound that stands, against the end of the run
		base   string
		moved  bool
	}{
		{"the last renewal and an interval (S-238)", -time.Hour, adopt, true},
		{"not earlier than what stands (S-238)", time.Second, adopt, false},
		{"only for intents by name (S-238)", -time.Hour, createBase + typeQueue, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				for _, unlock := range lockTwoWays(t, k) {
					expired := at(-time.Minute)
					end := expired.Add(-renewed)
					c.holdBy("dead", expired)
					c.PutObject(bucket, ledgerKey, ledger(end.Add(tt.before).UnixMilli(), tt.base))
					unlock()
					want := end.Add(tt.before)
					if tt.moved {
						want = end
					}
					if got := c.ledger(t).abandonedAt; got != want.UnixMilli() {
						t.Errorf("abandoned at %s, want %s", time.UnixMilli(got), want)
					}
				}
			})
		})
	}
	t.Run("what fails is said, and the lock is had all the same", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			warned := new(notes)
			c, k := bubbleShop(t, func(o *Options) { o.Warn = warned.add })
			c.on("PutObject", ledgerName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
			c.PutObject(bucket, ledgerKey, ledger(1, adopt))
			c.holdBy("dead", at(-time.Minute))
			if _, _, err := k.ForceUnlock(t.Context()); err != nil || c.has(lockKey) {
				t.Errorf("got %v", err)
			}
			if n := warned.all(); len(n) != 1 || !strings.Contains(n[0], ledgerKey) {
				t.Errorf("warned %q", n)
			}
			c.holdBy("dead", at(-time.Minute))
			warned = new(notes)
			l, err := k.Lock(t.Context(), lockOptions(warned))
			if err != nil {
				t.Fatal(err)
			}
			l.Release(t.Context())
			if n := warned.all(); len(n) != 2 || !strings.Contains(n[1], ledgerKey) {
				t.Errorf("warned %q", n)
			}
		})
	})
	t.Run("a lock that cannot be read ends now", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			c.PutObject(bucket, ledgerKey, ledger(1, adopt))
			c.PutObject(bucket, lockKey, []byte("?"))
			k.ForceUnlock(t.Context())
			if got := c.ledger(t).abandonedAt; got != time.Now().Add(-gatherWindow).UnixMilli() {
				t.Errorf("abandoned at %d", got)
			}
		})
	})
}

func FuzzLedger(f *testing.F) { // (S-232)
	f.Add([]byte(`{"ledgerVersion":1,"nonce":"n","sent":{"A":{"base":"replace:","token":"t","firstSentAt":5e3,"failedAt":6}},"abandonedAt":1e400}`))
	f.Add([]byte(`{"ledgerVersion":1,"nonce":"n","sent":{"A":null,"B":{"base":"adopt-by-name:","token":"t","firstSentAt":1}},"stateRecorded":true}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parseLedger(ledgerKey, b)
		if err != nil {
			_, malformed := errors.AsType[*MalformedError](err)
			_, version := errors.AsType[*VersionError](err)
			if !malformed && !version || !strings.Contains(err.Error(), ledgerKey) {
				t.Fatalf("got %v (%T)", err, err)
			}
			return
		}
		for id, e := range d.sent {
			e.Type()
			e.done(&Resource{ResourceType: e.Type(), PhysicalID: e.Token})
			e.OwnerTag(d.nonce, id)
		}
		out, err := d.marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseLedger(ledgerKey, out)
		if err != nil {
			t.Fatalf("%v, after\n%s", err, out)
		}
		if twice, err := again.marshal(); err != nil || !bytes.Equal(out, twice) {
			t.Errorf("written twice (%v):\n%s", err, cmp.Diff(string(out), string(twice)))
		}
	})
}

// The name that a create is sent with stands beside its entry, as one that any reader
// of the ledger understands. Under another name it is another create, and the old
// entry keeps its name when it is set aside (S-230a, P-10).
func TestLedgerKeepsNames(t *testing.T) {
	c, k := shop(t)
	before := Intent{LogicalID: "A", Type: "AWS::IAM::Role", Called: "before"}
	l := k.OpenLedger(t.Context(), false, nil)
	intend(t, l, before, Intent{LogicalID: "B", Type: "AWS::IAM::Role"})
	body, _ := c.Object(bucket, ledgerKey)
	var written struct {
		Sent map[string]struct{ Base, Token string }
	}
	if err := json.Unmarshal(body.Body, &written); err != nil {
		t.Fatal(err)
	}
	if got := written.Sent["A@name"]; len(written.Sent) != 3 || got.Base != "create:AWS::IAM::Role" || got.Token != "before" {
		t.Errorf("written: %s", body.Body)
	}
	l = k.OpenLedger(t.Context(), true, nil)
	open := l.Open()
	if len(open) != 2 || open["A"].Called != "before" || open["B"].Called != "" {
		t.Fatalf("open: %+v", open)
	}
	for called, want := range map[string]bool{"before": true, "": true, "after": false} {
		if got := open["A"].Answers(Intent{LogicalID: "A", Type: "AWS::IAM::Role", Called: called}); got != want {
			t.Errorf("the create of %q is that of the entry: %t", called, got)
		}
	}
	if !open["B"].Answers(before) {
		t.Error("a name that was not known then makes it another create")
	}
	if err := l.SetAside(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	intend(t, l, Intent{LogicalID: "A", Type: "AWS::IAM::Role", Called: "after"})
	names := map[string]bool{}
	for id, e := range k.OpenLedger(t.Context(), true, nil).Open() {
		names[Subject(id)+" "+e.Called] = true
	}
	if len(names) != 3 || !names["A before"] || !names["A after"] || !names["B "] {
		t.Errorf("kept: %v", names)
	}
	// What another writer put in the place of the entry is not called so.
	c.PutObject(bucket, ledgerKey, []byte(`{"ledgerVersion":1,"nonce":"n","sent":{"A":{"base":"create:X","token":"t","firstSentAt":2},"A@name":{"base":"create:X","token":"before","firstSentAt":1},"B@name":{"base":"create:X","token":"b","firstSentAt":1}}}`))
	if open := k.OpenLedger(t.Context(), true, nil).Open(); len(open) != 1 || open["A"].Called != "" {
		t.Errorf("open: %+v", open)
	}
}

package state

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

const pendingKey = shopKey + pendingName

func openPending(t *testing.T, k *Stack, there bool) *PendingFile {
	t.Helper()
	f, err := k.OpenPending(t.Context(), there)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func change(t *testing.T, f *PendingFile, edit func(*Pending)) {
	t.Helper()
	if err := f.Change(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
}

func openCreate(id string) OpenOperation {
	return OpenOperation{LogicalID: id, ResourceType: "AWS::KMS::Key", ChangeType: OpCreate, ProvisionedBy: BySDK, Stage: StageSent, StartedAt: 5}
}

const fullPending = `{
  "pendingVersion": 1,
  "stackName": "Shop",
  "region": "eu-west-1",
  "runId": "r",
  "owner": "me",
  "writtenAt": 7,
  "sealedAt": 8,
  "ledgerNonce": "n",
  "recordLastModified": 9,
  "operations": [
    {
      "logicalId": "A",
      "resourceType": "T",
      "changeType": "CREATE",
      "provisionedBy": "cc-api",
      "stage": "accepted",
      "startedAt": 5,
      "replacing": true,
      "requestToken": "secret-1",
      "clientToken": "secret-2",
      "physicalId": "p",
      "name": "n",
      "nameOrigin": "generated",
      "responseKey": "secret-3",
      "requestId": "i",
      "answerBy": 6,
      "properties": {
        "N": 1.50
      },
      "propertiesOmitted": true,
      "previous": {
        "physicalId": "old",
        "future": 1
      },
      "deletionPolicy": "Retain",
      "updateReplacePolicy": "Delete",
      "dependencies": [
        "B"
      ],
      "roleArn": "arn",
      "future": 2
    }
  ],
  "leftovers": [
    {
      "logicalId": "L",
      "resourceType": "T",
      "physicalId": "old",
      "provisionedBy": "sdk",
      "previous": {
        "physicalId": "old"
      },
      "reason": "replaced",
      "since": 4,
      "future": 3
    }
  ],
  "future": 4
}`

func TestPendingShape(t *testing.T) { // (P-2, P-3, P-5, P-31)
	p, err := ParsePending("k", []byte(fullPending))
	if err != nil {
		t.Fatal(err)
	}
	op, l := p.Operations[0], p.Leftovers[0]
	if op.Malformed != "" || l.Malformed != "" || op.RequestToken != "secret-1" || op.AnswerBy != 6 || op.Previous.PhysicalID != "old" || l.Since != 4 {
		t.Errorf("got %+v, %+v", op, l)
	}
	out, err := p.marshal()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullPending, string(out)); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
	for _, line := range p.Lines() { // (P-6, P-8)
		if strings.Contains(line, "secret") || strings.Contains(line, "\n") || !strings.Contains(line, `"logicalId":`) {
			t.Errorf("line %s", line)
		}
	}
	if n := len(p.Lines()); n != 2 {
		t.Errorf("%d lines", n)
	}
}

func TestPendingWrites(t *testing.T) {
	t.Run("what starts together shares a write (P-7)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			f := openPending(t, k, false)
			var wg sync.WaitGroup
			for i := range 5 {
				wg.Go(func() { change(t, f, func(p *Pending) { p.Enter(openCreate(fmt.Sprint(i))) }) })
			}
			wg.Wait()
			c.wantRequests(t, "PutObject "+pendingKey) // nothing was read: nothing is open (P-33)
			p, err := k.ReadPending(t.Context())
			if err != nil || len(p.Operations) != 5 || p.stackName != "Shop" || p.region != "eu-west-1" {
				t.Errorf("got %+v, %v", p, err)
			}
		})
	})
	t.Run("removed and purged when nothing is open any more (P-1)", func(t *testing.T) {
		c, k := shop(t)
		versioned(t, k.store)
		f := openPending(t, k, false)
		change(t, f, func(p *Pending) {
			p.Enter(openCreate("A"))
			p.Leave(Leftover{LogicalID: "L", ResourceType: "T", PhysicalID: "old", ProvisionedBy: BySDK, Reason: LeftReplaced, Since: 5})
		})
		change(t, f, func(p *Pending) { p.Operations = nil })
		if !c.has(pendingKey) {
			t.Fatal("it is gone before the leftover")
		}
		c.requests()
		change(t, f, func(p *Pending) { p.Leftovers = nil })
		c.wantRequests(t, "DeleteObject "+pendingKey, "ListObjectVersions", "DeleteObjects")
		if v := c.Versions(bucket, pendingKey); len(v) != 1 || !v[0].DeleteMarker {
			t.Errorf("versions left: %+v", v)
		}
		change(t, f, func(p *Pending) { p.Enter(openCreate("B")) })
		if !c.has(pendingKey) {
			t.Error("it was not written again")
		}
	})
	t.Run("an entry of the same resource and kind is replaced", func(t *testing.T) {
		p := &Pending{}
		for _, stage := range []string{StageSent, StageAccepted} {
			op := openCreate("A")
			op.Stage = stage
			p.Enter(op)
			p.Leave(Leftover{ResourceType: "T", PhysicalID: "p", Reason: stage})
		}
		if len(p.Operations) != 1 || p.Operations[0].Stage != StageAccepted || len(p.Leftovers) != 1 || p.Leftovers[0].Reason != StageAccepted {
			t.Errorf("got %+v", p)
		}
	})
	for _, there := range []bool{false, true} {
		t.Run(fmt.Sprintf("not over another process's, known before %v (P-1)", there), func(t *testing.T) {
			c, k := shop(t)
			if there {
				c.PutObject(bucket, pendingKey, []byte(fullPending))
			}
			f := openPending(t, k, there)
			c.PutObject(bucket, pendingKey, []byte("theirs"))
			as[*ConflictError](t, f.Change(t.Context(), func(p *Pending) { p.Enter(openCreate("A")) }))
			as[*ConflictError](t, f.Change(t.Context(), func(p *Pending) { p.Operations, p.Leftovers = nil, nil }))
			if c.body(t, pendingKey) != "theirs" {
				t.Error("it was overwritten")
			}
		})
	}
	t.Run("lost answers are recognised (S-436)", func(t *testing.T) {
		c, k := shop(t)
		c.on("PutObject", pendingName, 0, 1, lose)
		c.on("DeleteObject", pendingName, 0, 1, lose)
		f := openPending(t, k, false)
		change(t, f, func(p *Pending) { p.Enter(openCreate("A")) })
		change(t, f, func(p *Pending) { p.Operations = nil })
		change(t, f, func(p *Pending) { p.Enter(openCreate("B")) })
		p, err := k.ReadPending(t.Context())
		if err != nil || len(p.Operations) != 1 || p.Operations[0].LogicalID != "B" {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	t.Run("a delete without an answer, for good, and then a write (S-436)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			f := openPending(t, k, false)
			change(t, f, func(p *Pending) { p.Enter(openCreate("A")) })
			c.on("DeleteObject", pendingName, 0, 1, lose)
			c.on("DeleteObject", pendingName, 0, 0, drop)
			if err := f.Change(t.Context(), func(p *Pending) { p.Operations = nil }); err == nil {
				t.Fatal("the delete worked")
			}
			change(t, f, func(p *Pending) { p.Operations = nil; p.Enter(openCreate("B")) })
			if !c.has(pendingKey) {
				t.Error("it was not written again")
			}
		})
	})
}

func TestPendingRefused(t *testing.T) { // (P-31)
	for name, body := range map[string]string{
		"not JSON": "{", "not an object": "[]", "another version": `{"pendingVersion":2}`, "no version": `{}`,
		"operations of another kind": `{"pendingVersion":1,"operations":{}}`, "leftovers of another kind": `{"pendingVersion":1,"leftovers":1}`,
		"a nonce of another kind": `{"pendingVersion":1,"ledgerNonce":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, k := shop(t)
			c.PutObject(bucket, pendingKey, []byte(body))
			if _, err := k.OpenPending(t.Context(), true); err == nil || !strings.Contains(err.Error(), pendingKey) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a malformed entry is unresolved, and kept as it is", func(t *testing.T) {
		const body = `{"pendingVersion":1,"operations":[1,{"logicalId":"A"},{"logicalId":"B","resourceType":"T","changeType":"MERGE","stage":"sent","startedAt":1},
{"logicalId":"C","resourceType":"T","changeType":"CREATE","stage":"sent","startedAt":1,"previous":[]}],
"leftovers":["x",{"logicalId":"A","resourceType":"T","physicalId":"p","reason":"whim"}]}`
		p, err := ParsePending("k", []byte(body))
		if err != nil || len(p.Operations) != 4 || len(p.Leftovers) != 2 {
			t.Fatalf("got %+v, %v", p, err)
		}
		for _, op := range p.Operations {
			if op.Malformed == "" {
				t.Errorf("%+v counts as good", op)
			}
		}
		for _, l := range p.Leftovers {
			if l.Malformed == "" {
				t.Errorf("%+v counts as good", l)
			}
		}
		out, err := p.marshal()
		if err != nil {
			t.Fatal(err)
		}
		was, _ := value.ParseObject([]byte(body))
		is, _ := value.ParseObject(out)
		if !value.Equal(was.List("operations"), is.List("operations")) || !value.Equal(was.List("leftovers"), is.List("leftovers")) {
			t.Errorf("written again:\n%s", out)
		}
	})
	t.Run("a denied read is no absence (S-23)", func(t *testing.T) {
		c, k := shop(t)
		c.on("GetObject", pendingName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		_, err := k.OpenPending(t.Context(), true)
		as[*AccessError](t, err)
	})
}

func TestPendingLimits(t *testing.T) { // (P-3, P-32)
	props := func(n int) *value.Object { return value.NewObject("Text", strings.Repeat("x", n)) }
	marshal := func(p *Pending) *Pending {
		t.Helper()
		b, err := p.marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParsePending("k", b)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > pendingBytes && len(p.Operations)+len(p.Leftovers) <= pendingEntries {
			t.Errorf("%d bytes", len(b))
		}
		return again
	}
	op := func(id string, n, before int) OpenOperation {
		o := openCreate(id)
		o.Properties = props(n)
		if before > 0 {
			o.Previous = &Resource{PhysicalID: "old", ResourceType: "T", Properties: props(before)}
		}
		return o
	}
	omitted := func(p *Pending) (ids string) {
		for _, o := range p.Operations {
			if o.PropertiesOmitted != (o.Properties == nil) {
				t.Errorf("%s: omitted %v, properties %v", o.LogicalID, o.PropertiesOmitted, o.Properties)
			}
			if o.PropertiesOmitted {
				ids += o.LogicalID
			}
		}
		return ids
	}
	p := &Pending{Operations: []OpenOperation{op("A", 100, 0), op("B", pendingProperties, 0), op("C", pendingProperties-100, 0)}}
	if got := omitted(marshal(p)); got != "B" {
		t.Errorf("over 256 KiB: omitted %q, want B", got)
	}
	if p.Operations[1].Properties == nil {
		t.Error("the caller's copy was changed")
	}
	p.Operations = nil
	for i := range 6 {
		p.Operations = append(p.Operations, op(string(rune('A'+i)), 200_000+i, 0))
	}
	if got := omitted(marshal(p)); got != "F" {
		t.Errorf("over 1 MiB: omitted %q, want the largest, F", got)
	}
	p.Operations = []OpenOperation{op("A", 10, 1<<20), op("B", 1000, 0)}
	again := marshal(p)
	if got := omitted(again); got != "A" || again.Operations[0].Previous.PhysicalID != "old" || again.Operations[0].Previous.Properties.Len() != 0 {
		t.Errorf("a large row before: omitted %q, %+v", got, again.Operations[0].Previous)
	}
	p.Operations = nil
	for range pendingEntries {
		p.Operations = append(p.Operations, op("A", 10, 10))
	}
	p.Leftovers = []Leftover{{LogicalID: "L", ResourceType: "T", PhysicalID: "p", Reason: LeftRemnant, Previous: &Resource{Properties: props(10)}}}
	again = marshal(p)
	if len(again.Operations) != pendingEntries || len(omitted(again)) != pendingEntries || again.Leftovers[0].Previous.Properties.Len() != 0 {
		t.Error("over 1000 entries: properties go, identities stay")
	}
}

func TestPendingLive(t *testing.T) { // (P-11)
	record := func(modified int64) *Record { r := recordOf(); r.LastModified = modified; return r }
	for _, tt := range []struct {
		name   string
		p      Pending
		nonce  string
		record *Record
		want   bool
	}{
		{"the same ledger", Pending{LedgerNonce: "n", RecordModified: 1}, "n", nil, true},
		{"another ledger, nobody saved since", Pending{LedgerNonce: "n", RecordModified: 1}, "m", record(1), true},
		{"another ledger, saved since", Pending{LedgerNonce: "n", RecordModified: 1}, "m", record(2), false},
		{"no ledger, no record", Pending{LedgerNonce: "n", RecordModified: 1}, "", nil, false},
		{"neither was known", Pending{}, "", record(0), false},
	} {
		if got := tt.p.Live(tt.nonce, tt.record); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func FuzzPending(f *testing.F) { // (P-31)
	f.Add([]byte(fullPending))
	f.Add([]byte(`{"pendingVersion":1,"operations":[null,{"logicalId":"A","dependencies":[1]}],"leftovers":[{"previous":1}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePending(pendingKey, b)
		if err != nil {
			_, malformed := errors.AsType[*MalformedError](err)
			_, version := errors.AsType[*VersionError](err)
			if !malformed && !version || !strings.Contains(err.Error(), pendingKey) {
				t.Fatalf("got %v (%T)", err, err)
			}
			return
		}
		p.Lines()
		out, err := p.marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParsePending(pendingKey, out)
		if err != nil {
			t.Fatalf("%v, after\n%s", err, out)
		}
		if len(again.Operations) != len(p.Operations) || len(again.Leftovers) != len(p.Leftovers) {
			t.Error("an entry was lost")
		}
		if twice, err := again.marshal(); err != nil || !bytes.Equal(out, twice) {
			t.Errorf("written twice (%v):\n%s", err, cmp.Diff(string(out), string(twice)))
		}
	})
}

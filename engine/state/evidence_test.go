package state

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	heldURL  = "https://sqs.eu-west-1.amazonaws.com/1/shop-Q"
	heldName = "shop-Q"
)

// A licenseCase is what is recorded in the bucket, and the verdict on a holder.
type licenseCase struct {
	name    string
	record  *Record
	objects map[string]string
	setup   func(*testing.T, *cloud, *Stack)
	fault   func(*cloud)
	holder  Holder

	proof    Proof
	own      bool
	unread   string // a part of what could not be read
	warned   string
	requests []string // nil: not looked at
}

func TestLicense(t *testing.T) {
	created := time.UnixMilli(1_000_000_000_000)
	late := created.Add(-time.Minute - time.Millisecond).UnixMilli() // kept too early for it
	queue := Holder{LogicalID: "Q", Type: typeQueue, Name: heldName, PhysicalID: heldURL, Created: created}
	untimed := queue
	untimed.Created = time.Time{}
	tagged := func(tag string) Holder { h := untimed; h.OwnerTag = tag; return h }
	entry := func(rest string) string {
		return fmt.Sprintf(`{"ledgerVersion":1,"nonce":"n","sent":{"Q":{"base":"adopt-by-name:AWS::SQS::Queue","token":"shop-Q","firstSentAt":%d%s}}}`,
			created.UnixMilli(), rest)
	}
	journal := func(list, change, id string) string {
		return fmt.Sprintf(`{"journalVersion":1,"segments":[{%q:[{"logicalId":"Q","resourceType":"AWS::SQS::Queue","changeType":%q,"physicalId":%q}]}]}`, list, change, id)
	}
	retained := func(keptAt int64) string {
		return fmt.Sprintf(`{"retainedVersion":1,"resources":[{"logicalId":"Q","resourceType":"AWS::SQS::Queue","physicalId":%q,"keptAt":%d}]}`, heldURL, keptAt)
	}
	record := func(policy string) []byte {
		return fmt.Appendf(nil, `{"version":11,"resources":{"Q":{"physicalId":%q,"resourceType":"AWS::SQS::Queue","properties":{},"deletionPolicy":%q}}}`, heldURL, policy)
	}
	// past has a record with a policy, then changes it n times and deletes it.
	past := func(policy string, n int) func(*testing.T, *cloud, *Stack) {
		return func(t *testing.T, c *cloud, k *Stack) {
			versioned(t, k.store)
			c.PutObject(bucket, recordKey, record(policy))
			c.PutObject(bucket, recordKey+"x", record("Retain")) // another key with this one as its prefix
			for range n {
				c.PutObject(bucket, recordKey, []byte(`{"version":11,"resources":{}}`))
			}
			k.store.remove(t.Context(), recordKey)
		}
	}
	events := func(run string, lines ...string) map[string]string {
		return map[string]string{shopKey + eventsFolder + run + eventsSuffix: strings.Join(lines, "\n") + "\n"}
	}
	event := func(kind, op, stack, id string, at time.Time) string {
		return fmt.Sprintf(`{"timestamp":%q,"eventType":%q,"operation":%q,"stackName":%q,"logicalId":"Q","resourceType":"AWS::SQS::Queue","physicalId":%q}`,
			at.UTC().Format(isoTime), kind, op, stack, id)
	}
	orphaned := recordOf()
	orphaned.Orphans = []Orphan{{LogicalID: "Q", State: &Resource{ResourceType: typeQueue, PhysicalID: heldURL}}}
	tag := Entry{Base: adoptBase + typeQueue, Token: heldName, FirstSentAt: created.UnixMilli()}.OwnerTag("n", "Q")
	history := []string{"GetObject " + journalKey, "GetObject " + retainedKey, "ListObjectVersions", "ListObjectsV2"}

	for _, tt := range []licenseCase{
		{name: "1: a row names it (S-210)", record: recordOf("Other", typeQueue, heldURL), holder: queue, proof: ProvedByRecord, requests: []string{}},
		{name: "1: a row with the queue's other host (S-211)", record: recordOf("Q", typeQueue, "https://eu-west-1.queue.amazonaws.com/1/shop-Q"), holder: queue, proof: ProvedByRecord},
		{name: "1: a row of another type does not (S-210)", record: recordOf("Q", typeTopic, heldURL), holder: queue, requests: history},
		{name: "2: a rollback orphan (S-210)", record: orphaned, holder: queue, proof: ProvedByOrphan, requests: []string{}},
		{name: "3: the journal made it (S-210)", objects: map[string]string{journalKey: journal("operations", OpCreate, heldURL)}, holder: queue, proof: ProvedByJournal,
			requests: []string{"GetObject " + journalKey}},
		{name: "3: the journal failed on it and knows its id (S-210)", objects: map[string]string{journalKey: journal("failedOperations", OpCreate, heldURL)}, holder: queue, proof: ProvedByJournal},
		{name: "3: the journal failed to delete it (S-210)", objects: map[string]string{journalKey: journal("failedOperations", OpDelete, heldURL)}, holder: queue, proof: ProvedByJournal},
		{name: "3: the journal deleted it: this is another (S-210)", objects: map[string]string{journalKey: journal("operations", OpDelete, heldURL)}, holder: queue},
		{name: "3: a journal that cannot be understood proves nothing", objects: map[string]string{journalKey: "{"}, holder: queue, unread: journalKey},
		{name: "4: a crashed intent (S-235)", objects: map[string]string{ledgerKey: entry("")}, holder: queue, proof: ProvedByIntent, requests: []string{}},
		{name: "4: a crashed intent, no creation time (S-236)", objects: map[string]string{ledgerKey: entry("")}, holder: untimed, proof: ProvedByIntent},
		{name: "4: a failed intent, no creation time: refused, its own likely (S-236)", objects: map[string]string{ledgerKey: entry(`,"failedAt":1000000000001`)}, holder: untimed, own: true},
		{name: "4: an intent for another name (S-210)", objects: map[string]string{ledgerKey: strings.Replace(entry(""), heldName, "other", 1)}, holder: queue},
		{name: "4: a ledger that cannot be read proves nothing (S-232)", objects: map[string]string{ledgerKey: "{"}, holder: queue, unread: ledgerKey},
		{name: "5: kept after it was created (S-210)", objects: map[string]string{retainedKey: retained(created.UnixMilli())}, holder: queue, proof: ProvedByRetained,
			requests: []string{"GetObject " + journalKey, "GetObject " + retainedKey}},
		{name: "5: created within a minute after it was kept (S-210)", objects: map[string]string{retainedKey: retained(late + 1)}, holder: queue, proof: ProvedByRetained},
		{name: "5: created after it was kept: another (S-210)", objects: map[string]string{retainedKey: retained(late)}, holder: queue},
		{name: "5: no creation time: by name (S-237)", objects: map[string]string{retainedKey: retained(late)}, holder: untimed, proof: ProvedByRetained},
		{name: "5: no time of keeping: by name (S-254)", objects: map[string]string{retainedKey: strings.Replace(retained(0), `,"keptAt":0`, "", 1)}, holder: queue, proof: ProvedByRetained},
		{name: "5: a list that cannot be understood ends the search (S-253)", objects: map[string]string{retainedKey: "{"}, setup: past("Retain", 0), holder: queue, unread: retainedKey},
		{name: "5: a denied list is not a missing one (S-413)", setup: past("Retain", 0), holder: queue, unread: retainedKey,
			fault: func(c *cloud) { c.on("GetObject", retainedName, 0, 0, answer(http.StatusForbidden, "AccessDenied")) }},
		{name: "6: an earlier version of the record kept it (S-256)", setup: past("Retain", 9), holder: untimed, proof: ProvedByHistory},
		{name: "6: RetainExceptOnCreate keeps too (S-40)", setup: past("RetainExceptOnCreate", 0), holder: untimed, proof: ProvedByHistory},
		{name: "6: without the policy (S-256)", setup: past("Delete", 0), holder: untimed},
		{name: "6: only the 10 newest (S-256)", setup: past("Retain", 10), holder: untimed},
		{name: "6: a list of nothing ends this source (S-256)", objects: map[string]string{retainedKey: `{"retainedVersion":1,"resources":[]}`}, setup: past("Retain", 0), holder: untimed,
			requests: []string{"GetObject " + journalKey, "GetObject " + retainedKey}},
		{name: "6: created after that version (S-256)", setup: past("Retain", 0), holder: func() Holder { h := queue; h.Created = time.Now().Add(2 * time.Minute); return h }()},
		{name: "6: versions may not be listed (S-256, S-400)", setup: past("Retain", 0), holder: untimed, unread: "ListObjectVersions", warned: "s3:ListBucketVersions",
			fault: func(c *cloud) { c.on("ListObjectVersions", "", 0, 0, answer(http.StatusForbidden, "AccessDenied")) }},
		{name: "6: the events say that it was kept (S-256)", objects: events("a", event(ResourceRetained, OpDelete, "Shop", heldURL, created)), holder: queue, proof: ProvedByHistory},
		{name: "6: the events say so after they made it (S-256)", objects: events("a", event(ResourceSucceeded, OpCreate, "Shop", heldURL, created), event(ResourceRetained, OpDelete, "Shop", "", created)), holder: queue, proof: ProvedByHistory},
		{name: "6: made, and not kept (S-256)", objects: events("a", event(ResourceSucceeded, OpCreate, "Shop", heldURL, created)), holder: queue},
		{name: "6: kept before it was created (S-256)", objects: events("a", event(ResourceRetained, OpDelete, "Shop", heldURL, time.UnixMilli(late))), holder: queue},
		{name: "6: another stack of the run kept it (S-256)", objects: events("a", event(ResourceRetained, OpDelete, "Shop~Child", heldURL, created)), holder: queue},
		{name: "7: the tag of its open create (S-213)", objects: map[string]string{ledgerKey: entry(`,"failedAt":1000000000001`)}, holder: tagged(tag), proof: ProvedByTag, requests: []string{}},
		{name: "7: another value (S-213)", objects: map[string]string{ledgerKey: entry(`,"failedAt":1000000000001`)}, holder: tagged(tag[:31] + "!"), own: true},
		{name: "7: another value, and a name and a time that would do (S-213, S-236)", objects: map[string]string{ledgerKey: entry("")}, holder: tagged(tag[:31] + "!"), own: true},
		{name: "7: without an entry (S-213)", holder: tagged(tag)},
		{name: "7: of a create that is recorded as done (S-213)", objects: map[string]string{ledgerKey: entry("")},
			record: recordOf("Q", typeQueue, strings.Replace(heldURL, "/1/", "/2/", 1)), holder: tagged(tag)},
		{name: "nothing: all of it is read (S-204)", holder: queue, requests: history},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, warned := newCloud(t), new(notes)
			k := open(t, c.overHTTP(t), func(o *Options) { o.Warn = warned.add }).Stack("Shop", "eu-west-1")
			if tt.setup != nil {
				tt.setup(t, c, k)
			}
			for key, body := range tt.objects {
				c.PutObject(bucket, key, []byte(body))
			}
			if tt.fault != nil {
				tt.fault(c)
			}
			e := k.Evidence(tt.record, k.OpenLedger(t.Context(), c.has(ledgerKey), tt.record))
			c.requests()
			for range 2 { // what was read is kept
				v := e.License(t.Context(), tt.holder)
				var unread string
				for _, err := range v.Unread {
					unread += err.Error()
				}
				if v.Proof != tt.proof || v.Own != tt.own || (unread == "") != (tt.unread == "") || !strings.Contains(unread, tt.unread) {
					t.Errorf("got %+v, want proof %q, own %v, unread %q", v, tt.proof, tt.own, tt.unread)
				}
			}
			if log := c.requests(); tt.requests != nil {
				if diff := cmp.Diff(tt.requests, append([]string{}, log...)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			}
			if text := strings.Join(warned.all(), "\n"); (text == "") != (tt.warned == "") || !strings.Contains(text, tt.warned) || len(warned.all()) > 1 {
				t.Errorf("warned %q, want %q", warned.all(), tt.warned)
			}
		})
	}
}

func TestLicenseOfANestedStack(t *testing.T) { // (S-212, S-256)
	c, k := shop(t)
	child := k.store.Stack("Shop~Child", "eu-west-1")
	c.PutObject(bucket, shopKey+eventsFolder+"a.jsonl", []byte(
		`{"timestamp":"2026-01-01T00:00:00.000Z","eventType":"RESOURCE_RETAINED","stackName":"Shop~Child","logicalId":"Q","resourceType":"AWS::SQS::Queue","physicalId":"`+heldURL+`"}`))
	h := Holder{LogicalID: "Q", Type: typeQueue, PhysicalID: heldURL}
	if v := child.Evidence(nil, child.OpenLedger(t.Context(), false, nil)).License(t.Context(), h); v.Proof != ProvedByHistory {
		t.Errorf("got %+v", v)
	}
	c.PutObject(bucket, "cdkd/Shop~Child/eu-west-1/retained.json", []byte(`{"retainedVersion":1,"resources":[]}`))
	if v := child.Evidence(nil, child.OpenLedger(t.Context(), false, nil)).License(t.Context(), h); v.Proof != "" {
		t.Errorf("got %+v", v)
	}
}

func TestLicenseOfWhatThisRunMade(t *testing.T) { // (S-212)
	_, k := shop(t)
	l := k.OpenLedger(t.Context(), false, nil)
	e := k.Evidence(nil, l)
	h := Holder{LogicalID: "Q", Type: typeQueue, Name: heldName, PhysicalID: heldURL}
	intend(t, l, Intent{LogicalID: "Q", Type: typeQueue, Name: heldName})
	if v := e.License(t.Context(), h); v.Proof != "" {
		t.Errorf("its own intent is no evidence, got %+v", v)
	}
	e.Made(typeQueue, heldURL)
	if v := e.License(t.Context(), h); v.Proof != ProvedByRecord {
		t.Errorf("got %+v", v)
	}
}

// Of the histories of runs the newest 20 are read (S-147, S-256).
func TestHistoryIsOfTheNewestRuns(t *testing.T) {
	c, k := shop(t)
	const kept = `{"timestamp":"2026-01-01T00:00:00.000Z","eventType":"RESOURCE_RETAINED","stackName":"Shop","logicalId":"Q","resourceType":"AWS::SQS::Queue","physicalId":"` + heldURL + `"}`
	h := Holder{LogicalID: "Q", Type: typeQueue, PhysicalID: heldURL}
	c.PutObject(bucket, shopKey+eventsFolder+"20260101T000000000Z-00000000.jsonl", []byte(kept))
	for newer := 1; newer <= 20; newer++ {
		c.PutObject(bucket, fmt.Sprintf("%s%s20260101T0000%02d000Z-00000000.jsonl", shopKey, eventsFolder, newer), nil)
		want := ProvedByHistory
		if newer == 20 {
			want = ""
		}
		if v := k.Evidence(nil, k.OpenLedger(t.Context(), false, nil)).License(t.Context(), h); v.Proof != want {
			t.Errorf("with %d newer runs: proof %q, want %q", newer, v.Proof, want)
		}
	}
}

func TestEarlierVersionsArePaged(t *testing.T) { // (S-256)
	c, k := shop(t)
	k.Name = "Shöp +%"
	versioned(t, k.store)
	key := k.key(recordName)
	for i := range 1500 {
		c.PutObject(bucket, key, fmt.Append(nil, i))
	}
	c.requests()
	versions, err := k.store.earlier(t.Context(), key, 2000)
	if err != nil || len(versions) != 1499 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
	c.wantRequests(t, "ListObjectVersions", "ListObjectVersions")
}

func TestRefusal(t *testing.T) { // (S-208, S-236)
	_, k := shop(t)
	e := k.Evidence(nil, k.OpenLedger(t.Context(), false, nil))
	h := Holder{LogicalID: "Q", Type: typeQueue, PhysicalID: heldURL}
	for _, tt := range []struct {
		verdict Verdict
		text    string
	}{
		{Verdict{}, "the stack is probably deployed under another state bucket or prefix too"},
		{Verdict{Own: true}, "an earlier create of this stack, whose outcome is not known, probably made it"},
		{Verdict{Unread: []error{&VersionError{Key: retainedKey, Found: "2", Understood: "1"}}}, "not looked at: " + retainedKey},
	} {
		err := e.Refusal(h, tt.verdict)
		if !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), heldURL) {
			t.Errorf("got %v, want %q", err, tt.text)
		}
	}
	err := e.Refusal(h, Verdict{})
	want := "if it is this stack's, import it:\ncdkd-action import Shop --resource Q=" + heldURL + "\n" +
		"or, in a workflow, with command: import, stacks: Shop, resource: Q=" + heldURL + ", yes: true"
	if diff := cmp.Diff(want, err.Remedy()); diff != "" {
		t.Error(diff)
	}
	err.Holder.PhysicalID = "x;rm"
	if strings.Contains(err.Remedy(), "rm") {
		t.Errorf("remedy %q", err.Remedy())
	}
}

package state

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) { // (S-13, S-164)
	c := newCloud(t)
	for prefix, want := range map[string]string{
		"cdkd":    "cdkd/Root~Child/eu-west-1/state.json",
		"team-a/": "team-a//Root~Child/eu-west-1/state.json",
		"":        "/Root~Child/eu-west-1/state.json",
	} {
		k := open(t, c.overHTTP(t), func(o *Options) { o.Prefix = prefix }).Stack("Root~Child", "eu-west-1")
		if got := k.RecordKey(); got != want {
			t.Errorf("prefix %q: key %q, want %q", prefix, got, want)
		}
	}
}

func TestPresence(t *testing.T) {
	c, k := shop(t)
	for _, tt := range []struct {
		name string
		keys []string
		want Presence
	}{
		{"a new stack", nil, Presence{Listed: true}},
		{"a deployed one", []string{"state.json", "deployments/a.jsonl", "deployments/index.json"}, Presence{Listed: true, Record: true, Events: true, Histories: []string{"a"}}},
		{"everything", []string{"lock.json", "rollback-journal.json", "create-tokens.json", "pending.json", "retained.json", "unknown.json"},
			Presence{Listed: true, Record: true, Lock: true, Journal: true, Ledger: true, Pending: true, Retained: true, Events: true, Histories: []string{"a"}}},
	} {
		t.Run(tt.name, func(t *testing.T) { // (S-413)
			for _, key := range tt.keys {
				c.PutObject(bucket, shopKey+key, nil)
			}
			c.PutObject(bucket, "cdkd/Shop/us-east-1/lock.json", nil) // another region's
			c.requests()
			got, err := k.Presence(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			c.wantRequests(t, "ListObjectsV2")
		})
	}
	t.Run("without s3:ListBucket everything may be there (S-413)", func(t *testing.T) {
		c.on("ListObjectsV2", "", 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		got, err := k.Presence(t.Context())
		if err != nil || got.Listed || !got.Record || !got.Retained {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestRead(t *testing.T) { // (S-23, S-70)
	c, k := shop(t)
	r, etag, err := k.Read(t.Context())
	if r != nil || etag != Absent || err != nil {
		t.Fatalf("a new stack: %v, %q, %v", r, etag, err)
	}
	c.PutObject(bucket, "cdkd/Shop/state.json", []byte(`{"version":1,"region":"us-east-1","resources":{}}`))
	if r, etag, err = k.Read(t.Context()); r != nil || etag != Absent || err != nil {
		t.Fatalf("a legacy record of another region: %v, %q, %v", r, etag, err)
	}
	c.PutObject(bucket, "cdkd/Shop/state.json", []byte(`{"region":"eu-west-1","resources":{}}`))
	if r, etag, err = k.Read(t.Context()); r == nil || etag != Legacy || err != nil {
		t.Fatalf("a legacy record: %v, %q, %v", r, etag, err)
	}
	o := c.PutObject(bucket, recordKey, testdata(t, "messaging/state.json"))
	c.requests()
	if r, etag, err = k.Read(t.Context()); r == nil || r.StackName != "Messaging" || etag != ETag(o.ETag) || err != nil {
		t.Fatalf("a record: %v, %q, %v", r, etag, err)
	}
	c.wantRequests(t, "GetObject "+recordKey)
	c.PutObject(bucket, recordKey, []byte(`{"version":99}`))
	_, _, err = k.Read(t.Context())
	if e := as[*VersionError](t, err); e.Found != "99" || !strings.Contains(err.Error(), recordKey) {
		t.Errorf("got %v", err)
	}
	c.on("GetObject", "", 0, 0, answer(http.StatusForbidden, "AccessDenied"))
	_, _, err = k.Read(t.Context())
	as[*AccessError](t, err)
}

func TestConfirm(t *testing.T) { // (S-412)
	c, k := shop(t)
	if err := k.Confirm(t.Context(), Absent); err != nil {
		t.Errorf("still absent: %v", err)
	}
	if err := k.Confirm(t.Context(), Legacy); err != nil {
		t.Errorf("still at the old key only: %v", err)
	}
	o := c.PutObject(bucket, recordKey, []byte("{}"))
	if err := k.Confirm(t.Context(), ETag(o.ETag)); err != nil {
		t.Errorf("still the same: %v", err)
	}
	as[*ConflictError](t, k.Confirm(t.Context(), Absent))
	c.PutObject(bucket, recordKey, []byte("{ }"))
	e := as[*ConflictError](t, k.Confirm(t.Context(), ETag(o.ETag)))
	if e.Key != recordKey {
		t.Errorf("got %+v", e)
	}
	k.store.remove(t.Context(), recordKey)
	as[*ConflictError](t, k.Confirm(t.Context(), ETag(o.ETag)))

	c.PutObject(bucket, k.legacyKey(recordName), []byte(`{"region": "us-east-1"}`))
	if err := k.Confirm(t.Context(), Absent); err != nil {
		t.Errorf("another region's at the old key: %v", err)
	}
	c.PutObject(bucket, k.legacyKey(recordName), []byte("{}"))
	if r, etag, err := k.ReadProvisional(t.Context()); r != nil || etag != Absent || err != nil {
		t.Errorf("read %v, %s, %v", r, etag, err)
	}
	as[*ConflictError](t, k.Confirm(t.Context(), Absent)) // nobody has looked there yet
}

func TestDeletable(t *testing.T) { // (S-57)
	_, k := shop(t)
	elsewhere := rows(1)
	elsewhere.Region = "us-east-1"
	e := as[*MalformedError](t, k.Deletable(elsewhere))
	if !strings.Contains(e.Error(), "us-east-1") || !strings.Contains(e.Error(), recordKey) {
		t.Errorf("got %v", e)
	}
	empty := rows(0)
	empty.Region = "us-east-1"
	for _, r := range []*Record{nil, rows(1), empty} {
		if err := k.Deletable(r); err != nil {
			t.Errorf("got %v", err)
		}
	}
}

func TestDelete(t *testing.T) {
	all := []string{ledgerName, recordName, journalName, pendingName, retainedName}
	fill := func(c *cloud) ETag {
		for _, name := range all {
			c.PutObject(bucket, shopKey+name, []byte("{}"))
		}
		c.PutObject(bucket, journalKey, []byte(`{"journalVersion":1,"segments":[]}`))
		c.PutObject(bucket, "cdkd/Shop/state.json", []byte(`{"region":"eu-west-1"}`))
		o, _ := c.Object(bucket, recordKey)
		return ETag(o.ETag)
	}
	t.Run("in the order that leaves nothing unvouched for (S-74, S-245)", func(t *testing.T) {
		c, k := shop(t)
		etag := fill(c)
		if err := k.Delete(t.Context(), etag); err != nil {
			t.Fatal(err)
		}
		var deletes []string
		for _, r := range c.requests() {
			if key, ok := strings.CutPrefix(r, "DeleteObject "); ok {
				deletes = append(deletes, key)
			}
		}
		want := []string{shopKey + ledgerName, recordKey, "cdkd/Shop/state.json", shopKey + journalName, shopKey + pendingName}
		if diff := cmp.Diff(want, deletes); diff != "" {
			t.Errorf("deletes (-want +got):\n%s", diff)
		}
		if !c.has(shopKey + retainedName) {
			t.Error("the retained list is gone")
		}
	})
	t.Run("what is not there is not deleted (S-413)", func(t *testing.T) {
		c, k := shop(t)
		o := c.PutObject(bucket, recordKey, []byte("{}"))
		c.requests()
		if err := k.Delete(t.Context(), ETag(o.ETag)); err != nil {
			t.Fatal(err)
		}
		got := c.requests()
		slices.Sort(got)
		if diff := cmp.Diff([]string{"DeleteObject " + recordKey, "GetObject cdkd/Shop/state.json", "ListObjectsV2"}, got); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
	t.Run("without earlier versions of journal and open operations (S-19, P-1)", func(t *testing.T) {
		c, k := shop(t)
		versioned(t, k.store)
		etag := fill(c)
		if err := k.Delete(t.Context(), etag); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int{journalName: 1, pendingName: 1, recordName: 2} { // delete markers, and the record's history
			if v := c.Versions(bucket, shopKey+name); len(v) != want {
				t.Errorf("%s has %d versions, want %d", name, len(v), want)
			}
		}
	})
	t.Run("a ledger that cannot be deleted leaves the record (S-74)", func(t *testing.T) {
		c, k := shop(t)
		etag := fill(c)
		c.on("DeleteObject", ledgerName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		as[*AccessError](t, k.Delete(t.Context(), etag))
		if !c.has(recordKey) || !c.has(shopKey+journalName) {
			t.Error("something was deleted")
		}
	})
	t.Run("not a record that was written since (S-83)", func(t *testing.T) {
		c, k := shop(t)
		etag := fill(c)
		c.PutObject(bucket, recordKey, []byte("theirs"))
		as[*ConflictError](t, k.Delete(t.Context(), etag))
		if !c.has(recordKey) || !c.has(shopKey+journalName) {
			t.Error("something was deleted")
		}
	})
	t.Run("not a record that was not seen", func(t *testing.T) {
		c, k := shop(t)
		fill(c)
		if err := k.Delete(t.Context(), Absent); err != nil {
			t.Fatal(err)
		}
		if !c.has(recordKey) || c.has(shopKey+journalName) {
			t.Errorf("record there: %v, journal there: %v", c.has(recordKey), c.has(shopKey+journalName))
		}
	})
	t.Run("nor a journal that cannot be understood, unless the stack is given up (S-106)", func(t *testing.T) {
		for _, body := range []string{`{"journalVersion":1,"segm`, `{"journalVersion":99,"segments":[]}`} {
			c, k := shop(t)
			etag := fill(c)
			c.PutObject(bucket, journalKey, []byte(body))
			if err := k.Delete(t.Context(), etag); err != nil || c.has(recordKey) || c.body(t, journalKey) != body || c.has(shopKey+pendingName) {
				t.Errorf("%s: got %v", body, err)
			}
			if err := k.Forget(t.Context(), Absent); err != nil || c.has(journalKey) {
				t.Errorf("%s, forgotten: got %v", body, err)
			}
		}
	})
	t.Run("a store without conditional deletes", func(t *testing.T) {
		c, k := shop(t)
		etag := fill(c)
		c.on("DeleteObject", recordName, 0, 1, answer(http.StatusNotImplemented, "NotImplemented"))
		if err := k.Delete(t.Context(), etag); err != nil || c.has(recordKey) {
			t.Errorf("got %v, record there: %v", err, c.has(recordKey))
		}
	})
	t.Run("a legacy record of another region stays (S-74)", func(t *testing.T) {
		c, k := shop(t)
		etag := fill(c)
		c.PutObject(bucket, "cdkd/Shop/state.json", []byte(`{"region":"us-east-1"}`))
		if err := k.Delete(t.Context(), etag); err != nil {
			t.Fatal(err)
		}
		if !c.has("cdkd/Shop/state.json") {
			t.Error("it is gone")
		}
	})
}

func TestList(t *testing.T) { // (S-20, S-21)
	c, k := shop(t)
	for key, body := range map[string]string{
		"cdkd/A/eu-west-1/state.json":             "",
		"cdkd/A/us-east-1/state.json":             "",
		"cdkd/A~B/eu-west-1/state.json":           "",
		"cdkd/Old/state.json":                     `{"region":"us-east-1"}`,
		"cdkd/Older/state.json":                   `{}`,
		"cdkd/A/state.json":                       `{"region":"us-east-1"}`, // not twice
		"cdkd/A/eu-west-1/lock.json":              "",
		"cdkd/_index/eu-west-1/exports.json":      "",
		"cdkd/deep/er/eu-west-1/state.json":       "",
		"other/C/eu-west-1/state.json":            "",
		"_cdkd-registry/eu-west-1/A.json":         "",
		"cdkd/A/eu-west-1/deployments/state.json": "",
	} {
		c.PutObject(bucket, key, []byte(body))
	}
	got, err := k.store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Ref{{"A", "eu-west-1"}, {"A", "us-east-1"}, {"A~B", "eu-west-1"}, {"Old", "us-east-1"}, {"Older", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestListPages(t *testing.T) { // (S-21)
	c, k := shop(t)
	const n = 1205
	for i := range n {
		c.PutObject(bucket, "cdkd/S"+string(rune('a'+i%26))+strings.Repeat("x", i/26)+"/eu-west-1/state.json", nil)
	}
	got, err := k.store.List(t.Context())
	if err != nil || len(got) != n {
		t.Errorf("%d stacks, want %d (%v)", len(got), n, err)
	}
	c.wantRequests(t, "ListObjectsV2", "ListObjectsV2")
}

func TestCheck(t *testing.T) { // (S-15, S-16)
	c := newCloud(t)
	cfg := c.overHTTP(t)
	if err := open(t, cfg).Check(t.Context()); err != nil {
		t.Error(err)
	}
	err := open(t, cfg, func(o *Options) { o.Bucket = "nowhere" }).Check(t.Context())
	if e := as[*NoBucketError](t, err); e.Bucket != "nowhere" {
		t.Errorf("got %+v", e)
	}
	err = open(t, cfg, func(o *Options) { o.Region = "us-east-1" }).Check(t.Context())
	if e := as[*RegionError](t, err); e.Region != "eu-west-1" {
		t.Errorf("got %+v", e)
	}
	c.on("HeadBucket", "", 0, 0, answer(http.StatusForbidden, ""))
	as[*AccessError](t, open(t, cfg).Check(t.Context()))
}

func TestDenials(t *testing.T) { // (S-23, S-401)
	for _, tt := range []struct {
		op, permission string
		do             func(*Stack) error
	}{
		{"ListObjectsV2", "s3:ListBucket", func(k *Stack) error { _, err := k.store.List(t.Context()); return err }},
		{"GetObject", "s3:GetObject", func(k *Stack) error { _, err := k.ReadJournal(t.Context()); return err }},
		{"GetObject", "s3:GetObject", func(k *Stack) error { return k.Confirm(t.Context(), Absent) }},
		{"GetObject", "s3:GetObject", func(k *Stack) error { _, err := k.Peek(t.Context()); return err }},
		{"PutObject", "s3:PutObject", func(k *Stack) error { return k.AppendSegment(t.Context(), segment("r", "A")) }},
		{"PutObject", "s3:PutObject", func(k *Stack) error {
			return k.store.Exports("eu-west-1").Update(t.Context(), "Shop", outputs("A", "1"))
		}},
		{"DeleteObject", "s3:DeleteObject", func(k *Stack) error { _, _, err := k.ForceUnlock(t.Context()); return err }},
		{"DeleteObject", "s3:DeleteObject", func(k *Stack) error { return k.DeleteJournal(t.Context()) }},
	} {
		c, k := shop(t)
		c.on(tt.op, "", 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		err := tt.do(k)
		if e := as[*AccessError](t, err); e.Permission != tt.permission || e.Bucket != bucket {
			t.Errorf("%s denied: %+v", tt.op, e)
		}
		if !strings.Contains(err.Error(), "eu-west-1") && tt.op != "ListObjectsV2" {
			t.Errorf("%q does not name the region", err)
		}
	}
}

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	markerKey = "_cdkd-registry/eu-west-1/Shop.json"
	ownRecord = `{"version":11,"resources":{"Q":{"physicalId":"q","resourceType":"T","properties":{}}}}`
)

func marker(prefix string) []byte { return fmt.Appendf(nil, `{"prefix":%q}`, prefix) }

// A registryCase is a bucket, and what the registry says of stack Shop in it.
type registryCase struct {
	name    string
	objects map[string]string // by key
	fault   func(*cloud)
	isNew   bool
	look    bool

	requests []string
	found    string // the prefix of the refusal
	working  bool
	failed   string // a part of the error
	warned   string // a part of the warning
	after    string // the prefix that the marker names then; "" is none
}

func TestRegistryDecides(t *testing.T) { // (S-264)
	const (
		get, put, list = "GetObject " + markerKey, "PutObject " + markerKey, "ListObjectsV2"
		xRecord        = "x/Shop/eu-west-1/state.json"
	)
	denyMarker := func(op string) func(*cloud) {
		return func(c *cloud) { c.on(op, markerKey, 0, 0, answer(http.StatusForbidden, "AccessDenied")) }
	}
	mine := map[string]string{recordKey: ownRecord}
	with := func(objects ...string) map[string]string {
		m := map[string]string{recordKey: ownRecord}
		for i := 0; i < len(objects); i += 2 {
			m[objects[i]] = objects[i+1]
		}
		return m
	}
	for _, tt := range []registryCase{
		{name: "1: a first deploy claims with one request", isNew: true, requests: []string{put}, after: "cdkd"},
		{name: "1 and 2: somebody under our prefix was there before", isNew: true, objects: map[string]string{markerKey: `{"prefix":"cdkd"}`},
			requests: []string{put, get}, after: "cdkd"},
		{name: "1 and 4: another prefix has it", isNew: true, objects: map[string]string{markerKey: `{"prefix":"x"}`, xRecord: ownRecord},
			found: "x", after: "x"},
		{name: "2: the marker names us", objects: with(markerKey, `{"prefix":"cdkd","future":1}`), requests: []string{get}, after: "cdkd"},
		{name: "3: recorded without a marker, nobody else: claimed", objects: mine, requests: []string{get, list, list, put}, after: "cdkd"},
		{name: "3: recorded without a marker, another records it", objects: with(xRecord, ownRecord), found: "x"},
		{name: "3: the folder of the registry is no prefix (S-24)", objects: with("_cdkd-registry/Shop/eu-west-1/state.json", ownRecord), after: "cdkd"},
		{name: "3: another with a slash at its end records it", objects: with("x//Shop/eu-west-1/state.json", ownRecord), found: "x/"},
		{name: "3: the empty prefix records it", objects: with("/Shop/eu-west-1/state.json", ownRecord), found: ""},
		{name: "3: another region or stack is nothing", objects: with("x/Shop/us-east-1/state.json", ownRecord, "x/Shop2/eu-west-1/state.json", ownRecord), after: "cdkd"},
		{name: "3: another's oldest form records it", objects: with("x/Shop/state.json", ownRecord), found: "x"},
		{name: "3: a rehearsal does not claim", objects: mine, look: true, requests: []string{get, list, list}},
		{name: "4: it has orphans", objects: with(markerKey, `{"prefix":"x"}`, xRecord,
			`{"resources":{},"orphans":[{"logicalId":"A","orphanedAt":1,"state":{"physicalId":"p","resourceType":"T","properties":{}}}]}`), found: "x", after: "x"},
		{name: "4: its journal completed something", objects: with(markerKey, `{"prefix":"x"}`, "x/Shop/eu-west-1/"+journalName,
			`{"journalVersion":1,"segments":[{"operations":[{"logicalId":"A","resourceType":"T","changeType":"CREATE"}]}]}`), found: "x", after: "x"},
		{name: "4: its journal failed on something that has an id", objects: with(markerKey, `{"prefix":"x"}`, "x/Shop/eu-west-1/"+journalName,
			`{"journalVersion":1,"segments":[{"failedOperations":[{"logicalId":"A","resourceType":"T","changeType":"CREATE","physicalId":"p"}]}]}`), found: "x", after: "x"},
		{name: "4: its record is malformed", objects: with(markerKey, `{"prefix":"x"}`, xRecord, `{}`), found: "x", after: "x"},
		{name: "4: its journal is malformed", objects: with(markerKey, `{"prefix":"x"}`, "x/Shop/eu-west-1/"+journalName, `{}`), found: "x", after: "x"},
		{name: "4: it has open operations", objects: with(markerKey, `{"prefix":"x"}`, "x/Shop/eu-west-1/"+pendingName,
			`{"pendingVersion":1,"operations":[{}]}`), found: "x", after: "x"},
		{name: "4: its open operations are malformed", objects: with(markerKey, `{"prefix":"x"}`, "x/Shop/eu-west-1/"+pendingName, `[]`), found: "x", after: "x"},
		{name: "5: it has nothing yet but a lock", objects: with(markerKey, `{"prefix":"x"}`, "x/Shop/eu-west-1/lock.json", `{}`), found: "x", working: true, after: "x"},
		{name: "5: it has a lock of the oldest form", objects: with(markerKey, `{"prefix":"x"}`, "x/Shop/lock.json", `?`), found: "x", working: true, after: "x"},
		{name: "6: it has nothing, nobody else has: taken over", objects: with(markerKey, `{"prefix":"x"}`), after: "cdkd"},
		{name: "6: it failed on something without an id: taken over", objects: with(markerKey, `{"prefix":"x"}`, "x/Shop/eu-west-1/"+journalName,
			`{"journalVersion":1,"segments":[{"failedOperations":[{"logicalId":"A","resourceType":"T","changeType":"CREATE"}]}]}`), after: "cdkd"},
		{name: "6: it has an empty record: taken over, with a note", objects: with(markerKey, `{"prefix":"x"}`, xRecord, `{"resources":{}}`),
			after: "cdkd", warned: "cdkd state orphan Shop --stack-region eu-west-1 --state-prefix x"},
		{name: "6: it has nothing, but a third has", objects: with(markerKey, `{"prefix":"x"}`, "y/Shop/eu-west-1/state.json", ownRecord), found: "y", after: "x"},
		{name: "6: a rehearsal does not take over", objects: with(markerKey, `{"prefix":"x"}`), look: true, after: "x"},
		{name: "7: lost once: read again", objects: mine, after: "cdkd", fault: func(c *cloud) {
			c.on("PutObject", markerKey, 0, 1, first(func() { c.PutObject(bucket, markerKey, marker("cdkd")) }))
		}},
		{name: "7: lost to another prefix", objects: with("x/Shop/eu-west-1/lock.json", "{}"), found: "x", working: true, after: "x", fault: func(c *cloud) {
			c.on("PutObject", markerKey, 0, 1, first(func() { c.PutObject(bucket, markerKey, marker("x")) }))
		}},
		{name: "7: lost twice", objects: mine, failed: "claimed by several processes at once", fault: func(c *cloud) {
			c.on("PutObject", markerKey, 0, 0, answer(http.StatusPreconditionFailed, "PreconditionFailed"))
		}},
		{name: "8: the claim is denied, nobody else has it", isNew: true, fault: denyMarker("PutObject"), warned: "s3:PutObject on _cdkd-registry/*"},
		{name: "8: the claim is denied, another has it", isNew: true, fault: denyMarker("PutObject"), objects: map[string]string{xRecord: ownRecord},
			found: "x", warned: "s3:PutObject"},
		{name: "8: the bucket knows no conditions", isNew: true, warned: "does not know conditional writes", fault: func(c *cloud) {
			c.on("PutObject", markerKey, 0, 0, answer(http.StatusNotImplemented, "NotImplemented"))
		}},
		{name: "8: the read is denied, nobody else has it", objects: mine, fault: denyMarker("GetObject"), warned: "s3:GetObject on _cdkd-registry/*"},
		{name: "8: the read is denied, another has it", objects: with(xRecord, ownRecord), fault: denyMarker("GetObject"), found: "x", warned: "s3:GetObject"},
		{name: "8: everything is denied", objects: mine, warned: "s3:ListBucket", after: "cdkd", fault: func(c *cloud) {
			c.on("ListObjectsV2", "", 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		}},
		{name: "9: the read fails", objects: mine, failed: markerKey, fault: func(c *cloud) {
			c.on("GetObject", markerKey, 0, 0, answer(http.StatusBadRequest, "Weird"))
		}},
		{name: "9: the claim fails", isNew: true, failed: markerKey, fault: func(c *cloud) {
			c.on("PutObject", markerKey, 0, 0, answer(http.StatusBadRequest, "Weird"))
		}},
		{name: "9: the scan fails", objects: mine, failed: "Weird", fault: func(c *cloud) {
			c.on("ListObjectsV2", "", 1, 0, answer(http.StatusBadRequest, "Weird"))
		}},
		{name: "9: the marker is not JSON", objects: with(markerKey, `{`), failed: "not JSON", after: "?"},
		{name: "9: the marker names no prefix", objects: with(markerKey, `{}`), failed: "prefix is not one", after: "?"},
		{name: "9: the prefix has control characters (S-262)", objects: with(markerKey, `{"prefix":"a\u0007"}`), failed: "prefix is not one", after: "?"},
		{name: "9: the prefix has angle brackets (S-262)", objects: with(markerKey, `{"prefix":"<a>"}`), failed: "prefix is not one", after: "?"},
		{name: "9: the prefix is too long (S-262)", objects: with(markerKey, `{"prefix":"`+strings.Repeat("é", 1025)+`"}`), failed: "prefix is not one", after: "?"},
		{name: "prefixes are compared as they are (S-262)", objects: with(markerKey, `{"prefix":"cdkd/"}`, "cdkd//Shop/eu-west-1/state.json", ownRecord), found: "cdkd/", after: "cdkd/"},
	} {
		t.Run(tt.name+" (S-263)", func(t *testing.T) {
			c, warned := newCloud(t), new(notes)
			k := open(t, c.overHTTP(t), func(o *Options) { o.Warn = warned.add }).Stack("Shop", "eu-west-1")
			for key, body := range tt.objects {
				c.PutObject(bucket, key, []byte(body))
			}
			if tt.fault != nil {
				tt.fault(c)
			}
			var err error
			switch g := k.Registry(); {
			case tt.isNew:
				err = g.Claim(t.Context())
			case tt.look:
				err = g.Look(t.Context())
			default:
				err = g.Check(t.Context())
			}
			log := c.requests()
			switch {
			case tt.failed != "":
				if e := as[*UnansweredError](t, err); !strings.Contains(e.Error(), tt.failed) || !strings.Contains(e.Error(), markerKey) {
					t.Errorf("got %v, want %q", err, tt.failed)
				}
			case tt.found != "" || strings.Contains(tt.name, "the empty prefix"):
				if e := as[*RegisteredError](t, err); e.Prefix != tt.found || e.Working != tt.working {
					t.Errorf("got %v (%+v), want prefix %q", err, e, tt.found)
				}
			case err != nil:
				t.Error(err)
			}
			if tt.requests != nil {
				if diff := cmp.Diff(tt.requests, log); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			}
			if text := strings.Join(warned.all(), "\n"); (text == "") != (tt.warned == "") || !strings.Contains(text, tt.warned) {
				t.Errorf("warned %q, want %q", text, tt.warned)
			}
			after := ""
			if o, ok := c.Object(bucket, markerKey); ok {
				after = "?"
				var m struct{ Prefix string }
				if json.Unmarshal(o.Body, &m) == nil && tt.failed == "" {
					after = m.Prefix
				}
			}
			if after != tt.after {
				t.Errorf("the marker names %q, want %q", after, tt.after)
			}
		})
	}
}

func TestClaimOfAStackThatIsRecordedAfterAll(t *testing.T) { // (S-414)
	c, k := shop(t)
	c.PutObject(bucket, "x/Shop/eu-west-1/state.json", []byte(ownRecord))
	g := k.Registry()
	if err := g.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if e := as[*RegisteredError](t, g.Check(t.Context())); e.Prefix != "x" {
			t.Errorf("got %v", e)
		}
	}
	k.store.remove(t.Context(), "x/Shop/eu-west-1/state.json")
	for range 2 {
		c.requests()
		if err := g.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	c.wantRequests(t, "GetObject "+markerKey)
}

func TestRegistryRemedies(t *testing.T) { // (S-265)
	e := &RegisteredError{Stack: "Shop", Region: "eu-west-1", Prefix: "x", Ours: "cdkd", Key: "x/Shop/eu-west-1/state.json", bucket: "b"}
	const text = `stack Shop in eu-west-1 is kept under the prefix "x" of state bucket b (x/Shop/eu-west-1/state.json); here the prefix is "cdkd"`
	if e.Error() != text {
		t.Errorf("got %s", e)
	}
	if want := "cdkd state orphan Shop --stack-region eu-west-1 --state-bucket b --state-prefix x"; !strings.HasSuffix(e.Remedy(), "\n"+want) {
		t.Errorf("got %s", e.Remedy())
	}
	e.Working = true
	if want := "cdkd force-unlock Shop --stack-region eu-west-1 --state-bucket b --state-prefix x"; !strings.HasSuffix(e.Remedy(), "\n"+want) {
		t.Errorf("got %s", e.Remedy())
	}
	e.Prefix = "x;rm -rf"
	if strings.Contains(e.Remedy(), "cdkd") {
		t.Errorf("a command that a shell would misread: %s", e.Remedy())
	}
	_, k := shop(t)
	k.store.client = nil // no request is made for a nested stack
	for _, err := range []error{
		k.store.Stack("Shop~Child", "eu-west-1").Registry().Claim(t.Context()),
		k.store.Stack("Shop~Child", "eu-west-1").Registry().Release(t.Context()),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestScanIsShared(t *testing.T) { // (S-266)
	c, k := shop(t)
	for i := range 120 {
		c.PutObject(bucket, fmt.Sprintf("p%d/Other/eu-west-1/state.json", i), nil)
	}
	var mu sync.Mutex
	now, most := 0, 0
	enough := make(chan struct{})
	c.on("ListObjectsV2", "", 1, 0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		if now++; now > most {
			if most = now; most == scansAtOnce {
				close(enough)
			}
		}
		mu.Unlock()
		<-enough
		next.ServeHTTP(w, r)
		mu.Lock()
		now--
		mu.Unlock()
	})
	var wg sync.WaitGroup
	for _, name := range []string{"Shop", "Bank"} {
		wg.Go(func() {
			if err := k.store.Stack(name, "eu-west-1").Registry().Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	roots := 0
	for _, r := range c.requests() {
		if r == "ListObjectsV2" {
			roots++
		}
	}
	if most > scansAtOnce || roots != 1+2*240 {
		t.Errorf("%d listings, %d at once; want one of the bucket and two for each prefix and stack, %d at once", roots, most, scansAtOnce)
	}
}

func TestRegistryRelease(t *testing.T) {
	const get, put, del = "GetObject " + markerKey, "PutObject " + markerKey, "DeleteObject " + markerKey
	setup := func(t *testing.T, m string) (*cloud, *Registry) {
		c, k := shop(t)
		if m != "" {
			c.PutObject(bucket, markerKey, marker(m))
		}
		return c, k.Registry()
	}
	check := func(t *testing.T, c *cloud, g *Registry, there bool, want ...string) {
		t.Helper()
		if err := g.Release(t.Context()); err != nil {
			t.Error(err)
		}
		c.wantRequests(t, want...)
		if c.has(markerKey) != there {
			t.Errorf("marker there: %v, want %v", !there, there)
		}
	}
	t.Run("a destroy: one read and one delete (S-270, S-272)", func(t *testing.T) {
		c, g := setup(t, "cdkd")
		if err := g.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, c, g, false, get, del)
	})
	t.Run("claimed by this run: read first (S-270)", func(t *testing.T) {
		c, g := setup(t, "")
		if err := g.Claim(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, c, g, false, put, get, del)
	})
	t.Run("not read before: read first (S-268)", func(t *testing.T) {
		c, g := setup(t, "cdkd")
		check(t, c, g, false, get, del)
	})
	t.Run("not there", func(t *testing.T) {
		c, g := setup(t, "")
		check(t, c, g, false, get)
	})
	t.Run("another prefix's stays (S-270)", func(t *testing.T) {
		c, g := setup(t, "x")
		check(t, c, g, true, get)
	})
	t.Run("claimed again since stays (S-270)", func(t *testing.T) {
		c, g := setup(t, "cdkd")
		if err := g.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.PutObject(bucket, markerKey, marker("x"))
		check(t, c, g, true, get, del, get)
	})
	t.Run("without conditional deletes: read again, then deleted (S-270)", func(t *testing.T) {
		c, g := setup(t, "cdkd")
		if err := g.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.on("DeleteObject", markerKey, 0, 1, answer(http.StatusNotImplemented, "NotImplemented"))
		check(t, c, g, false, get, del, get, del)
	})
	t.Run("without conditional deletes another's stays (S-270)", func(t *testing.T) {
		c, g := setup(t, "cdkd")
		if err := g.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.on("DeleteObject", markerKey, 0, 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			c.PutObject(bucket, markerKey, marker("x"))
			answer(http.StatusNotImplemented, "NotImplemented")(w, r, next)
		})
		check(t, c, g, true, get, del, get)
	})
	t.Run("a failed first deploy gives the name back only when it left nothing (S-270)", func(t *testing.T) {
		for name, objects := range map[string]map[string]string{
			"":                                   {},
			"a record":                           {recordKey: `{"resources":{}}`},
			"a journal that names a resource":    {journalKey: `{"journalVersion":1,"segments":[{"failedOperations":[{"logicalId":"A","resourceType":"T","changeType":"CREATE","physicalId":"p"}]}]}`},
			"open operations":                    {shopKey + pendingName: `{"pendingVersion":1,"operations":[{}]}`},
			"open operations that are malformed": {shopKey + pendingName: `{`},
			"a create that nobody answered":      {shopKey + ledgerName: `{"ledgerVersion":1,"nonce":"n","sent":{"A":{"base":"create:T","token":"t","firstSentAt":1}}}`},
		} {
			c, g := setup(t, "cdkd")
			for key, body := range objects {
				c.PutObject(bucket, key, []byte(body))
			}
			if err := g.ReleaseUnused(t.Context()); err != nil || c.has(markerKey) != (name != "") {
				t.Errorf("%q left: %v, marker there: %v", name, err, c.has(markerKey))
			}
		}
		c, g := setup(t, "cdkd")
		c.on("GetObject", journalName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		if err := g.ReleaseUnused(t.Context()); err == nil || !c.has(markerKey) {
			t.Errorf("a failing read: %v, marker there: %v", err, c.has(markerKey))
		}
	})
}

func TestVacate(t *testing.T) {
	c, k := shop(t)
	c.PutObject(bucket, markerKey, marker("cdkd"))
	c.PutObject(bucket, recordKey, []byte(ownRecord))
	g := k.Registry()
	if err := g.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.requests()
	if err := k.Vacate(t.Context(), nil, g); err != nil { // (S-248, S-272)
		t.Fatal(err)
	}
	c.wantRequests(t, "PutObject "+retainedKey, "DeleteObject "+markerKey)

	c.PutObject(bucket, markerKey, marker("cdkd"))
	c.on("PutObject", retainedName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
	as[*AccessError](t, k.Vacate(t.Context(), nil, k.Registry())) // (S-270)
	if c.has(markerKey) {
		t.Error("the name was not given back")
	}
	if err := k.HandOver(t.Context(), k.Registry()); err != nil {
		t.Error(err)
	}
}

func FuzzMarker(f *testing.F) { // (S-262)
	f.Add([]byte(`{"prefix":"team-a/"}`))
	f.Add([]byte("{\"prefix\":\"\\u0000\"}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := parseMarker(markerKey, b)
		if err == nil {
			return
		}
		if _, ok := errors.AsType[*MalformedError](err); !ok || !strings.Contains(err.Error(), markerKey) {
			t.Fatalf("got %v (%T)", err, err)
		}
	})
}

package state

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

const exportsKey = "cdkd/_index/eu-west-1/exports.json"

// record puts a record of one stack into the bucket.
func (c *cloud) record(stack, region, members string) {
	c.PutObject(bucket, "cdkd/"+stack+"/"+region+"/state.json", []byte(`{"version":11,"resources":{}`+members+`}`))
}

func outputs(pairs ...any) *Record {
	return &Record{Outputs: value.NewObject(pairs...), Resources: map[string]*Resource{}}
}

// index is the index in the bucket as name -> [value, stack].
func (c *cloud) index(t *testing.T) map[string][]any {
	t.Helper()
	o, err := parseExports(exportsKey, []byte(c.body(t, exportsKey)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]any{}
	for name, v := range o.Object("exports").All() {
		e := v.(*value.Object)
		got[name] = []any{value.JSON(e.Value("value")), e.Value("producerStack")}
	}
	return got
}

func TestExportsIndexOfTheCommandLine(t *testing.T) { // (S-148, S-150)
	c := newCloud(t)
	x := open(t, c.overHTTP(t)).Exports("eu-west-1")
	c.PutObject(bucket, exportsKey, testdata(t, "messaging/exports.json"))
	for range 2 {
		e, ok, err := x.Lookup(t.Context(), "Shop", "lab-queue-arn")
		if err != nil || !ok {
			t.Fatalf("got %v, %v", ok, err)
		}
		want := Export{"arn:aws:sqs:us-east-1:123456789012:Messaging-Queue4A7E3555", "Messaging", "us-east-1"}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	c.wantRequests(t, "GetObject "+exportsKey) // once for both
}

func TestExportsLookup(t *testing.T) {
	const index = `{"indexVersion":1,"region":"eu-west-1","exports":{
		"own":{"value":1,"producerStack":"Shop","producerRegion":"eu-west-1"},
		"net":{"value":2,"producerStack":"Net","producerRegion":"eu-west-1"}},"future":1}`
	for _, tt := range []struct {
		name, index, export string
		want                any // the value's JSON; nil is not found
		patched             bool
	}{
		{"a hit (S-150)", index, "net", "2", false},
		{"its own is no hit, another's record is (S-150)", index, "own", "5", true},
		{"not in the index, found in a record (S-150)", index, "vpc", "3", true},
		{"not exported (S-149)", index, "private", nil, false},
		{"of another region", index, "far", nil, false},
		{"nowhere", index, "nothing", nil, false},
		{"no index: made from the records (S-148)", "", "vpc", "3", true},
		{"a broken index (S-148)", `{"indexVersion":1,"exports":`, "vpc", "3", true},
		{"the later of two (S-149)", "", "twice", `"later"`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCloud(t)
			n := new(notes)
			x := open(t, c.overHTTP(t), func(o *Options) { o.Warn = n.add }).Exports("eu-west-1")
			if tt.index != "" {
				c.PutObject(bucket, exportsKey, []byte(tt.index))
			}
			c.record("Base", "eu-west-1", `,"outputs":{"vpc":3,"private":4,"own":5},"exportNames":["vpc","own"]`)
			c.record("Far", "us-east-1", `,"outputs":{"far":6}`)
			c.record("T1", "eu-west-1", `,"outputs":{"twice":"later"},"lastModified":20`)
			c.record("T2", "eu-west-1", `,"outputs":{"twice":"earlier"},"lastModified":10`)
			c.PutObject(bucket, "cdkd/Broken/eu-west-1/state.json", []byte("torn"))
			e, ok, err := x.Lookup(t.Context(), "Shop", tt.export)
			if err != nil || ok != (tt.want != nil) {
				t.Fatalf("found %v, %v", ok, err)
			}
			scans := 0
			for _, r := range c.requests() {
				if r == "ListObjectsV2" {
					scans++
				}
			}
			if scans > 1 {
				t.Errorf("the records were read %d times", scans)
			}
			if ok && value.JSON(e.Value) != tt.want {
				t.Errorf("got %s, want %s", value.JSON(e.Value), tt.want)
			}
			if tt.patched {
				if got := c.index(t)[tt.export]; got == nil || got[0] != tt.want {
					t.Errorf("the index says %v", got)
				}
				if tt.index == index && !strings.Contains(c.body(t, exportsKey), `"future": 1`) {
					t.Error("the index lost a member")
				}
			} else if tt.index != "" && c.body(t, exportsKey) != tt.index {
				t.Error("the index was written")
			}
			if tt.export == "twice" && len(n.all()) == 0 {
				t.Error("no warning of two producers")
			}
		})
	}
}

func TestExportsVersionRefused(t *testing.T) { // (S-3, S-148)
	c := newCloud(t)
	x := open(t, c.overHTTP(t)).Exports("eu-west-1")
	c.PutObject(bucket, exportsKey, []byte(`{"indexVersion":2,"exports":{}}`))
	_, _, err := x.Lookup(t.Context(), "Shop", "a")
	if e := as[*VersionError](t, err); e.Key != exportsKey {
		t.Errorf("got %+v", e)
	}
	as[*VersionError](t, x.Update(t.Context(), "Shop", outputs("A", "a")))
	if !strings.Contains(c.body(t, exportsKey), `"indexVersion":2`) {
		t.Error("it was overwritten")
	}
}

func TestExportsUpdate(t *testing.T) { // (S-148, S-149)
	c := newCloud(t)
	x := open(t, c.overHTTP(t)).Exports("eu-west-1")
	do := func(stack string, r *Record) {
		t.Helper()
		if err := x.Update(t.Context(), stack, r); err != nil {
			t.Fatal(err)
		}
	}
	want := func(w map[string][]any) {
		t.Helper()
		if diff := cmp.Diff(w, c.index(t)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	c.record("Net", "eu-west-1", `,"outputs":{"vpc":"v"}`)
	c.requests()
	do("Shop", outputs())
	c.wantRequests(t, "GetObject "+exportsKey) // nothing to say, nothing made
	do("Shop", outputs("A", "1", "B", "2"))
	want(map[string][]any{"vpc": {`"v"`, "Net"}, "A": {`"1"`, "Shop"}, "B": {`"2"`, "Shop"}})
	r := outputs("A", "1", "C", "3")
	r.ExportNames = []string{"C"}
	do("Shop", r)
	want(map[string][]any{"vpc": {`"v"`, "Net"}, "C": {`"3"`, "Shop"}})
	c.requests()
	do("Shop", r)
	c.wantRequests(t) // unchanged is not written
	if e, ok, err := x.Lookup(t.Context(), "Other", "C"); !ok || err != nil || e.ProducerStack != "Shop" {
		t.Errorf("looked up %+v, %v, %v", e, ok, err)
	}
	do("Shop", nil)
	want(map[string][]any{"vpc": {`"v"`, "Net"}})
}

// An index that was read ahead is not read again, but for what somebody else
// wrote since, and for a stack that is gone (S-148).
func TestExportsReadAhead(t *testing.T) {
	const theirs = `{"indexVersion":1,"exports":{"net":{"value":1,"producerStack":"Net","producerRegion":"eu-west-1"}}}`
	for name, tt := range map[string]struct {
		between string // what somebody else writes
		record  *Record
		want    []string // requests
		index   map[string][]any
	}{
		"and changed":             {"", outputs("A", "1"), []string{"PutObject"}, map[string][]any{"A": {`"1"`, "Shop"}}},
		"and nothing to change":   {"", outputs("A", "0"), nil, map[string][]any{"A": {`"0"`, "Shop"}}},
		"and written by another":  {theirs, outputs("A", "1"), []string{"PutObject", "GetObject", "GetObject", "PutObject"}, map[string][]any{"A": {`"1"`, "Shop"}, "net": {"1", "Net"}}},
		"and the stack is gone":   {"", nil, []string{"GetObject", "PutObject"}, map[string][]any{}},
		"when there was none yet": {theirs, outputs("A", "1"), []string{"GetObject", "PutObject"}, map[string][]any{"A": {`"1"`, "Shop"}, "net": {"1", "Net"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				if name != "when there was none yet" {
					c.PutObject(bucket, exportsKey, []byte(`{"indexVersion":1,"exports":{"A":{"value":"0","producerStack":"Shop","producerRegion":"eu-west-1"}}}`))
				}
				x := k.store.Exports("eu-west-1")
				x.Prepare(t.Context())
				if tt.between != "" {
					c.PutObject(bucket, exportsKey, []byte(tt.between))
				}
				c.requests()
				if err := x.Update(t.Context(), "Shop", tt.record); err != nil {
					t.Fatal(err)
				}
				for i := range tt.want {
					tt.want[i] += " " + exportsKey
				}
				c.wantRequests(t, tt.want...)
				if diff := cmp.Diff(tt.index, c.index(t)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestExportsContention(t *testing.T) {
	theirs := func(c *cloud) func() {
		return func() {
			c.PutObject(bucket, exportsKey, []byte(`{"indexVersion":1,"exports":{"net":{"value":1,"producerStack":"Net","producerRegion":"eu-west-1"}}}`))
		}
	}
	t.Run("another writer's entries survive (S-148)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			c.on("PutObject", "exports.json", 0, 1, first(theirs(c)))
			if err := k.store.Exports("eu-west-1").Update(t.Context(), "Shop", outputs("A", "1")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string][]any{"net": {"1", "Net"}, "A": {`"1"`, "Shop"}}, c.index(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	})
	t.Run("five attempts, then an error (S-148)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			theirs(c)()
			c.on("PutObject", "exports.json", 0, 0, answer(http.StatusPreconditionFailed, "PreconditionFailed"))
			err := k.store.Exports("eu-west-1").Update(t.Context(), "Shop", outputs("A", "1"))
			as[*ConflictError](t, err)
			puts := 0
			for _, r := range c.requests() {
				if strings.HasPrefix(r, "PutObject") {
					puts++
				}
			}
			if puts != 5 {
				t.Errorf("%d attempts, want 5", puts)
			}
		})
	})
	t.Run("its own write is recognised (S-436)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			c.on("PutObject", "exports.json", 0, 1, lose)
			if err := k.store.Exports("eu-west-1").Update(t.Context(), "Shop", outputs("A", "1")); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func TestConsumers(t *testing.T) { // (S-142)
	c, k := shop(t)
	c.record("Shop", "eu-west-1", `,"imports":[{"sourceStack":"Shop","sourceRegion":"eu-west-1","exportName":"own"}]`)
	c.record("Uses", "us-east-1", `,"imports":[
		{"sourceStack":"Shop","sourceRegion":"eu-west-1","exportName":"a"},
		{"sourceStack":"Shop","sourceRegion":"eu-west-1","exportName":"b"},
		{"sourceStack":"Shop","sourceRegion":"us-east-1","exportName":"c"}]`)
	c.record("Weak", "eu-west-1", `,"outputReads":[{"sourceStack":"Shop","sourceRegion":"eu-west-1","outputName":"A"}]`)
	c.PutObject(bucket, "cdkd/Broken/eu-west-1/state.json", []byte("torn"))
	got, err := k.store.Consumers(t.Context(), "Shop", "eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Consumer{{"Uses", "us-east-1", []string{"a", "b"}}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzExports(f *testing.F) {
	f.Add(testdata(f, "messaging/exports.json"))
	f.Add([]byte(`{"indexVersion":1,"exports":{"a":1,"b":{"producerStack":[]}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := parseExports(exportsKey, b)
		if err != nil {
			_, malformed := errors.AsType[*MalformedError](err)
			_, version := errors.AsType[*VersionError](err)
			if !malformed && !version || !strings.Contains(err.Error(), exportsKey) {
				t.Fatalf("got %v (%T)", err, err)
			}
			return
		}
		entries := o.Object("exports").Clone()
		for name := range entries.All() {
			export(entries, name)
		}
		without(entries, "Shop")
		replace(entries, "Shop", "eu-west-1", value.NewObject("A", "1"))
	})
}

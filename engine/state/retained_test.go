package state

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

const retainedKey = shopKey + retainedName

func keptQueue(id string) Kept {
	return Kept{LogicalID: id, ResourceType: typeQueue, PhysicalID: "https://sqs.eu-west-1.amazonaws.com/1/" + id}
}

func (c *cloud) kept(t *testing.T) (ids []string) {
	t.Helper()
	r, err := parseRetained(retainedKey, []byte(c.body(t, retainedKey)))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range r.Resources {
		ids = append(ids, k.LogicalID)
	}
	return ids
}

func TestRetainedShape(t *testing.T) { // (section 14.3)
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		if err := k.RetainLast(t.Context(), []Kept{keptQueue("Q")}); err != nil {
			t.Fatal(err)
		}
		c.wantRequests(t, "PutObject "+retainedKey, "HeadObject "+retainedKey) // (S-272)
		want := fmt.Sprintf(`{
  "retainedVersion": 1,
  "resources": [
    {
      "logicalId": "Q",
      "resourceType": "AWS::SQS::Queue",
      "physicalId": "https://sqs.eu-west-1.amazonaws.com/1/Q",
      "keptAt": %d
    }
  ]
}`, time.Now().UnixMilli())
		if diff := cmp.Diff(want, c.body(t, retainedKey)); diff != "" {
			t.Errorf("list (-want +got):\n%s", diff)
		}
	})
}

func TestTombstone(t *testing.T) {
	t.Run("an empty list says that nothing was kept (S-249)", func(t *testing.T) {
		c, k := shop(t)
		if err := k.RetainLast(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		c.wantRequests(t, "PutObject "+retainedKey)
		want := "{\n  \"retainedVersion\": 1,\n  \"resources\": []\n}"
		if got := c.body(t, retainedKey); got != want {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a list that is there stays (S-249)", func(t *testing.T) {
		c, k := shop(t)
		c.PutObject(bucket, retainedKey, []byte("theirs"))
		if err := k.RetainLast(t.Context(), nil); err != nil || c.body(t, retainedKey) != "theirs" {
			t.Errorf("got %v, %s", err, c.body(t, retainedKey))
		}
	})
	t.Run("a busy object is asked again (S-249)", func(t *testing.T) {
		c, k := shop(t)
		c.on("PutObject", retainedName, 0, 1, answer(http.StatusConflict, "ConditionalRequestConflict"))
		if err := k.RetainLast(t.Context(), nil); err != nil || !c.has(retainedKey) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a denied write is an error", func(t *testing.T) {
		c, k := shop(t)
		c.on("PutObject", retainedName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		as[*AccessError](t, k.RetainLast(t.Context(), nil))
	})
}

func TestRetainMerges(t *testing.T) {
	c, k := shop(t)
	const old = `{"retainedVersion":1,"future":1,"resources":[
{"logicalId":"Old","resourceType":"AWS::SNS::Topic","physicalId":"arn:t","future":2},
{"logicalId":"Q","resourceType":"AWS::SQS::Queue","physicalId":"https://sqs.eu-west-1.amazonaws.com/1/Q","keptAt":5}]}`
	t.Run("destroy: the union by type and physical id (S-251)", func(t *testing.T) {
		c.PutObject(bucket, retainedKey, []byte(old))
		if err := k.RetainLast(t.Context(), []Kept{keptQueue("Q"), keptQueue("R")}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Old", "Q", "R"}, c.kept(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		o, _ := value.ParseObject([]byte(c.body(t, retainedKey)))
		first := o.List("resources")[0].(*value.Object)
		if !o.Has("future") || !first.Has("future") || first.Has("keptAt") || strings.Contains(c.body(t, retainedKey), `"keptAt": 5`) {
			t.Errorf("got %s", c.body(t, retainedKey))
		}
	})
	t.Run("destroy: also in a bucket without conditions (S-251)", func(t *testing.T) {
		c, k := shop(t)
		c.on("PutObject", retainedName, 0, 0, withoutConditions)
		c.PutObject(bucket, retainedKey, []byte(old))
		if err := k.RetainLast(t.Context(), []Kept{keptQueue("R")}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Old", "Q", "R"}, c.kept(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("deploy: what is recorded again goes (S-250)", func(t *testing.T) {
		c.PutObject(bucket, retainedKey, []byte(old))
		r := recordOf("Q", typeQueue, "https://eu-west-1.queue.amazonaws.com/1/Q")
		if err := k.Retain(t.Context(), true, []Kept{keptQueue("R")}, r); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Old", "R"}, c.kept(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("deploy: no change, no write (S-250)", func(t *testing.T) {
		c.PutObject(bucket, retainedKey, []byte(old))
		c.requests()
		for _, there := range []bool{true, false} {
			if err := k.Retain(t.Context(), there, nil, recordOf()); err != nil {
				t.Fatal(err)
			}
		}
		c.wantRequests(t, "GetObject "+retainedKey)
	})
	t.Run("handing over empties it (S-251)", func(t *testing.T) {
		c.PutObject(bucket, retainedKey, []byte(old))
		c.requests()
		for range 2 {
			if err := k.RetainNothing(t.Context()); err != nil || len(c.kept(t)) != 0 {
				t.Errorf("got %v, %v", err, c.kept(t))
			}
		}
		c.wantRequests(t, "GetObject "+retainedKey, "PutObject "+retainedKey, "GetObject "+retainedKey)
	})
	t.Run("handing over without a list leaves an empty one (S-251)", func(t *testing.T) {
		k.store.remove(t.Context(), retainedKey)
		if err := k.RetainNothing(t.Context()); err != nil || len(c.kept(t)) != 0 {
			t.Errorf("got %v", err)
		}
	})
}

func TestKeptAt(t *testing.T) {
	c, k := shop(t)
	keptAt := func() int64 {
		r, _ := parseRetained("k", []byte(c.body(t, retainedKey)))
		return r.Resources[0].KeptAt
	}
	t.Run("by the store's clock where ours is off (S-252)", func(t *testing.T) {
		when := time.Now().Add(-time.Hour).Truncate(time.Second)
		c.on("HeadObject", retainedName, 0, 1, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Last-Modified", when.UTC().Format(http.TimeFormat))
		})
		if err := k.RetainLast(t.Context(), []Kept{keptQueue("Q")}); err != nil {
			t.Fatal(err)
		}
		c.wantRequests(t, "PutObject "+retainedKey, "HeadObject "+retainedKey, "PutObject "+retainedKey)
		if keptAt() != when.UnixMilli() {
			t.Errorf("kept at %d, want %d", keptAt(), when.UnixMilli())
		}
	})
	t.Run("by ours, with a warning, when it does not tell (S-252)", func(t *testing.T) {
		n := new(notes)
		k.store.warn = n.add
		c.on("HeadObject", retainedName, 0, 0, answer(http.StatusForbidden, ""))
		before := time.Now().UnixMilli()
		if err := k.RetainLast(t.Context(), []Kept{keptQueue("Q")}); err != nil {
			t.Fatal(err)
		}
		if keptAt() < before || len(n.all()) != 1 {
			t.Errorf("kept at %d, warned %q", keptAt(), n.all())
		}
	})
}

func TestRetainedRefused(t *testing.T) { // (S-253)
	for name, body := range map[string]string{
		"not JSON": "{", "not an object": "[]", "another version": `{"retainedVersion":2,"resources":[]}`,
		"no version": `{"resources":[]}`, "no list": `{"retainedVersion":1}`, "a list of another kind": `{"retainedVersion":1,"resources":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, k := shop(t)
			c.PutObject(bucket, retainedKey, []byte(body))
			for _, err := range []error{
				k.RetainLast(t.Context(), []Kept{keptQueue("Q")}),
				k.Retain(t.Context(), true, []Kept{keptQueue("Q")}, nil),
				k.RetainNothing(t.Context()),
			} {
				if err == nil || !strings.Contains(err.Error(), retainedKey) {
					t.Errorf("got %v", err)
				}
			}
			if c.body(t, retainedKey) != body {
				t.Error("it was overwritten")
			}
		})
	}
	r, err := parseRetained("k", []byte(`{"retainedVersion":1,"resources":[1,{"logicalId":"A"},
{"logicalId":"B","resourceType":"T","physicalId":"p","keptAt":"soon"},{"logicalId":1,"resourceType":"T","physicalId":"p"}]}`))
	if err != nil || len(r.Resources) != 1 || r.Resources[0].LogicalID != "B" || r.Resources[0].KeptAt != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func FuzzRetained(f *testing.F) { // (S-253)
	f.Add([]byte(`{"retainedVersion":1,"resources":[{"logicalId":"A","resourceType":"T","physicalId":"p","keptAt":1e3}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRetained(retainedKey, b)
		if err != nil {
			_, malformed := errors.AsType[*MalformedError](err)
			_, version := errors.AsType[*VersionError](err)
			if !malformed && !version || !strings.Contains(err.Error(), retainedKey) {
				t.Fatalf("got %v (%T)", err, err)
			}
			return
		}
		for _, k := range r.Resources {
			r.licenses(Holder{Type: k.ResourceType, PhysicalID: k.PhysicalID, Created: time.UnixMilli(k.KeptAt)})
		}
		out, err := r.marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseRetained(retainedKey, out)
		if err != nil {
			t.Fatalf("%v, after\n%s", err, out)
		}
		if twice, err := again.marshal(); err != nil || !bytes.Equal(out, twice) {
			t.Errorf("written twice (%v):\n%s", err, cmp.Diff(string(out), string(twice)))
		}
	})
}

package state

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRunID(t *testing.T) { // (S-140)
	id := NewRunID(time.Date(2026, 1, 2, 4, 4, 5, 67_890_000, time.FixedZone("", 3600)))
	if !regexp.MustCompile(`^20260102T030405067Z-[0-9a-f]{8}$`).MatchString(id) {
		t.Errorf("got %s", id)
	}
}

func runKey(id string) string { return shopKey + "deployments/" + id + ".jsonl" }

const indexKey = shopKey + "deployments/index.json"

func TestRunHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-140, S-143)
		c, k := bubbleShop(t)
		r := k.StartRun(t.Context(), RunOptions{ID: "20000101T000000000Z-00000001", Command: "deploy", Engine: "cdkd-action/1.0.0"})
		r.Emit(Event{EventType: ResourceStarted, Operation: OpCreate, LogicalID: "Q", ResourceType: "AWS::SQS::Queue", ProvisionedBy: BySDK})
		time.Sleep(1500 * time.Millisecond)
		ms := int64(1500)
		r.Emit(Event{
			EventType: ResourceFailed, StackName: "Shop~Child", Operation: OpCreate, LogicalID: "Q", ResourceType: "AWS::SQS::Queue",
			ProvisionedBy: BySDK, DurationMS: &ms,
			Error: &EventError{Name: "ProvisioningError", Message: "create <Q> & fail", AWSErrorCode: "AccessDenied", RequestID: "r"},
		})
		r.Finish(t.Context(), Failed, &Counts{Failed: 1}, &EventError{Name: "E", Message: "m"})
		r.Finish(t.Context(), Succeeded, nil, nil) // once only
		r.Emit(Event{EventType: ResourceStarted})  // too late
		want := strings.Join([]string{
			`{"timestamp":"2000-01-01T00:00:00.000Z","eventType":"RUN_STARTED","stackName":"Shop","command":"deploy","region":"eu-west-1","cdkdVersion":"cdkd-action/1.0.0"}`,
			`{"timestamp":"2000-01-01T00:00:00.000Z","eventType":"RESOURCE_STARTED","stackName":"Shop","operation":"CREATE","logicalId":"Q","resourceType":"AWS::SQS::Queue","provisionedBy":"sdk"}`,
			`{"timestamp":"2000-01-01T00:00:01.500Z","eventType":"RESOURCE_FAILED","stackName":"Shop~Child","operation":"CREATE","logicalId":"Q","resourceType":"AWS::SQS::Queue","provisionedBy":"sdk","durationMs":1500,"error":{"name":"ProvisioningError","message":"create <Q> & fail","awsErrorCode":"AccessDenied","requestId":"r"}}`,
			`{"timestamp":"2000-01-01T00:00:01.500Z","eventType":"RUN_FINISHED","stackName":"Shop","result":"FAILED","counts":{"created":0,"updated":0,"deleted":0,"failed":1},"durationMs":1500,"error":{"name":"E","message":"m"}}`,
			"",
		}, "\n")
		if diff := cmp.Diff(want, c.body(t, runKey("20000101T000000000Z-00000001"))); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if o, _ := c.Object(bucket, runKey("20000101T000000000Z-00000001")); o.ContentType != "application/x-ndjson" {
			t.Errorf("content type %s", o.ContentType)
		}
		golden(t, "run-index.json", []byte(c.body(t, indexKey)))
	})
}

const anID = "20260101T000000000Z-00000000"

func TestRunFlushes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		emit  int // beside the first
		after time.Duration
		want  int // writes of the history by then
	}{
		{"not before two seconds", 10, 1999 * time.Millisecond, 0},
		{"two seconds after an event", 10, 2 * time.Second, 1},
		{"at once when fifty wait", 49, 0, 1},
		{"nothing new, nothing written", 10, time.Minute, 1},
	} {
		t.Run(tt.name+" (S-140)", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				r := k.StartRun(t.Context(), RunOptions{ID: anID, Command: "deploy"})
				for range tt.emit {
					r.Emit(Event{EventType: ResourceStarted})
				}
				time.Sleep(tt.after)
				synctest.Wait()
				if got := len(c.requests()); got != tt.want {
					t.Errorf("%d writes, want %d", got, tt.want)
				}
				r.Finish(t.Context(), Succeeded, nil, nil)
				if got := strings.Count(c.body(t, runKey(anID)), "\n"); got != tt.emit+2 {
					t.Errorf("%d lines, want %d", got, tt.emit+2)
				}
			})
		})
	}
}

func TestRunEndIsTwoRequestsDeep(t *testing.T) { // (S-143)
	c, k := shop(t)
	var both sync.WaitGroup
	both.Add(2) // deadlocks unless the history is written while the index is read
	meet := first(func() { both.Done(); both.Wait() })
	c.on("PutObject", ".jsonl", 0, 1, meet)
	c.on("GetObject", "index.json", 0, 1, meet)
	k.StartRun(t.Context(), RunOptions{ID: anID, Command: "deploy"}).Finish(t.Context(), Succeeded, nil, nil)
	got := c.requests()
	if len(got) != 3 || got[2] != "PutObject "+indexKey {
		t.Errorf("requests %q", got)
	}
}

func TestRunEndGoesOnFromWhatWasRead(t *testing.T) { // (S-143)
	id := func(i int) string { return fmt.Sprintf("20260101T0000%02d000Z-00000000", i) }
	c, k := shop(t)
	for i := range 20 {
		k.StartRun(t.Context(), RunOptions{ID: id(i), Command: "deploy"}).Finish(t.Context(), Succeeded, nil, nil)
	}
	read := func() RunOptions {
		index, err := k.RunIndex(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found, err := k.Presence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return RunOptions{Command: "deploy", Index: index, Histories: found.Histories}
	}
	opt, late := read(), read()
	c.requests()

	var all sync.WaitGroup
	all.Add(3) // deadlocks unless all are sent at once
	meet := first(func() { all.Done(); all.Wait() })
	for _, request := range [][2]string{{"PutObject", ".jsonl"}, {"PutObject", "index.json"}, {"DeleteObjects", ""}} {
		c.on(request[0], request[1], 0, 1, meet)
	}
	opt.ID = id(20)
	k.StartRun(t.Context(), opt).Finish(t.Context(), Succeeded, nil, nil)
	if got := c.requests(); len(got) != 3 {
		t.Errorf("requests %q", got)
	}

	late.ID = id(21) // read before the one above was entered
	k.StartRun(t.Context(), late).Finish(t.Context(), Succeeded, nil, nil)
	runs, err := allRuns(t, k)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 20 || runs[0].RunID != id(21) || runs[1].RunID != id(20) || runs[19].RunID != id(2) {
		t.Errorf("the index names %v", runs)
	}
}

func TestRunEndDoesNotWaitForAWrite(t *testing.T) { // (S-189)
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		n := new(notes)
		k := open(t, c.inProcess(), func(o *Options) { o.Warn = n.add }).Stack("Shop", "eu-west-1")
		hang := make(chan struct{})
		defer close(hang)
		c.on("PutObject", ".jsonl", 0, 1, func(http.ResponseWriter, *http.Request, http.Handler) { <-hang })
		r := k.StartRun(t.Context(), RunOptions{ID: anID, Command: "deploy"})
		time.Sleep(eventFlush + time.Second)
		start := time.Now()
		r.Finish(t.Context(), Succeeded, nil, nil)
		if d := time.Since(start); d != eventGrace {
			t.Errorf("ended after %s, want %s", d, eventGrace)
		}
		if got := strings.Count(c.body(t, runKey(anID)), "\n"); got != 2 || len(n.all()) > 0 {
			t.Errorf("%d lines, warnings %q", got, n.all())
		}
	})
}

func TestRunIsBestEffort(t *testing.T) { // (S-140)
	c := newCloud(t)
	n := new(notes)
	k := open(t, c.overHTTP(t), func(o *Options) { o.Warn = n.add }).Stack("Shop", "eu-west-1")
	c.on("PutObject", "", 0, 0, answer(http.StatusForbidden, "AccessDenied"))
	r := k.StartRun(t.Context(), RunOptions{ID: anID, Command: "deploy"})
	for range 200 {
		r.Emit(Event{EventType: ResourceStarted})
	}
	r.Finish(t.Context(), Succeeded, nil, nil)
	if got := n.all(); len(got) != 1 || !strings.Contains(got[0], "Shop") {
		t.Errorf("warned %q", got)
	}
}

func allRuns(t *testing.T, k *Stack) ([]RunSummary, error) {
	t.Helper()
	found, err := k.store.Histories(t.Context(), k.Name)
	if err != nil {
		t.Fatal(err)
	}
	return k.Runs(t.Context(), found[k.Region])
}

func TestRunsAreTwenty(t *testing.T) { // (S-143)
	c, k := shop(t)
	for i := range 23 {
		k.StartRun(t.Context(), RunOptions{ID: fmt.Sprintf("20260101T0000%02d000Z-00000000", i), Command: "deploy"}).
			Finish(t.Context(), Succeeded, nil, nil)
	}
	runs, err := allRuns(t, k)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 20 || runs[0].RunID != "20260101T000022000Z-00000000" || runs[19].RunID != "20260101T000003000Z-00000000" {
		t.Errorf("%d runs, from %s to %s", len(runs), runs[0].RunID, runs[len(runs)-1].RunID)
	}
	var histories []string
	for _, o := range c.Objects(bucket) {
		if strings.HasSuffix(o.Key, ".jsonl") {
			histories = append(histories, o.Key)
		}
	}
	if len(histories) != 20 || histories[0] != runKey("20260101T000003000Z-00000000") {
		t.Errorf("%d histories, the oldest %s", len(histories), histories[0])
	}
	versioned(t, k.store)
	if err := k.PurgeEvents(t.Context()); err != nil || len(c.Objects(bucket)) > 0 { // (S-146)
		t.Errorf("purged with %v, %d objects left", err, len(c.Objects(bucket)))
	}
	if p, err := k.Presence(t.Context()); err != nil || p.Events {
		t.Errorf("found %+v, %v", p, err)
	}
}

func TestRunsOfTheCommandLine(t *testing.T) { // (S-140, S-143)
	c, k := shop(t)
	c.PutObject(bucket, indexKey, testdata(t, "mutate-61/index.json"))
	c.PutObject(bucket, runKey("20261129T201718856Z-2a2bb9d7"), testdata(t, "mutate-61/events.jsonl"))
	runs, err := allRuns(t, k)
	if err != nil || len(runs) != 9 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	want := RunSummary{"20261129T201718856Z-2a2bb9d7", "deploy", "0.284.40", "2026-11-29T20:17:18.856Z", "2026-11-29T20:17:20.364Z", Failed, 8}
	if diff := cmp.Diff(want, runs[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	events, err := k.Events(t.Context(), runs[0].RunID)
	if err != nil || len(events) != 8 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	var written strings.Builder
	for _, e := range events {
		enc := json.NewEncoder(&written)
		enc.SetEscapeHTML(false)
		enc.Encode(e)
	}
	if diff := cmp.Diff(string(testdata(t, "mutate-61/events.jsonl")), written.String()); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
}

func TestRunsWithoutAnIndex(t *testing.T) { // (S-144)
	for name, index := range map[string]string{"missing": "", "torn": `{"indexVersion":1,"runs":[{`, "of another version": `{"indexVersion":2,"runs":[{"runId":"x"}]}`} {
		t.Run(name, func(t *testing.T) {
			c, k := shop(t)
			if index != "" {
				c.PutObject(bucket, indexKey, []byte(index))
			}
			c.PutObject(bucket, runKey("20261129T201718856Z-2a2bb9d7"), testdata(t, "mutate-61/events.jsonl"))
			c.PutObject(bucket, runKey("20261129T201719000Z-00000000"),
				[]byte(`{"eventType":"RUN_STARTED","timestamp":"t","command":"destroy"}`+"\nnot json\n[]\n{\"eventType\":\"NEW_KIND\"}\n{\"eventT"))
			got, err := allRuns(t, k)
			if err != nil {
				t.Fatal(err)
			}
			want := []RunSummary{
				{"20261129T201719000Z-00000000", "destroy", "", "t", "", Unknown, 2},
				{"20261129T201718856Z-2a2bb9d7", "deploy", "0.284.40", "2026-11-29T20:17:18.860Z", "2026-11-29T20:17:20.257Z", Failed, 8},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An index that cannot be read is not overwritten; what happened is said once
// and kept beside it (S-3, S-140).
func TestRunLeavesAnIndexThatItCannotRead(t *testing.T) {
	for body, why := range map[string]string{
		`{"indexVersion":99,"runs":[],"later":true}`: indexKey + " has version 99, this release reads 1",
		`{"indexVersion":1,"runs":[{`:                indexKey + " is malformed",
		`{"indexVersion":1,"runs":7}`:                indexKey + " is malformed",
	} {
		c := newCloud(t)
		var n *notes
		k := open(t, c.overHTTP(t), func(o *Options) { o.Warn = func(text string) { n.add(text) } }).Stack("Shop", "eu-west-1")
		c.PutObject(bucket, indexKey, []byte(body))
		index, err := k.RunIndex(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for id, read := range map[string]*RunIndex{"20260102T000000000Z-00000000": index, "20260103T000000000Z-00000000": nil} {
			n = new(notes)
			k.StartRun(t.Context(), RunOptions{ID: id, Command: "deploy", Index: read}).Finish(t.Context(), Succeeded, nil, nil)
			if got := n.all(); len(got) != 1 || !strings.Contains(got[0], why) {
				t.Errorf("warned %q, want %q", got, why)
			}
			if c.body(t, indexKey) != body || !c.has(runKey(id)) {
				t.Errorf("index %s, history there: %v", c.body(t, indexKey), c.has(runKey(id)))
			}
		}
	}
}

// A run that was killed is in no index, and is shown all the same (S-144).
func TestRunsThatNoIndexNames(t *testing.T) {
	c, k := shop(t)
	k.StartRun(t.Context(), RunOptions{ID: "20260102T000000000Z-00000000", Command: "deploy"}).Finish(t.Context(), Succeeded, nil, nil)
	c.PutObject(bucket, runKey("20260103T000000000Z-00000000"), []byte(`{"eventType":"RUN_STARTED","timestamp":"t","command":"deploy"}`))
	got, err := allRuns(t, k)
	if err != nil || len(got) != 2 || got[0].RunID != "20260103T000000000Z-00000000" || got[0].Result != Unknown {
		t.Errorf("runs %+v, %v", got, err)
	}
}

func TestHistories(t *testing.T) { // (S-145)
	c, k := shop(t)
	for _, key := range []string{
		"cdkd/Shop/eu-west-1/deployments/a.jsonl", "cdkd/Shop/eu-west-1/deployments/b.jsonl", "cdkd/Shop/eu-west-1/deployments/index.json",
		"cdkd/Shop/us-east-1/deployments/index.json", "cdkd/Shop/us-west-2/state.json", "cdkd/Shop2/eu-west-3/deployments/c.jsonl",
	} {
		c.PutObject(bucket, key, []byte("{}"))
	}
	got, err := k.store.Histories(t.Context(), "Shop")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"eu-west-1": {"a", "b"}, "us-east-1": {}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add(testdata(f, "mutate-61/events.jsonl"))
	f.Fuzz(func(t *testing.T, b []byte) {
		events := parseEvents(b)
		if len(events) > 1+strings.Count(string(b), "\n") {
			t.Errorf("%d events", len(events))
		}
		if slices.ContainsFunc(events, func(e Event) bool { return e.EventType == "" }) {
			t.Error("an event without a kind")
		}
	})
}

package state

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const recordKey = shopKey + recordName

// rows is a record of n resources.
func rows(n int) *Record {
	r := NewRecord("Shop", "eu-west-1")
	for i := range n {
		r.Set(fmt.Sprint("R", i), &Resource{PhysicalID: fmt.Sprint("p", i), ResourceType: "T"})
	}
	return r
}

func (c *cloud) savedRows(t *testing.T) int {
	t.Helper()
	r, err := ParseRecord(recordKey, []byte(c.body(t, recordKey)))
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Resources)
}

func TestSavesAreOneChain(t *testing.T) { // (S-71, S-75, S-76)
	c, k := shop(t)
	under, release := make(chan struct{}), make(chan struct{})
	c.on("PutObject", recordName, 0, 1, first(func() { close(under); <-release }))
	s := NewSaver(t.Context(), k, Absent, SaverOptions{})
	for i := range 6 {
		if err := s.Save(rows(i + 1)); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-under // the first is on its way; the other five are to be one write
		}
	}
	close(release)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.wantRequests(t, "PutObject "+recordKey, "PutObject "+recordKey)
	if n := c.savedRows(t); n != 6 {
		t.Errorf("%d rows saved, want 6", n)
	}
	if o, _ := c.Object(bucket, recordKey); ETag(o.ETag) != s.ETag() || o.ContentType != "application/json" {
		t.Errorf("etag %s and type %s in the bucket, the saver has %s", o.ETag, o.ContentType, s.ETag())
	}
}

// What is on its way or written need not be saved again; what waits behind it, or
// failed, does.
func TestSaverKnowsWhatItSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		release := make(chan struct{})
		c.on("PutObject", recordName, 0, 1, first(func() { <-release }))
		s := NewSaver(t.Context(), k, Absent, SaverOptions{})
		says := func(when string, n int, want bool) {
			t.Helper()
			if got := s.Says(rows(n)); got != want {
				t.Errorf("%s: says what a record of %d rows says: %t", when, n, got)
			}
		}
		says("at first", 1, false)
		s.Save(rows(1))
		synctest.Wait()
		says("on its way", 1, true)
		says("on its way", 2, false)
		s.Save(rows(2))
		says("with another behind it", 1, false)
		close(release)
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		says("written", 2, true)
		c.on("PutObject", recordName, 0, 1, answer(http.StatusForbidden, "AccessDenied"))
		s.Save(rows(3))
		if s.Flush(t.Context()) == nil {
			t.Fatal("it was saved")
		}
		says("failed", 3, false)
	})
}

func TestDiscardWaitsOnlyForTheWriteUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		release := make(chan struct{})
		c.on("PutObject", recordName, 0, 1, first(func() { <-release }))
		s := NewSaver(t.Context(), k, Absent, SaverOptions{})
		s.Save(rows(1))
		synctest.Wait() // it is on its way
		s.Save(rows(2))
		discarded := make(chan error)
		go func() { discarded <- s.Discard(t.Context()) }()
		synctest.Wait()
		close(release)
		if err := <-discarded; err != nil {
			t.Fatal(err)
		}
		c.wantRequests(t, "PutObject "+recordKey)
		if err := k.Delete(t.Context(), s.ETag()); err != nil || c.has(recordKey) {
			t.Errorf("deleted with %v, record there: %v", err, c.has(recordKey))
		}
	})
}

func TestSaveStampsPlaceAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-31)
		c, k := bubbleShop(t)
		r := &Record{Version: 8, StackName: "Other", Region: "us-east-1", Resources: map[string]*Resource{}}
		s := NewSaver(t.Context(), k, Absent, SaverOptions{})
		s.Save(r)
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := "{\n  \"version\": 11,\n  \"stackName\": \"Shop\",\n  \"region\": \"eu-west-1\",\n  \"resources\": {},\n  \"lastModified\": 946684800000\n}"
		if diff := cmp.Diff(want, c.body(t, recordKey)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if r.StackName != "Other" {
			t.Error("the caller's record was changed")
		}
	})
}

func TestSaveRefused(t *testing.T) { // T-861, T-862
	for _, tt := range []struct {
		name string
		read ETag
		act  func(*testing.T, *cloud, *Stack)
	}{
		{
			"the first save of a stack that is not new (S-71)", Absent,
			func(t *testing.T, c *cloud, _ *Stack) { c.PutObject(bucket, recordKey, []byte("theirs")) },
		},
		{
			"a record written by another process since (S-72)", `"0123456789abcdef0123456789abcdef"`,
			func(t *testing.T, c *cloud, _ *Stack) { c.PutObject(bucket, recordKey, []byte("theirs")) },
		},
		{
			"a record deleted by another process since (S-72)", `"0123456789abcdef0123456789abcdef"`,
			func(t *testing.T, c *cloud, _ *Stack) {},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, k := shop(t)
			tt.act(t, c, k)
			s := NewSaver(t.Context(), k, tt.read, SaverOptions{})
			s.Save(rows(1))
			err := s.Flush(t.Context())
			if e := as[*ConflictError](t, err); e.Key != recordKey || e.ETag != tt.read {
				t.Errorf("got %+v", e)
			}
			<-s.Conflict()
			c.requests()
			as[*ConflictError](t, s.Save(rows(2))) // it stays refused (S-84)
			as[*ConflictError](t, s.Flush(t.Context()))
			c.wantRequests(t)
			if c.has(recordKey) && c.body(t, recordKey) != "theirs" {
				t.Error("their record was overwritten")
			}
		})
	}
}

func TestSaveRecognisesItsOwnWrite(t *testing.T) {
	for _, tt := range []struct {
		name   string
		losses int
	}{
		{"sent again by the SDK (S-436)", 1},
		{"sent again by the saver (S-436)", 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				c.on("PutObject", recordName, 0, tt.losses, lose)
				s := NewSaver(t.Context(), k, Absent, SaverOptions{})
				s.Save(rows(1))
				if err := s.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.Save(rows(2)) // goes on from the version adopted
				if err := s.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := c.savedRows(t); n != 2 {
					t.Errorf("%d rows saved, want 2", n)
				}
			})
		})
	}
}

func TestSaveRetriesWhatPasses(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(http.ResponseWriter, *http.Request, http.Handler)
	}{
		{"a dropped connection", drop},
		{"a server's error", answer(http.StatusInternalServerError, "InternalError")},
		{"throttling", answer(http.StatusServiceUnavailable, "SlowDown")},
	} {
		t.Run(tt.name+" (S-436)", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				c.on("PutObject", recordName, 0, 7, tt.do)
				s := NewSaver(t.Context(), k, Absent, SaverOptions{})
				s.Save(rows(1))
				if err := s.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := c.savedRows(t); n != 1 {
					t.Errorf("%d rows saved, want 1", n)
				}
			})
		})
	}
}

func TestSaveFailsWarnsAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-75, S-436)
		c, k := bubbleShop(t)
		n := new(notes)
		s := NewSaver(t.Context(), k, Absent, SaverOptions{Warn: n.add})
		s.Save(rows(1))
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		etag := s.ETag()
		down := true
		c.on("PutObject", recordName, 0, 0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if down {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
		start := time.Now()
		s.Save(rows(2))
		err := s.Flush(t.Context())
		if err == nil || isConflict(err) || len(n.all()) != 1 {
			t.Fatalf("got %v, warnings %q", err, n.all())
		}
		if d := time.Since(start); d < 15*time.Second || d > persistTime+time.Second {
			t.Errorf("gave up after %s, want about %s", d, persistTime)
		}
		if s.ETag() != etag {
			t.Error("the version changed without a write")
		}
		s.Save(rows(2))
		if err := s.Flush(t.Context()); err == nil || len(n.all()) != 1 {
			t.Errorf("the same again: %v, warnings %q", err, n.all())
		}
		down = false
		s.Save(rows(3))
		if err := s.Flush(t.Context()); err != nil || c.savedRows(t) != 3 {
			t.Errorf("the next save: %v, %d rows", err, c.savedRows(t))
		}
		down = true
		s.Save(rows(4))
		if err := s.Flush(t.Context()); err == nil || len(n.all()) != 2 {
			t.Errorf("after one that succeeded: %v, warnings %q", err, n.all())
		}
	})
}

func TestSaveThatCannotLookIsNoConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-436)
		c, k := bubbleShop(t)
		c.on("PutObject", recordName, 0, 1, lose)
		c.on("GetObject", recordName, 0, 4, drop) // whose the record is cannot be read for a while
		s := NewSaver(t.Context(), k, Absent, SaverOptions{})
		s.Save(rows(1))
		if err := s.Flush(t.Context()); err != nil || c.savedRows(t) != 1 {
			t.Errorf("got %v", err)
		}
	})
}

func TestSaveMeetsAnEarlierOneOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-436)
		c, k := bubbleShop(t)
		s := NewSaver(t.Context(), k, Absent, SaverOptions{})
		down := true
		c.on("PutObject", recordName, 0, 1, lose) // written, and then nothing is heard for a while
		c.on("PutObject", recordName, 0, 0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if down {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
		s.Save(rows(1))
		if err := s.Flush(t.Context()); err == nil {
			t.Fatal("saved without an answer")
		}
		down = false
		s.Save(rows(2))
		if err := s.Flush(t.Context()); err != nil || c.savedRows(t) != 2 {
			t.Errorf("the next save: %v", err)
		}
	})
}

func TestSaveDenied(t *testing.T) {
	c, k := shop(t)
	c.on("PutObject", recordName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
	n := new(notes)
	s := NewSaver(t.Context(), k, Absent, SaverOptions{Warn: n.add})
	s.Save(rows(1))
	e := as[*AccessError](t, s.Flush(t.Context()))
	if e.Permission != "s3:PutObject" || e.Bucket != bucket || len(n.all()) != 1 {
		t.Errorf("got %+v, warnings %q", e, n.all())
	}
	c.wantRequests(t, "PutObject "+recordKey) // denied is not asked again
}

func TestFirstSaveWithoutConditions(t *testing.T) { // (S-71)
	c, k := shop(t)
	c.on("PutObject", recordName, 0, 0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("If-None-Match") != "" {
			answer(http.StatusNotImplemented, "NotImplemented")(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
	s := NewSaver(t.Context(), k, Absent, SaverOptions{})
	s.Save(rows(1))
	if err := s.Flush(t.Context()); err != nil || c.savedRows(t) != 1 {
		t.Errorf("got %v", err)
	}
}

func TestSaveMovesALegacyRecord(t *testing.T) { // (S-70, S-71, S-73)
	c, k := shop(t)
	const legacy = "cdkd/Shop/state.json"
	c.PutObject(bucket, legacy, testdata(t, "records/v1.json"))
	r, etag, err := k.Read(t.Context())
	if err != nil || etag != Legacy || len(r.Resources) != 2 {
		t.Fatalf("read %+v, %q, %v", r, etag, err)
	}
	s := NewSaver(t.Context(), k, etag, SaverOptions{})
	c.requests()
	for range 2 {
		s.Save(r)
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.wantRequests(t, "PutObject "+recordKey, "DeleteObject "+legacy, "PutObject "+recordKey)
}

func TestSaveOutlivesTheRun(t *testing.T) { // (S-189)
	c, k := shop(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := NewSaver(ctx, k, Absent, SaverOptions{})
	cancel()
	s.Save(rows(1))
	if err := s.Flush(t.Context()); err != nil || c.savedRows(t) != 1 {
		t.Errorf("got %v", err)
	}
}

func TestFlushEndsWithItsContext(t *testing.T) {
	c, k := shop(t)
	release := make(chan struct{})
	c.on("PutObject", recordName, 0, 1, first(func() { <-release }))
	s := NewSaver(t.Context(), k, Absent, SaverOptions{})
	s.Save(rows(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Flush(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "Shop") {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := s.Flush(t.Context()); err != nil {
		t.Error(err)
	}
}

// Many resources finish at once; the last state of the record is what is
// saved, whoever saved it. Run with -race (S-75).
func TestSaverRace(t *testing.T) {
	c, k := shop(t)
	var saved []ETag
	s := NewSaver(t.Context(), k, Absent, SaverOptions{Saved: func(e ETag) { saved = append(saved, e) }})
	var mu sync.Mutex
	record := NewRecord("Shop", "eu-west-1")
	var wg sync.WaitGroup
	const n = 50
	for i := range n {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			record.Set(fmt.Sprint("R", i), &Resource{PhysicalID: "p", ResourceType: "T"})
			if err := s.Save(record); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.savedRows(t); got != n {
		t.Errorf("%d rows saved, want %d", got, n)
	}
	if len(saved) == 0 || saved[len(saved)-1] != s.ETag() {
		t.Errorf("told of %v, the version is %s", saved, s.ETag())
	}
}

// What ends at nearly the same time is one write, for which nobody who waits has to
// wait longer (S-75).
func TestSavesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		s := NewSaver(t.Context(), k, Absent, SaverOptions{Gather: 10 * time.Millisecond})
		s.Save(rows(1))
		time.Sleep(9 * time.Millisecond)
		s.Save(rows(2))
		time.Sleep(time.Second)
		c.wantRequests(t, "PutObject "+recordKey)
		if n := c.savedRows(t); n != 2 {
			t.Errorf("%d rows saved by themselves, want 2", n)
		}

		start := time.Now()
		s.Save(rows(3))
		synctest.Wait()
		if err := s.Flush(t.Context()); err != nil || time.Since(start) >= 10*time.Millisecond {
			t.Errorf("waited for %s: %v", time.Since(start), err)
		}
		if n := c.savedRows(t); n != 3 {
			t.Errorf("%d rows saved when they were waited for, want 3", n)
		}

		s.Save(rows(4))
		synctest.Wait()
		if err := s.Discard(t.Context()); err != nil {
			t.Error(err)
		}
		s.Save(rows(5))
		synctest.Wait()
		s.End()
		if n := c.savedRows(t); n != 3 {
			t.Errorf("%d rows saved of what was dropped, want 3", n)
		}
	})
}

package state

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// hangs keeps a request without an answer until end is closed; taken, it has
// its effect first.
func hangs(end <-chan struct{}, taken bool) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		if taken {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		<-end
	}
}

// A connection that hangs costs a save some seconds, and less when the run is
// about to be killed (S-189, S-436).
func TestSaveOverAConnectionThatHangs(t *testing.T) {
	const backOff = time.Second // of the SDK, at most, before its first retry
	for _, tt := range []struct {
		name  string
		drain time.Duration // after the start; -1 never
		taken bool
		least time.Duration
	}{
		{"not taken", -1, false, patience},
		{"taken, and its answer lost", -1, true, patience},
		{"a signal before", 0, false, drainingPatience},
		{"a signal, and the answer lost", 0, true, drainingPatience},
		{"a signal soon after", time.Second, false, time.Second + drainingPatience},
		{"a signal that leaves more than there was", patience - time.Second, false, patience},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				draining := make(chan struct{})
				c, k := bubbleShop(t, func(o *Options) { o.Draining = draining })
				end := make(chan struct{})
				defer close(end)
				c.on("PutObject", recordName, 0, 1, hangs(end, tt.taken))
				if tt.drain == 0 {
					close(draining)
				} else if tt.drain > 0 {
					time.AfterFunc(tt.drain, func() { close(draining) })
				}
				start := time.Now()
				s := NewSaver(t.Context(), k, Absent, SaverOptions{})
				if err := s.Save(NewRecord("Shop", "eu-west-1")); err != nil {
					t.Fatal(err)
				}
				if err := s.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d < tt.least || d > tt.least+backOff {
					t.Errorf("saved after %s, want %s and the SDK's pause", d, tt.least)
				}
				if !c.has(shopKey + recordName) {
					t.Error("there is no record")
				}
			})
		})
	}
}

// What is given up reads as no answer, not as a cancelled run.
func TestNoAnswerIsNoCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		end := make(chan struct{})
		defer close(end)
		c.on("GetObject", recordName, 0, 0, hangs(end, false))
		_, _, err := k.Read(t.Context())
		if err == nil || errors.Is(err, context.Canceled) || !passing(err) {
			t.Errorf("got %v", err)
		}
		if _, ok := errors.AsType[*unansweredError](err); !ok {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
		if _, _, err = k.Read(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled by the caller: got %v", err)
		}
	})
}

// A delete whose answer was lost is sent again and refused, because the object
// is gone: that is done (S-74).
func TestDeleteWhoseAnswerWasLost(t *testing.T) {
	c, k := shop(t)
	record := func() ETag {
		c.PutObject(bucket, recordKey, []byte("{}"))
		o, _ := c.Object(bucket, recordKey)
		return ETag(o.ETag)
	}
	etag := record()
	c.on("DeleteObject", recordName, 0, 1, lose)
	if err := k.Delete(t.Context(), etag); err != nil {
		t.Error(err)
	}
	if c.has(recordKey) {
		t.Error("the record is still there")
	}
	etag = record()
	c.PutObject(bucket, recordKey, []byte("another's"))
	if err := k.Delete(t.Context(), etag); !isConflict(err) {
		t.Errorf("another process's record: got %v", err)
	}
}

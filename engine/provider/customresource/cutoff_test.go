package customresource

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// A cutter ends a run at the first request that is of the kind it is for.
type cutter struct {
	*world
	at  func(*http.Request) bool
	end context.CancelFunc
}

func (c cutter) Do(r *http.Request) (*http.Response, error) {
	if c.at(r) {
		c.end()
		return nil, r.Context().Err()
	}
	return c.world.Do(r)
}

// A run that is cut off before the request went out leaves nothing open: no run
// after it waits an hour for an answer that nobody was asked for. Once it went out
// it is open (T-611, T-645, P-18).
func TestWhatIsCutOff(t *testing.T) {
	for _, c := range []struct {
		rule string
		at   func(*http.Request) bool
		open bool
	}{
		{"the response object is being made", func(r *http.Request) bool { return r.Method == "PUT" && strings.Contains(r.URL.Host, "s3") }, false},
		{"the function is being looked at", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/configuration") }, false},
		{"it is being invoked", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/invocations") }, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(w *world) {
				ctx, end := context.WithCancel(w.t.Context())
				defer end()
				w.session.Config.HTTPClient = cutter{w, c.at, end}
				p := w.provider(2)
				var over []Sent
				p.Over = func(s Sent) { over = append(over, s) }
				_, err := p.Create(ctx, w.request(`{"ServiceToken":"`+token+`"}`))
				if err == nil || provider.Ambiguous(err) != c.open {
					w.t.Errorf("want it open: %t, got %v", c.open, err)
				}
				if !c.open && !slices.Equal(over, w.sent) {
					w.t.Errorf("told that it is over: %v, sent %v", over, w.sent)
				}
				if left := w.objects() != 0; left != c.open {
					w.t.Errorf("its response object is there: %t", left)
				}
			})
		})
	}
}

// What cannot be written down is not sent, and leaves no response object (P-7).
func TestNotWrittenDown(t *testing.T) {
	bubble(t, func(w *world) {
		p := w.provider(2)
		p.Sending = func(context.Context, *provider.Request, string, Sent) error { return errors.New("no bucket") }
		_, err := p.Create(w.t.Context(), w.request(`{"ServiceToken":"`+token+`"}`))
		if err == nil || !strings.Contains(err.Error(), "no bucket") || len(w.events) > 0 || w.objects() != 0 {
			w.t.Errorf("got %v, %d events, %d objects", err, len(w.events), w.objects())
		}
	})
}

// The response object is asked for with the ordinary patience; then the failure is
// final, whatever it says (T-608, T-644).
func TestResponseObjectThatCannotBeMade(t *testing.T) {
	bubble(t, func(w *world) {
		p := w.provider(0)
		p.Responses = Bucket{Client: s3.NewFromConfig(w.session.Config), Name: "elsewhere"}
		_, err := p.Create(w.t.Context(), w.request(`{"ServiceToken":"`+token+`"}`))
		if err == nil || !strings.Contains(err.Error(), "put response object in bucket elsewhere") || len(w.events) > 0 {
			w.t.Errorf("got %v, %d events", err, len(w.events))
		}
	})
}

// A handler that has ended is not waited for by the next run: when work is stopped,
// what it returned is taken (T-617).
func TestStoppedWithAnAnswerAtHand(t *testing.T) {
	bubble(t, func(w *world) {
		draining := make(chan struct{})
		w.handle = func(*value.Object) reply {
			time.AfterFunc(time.Second, func() { close(draining) })
			return reply{payload: `{"PhysicalResourceId":"returned"}`}
		}
		r := w.request(`{"ServiceToken":"` + token + `"}`)
		r.Draining = draining
		made, err := w.provider(2).Create(w.t.Context(), r)
		if err != nil || made.PhysicalID != "returned" || time.Since(w.start) != time.Second {
			w.t.Errorf("got %q, %v after %s", made.PhysicalID, err, time.Since(w.start))
		}
	})
}

// A publish that was throttled came to nobody, and is sent again (T-643).
func TestThrottledPublish(t *testing.T) {
	bubble(t, func(w *world) {
		w.refusals = []string{"Throttling: Rate exceeded"}
		w.handle = func(e *value.Object) reply { w.put(e, 0, success); return reply{} }
		made, err := w.provider(0).Create(w.t.Context(), w.request(`{"ServiceToken":"`+topic+`"}`))
		if err != nil || made.PhysicalID != "made-1" || len(w.events) != 1 {
			w.t.Errorf("got %q, %v, %d events", made.PhysicalID, err, len(w.events))
		}
	})
}

// A function that is busy is invoked later, for as long as a throttled call is tried
// again elsewhere (T-643, T-911).
func TestBusyFunction(t *testing.T) {
	busy := reply{status: 429, code: "TooManyRequestsException", message: "Rate Exceeded."}
	for rule, c := range map[string]struct {
		refuses int
		ok      bool
	}{"for a while": {20, true}, "for ever": {1000, false}} {
		t.Run(rule, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.handle = func(*value.Object) reply {
					if len(w.events) > c.refuses {
						return reply{payload: success}
					}
					return busy
				}
				_, err := w.provider(2).Create(w.t.Context(), w.request(`{"ServiceToken":"`+token+`"}`))
				if (err == nil) != c.ok || time.Since(w.start) > 2*time.Minute || w.objects() != 0 {
					w.t.Errorf("got %v after %s, %d objects", err, time.Since(w.start), w.objects())
				}
			})
		})
	}
}

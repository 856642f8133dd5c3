package customresource

import (
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func TestAnswers(t *testing.T) {
	props := `{"ServiceToken":"` + token + `"}`
	for _, c := range []struct {
		rule    string
		props   string
		states  []string
		publish []string // with what it is refused first
		reason  string   // of the state, "" is why
		handle  func(w *world, e *value.Object) reply
		id      string
		data    string
		noEcho  bool
		fails   string   // in the error
		says    []string // in notices, each once
		took    time.Duration
		events  int
	}{
		{rule: "put before the function returns: no wait", handle: func(w *world, e *value.Object) reply { w.put(e, 0, success); return reply{payload: "null"} },
			id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, events: 1},
		{rule: "asynchronous: polled ever more slowly (T-614)", handle: func(w *world, e *value.Object) reply { w.put(e, 40*time.Minute, success); return reply{payload: "{}"} },
			id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 2404340 * time.Millisecond, events: 1},
		{rule: "the hour ends (T-614)", handle: func(*world, *value.Object) reply { return reply{payload: "null"} }, fails: "did not answer within 1h0m0s", took: time.Hour, events: 1},
		{rule: "a payload that is none: half a minute (T-614)", handle: func(*world, *value.Object) reply { return reply{payload: `{"ok":true}`} }, fails: "did not answer within 30s", took: 30 * time.Second, events: 1},
		{rule: "the payload is the response (T-613)", handle: func(*world, *value.Object) reply { return reply{payload: success} }, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, events: 1},
		{rule: "what was put before wins over the payload (T-617)", handle: func(w *world, e *value.Object) reply {
			w.put(e, 0, `{"Status":"FAILED","Reason":"as put"}`)
			return reply{payload: success}
		}, fails: "as put", events: 1},
		{rule: "a handler that answered and then crashed has answered (T-613, T-617)", handle: func(w *world, e *value.Object) reply {
			w.put(e, 0, success)
			return reply{payload: `{"errorMessage":"Task timed out"}`, failed: true}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, events: 1},
		{rule: "the last of two answers that were put counts (T-617)", handle: func(w *world, e *value.Object) reply {
			w.put(e, 0, `{"Status":"FAILED","Reason":"too early"}`)
			w.put(e, 0, success)
			return reply{payload: "null"}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, events: 1},
		{rule: "a payload with data is taken when nothing better comes (T-617)", handle: func(*world, *value.Object) reply { return reply{payload: `{"Data":{"a":"1"}}`} },
			id: "Thing", data: `{"a":"1"}`, took: 2 * time.Second, events: 1},
		{rule: "the response object wins over it (T-617)", handle: func(w *world, e *value.Object) reply {
			w.put(e, time.Second, success)
			return reply{payload: `{"Data":{"a":"1"}}`}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 2 * time.Second, events: 1},
		{rule: "an answer without data: the logical id and none (T-623)", handle: func(w *world, e *value.Object) reply { w.put(e, 0, `{"Status":"SUCCESS"}`); return reply{} }, id: "Thing", data: `{}`, events: 1},
		{rule: "an id that is a number is text (T-623)", handle: func(*world, *value.Object) reply {
			return reply{payload: `{"Status":"SUCCESS","PhysicalResourceId":7}`}
		}, id: "7", data: `{}`, events: 1},
		{rule: "an id and data of the wrong kind are named (T-623)", handle: func(w *world, e *value.Object) reply {
			w.put(e, 0, `{"Status":"SUCCESS","PhysicalResourceId":["x"],"Data":"text"}`)
			return reply{payload: "null"}
		}, id: "Thing", data: `{}`, events: 1, says: []string{"PhysicalResourceId of its handler's answer has no effect: it is a list", "Data of its handler's answer has no effect: it is a string"}},
		{rule: "an answer that is no JSON is named, and a good one awaited (T-619)", handle: func(w *world, e *value.Object) reply {
			w.put(e, 0, `SUCCESS`)
			w.put(e, time.Second, success)
			return reply{payload: "null"}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 2 * time.Second, events: 1, says: []string{"no answer: it is not a JSON object"}},
		{rule: "an unknown status is named at once and at the end (T-619)", props: `{"ServiceToken":"` + token + `","ServiceTimeout":60}`, handle: func(w *world, e *value.Object) reply {
			w.put(e, 0, `{"Status":"FAILURE","Data":{"p":"s3cret"}}`)
			return reply{payload: "null"}
		}, fails: "within 1m0s; what it has put is no answer: its Status is neither", took: time.Minute, events: 1, says: []string{"no answer: its Status is neither SUCCESS nor FAILED"}},
		{rule: "an endless answer is not read (T-625)", props: `{"ServiceToken":"` + token + `","ServiceTimeout":1}`, handle: func(w *world, e *value.Object) reply {
			w.put(e, 0, `{"Status":"SUCCESS","Data":{"p":"`+strings.Repeat("x", maxResponse)+`"}}`)
			return reply{payload: "null"}
		}, fails: "more than 1048576 bytes", took: time.Second, events: 1, says: []string{"more than 1048576 bytes"}},
		{rule: "no id: the logical id (T-623)", handle: func(*world, *value.Object) reply { return reply{payload: `{"Status":"SUCCESS"}`} }, id: "Thing", data: `{}`, events: 1},
		{rule: "NoEcho (T-624)", handle: func(*world, *value.Object) reply {
			return reply{payload: `{"Status":"SUCCESS","NoEcho":true,"Data":{"p":"x"}}`}
		}, id: "Thing", data: `{"p":"x"}`, noEcho: true, events: 1},
		{rule: "ServiceTimeout is the budget (T-618)", props: `{"ServiceToken":"` + token + `","ServiceTimeout":"90"}`,
			handle: func(*world, *value.Object) reply { return reply{payload: "null"} }, fails: "within 1m30s", took: 90 * time.Second, events: 1},
		{rule: "a ServiceTimeout beyond an hour (T-618)", props: `{"ServiceToken":"` + token + `","ServiceTimeout":3601}`, fails: "from 1 to 3600"},
		{rule: "no ServiceToken (T-600)", props: `{"ServiceToken":""}`, fails: "ServiceToken must be"},
		{rule: "FAILED with its reason (T-634)", handle: func(*world, *value.Object) reply {
			return reply{payload: `{"Status":"FAILED","Reason":"broken"}`, log: "START x\nhello\nREPORT y"}
		}, fails: "hello", events: 1},
		{rule: "FAILED without a reason (T-634)", handle: func(*world, *value.Object) reply { return reply{payload: `{"Status":"FAILED"}`} }, fails: "Unknown reason", events: 1},
		{rule: "a crash is not repeated (T-613, T-645)", handle: func(*world, *value.Object) reply {
			return reply{payload: `{"errorMessage":"cannot be assumed"}`, failed: true}
		}, fails: "errorMessage", events: 1},
		{rule: "an answer to another request (T-620)", handle: func(*world, *value.Object) reply {
			return reply{payload: `{"Status":"SUCCESS","LogicalResourceId":"Other"}`}
		}, fails: "answered another request: LogicalResourceId", events: 1},
		{rule: "no answer to the invoke: it may have run, so its answer is awaited (T-645)", handle: func(w *world, e *value.Object) reply {
			w.put(e, time.Minute, success)
			return reply{noAnswer: true}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 64340 * time.Millisecond, events: 1},
		{rule: "waits for the function (T-612)", states: []string{"Pending/", "Pending/", "Active/InProgress", "Active/InProgress", "Active/Successful"},
			handle: func(*world, *value.Object) reply { return reply{payload: success} }, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 3500 * time.Millisecond, events: 1},
		{rule: "a function that failed shows its state and no more (T-612)", states: []string{"Failed/"}, fails: "it became Failed: why"},
		{rule: "waiting for it is not begun again, whatever its state's reason says (T-645)", states: []string{"Pending/", "Failed/"}, reason: "its role cannot be assumed", fails: "it became Failed: its role cannot be assumed", took: time.Second},
		{rule: "a policy that spreads, before the invoke (T-643)", states: []string{"!AccessDeniedException", "!AccessDeniedException", "Active/Successful"},
			handle: func(*world, *value.Object) reply { return reply{payload: success} }, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 750 * time.Millisecond, events: 1},
		{rule: "a policy that spreads, at the invoke (T-643)", handle: func(w *world, e *value.Object) reply {
			if len(w.events) < 4 {
				return reply{status: 403, code: "AccessDeniedException", message: "User is not authorized to perform: lambda:InvokeFunction because no identity-based policy allows it"}
			}
			return reply{payload: success}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 1750 * time.Millisecond, events: 4},
		{rule: "that budget ends too (T-643)", states: []string{"!AccessDeniedException"}, fails: "not authorized", took: 47750 * time.Millisecond},
		{rule: "a policy that spreads, at the publish (T-643)", props: `{"ServiceToken":"` + topic + `"}`, publish: []string{"AuthorizationError: User is not authorized to perform: SNS:Publish"}, handle: func(w *world, e *value.Object) reply {
			w.put(e, 0, success)
			return reply{}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 250 * time.Millisecond, events: 1},
		{rule: "a topic that is none is a final refusal (T-643)", props: `{"ServiceToken":"` + topic + `"}`, publish: []string{"NotFound: Topic does not exist"}, fails: "NotFound"},
		{rule: "another refusal is final", handle: func(*world, *value.Object) reply {
			return reply{status: 400, code: "InvalidRequestContentException", message: "no"}
		}, fails: "InvalidRequestContentException", events: 1},
		{rule: "topics: answered through the object within the hour (T-615, T-616)", props: `{"ServiceToken":"` + topic + `"}`, handle: func(w *world, e *value.Object) reply {
			w.put(e, 45*time.Second, success)
			return reply{}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 64340 * time.Millisecond, events: 1},
		{rule: "a topic whose subscriber does not answer has an hour (T-616)", props: `{"ServiceToken":"` + topic + `"}`, handle: func(*world, *value.Object) reply { return reply{} }, fails: "within 1h0m0s", took: time.Hour, events: 1},
		{rule: "a topic of another partition is one (T-600)", props: `{"ServiceToken":"` + strings.Replace(topic, "arn:aws:", "arn:aws-cn:", 1) + `"}`, handle: func(w *world, e *value.Object) reply {
			w.put(e, 0, success)
			return reply{}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, events: 1},
		{rule: "anything else is a function, by its name too (T-600)", props: `{"ServiceToken":"handler"}`, handle: func(*world, *value.Object) reply { return reply{payload: success} }, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, events: 1},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(w *world) {
				if c.states != nil {
					w.states = c.states
				}
				w.refusals = c.publish
				w.reason = or(c.reason, "why")
				w.handle = func(e *value.Object) reply { return c.handle(w, e) }
				made, err := w.provider(0).Create(w.t.Context(), w.request(or(c.props, props)))
				if c.fails != "" {
					if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "s3cret") {
						w.t.Errorf("want an error with %q and without secrets, got %v", c.fails, err)
					}
				} else if err != nil {
					w.t.Fatal(err)
				} else if made.PhysicalID != c.id || value.JSON(made.Attributes) != c.data || made.NoEcho != c.noEcho {
					w.t.Errorf("want %s with %s, NoEcho %t; got %s with %s, %t", c.id, c.data, c.noEcho, made.PhysicalID, value.JSON(made.Attributes), made.NoEcho)
				}
				if took := time.Since(w.start).Round(10 * time.Millisecond); took != c.took {
					w.t.Errorf("want it to take %s, took %s", c.took, took)
				}
				for _, text := range c.says {
					if said := strings.Join(w.notices, "\n"); strings.Count(said, text) != 1 || strings.Contains(said, "s3cret") {
						w.t.Errorf("want %q said once, and no secret, got %q", text, said)
					}
				}
				if len(w.events) != c.events {
					w.t.Errorf("want %d events, got %d", c.events, len(w.events))
				}
				if n := w.objects(); n != 0 {
					w.t.Errorf("%d response objects are left (T-619)", n)
				}
				ids := map[string]bool{}
				for _, s := range w.sent {
					ids[s.RequestID] = true
				}
				if len(ids) != len(w.sent) || len(w.sent) < c.events {
					w.t.Errorf("every attempt has a request id of its own, told before (T-643): %d of %d", len(ids), len(w.sent))
				}
			})
		})
	}
}

// Whatever lies in the place of an answer, it is none yet, or the answer to this
// request, or an error that names the resource (T-620).
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		"", "null", success, `{"Status":"FAILED","Reason":1,"Data":[],"NoEcho":{}}`, `{"Status":"SUCCESS","RequestId":"another"}`,
	} {
		f.Add([]byte(body))
	}
	r := &provider.Request{LogicalID: "Thing", Type: "Custom::Thing"}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, why := response(body)
		if o == nil {
			if why == "" {
				t.Error("it is not said why this is no answer")
			}
			return
		}
		a, err := read(r, "request", o)
		switch {
		case err != nil && !strings.Contains(err.Error(), "Thing"):
			t.Errorf("the error names nothing: %v", err)
		case err == nil && a.data == nil:
			t.Error("no data")
		}
		if id, there := o.Get("RequestId"); there && id != "request" && err == nil {
			t.Errorf("taken, though it is of request %v", id)
		}
	})
}

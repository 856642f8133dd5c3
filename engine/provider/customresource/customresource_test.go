package customresource

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/value"
	emulator "github.com/org/cdkd-action/internal/sandbox/s3"
)

const (
	token   = "arn:aws:lambda:eu-west-1:123456789012:function:handler"
	topic   = "arn:aws:sns:eu-west-1:123456789012:handlers"
	stackID = "arn:aws:cloudformation:eu-west-1:123456789012:stack/Shop/1"
)

// A world is an account with one function, one topic and one bucket, in the
// bubble of a test. It is reached by the SDK's own clients.
type world struct {
	t       *testing.T
	s3      *emulator.Server
	session *provider.Session
	start   time.Time
	events  []*value.Object
	at      []time.Duration // when each event came
	notices []string
	sent    []Sent

	// states are what the function's configuration shows in turn, the last for
	// ever: State/LastUpdateStatus, or a status code.
	states []string
	// handle is the function: what it returns, and its log.
	handle func(e *value.Object) reply
	mu     sync.Mutex
	// description is the function's, described what it was set to.
	description string
	described   []string
}

type reply struct {
	payload  string
	failed   bool // a function error
	log      string
	status   int // the service's own refusal, with code and message
	code     string
	message  string
	noAnswer bool
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, s3: emulator.New(emulator.Options{Region: "eu-west-1"}), start: time.Now(), states: []string{"Active/Successful"}}
	w.s3.AddBucket("state", "eu-west-1", "123456789012")
	w.session = &provider.Session{Config: aws.Config{
		Region: "eu-west-1", HTTPClient: w,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
	}}
	return w
}

func (w *world) provider(retries int) *Provider {
	return New(Options{
		Responses:    Bucket{Client: s3.NewFromConfig(w.session.Config), Name: "state"},
		AuthzRetries: retries,
		Sending: func(_ context.Context, _ *provider.Request, s Sent) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.sent = append(w.sent, s)
			return nil
		},
	})
}

func (w *world) request(props string) *provider.Request {
	return &provider.Request{
		Session: w.session, LogicalID: "Thing", Type: "Custom::Thing", Properties: object(w.t, props),
		Stack:  provider.Stack{Name: "Shop", ID: stackID, Region: "eu-west-1", AccountID: "123456789012", Partition: "aws"},
		Notice: func(text string) { w.notices = append(w.notices, text) },
	}
}

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// put answers an event as handlers do, after a while.
func (w *world) put(e *value.Object, after time.Duration, text string) {
	send := func() {
		r, err := http.NewRequest("PUT", e.String("ResponseURL"), strings.NewReader(text))
		if err != nil {
			w.t.Error(err)
			return
		}
		r.Header.Set("Content-Type", "")
		answer, err := w.Do(r)
		if err != nil || answer.StatusCode != 200 {
			w.t.Errorf("the handler could not put its answer: %v, %v", answer, err)
		}
	}
	if after == 0 {
		send()
		return
	}
	time.AfterFunc(after, send)
}

// Do implements aws.HTTPClient.
func (w *world) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	switch service, _, _ := strings.Cut(r.URL.Host, "."); {
	case service == "lambda" && strings.HasSuffix(r.URL.Path, "/configuration"):
		if r.Method == "PUT" {
			body, _ := io.ReadAll(r.Body)
			w.description = object(w.t, string(body)).String("Description")
			w.described = append(w.described, w.description)
		}
		w.configuration(answer)
	case service == "lambda":
		body, _ := io.ReadAll(r.Body)
		if !w.invoke(answer, body) {
			return nil, &url.Error{Op: "Post", URL: "lambda", Err: errors.New("connection reset by peer")}
		}
	case service == "sns":
		body, _ := io.ReadAll(r.Body)
		form, err := url.ParseQuery(string(body))
		if err != nil || form.Get("TopicArn") != topic {
			w.t.Errorf("publish: %s", body)
		}
		w.record(form.Get("Message"))
		fmt.Fprint(answer, "<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>")
	default:
		r.RequestURI = r.URL.RequestURI()
		r.Host = r.URL.Host
		if r.Body == nil {
			r.Body = http.NoBody
		}
		w.s3.ServeHTTP(answer, r)
	}
	return answer.Result(), nil
}

func (w *world) record(text string) *value.Object {
	e, err := value.ParseObject([]byte(text))
	if err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	w.at = append(w.at, time.Since(w.start))
	if w.handle != nil && strings.HasPrefix(e.Object("ResourceProperties").String("ServiceToken"), "arn:aws:sns") {
		w.handle(e)
	}
	return e
}

func (w *world) configuration(answer *httptest.ResponseRecorder) {
	state := w.states[0]
	if len(w.states) > 1 {
		w.states = w.states[1:]
	}
	if code, ok := strings.CutPrefix(state, "!"); ok {
		refuse(answer, 403, code, "User is not authorized to perform: lambda:GetFunctionConfiguration")
		return
	}
	if state == "gone" {
		refuse(answer, 404, "ResourceNotFoundException", "Function not found")
		return
	}
	s, update, _ := strings.Cut(state, "/")
	fmt.Fprintf(answer, `{"State":%q,"StateReason":"why","LastUpdateStatus":%q,"Description":%q,"Environment":{"Variables":{"KEY":"s3cret"}}}`, s, update, w.description)
}

func refuse(answer *httptest.ResponseRecorder, status int, code, message string) {
	answer.Header().Set("X-Amzn-Errortype", code)
	answer.WriteHeader(status)
	fmt.Fprintf(answer, `{"Message":%q}`, message)
}

func (w *world) invoke(answer *httptest.ResponseRecorder, body []byte) bool {
	e := w.record(string(body))
	out := w.handle(e)
	switch {
	case out.noAnswer:
		return false
	case out.status != 0:
		refuse(answer, out.status, out.code, out.message)
		return true
	}
	if out.failed {
		answer.Header().Set("X-Amz-Function-Error", "Unhandled")
	}
	answer.Header().Set("X-Amz-Log-Result", base64.StdEncoding.EncodeToString([]byte(out.log)))
	io.Copy(answer, bytes.NewReader([]byte(out.payload)))
	return true
}

func (w *world) objects() int { return len(w.s3.Objects("state")) }

func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newWorld(t)) })
}

const success = `{"Status":"SUCCESS","PhysicalResourceId":"made-1","Data":{"Url":"u","Nested":{"A":1}}}`

func TestRequestIsWhatCloudFormationSends(t *testing.T) { // (T-601, T-603, T-605, T-607)
	bubble(t, func(w *world) {
		w.handle = func(e *value.Object) reply { w.put(e, 0, success); return reply{payload: "null"} }
		r := w.request(`{"ServiceToken":"` + token + `","Count":1,"On":true,"List":[1,{"x":false}],"Null":null}`)
		r.Previous = object(w.t, `{"Count":2}`)
		r.PhysicalID = "made-0"
		out, err := w.provider(2).Update(w.t.Context(), r)
		if err != nil {
			w.t.Fatal(err)
		}
		if out.PhysicalID != "made-1" || value.JSON(out.Attributes) != `{"Url":"u","Nested":{"A":1}}` {
			w.t.Errorf("want the new id and the data as they came, got %q, %s", out.PhysicalID, value.JSON(out.Attributes))
		}
		e := w.events[0]
		for _, random := range []string{"RequestId", "ResponseURL"} {
			if len(e.String(random)) < 36 {
				w.t.Errorf("%s is %q", random, e.String(random))
			}
			e.Delete(random)
		}
		want := object(w.t, `{"RequestType":"Update","ResourceType":"Custom::Thing","LogicalResourceId":"Thing","StackId":"`+stackID+`","PhysicalResourceId":"made-0",
			"ResourceProperties":{"ServiceToken":"`+token+`","Count":"1","On":"true","List":["1",{"x":"false"}],"Null":null},"OldResourceProperties":{"Count":"2"}}`)
		if !value.Equal(want, e) {
			w.t.Errorf("event: %s", cmp.Diff(value.JSON(want), value.JSON(e)))
		}
		if n := w.objects(); n != 0 {
			w.t.Errorf("the response object is still there (T-619): %d", n)
		}
	})
}

func TestAnswers(t *testing.T) {
	props := `{"ServiceToken":"` + token + `"}`
	for _, c := range []struct {
		rule   string
		props  string
		states []string
		handle func(w *world, e *value.Object) reply
		id     string
		data   string
		noEcho bool
		fails  string // in the error
		took   time.Duration
		events int
	}{
		{rule: "put before the function returns: no wait", handle: func(w *world, e *value.Object) reply { w.put(e, 0, success); return reply{payload: "null"} },
			id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, events: 1},
		{rule: "asynchronous: polled ever more slowly (T-614)", handle: func(w *world, e *value.Object) reply { w.put(e, 40*time.Minute, success); return reply{payload: "{}"} },
			id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 2404340 * time.Millisecond, events: 1},
		{rule: "the hour ends (T-614)", handle: func(*world, *value.Object) reply { return reply{payload: "null"} }, fails: "did not answer within 1h0m0s", took: time.Hour, events: 1},
		{rule: "a payload that is none: half a minute (T-614)", handle: func(*world, *value.Object) reply { return reply{payload: `{"ok":true}`} }, fails: "did not answer within 30s", took: 30 * time.Second, events: 1},
		{rule: "the payload is the response (T-613)", handle: func(*world, *value.Object) reply { return reply{payload: success} }, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, events: 1},
		{rule: "a payload with data is taken when nothing better comes (T-617)", handle: func(*world, *value.Object) reply { return reply{payload: `{"Data":{"a":"1"}}`} },
			id: "Thing", data: `{"a":"1"}`, took: 2 * time.Second, events: 1},
		{rule: "the response object wins over it (T-617)", handle: func(w *world, e *value.Object) reply {
			w.put(e, time.Second, success)
			return reply{payload: `{"Data":{"a":"1"}}`}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 2 * time.Second, events: 1},
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
		{rule: "a policy that spreads, before the invoke (T-643)", states: []string{"!AccessDeniedException", "!AccessDeniedException", "Active/Successful"},
			handle: func(*world, *value.Object) reply { return reply{payload: success} }, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 750 * time.Millisecond, events: 1},
		{rule: "a policy that spreads, at the invoke (T-643)", handle: func(w *world, e *value.Object) reply {
			if len(w.events) < 4 {
				return reply{status: 403, code: "AccessDeniedException", message: "User is not authorized to perform: lambda:InvokeFunction because no identity-based policy allows it"}
			}
			return reply{payload: success}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 1750 * time.Millisecond, events: 4},
		{rule: "that budget ends too (T-643)", states: []string{"!AccessDeniedException"}, fails: "not authorized", took: 47750 * time.Millisecond},
		{rule: "another refusal is final", handle: func(*world, *value.Object) reply {
			return reply{status: 400, code: "InvalidRequestContentException", message: "no"}
		}, fails: "InvalidRequestContentException", events: 1},
		{rule: "topics: answered through the object within the hour (T-616)", props: `{"ServiceToken":"` + topic + `"}`, handle: func(w *world, e *value.Object) reply {
			w.put(e, 45*time.Second, success)
			return reply{}
		}, id: "made-1", data: `{"Url":"u","Nested":{"A":1}}`, took: 64340 * time.Millisecond, events: 1},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(w *world) {
				if c.states != nil {
					w.states = c.states
				}
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

func TestDeniedHandlersAreInvokedAgain(t *testing.T) {
	denied := `{"Status":"FAILED","Reason":"User is NOT AUTHORIZED to perform: s3:PutObject","PhysicalResourceId":"half"}`
	for _, c := range []struct {
		rule    string
		retries int
		reply   reply
		until   int // invocations of Create that fail
		types   string
		ok      bool
		took    time.Duration
		says    string
	}{
		{"after a delete of what the first made (T-641, T-642, T-648)", 2, reply{payload: denied}, 1, "Create Delete Create", true, 5 * time.Second, ""},
		{"twice, then it stands (T-641, T-646)", 2, reply{payload: `{"Status":"FAILED","Reason":"x","PhysicalResourceId":""}`, log: "An error occurred (403)"}, 9, "Create Create Create", false, 15 * time.Second, `invoked again 2 times because of "an error occurred (403)" in its log`},
		{"not when switched off (T-644)", 0, reply{payload: denied}, 9, "Create", false, 0, "NOT AUTHORIZED"},
		{"not for another reason", 2, reply{payload: `{"Status":"FAILED","Reason":"bucket not empty"}`}, 9, "Create", false, 0, "bucket not empty"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(w *world) {
				creates := 0
				w.handle = func(e *value.Object) reply {
					if e.String("RequestType") == "Create" {
						if creates++; creates <= c.until {
							return c.reply
						}
					}
					return reply{payload: success}
				}
				_, err := w.provider(c.retries).Create(w.t.Context(), w.request(`{"ServiceToken":"`+token+`"}`))
				var types []string
				for _, e := range w.events {
					types = append(types, e.String("RequestType"))
				}
				if diff := cmp.Diff(c.types, strings.Join(types, " ")); diff != "" {
					w.t.Errorf("events (-want +got):\n%s", diff)
				}
				if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), c.says) {
					w.t.Errorf("want ok %t or %q, got %v", c.ok, c.says, err)
				}
				if took := time.Since(w.start); took != c.took {
					w.t.Errorf("want it to take %s, took %s", c.took, took)
				}
			})
		})
	}
}

func TestRecyclingPutsTheDescriptionBack(t *testing.T) { // (T-642)
	bubble(t, func(w *world) {
		w.description = "my function"
		w.handle = func(*value.Object) reply {
			return reply{payload: `{"Status":"FAILED","Reason":"cannot be assumed"}`}
		}
		p := w.provider(2)
		p.Recycle = true
		if _, err := p.Create(w.t.Context(), w.request(`{"ServiceToken":"`+token+`"}`)); err == nil {
			w.t.Error("want the handler's failure")
		}
		want := []string{"my function ", "my function", "my function ", "my function"}
		if diff := cmp.Diff(want, w.described); diff != "" {
			w.t.Errorf("descriptions (-want +got):\n%s", diff)
		}
	})
}

func TestDelete(t *testing.T) { // (T-633)
	for _, c := range []struct {
		rule, props string
		states      []string
		reply       reply
		skipped     string
		fails       string
		notice      string
	}{
		{rule: "SUCCESS", props: `{"ServiceToken":"` + token + `"}`, reply: reply{payload: success}},
		{rule: "no ServiceToken", props: `{}`, skipped: "no ServiceToken"},
		{rule: "a token that is none", props: `{"ServiceToken":["x"]}`, fails: "is a list"},
		{rule: "the function is gone", props: `{"ServiceToken":"` + token + `"}`, states: []string{"gone"}, notice: "NOT deleted"},
		{rule: "FAILED", props: `{"ServiceToken":"` + token + `"}`, reply: reply{payload: `{"Status":"FAILED","Reason":"` + strings.Repeat("long ", 100) + `"}`}, skipped: "long long"},
		{rule: "a crash", props: `{"ServiceToken":"` + token + `"}`, reply: reply{failed: true, payload: "{}"}, skipped: "failed"},
		{rule: "no answer", props: `{"ServiceToken":"` + token + `"}`, reply: reply{payload: "null"}, skipped: "did not answer"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(w *world) {
				if c.states != nil {
					w.states = c.states
				}
				w.handle = func(*value.Object) reply { return c.reply }
				r := w.request(c.props)
				r.PhysicalID = "made-1"
				out, err := w.provider(0).Delete(w.t.Context(), r)
				if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
					w.t.Errorf("error: want %q, got %v", c.fails, err)
				}
				if !strings.Contains(out.Skipped, c.skipped) || (out.Skipped == "") != (c.skipped == "") || len(out.Skipped) > 210 {
					w.t.Errorf("skipped: want %q, got %q", c.skipped, out.Skipped)
				}
				if !strings.Contains(strings.Join(w.notices, "\n"), c.notice) {
					w.t.Errorf("notice: want %q, got %q", c.notice, w.notices)
				}
			})
		})
	}
}

func TestInterruptionLeavesTheResponseOpen(t *testing.T) { // (T-611)
	bubble(t, func(w *world) {
		draining := make(chan struct{})
		w.handle = func(e *value.Object) reply {
			w.put(e, time.Minute, success)
			time.AfterFunc(time.Second, func() { close(draining) })
			return reply{payload: "null"}
		}
		r := w.request(`{"ServiceToken":"` + token + `"}`)
		r.Draining = draining
		p := w.provider(2)
		_, err := p.Create(w.t.Context(), r)
		var open *OpenError
		if !errors.As(err, &open) || !errors.Is(err, provider.ErrDraining) {
			w.t.Fatalf("want an OpenError that is ErrDraining, got %v", err)
		}
		if w.objects() != 1 || open.Sent != w.sent[0] {
			w.t.Errorf("want the object kept and the request told as announced: %d objects, %+v, %+v", w.objects(), open.Sent, w.sent)
		}
		// The next run picks up the late answer.
		r.Draining = nil
		made, err := p.Settle(w.t.Context(), r, open.Request, open.Sent)
		if err != nil || made.PhysicalID != "made-1" {
			w.t.Errorf("settle: want made-1, got %q, %v", made.PhysicalID, err)
		}
	})
	bubble(t, func(w *world) {
		draining := make(chan struct{})
		w.handle = func(*value.Object) reply {
			time.AfterFunc(time.Second, func() { close(draining) })
			return reply{payload: `{"Status":"FAILED","Reason":"cannot be assumed"}`}
		}
		r := w.request(`{"ServiceToken":"` + token + `"}`)
		r.Draining = draining
		_, err := w.provider(2).Create(w.t.Context(), r)
		var interrupted *retry.InterruptedError
		if !errors.As(err, &interrupted) || time.Since(w.start) != time.Second {
			w.t.Errorf("between attempts: want an InterruptedError after 1s, got %v after %s", err, time.Since(w.start))
		}
		if w.objects() != 0 {
			w.t.Error("nothing is open, but its object is still there")
		}
	})
}

func TestUnreadableResponseFailsWithItsOwnError(t *testing.T) { // (T-620)
	bubble(t, func(w *world) {
		w.handle = func(*value.Object) reply { return reply{payload: "null"} }
		p := w.provider(0)
		p.Responses = unreadable{p.Responses.(Bucket)}
		_, err := p.Create(w.t.Context(), w.request(`{"ServiceToken":"`+token+`"}`))
		if err == nil || !strings.Contains(err.Error(), "NoSuchBucket") || time.Since(w.start) > 2*time.Minute {
			t.Errorf("want the read's own error soon after a minute, got %v after %s", err, time.Since(w.start))
		}
	})
}

// unreadable reads from a bucket that does not exist.
type unreadable struct{ Bucket }

func (u unreadable) Read(ctx context.Context, key string) ([]byte, error) {
	u.Name = "elsewhere"
	return u.Bucket.Read(ctx, key)
}

func TestAuthzRetriesSetting(t *testing.T) { // (T-641)
	for text, want := range map[string]int{"": 2, "0": 0, "10": 10, "11": 2, "-1": 2, "3.9": 3, "x": 2, "NaN": 2} {
		if got := AuthzRetries(text); got != want {
			t.Errorf("%q: want %d, got %d", text, want, got)
		}
	}
}

package customresource

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/value"
)

const success = `{"Status":"SUCCESS","PhysicalResourceId":"made-1","Data":{"Url":"u","Nested":{"A":1}}}`

func TestRequestIsWhatCloudFormationSends(t *testing.T) { // (T-601 to T-607)
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

func TestResponseURLFitsWhatHandlersSend(t *testing.T) { // (T-608, T-609)
	bubble(t, func(w *world) {
		for lifetime, want := range map[time.Duration]string{2 * time.Hour: "7200", 30 * 24 * time.Hour: "604800"} {
			b := w.provider(0).Responses
			signed, until, err := b.Open(w.t.Context(), b.Key("1"), lifetime)
			if err != nil {
				w.t.Fatal(err)
			}
			u, err := url.Parse(signed)
			if err != nil {
				w.t.Fatal(err)
			}
			q := u.Query()
			// A signed length or checksum would be that of the empty object.
			if got := q.Get("X-Amz-SignedHeaders"); got != "host" {
				w.t.Errorf("signed headers: want host alone, got %s", got)
			}
			for name := range q {
				if strings.Contains(strings.ToLower(name), "checksum") {
					w.t.Errorf("the URL demands %s", name)
				}
			}
			if q.Get("X-Amz-Expires") != want || !strings.HasSuffix(u.Path, "/custom-resource-responses/1.json") {
				w.t.Errorf("want it valid for %ss: %s", want, u.Redacted())
			}
			if seconds := time.Until(until).Seconds(); fmt.Sprint(seconds) != want {
				w.t.Errorf("until: want %ss, got %gs", want, seconds)
			}
		}
	})
}

func TestAnswersEndWithTheSession(t *testing.T) { // (T-609, P-3)
	bubble(t, func(w *world) {
		end := time.Now().Add(10 * time.Minute)
		w.session.Config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret", SessionToken: "t", CanExpire: true, Expires: end}, nil
		})
		w.handle = func(*value.Object) reply { return reply{payload: "null"} }
		draining := make(chan struct{})
		time.AfterFunc(time.Minute, func() { close(draining) })
		r := w.request(`{"ServiceToken":"` + token + `"}`)
		r.Draining = draining
		_, err := w.provider(0).Create(w.t.Context(), r)
		var open *OpenError
		if !errors.As(err, &open) || !open.AnswerBy.Equal(end) {
			w.t.Errorf("want a request open until %s, got %+v", end, err)
		}
		if !strings.Contains(strings.Join(w.notices, "\n"), "credentials of this run end in 10m0s") {
			w.t.Errorf("want a warning, got %q", w.notices)
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
		{rule: "no properties", skipped: "no ServiceToken"},
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
				r := w.request(or(c.props, "{}"))
				if c.props == "" {
					r.Properties = nil
				}
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

func TestInterruptionLeavesTheResponseOpen(t *testing.T) { // (T-610, T-611)
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

// Without a bucket there is nowhere to answer to: that is an error, and the handler
// is not invoked (T-621, T-622).
func TestNowhereToAnswerTo(t *testing.T) {
	bubble(t, func(w *world) {
		p := w.provider(0)
		p.Responses = nil
		_, err := p.Create(w.t.Context(), w.request(`{"ServiceToken":"`+token+`"}`))
		if err == nil || !strings.Contains(err.Error(), "no bucket is configured") || len(w.events) > 0 {
			w.t.Errorf("got %v, and %d events", err, len(w.events))
		}
	})
}

// A response that CloudFormation would not take is taken, and named (T-625).
func TestLongResponse(t *testing.T) {
	bubble(t, func(w *world) {
		long := strings.Repeat("x", 5000)
		w.handle = func(e *value.Object) reply {
			w.put(e, 0, `{"Status":"SUCCESS","PhysicalResourceId":"made-1","Data":{"A":"`+long+`"}}`)
			return reply{payload: "null"}
		}
		made, err := w.provider(0).Create(w.t.Context(), w.request(`{"ServiceToken":"`+token+`"}`))
		if err != nil || made.Attributes.String("A") != long || !strings.Contains(strings.Join(w.notices, "\n"), "CloudFormation takes 4096") {
			w.t.Errorf("got %v, %d characters, notices %q", err, len(made.Attributes.String("A")), w.notices)
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

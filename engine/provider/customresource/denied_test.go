package customresource

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

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

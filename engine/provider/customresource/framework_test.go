package customresource

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

// createFailed is the id that the CDK's provider framework gives a create that failed
// before there was one. Its delete the framework answers by itself.
const createFailed = "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED"

// executionName is what Step Functions takes as the name of an execution.
var executionName = regexp.MustCompile(`^[0-9A-Za-z_-]{1,80}$`)

// framework is the CDK's provider framework with an isComplete handler: the function
// that is invoked starts an execution of a state machine named by the request, and
// returns nothing. The state machine asks every so often, and answers in the end.
func (w *world) framework(every time.Duration, polls int, onEvent func(e *value.Object) (id, fails string), end string) {
	w.handle = func(e *value.Object) reply {
		if name := e.String("RequestId"); !executionName.MatchString(name) {
			w.t.Errorf("an execution cannot be called %s", name)
		}
		answer := value.NewObject("Status", "SUCCESS", "Reason", "SUCCESS")
		for _, name := range []string{"StackId", "RequestId", "PhysicalResourceId", "LogicalResourceId"} {
			answer.Set(name, e.Value(name))
		}
		if e.String("PhysicalResourceId") == createFailed {
			w.put(e, 0, value.JSON(answer))
			return reply{payload: "null"}
		}
		id, fails := onEvent(e)
		switch {
		case fails != "":
			answer.Set("Status", "FAILED")
			answer.Set("Reason", fails)
			if e.String("RequestType") == "Create" {
				answer.Set("PhysicalResourceId", createFailed)
			}
			w.put(e, 0, value.JSON(answer))
			return reply{payload: "null"}
		case id != "":
			answer.Set("PhysicalResourceId", id)
		case e.String("RequestType") == "Create":
			answer.Set("PhysicalResourceId", e.String("RequestId"))
		}
		if end == "SUCCESS" {
			answer.Set("NoEcho", false)
			answer.Set("Data", value.NewObject("Polls", "done"))
		} else {
			answer.Set("Status", "FAILED")
			answer.Set("Reason", end)
		}
		w.put(e, every*time.Duration(polls), value.JSON(answer))
		return reply{payload: "null", log: "START RequestId: x\n[provider-framework] starting waiter\nEND RequestId: x"}
	}
}

// The waiter of the provider framework is waited for, for as long as the hour lasts;
// what it says, and what it says of a timeout of its own, is the answer (T-614,
// T-641, T-648).
func TestProviderFramework(t *testing.T) {
	const denied = "not authorized to perform: states:StartExecution"
	made := func(*value.Object) (string, string) { return "made-1", "" }
	for _, c := range []struct {
		rule    string
		every   time.Duration
		polls   int
		onEvent func(creates int) (id, fails string)
		end     string
		id      string
		fails   string
		events  string
	}{
		{rule: "it completes at the third look", every: 5 * time.Second, polls: 3, end: "SUCCESS", id: "made-1", events: "Create "},
		{rule: "it completes after most of an hour", every: 5 * time.Minute, polls: 11, end: "SUCCESS", id: "made-1", events: "Create "},
		{rule: "without an id it is the request's", every: 5 * time.Second, polls: 1, end: "SUCCESS", onEvent: func(int) (string, string) { return "", "" }, id: "request", events: "Create "},
		{rule: "it times out by itself", every: time.Minute, polls: 30, end: "Operation timed out", fails: `said "Operation timed out"`, events: "Create "},
		{rule: "it would answer after the hour", every: 5 * time.Minute, polls: 13, end: "SUCCESS", fails: "did not answer within 1h0m0s", events: "Create "},
		{rule: "a denial before there was an id is tried again, after a delete that is answered for it", every: 5 * time.Second, polls: 1, end: "SUCCESS", onEvent: func(creates int) (string, string) {
			if creates == 1 {
				return "", denied
			}
			return "made-1", ""
		}, id: "made-1", events: "Create , Delete " + createFailed + ", Create "},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(w *world) {
				creates := 0
				w.framework(c.every, c.polls, func(e *value.Object) (string, string) {
					if e.String("RequestType") == "Create" {
						creates++
					}
					if c.onEvent == nil {
						return made(e)
					}
					return c.onEvent(creates)
				}, c.end)
				out, err := w.provider(2).Create(w.t.Context(), w.request(`{"ServiceToken":"`+token+`"}`))
				switch {
				case c.fails != "":
					if err == nil || !strings.Contains(err.Error(), c.fails) {
						w.t.Errorf("want %q, got %v", c.fails, err)
					}
				case err != nil:
					w.t.Error(err)
				case out.PhysicalID != strings.Replace(c.id, "request", w.sent[0].RequestID, 1) || out.Attributes.String("Polls") != "done":
					w.t.Errorf("got %s, %s", out.PhysicalID, value.JSON(out.Attributes))
				}
				var events []string
				for _, e := range w.events {
					events = append(events, e.String("RequestType")+" "+e.String("PhysicalResourceId"))
				}
				if diff := cmp.Diff(c.events, strings.Join(events, ", ")); diff != "" {
					w.t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/value"
)

// A service is what the calls of a described type are made to: it writes down
// what came, and fails where a test wants it to.
type service struct {
	mu    sync.Mutex
	calls []string
	fail  map[string][]error // by call, in turn; nil entries succeed
	state []string           // what the waiter reads, in turn, the last for ever
}

func (s *service) call(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
	name, _, _ := strings.Cut(what, " ")
	if errs := s.fail[name]; len(errs) > 0 {
		s.fail[name] = errs[1:]
		return errs[0]
	}
	return nil
}

func refusedWith(code string) error {
	return fmt.Errorf("op: %w", &smithy.GenericAPIError{Code: code, Message: "message of " + code})
}

// box is a type with one of everything.
func (s *service) box() Resource {
	put := func(name string, properties ...string) Satellite {
		return Satellite{Properties: properties, Put: func(_ context.Context, r *Request) error {
			return s.call(fmt.Sprintf("put%s %v", name, r.Properties.Value(properties[0])))
		}}
	}
	policy, late, reset := put("Policy", "Policy"), put("Late", "Late"), put("Reset", "Reset", "Reset2")
	late.Settled = true
	policy.After = []string{"Access"}
	reset.Reset = func(context.Context, *Request) error { return s.call("reset") }
	return Resource{
		Type: "AWS::Some::Thing", Name: "BoxName", Gone: []string{"NoSuchBox"}, Replaces: []string{"Immutable"},
		Tags: Tags{Property: "Tags",
			Add: func(_ context.Context, _ *Request, tags map[string]string) error {
				return s.call(fmt.Sprint("tag ", tags))
			},
			Remove: func(_ context.Context, _ *Request, keys []string) error {
				return s.call(fmt.Sprint("untag ", keys))
			}},
		Satellites: []Satellite{policy, late, reset, put("Access", "Access"),
			Members("Members", Itself,
				func(_ context.Context, _ *Request, e any) error { return s.call(fmt.Sprint("add ", e)) },
				func(_ context.Context, _ *Request, e any) error { return s.call(fmt.Sprint("remove ", e)) })},
		Updates: []Input{Bind[struct{ Size *int32 }]()},
		Create: func(_ context.Context, r *Request) (Created, error) {
			if err := s.call("create " + r.Properties.String("BoxName")); err != nil {
				return Created{}, err
			}
			return Created{PhysicalID: "box-1", Attributes: value.NewObject("FromCreate", "c")}, nil
		},
		Update: func(_ context.Context, r *Request, d Diff) (Updated, error) {
			return Updated{}, s.call(fmt.Sprint("update ", d.Properties()))
		},
		Delete: func(_ context.Context, r *Request) error { return s.call("delete " + r.PhysicalID) },
		Find:   func(context.Context, *Request) (string, error) { return "box-1", s.call("find") },
		Known:  func(r *Request) *value.Object { return value.NewObject("Arn", "arn:"+r.Name) },
		Attributes: func(_ context.Context, r *Request) (*value.Object, error) {
			return value.NewObject("Read", "r"), s.call("attributes " + r.PhysicalID)
		},
		Wait: &Waiter{What: "box READY", OK: []string{"READY"}, Failed: []string{"BROKEN"}, Command: func(*Request) string { return "look at it" },
			Read: func(context.Context, *Request) (string, string, error) {
				err := s.call("wait")
				s.mu.Lock()
				defer s.mu.Unlock()
				state := "READY"
				if len(s.state) > 0 {
					state = s.state[0]
				}
				if len(s.state) > 1 {
					s.state = s.state[1:]
				}
				return state, "detail", err
			}},
	}
}

func driven(t *testing.T, props, previous string) *Request {
	r := request(t, props, previous)
	r.Session = &Session{Config: aws.Config{Region: "eu-west-1"}}
	r.Name = "shop-thing"
	return r
}

func TestCreateRunsInOrder(t *testing.T) {
	s := &service{}
	r := driven(t, `{"Policy":1,"Access":2,"Late":3,"Tags":[{"Key":"a","Value":"1"}],"Members":["x"]}`, "")
	var told []string
	r.Made = func(c Created) { told = append(told, c.PhysicalID+" "+value.JSON(c.Attributes)) }
	made, err := Drive(s.box(), nil).Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if access, policy := slices.Index(s.calls, "putAccess 2"), slices.Index(s.calls, "putPolicy 1"); access > policy {
		t.Errorf("the policy does not come after the access: %q", s.calls)
	}
	slices.Sort(s.calls[1:min(5, len(s.calls))]) // side by side
	want := []string{"create shop-thing", "add x", "putAccess 2", "putPolicy 1", "tag map[a:1]", "wait", "putLate 3", "attributes box-1"}
	if diff := cmp.Diff(want, s.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := value.JSON(made.Attributes); got != `{"Arn":"arn:shop-thing","FromCreate":"c","Read":"r"}` {
		t.Errorf("attributes: %s", got)
	}
	if diff := cmp.Diff([]string{`box-1 {"Arn":"arn:shop-thing","FromCreate":"c"}`}, told); diff != "" {
		t.Errorf("told before anything else is done (-want +got):\n%s", diff)
	}
	if r.Properties.Has("BoxName") || r.PhysicalID != "" {
		t.Error("the caller's request was changed")
	}
}

func TestCreateThatFailsHalfWaySaysWhatWasMade(t *testing.T) {
	s := &service{fail: map[string][]error{"putPolicy": {refusedWith("Bad")}}}
	_, err := Drive(s.box(), nil).Create(t.Context(), driven(t, `{"Policy":1}`, ""))
	var partial *PartialError
	if !errors.As(err, &partial) || partial.Made.PhysicalID != "box-1" || !HasCode(err, "Bad") {
		t.Errorf("want a PartialError of box-1 with the cause, got %v", err)
	}
	if want := "created as box-1, but: set Policy of Thing (AWS::Some::Thing): op: api error Bad: message of Bad"; err.Error() != want {
		t.Errorf("want %q, got %q", want, err.Error())
	}
}

func TestUpdatesTouchOnlyWhatChanged(t *testing.T) {
	for _, c := range []struct {
		rule, previous, props string
		calls                 []string
		refused               []string
	}{
		{"a satellite", `{"Policy":1,"Size":1}`, `{"Policy":2,"Size":1}`, []string{"putPolicy 2", "attributes box-1"}, nil},
		{"an update call", `{"Size":1}`, `{"Size":2}`, []string{"update [Size]", "attributes box-1"}, nil},
		{"a removed satellite is reset", `{"Reset":1,"Reset2":2}`, `{}`, []string{"reset", "attributes box-1"}, nil},
		{"part of one is put", `{"Reset":1,"Reset2":2}`, `{"Reset":1}`, []string{"putReset 1", "attributes box-1"}, nil},
		{"tags by difference", `{"Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":"1"},{"Key":"c","Value":"1"}]}`,
			`{"Tags":[{"Key":"c","Value":"1"},{"Key":"b","Value":"2"}]}`, []string{"untag [a]", "tag map[b:2]", "attributes box-1"}, nil},
		{"tags removed", `{"Tags":[{"Key":"a","Value":"1"}]}`, `{}`, []string{"untag [a]", "attributes box-1"}, nil},
		{"members by difference", `{"Members":["x","y"]}`, `{"Members":["y","z"]}`, []string{"remove x", "add z", "attributes box-1"}, nil},
		{"members removed", `{"Members":["x"]}`, `{}`, []string{"remove x", "attributes box-1"}, nil},
		{"what nothing handles is refused before any call (T-810)", `{"Odd":1,"Size":1}`, `{"Odd":2,"Size":2}`, nil, []string{"Odd"}},
		{"a generated name is no change", `{"Size":1}`, `{"Size":2,"BoxName":"shop-thing"}`, []string{"update [Size]", "attributes box-1"}, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := &service{}
			r := driven(t, c.props, c.previous)
			r.PhysicalID, r.Attributes, r.Wait = "box-1", value.NewObject("Old", "o"), WaitNone
			res := s.box()
			res.Wait = nil
			out, err := Drive(res, nil).Update(t.Context(), r)
			if diff := cmp.Diff(c.calls, s.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			var refused *UnsupportedUpdateError
			switch errors.As(err, &refused); {
			case c.refused != nil && (refused == nil || !slices.Equal(refused.Properties, c.refused)):
				t.Errorf("want %v refused, got %v", c.refused, err)
			case c.refused == nil && err != nil:
				t.Error(err)
			case c.refused == nil && value.JSON(out.Attributes) != `{"Old":"o","Arn":"arn:shop-thing","Read":"r"}`:
				t.Errorf("attributes over those recorded (T-803): %s", value.JSON(out.Attributes))
			}
		})
	}
	s := &service{fail: map[string][]error{"update": {refusedWith("Immutable")}}}
	r := driven(t, `{"Size":2}`, `{"Size":1}`)
	r.PhysicalID = "box-1"
	var refused *UnsupportedUpdateError
	if _, err := Drive(s.box(), nil).Update(t.Context(), r); !errors.As(err, &refused) || !HasCode(err, "Immutable") {
		t.Errorf("a service's refusal that means replacement: got %v", err)
	}
}

func TestDeleteOfWhatIsGone(t *testing.T) { // (T-848, T-849)
	for _, c := range []struct {
		rule, code, region string
		ok                 bool
	}{
		{"its own code", "NoSuchBox", "eu-west-1", true},
		{"another resource's", "NoSuchRole", "eu-west-1", false},
		{"in the wrong region", "NoSuchBox", "us-east-1", false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := &service{fail: map[string][]error{"delete": {refusedWith(c.code)}}}
			r := driven(t, `{}`, "")
			r.PhysicalID, r.Session.Config.Region = "box-1", c.region
			if _, err := Drive(s.box(), nil).Delete(t.Context(), r); (err == nil) != c.ok {
				t.Errorf("want success %t, got %v", c.ok, err)
			}
		})
	}
	s := &service{}
	if _, err := Drive(s.box(), nil).Delete(t.Context(), driven(t, `{}`, "")); err == nil || len(s.calls) != 0 {
		t.Errorf("without an id nothing is deleted: got %v, %v", err, s.calls)
	}
}

func TestDeleting(t *testing.T) { // (P-22)
	for state, want := range map[string]bool{
		"READY": false, "CREATING": false, "deleted": false, "DELETE_FAILED": false, "running": false,
		"DELETING": true, "Delete in progress": true, "shutting-down": true, "DRAINING": true,
	} {
		s := &service{state: []string{state}}
		box := s.box()
		box.DeleteWait = &Waiter{OK: []string{"deleted"}, Failed: []string{"DELETE_FAILED"}, Read: box.Wait.Read}
		if got, err := Drive(box, nil).Deleting(t.Context(), driven(t, `{}`, "")); got != want || err != nil {
			t.Errorf("%s: got %t, %v", state, got, err)
		}
	}
	s := &service{fail: map[string][]error{"wait": {refusedWith("NoSuchBox"), refusedWith("Denied")}}}
	box := s.box()
	for range 2 { // the first time there is no way to tell
		if got, err := Drive(box, nil).Deleting(t.Context(), driven(t, `{}`, "")); got || err != nil {
			t.Errorf("got %t, %v", got, err)
		}
		if box.DeleteWait == nil {
			box.DeleteWait = box.Wait
		}
	}
	if _, err := Drive(box, nil).Deleting(t.Context(), driven(t, `{}`, "")); err == nil {
		t.Error("a refusal tells nothing")
	}
}

func TestOwnerTagRidesOnTheCreate(t *testing.T) { // (S-213)
	s := &service{}
	res := s.box()
	res.Tags.AtCreate = true
	denied := refusedWith("AccessDenied")
	denied = fmt.Errorf("not authorized to perform box:TagResource: %w", denied)
	var seen []map[string]string
	res.Create = func(_ context.Context, r *Request) (Created, error) {
		seen = append(seen, TagMap(r.Properties.Value("Tags")))
		if len(seen) == 2 {
			return Created{}, denied
		}
		return Created{PhysicalID: "box-1"}, nil
	}
	r := driven(t, `{"Tags":[{"Key":"a","Value":"1"}]}`, "")
	r.OwnerTag = "0123"
	var said []error
	r.Untagged = func(denied error) { said = append(said, denied) }
	for range 2 {
		if _, err := Drive(res, nil).Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	plain, ours := map[string]string{"a": "1"}, map[string]string{"a": "1", OwnerTagKey: "0123"}
	if diff := cmp.Diff([]map[string]string{ours, ours, plain}, seen); diff != "" {
		t.Errorf("with the tag, and once more without where tagging is denied (-want +got):\n%s", diff)
	}
	if len(said) != 1 || !errors.Is(said[0], denied) {
		t.Errorf("said of the one without: %v", said)
	}
	res.Read = func(context.Context, *Request) (*value.Object, error) {
		return object(t, `{"Tags":[{"Key":"cdkd-action:create","Value":"0123"}],"Size":1}`), nil
	}
	if got, err := Drive(res, nil).Read(t.Context(), r); err != nil || value.JSON(got) != `{"Size":1}` {
		t.Errorf("reads leave it out: got %s, %v", value.JSON(got), err)
	}
}

func TestWaitModes(t *testing.T) { // (T-1102, T-1106)
	for _, c := range []struct {
		from, mode WaitMode
		waits      bool
	}{
		{WaitDefault, WaitDefault, true}, {WaitDefault, WaitNone, false}, {WaitDefault, WaitFull, true},
		{WaitFull, WaitDefault, false}, {WaitFull, WaitFull, true}, {WaitNone, WaitNone, true},
	} {
		s := &service{}
		res := s.box()
		res.Wait.From = c.from
		r := driven(t, `{}`, "")
		r.Wait = c.mode
		made, err := Drive(res, nil).Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if waited := slices.Contains(s.calls, "wait"); waited != c.waits || (made.Unsettled == "") != c.waits {
			t.Errorf("wait from %d in mode %d: waited %t, unsettled %q", c.from, c.mode, waited, made.Unsettled)
		}
	}
}

func TestWaiting(t *testing.T) {
	for _, c := range []struct {
		rule  string
		state []string
		drain time.Duration
		want  string
		took  time.Duration
	}{
		{"until it is ready", []string{"A", "B", "READY"}, 0, "", 2500 * time.Millisecond},
		{"until it fails", []string{"A", "BROKEN"}, 0, "wait for box READY: it became BROKEN: detail", time.Second},
		{"until time is up", []string{"A"}, 0, "wait for box READY: still A after 10m0s: detail", 10 * time.Minute},
		{"until the run ends", []string{"A"}, 1200 * time.Millisecond, ErrDraining.Error(), 1200 * time.Millisecond},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{state: c.state}
				r := driven(t, `{}`, "")
				if c.drain > 0 {
					draining := make(chan struct{})
					r.Draining = draining
					time.AfterFunc(c.drain, func() { close(draining) })
				}
				var lines []string
				r.Notice = func(line string) { lines = append(lines, line) }
				start := time.Now()
				_, err := Drive(s.box(), nil).Create(t.Context(), r)
				if want := max(int(c.took/time.Minute)-1, 0); len(lines) != want {
					t.Errorf("want %d lines, one a minute, got %q", want, lines)
				}
				got := ""
				if err != nil {
					got = strings.TrimPrefix(err.Error(), "created as box-1, but: ")
				}
				if got != c.want || time.Since(start) != c.took {
					t.Errorf("want %q after %s, got %q after %s", c.want, c.took, got, time.Since(start))
				}
			})
		})
	}
}

func policies() Policies {
	return Policies{Create: retry.ForCreate(retry.Classifier{}), Update: retry.ForCreate(retry.Classifier{}), Delete: retry.ForDelete(retry.Classifier{})}
}

func TestRetriedCreateIsResumedNotRepeated(t *testing.T) {
	for _, c := range []struct {
		rule  string
		fail  map[string][]error
		calls []string
		ok    bool
	}{
		{"a satellite that has to wait", map[string][]error{"putPolicy": {refusedWith("Throttling"), refusedWith("Throttling")}},
			[]string{"create shop-thing", "putPolicy 1", "putPolicy 1", "putPolicy 1", "wait", "attributes box-1"}, true},
		{"a create that has to wait", map[string][]error{"create": {refusedWith("Throttling")}},
			[]string{"create shop-thing", "create shop-thing", "putPolicy 1", "wait", "attributes box-1"}, true},
		{"a create without an answer is looked for (T-805)", map[string][]error{"create": {&statusError{500}}},
			[]string{"create shop-thing", "find", "putPolicy 1", "wait", "attributes box-1"}, true},
		{"so is one that no schedule repeats", map[string][]error{"create": {&statusError{0}}},
			[]string{"create shop-thing", "find", "putPolicy 1", "wait", "attributes box-1"}, true},
		{"a search that fails finds nothing", map[string][]error{"create": {&statusError{500}}, "find": {refusedWith("X")}},
			[]string{"create shop-thing", "find", "create shop-thing", "putPolicy 1", "wait", "attributes box-1"}, true},
		{"a refusal is final", map[string][]error{"create": {refusedWith("Bad")}}, []string{"create shop-thing"}, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{fail: maps.Clone(c.fail)}
				made, err := Retrying(Drive(s.box(), nil), policies()).Create(t.Context(), driven(t, `{"Policy":1}`, ""))
				if (err == nil) != c.ok || c.ok && made.PhysicalID != "box-1" {
					t.Errorf("want ok %t, got %q, %v", c.ok, made.PhysicalID, err)
				}
				if diff := cmp.Diff(c.calls, s.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

type statusError struct{ code int }

func (e *statusError) Error() string       { return fmt.Sprint("status ", e.code) }
func (e *statusError) HTTPStatusCode() int { return e.code }

package engine_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/sandbox/s3"
)

// A schedule lets the requests of several engines take effect one at a time,
// and their answers be heard, in an order that its seed decides. Everything
// runs in one synctest bubble: what comes next is chosen only when nobody has
// anything left to do but to wait, and time passes only when the schedule lets
// it. A seed gives nearly the same run each time: within an engine the runtime
// decides which goroutine goes first, at random where it looks for races. What
// happened is told whole when a run fails.
type schedule struct {
	aws    *sandbox.Sandbox
	random *rand.Rand
	// Called around each effect, and when its answer is about to be heard.
	before, after, heard func(*turn)

	mu      sync.Mutex
	waiting []*turn
	arrived chan struct{} // holds a token when something arrived
	granted int           // turns so far
	moment  int           // after how many turns to do something else
	doThen  func()
	broken  map[string]bool // calls that do not get through
}

// A turn is a request that waits to take effect, and then its answer that
// waits to be heard.
type turn struct {
	who       string // whose request it is
	call      string // "s3:PutObject", "cloudcontrolapi:CreateResource"
	about     string // bucket and key, or type and id
	request   *http.Request
	body      []byte
	answer    *http.Response // nil before the effect
	forbidden string         // why it must not succeed

	came int       // how many turns were granted before
	goes chan bool // false: the connection breaks instead
}

func (t *turn) String() string {
	text := t.who + ": " + t.call + " " + t.about
	if t.answer != nil {
		text += ": " + t.answer.Status
	}
	return text
}

func newSchedule(aws *sandbox.Sandbox, seed uint64) *schedule {
	return &schedule{aws: aws, random: rand.New(rand.NewPCG(seed, 0)), arrived: make(chan struct{}, 1), broken: map[string]bool{}}
}

// A connection is that of one engine to AWS.
type connection struct {
	*schedule
	who string
}

func (c connection) RoundTrip(r *http.Request) (*http.Response, error) {
	t, err := newTurn(c.who, r)
	if err != nil {
		return nil, err
	}
	if err := c.wait(t); err != nil {
		return nil, err
	}
	c.before(t)
	t.ask(c.aws)
	c.after(t)
	if err := c.wait(t); err != nil {
		return nil, err
	}
	c.heard(t)
	return t.answer, nil
}

// unscheduled is a connection of an engine that is alone.
type unscheduled struct{ aws *sandbox.Sandbox }

func (u unscheduled) RoundTrip(r *http.Request) (*http.Response, error) {
	t, err := newTurn("", r)
	if err != nil {
		return nil, err
	}
	t.ask(u.aws)
	return t.answer, nil
}

func newTurn(who string, r *http.Request) (*turn, error) {
	t := &turn{who: who}
	if r.Body != nil {
		var err error
		if t.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	t.request = httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), bytes.NewReader(t.body))
	t.request.Header = r.Header
	t.describe()
	return t, nil
}

func (t *turn) describe() {
	service := "?"
	if scope := strings.Split(t.request.Header.Get("Authorization"), "/"); len(scope) > 3 {
		service = scope[3]
	}
	if service == "s3" {
		a := s3.ParseAddress(t.request)
		t.call, t.about = "s3:"+a.Operation, a.Bucket+"/"+a.Key
		return
	}
	_, action, _ := strings.Cut(t.request.Header.Get("X-Amz-Target"), ".")
	var what struct{ TypeName, Identifier string }
	_ = json.Unmarshal(t.body, &what) // of the other protocols there is one call only
	t.call, t.about = service+":"+action, strings.TrimSpace(what.TypeName+" "+what.Identifier)
}

// ask lets the request take effect.
func (t *turn) ask(aws *sandbox.Sandbox) {
	w := httptest.NewRecorder()
	aws.ServeHTTP(w, t.request)
	t.answer = w.Result()
	t.answer.Request = t.request
}

var errBroken = errors.New("connection reset by peer")

// wait returns when it is the turn's turn, or it will not be.
func (s *schedule) wait(t *turn) error {
	t.goes = make(chan bool, 1)
	s.mu.Lock()
	if s.broken[t.invocation()] {
		s.mu.Unlock()
		return errBroken
	}
	t.came = s.granted
	s.waiting = append(s.waiting, t)
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	select {
	case goes := <-t.goes:
		if !goes {
			return errBroken
		}
		return nil
	case <-t.request.Context().Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting = slices.DeleteFunc(s.waiting, func(o *turn) bool { return o == t })
		return t.request.Context().Err()
	}
}

// at has something else done after so many turns.
func (s *schedule) at(moment int, do func()) { s.moment, s.doThen = moment, do }

// run grants turns until all is done.
func (s *schedule) run(done <-chan struct{}) {
	for {
		synctest.Wait()
		select {
		case <-done:
			return
		default:
		}
		if s.doThen != nil && s.granted >= s.moment {
			s.doThen()
			s.doThen = nil
			continue
		}
		if s.random.IntN(30) == 0 {
			time.Sleep(time.Duration(s.random.IntN(4000)) * time.Millisecond)
			continue // with what has come meanwhile
		}
		if s.grant() {
			continue
		}
		select { // until time has brought something
		case <-s.arrived:
		case <-done:
		}
	}
}

// grant lets one of those that wait have its turn, and tells whether there was
// one.
func (s *schedule) grant() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return false
	}
	// They may have come in any order.
	slices.SortStableFunc(s.waiting, func(a, b *turn) int {
		return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.came, b.came))
	})
	i := s.random.IntN(len(s.waiting))
	t := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.granted++
	t.goes <- true // from here on the count is its engine's to read
	return true
}

// cutOff is what happens to an engine whose network is gone for a while: what it
// asked before has taken effect or not, what it asks meanwhile has not, and it
// hears of neither. A call of those that the SDK sends once more afterwards does
// not get through either: nobody could tell it from one that was on its way for
// all that time.
func (s *schedule) cutOff(who string, d time.Duration) {
	s.breakAll(who)
	time.Sleep(d)
	s.breakAll(who)
}

func (s *schedule) breakAll(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(t *turn) bool {
		if t.who == who {
			s.broken[t.invocation()] = true
			t.goes <- false
		}
		return t.who == who
	})
}

// invocation is the same for a call and its repetitions by the SDK.
func (t *turn) invocation() string { return t.request.Header.Get("Amz-Sdk-Invocation-Id") }

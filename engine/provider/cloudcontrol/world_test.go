package cloudcontrol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
	emulator "github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

const (
	repository = "AWS::ECR::Repository"
	secret     = "AWS::SecretsManager::Secret"
	workgroup  = "AWS::Athena::WorkGroup"
	region     = "eu-west-1"
)

// A world is Cloud Control in the bubble of a test, so that minutes of polling
// take none. It is reached by the SDK's own client.
type world struct {
	*emulator.Server
	session *provider.Session
	start   time.Time

	mu    sync.Mutex
	calls []call
	// fail, when set, may answer a call in the emulator's place: status 0 is the
	// emulator's own answer, -1 no answer at all.
	fail func(action string, nth int) int
	// refuse, when set, is the exception that answers an action.
	refuse map[string]string
	// statuses are answered to the reads of a status, in this order, before the
	// emulator's own.
	statuses []string
}

type call struct {
	action string
	at     time.Duration
	body   *value.Object
}

func newWorld(t *testing.T, delay time.Duration) *world {
	w := &world{Server: emulator.New(emulator.Options{Region: region, Delay: delay}), start: time.Now()}
	w.session = &provider.Session{Config: aws.Config{
		Region: region, HTTPClient: w, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
	}}
	return w
}

// Do implements aws.HTTPClient.
func (w *world) Do(r *http.Request) (*http.Response, error) {
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body, err := value.ParseObject(text)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	nth := 0
	for _, c := range w.calls {
		if c.action == action {
			nth++
		}
	}
	w.calls = append(w.calls, call{action, time.Since(w.start), body})
	fail, exception := w.fail, w.refuse[action]
	event := ""
	if action == "GetResourceRequestStatus" && len(w.statuses) > 0 {
		event, w.statuses = w.statuses[0], w.statuses[1:]
	}
	w.mu.Unlock()
	answer := httptest.NewRecorder()
	if event != "" {
		fmt.Fprintf(answer, `{"ProgressEvent":{%s}}`, event)
		return answer.Result(), nil
	}
	if exception != "" {
		answer.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(answer, `{"__type":%q,"Message":"no"}`, exception)
		return answer.Result(), nil
	}
	if fail != nil {
		if status := fail(action, nth); status < 0 {
			return nil, &timeoutError{}
		} else if status > 0 {
			answer.WriteHeader(status)
			return answer.Result(), nil
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	r.RequestURI = "/"
	w.ServeHTTP(answer, r)
	return answer.Result(), nil
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "dial tcp: cannot assign requested address" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// times are the instants of an action's calls, in seconds.
func (w *world) times(action string) []float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var at []float64
	for _, c := range w.calls {
		if c.action == action {
			at = append(at, c.at.Round(time.Millisecond).Seconds())
		}
	}
	return at
}

func (w *world) bodies(action string) []*value.Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*value.Object
	for _, c := range w.calls {
		if c.action == action {
			all = append(all, c.body)
		}
	}
	return all
}

func (w *world) request(t *testing.T, typeName, props, previous string) *provider.Request {
	t.Helper()
	r := &provider.Request{
		Session: w.session, LogicalID: "Thing", Type: typeName, Properties: object(t, props),
		Stack:  provider.Stack{Name: "Shop", Region: region, AccountID: "123456789012", Partition: "aws"},
		Notice: func(text string) { t.Log("notice: " + text) },
	}
	if previous != "" {
		r.Previous = object(t, previous)
	}
	return r
}

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *world) live(t *testing.T, typeName, id string) string {
	t.Helper()
	text, err := json.Marshal(w.Resource(region, typeName, id))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// bubbleStart is the time at which every bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

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

	"github.com/org/cdkd-action/engine/provider"
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
	reason string // that its state has
	// refusals are the codes and messages with which the first publishes are refused.
	refusals []string
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
	w := &world{t: t, s3: emulator.New(emulator.Options{Region: "eu-west-1"}), start: time.Now(), states: []string{"Active/Successful"}, reason: "why"}
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
		Sending: func(_ context.Context, _ *provider.Request, _ string, s Sent) error {
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
		if err != nil || !isTopic(form.Get("TopicArn")) {
			w.t.Errorf("publish: %s", body)
		}
		if len(w.refusals) > 0 {
			code, message, _ := strings.Cut(w.refusals[0], ": ")
			w.refusals = w.refusals[1:]
			answer.WriteHeader(403)
			fmt.Fprintf(answer, "<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>", code, message)
			break
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
	if w.handle != nil && isTopic(e.Object("ResourceProperties").String("ServiceToken")) {
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
	fmt.Fprintf(answer, `{"State":%q,"StateReason":%q,"LastUpdateStatus":%q,"Description":%q,"Environment":{"Variables":{"KEY":"s3cret"}}}`, s, w.reason, update, w.description)
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

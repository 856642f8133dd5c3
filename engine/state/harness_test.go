package state

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/internal/sandbox/s3"
	"github.com/org/cdkd-action/internal/stateshape"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	account = "123456789012"
	bucket  = "cdkd-state-123456789012"
	shopKey = "cdkd/Shop/eu-west-1/"
)

// A cloud is an S3 that notes its requests and fails them on demand.
type cloud struct {
	*s3.Server

	mu     sync.Mutex
	log    []string // "PutObject cdkd/Shop/eu-west-1/lock.json"
	owners []string // of each request, as the client expects it
	faults []*fault
}

// A fault meets requests of an operation on keys with a suffix.
type fault struct {
	op, suffix string
	skip       int // let so many pass first
	times      int // then do this so often; 0 is always
	do         func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

// newEmptyS3 holds what is written to the state bucket to the shapes that all
// of its readers know (S-2, S-4).
func newEmptyS3(t *testing.T) *s3.Server {
	return s3.New(s3.Options{AccountID: account, Stored: func(p s3.Put) {
		if err := stateshape.Written(p); err != nil && p.Bucket == bucket {
			t.Error(err)
		}
	}})
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{Server: newEmptyS3(t)}
	c.AddBucket(bucket, "eu-west-1", "")
	return c
}

func (c *cloud) on(op, suffix string, skip, times int, do func(http.ResponseWriter, *http.Request, http.Handler)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, &fault{op, suffix, skip, times, do})
}

// answer fails a request without an effect.
func answer(status int, code string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>injected</Message></Error>", code)
		}
	}
}

// lose lets a request have its effect and drops the answer.
func lose(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// drop breaks the connection before a request has an effect.
func drop(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// withoutConditions is a store that does not know conditional writes.
func withoutConditions(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Header.Get("If-Match")+r.Header.Get("If-None-Match") != "" {
		answer(http.StatusNotImplemented, "NotImplemented")(w, r, next)
		return
	}
	next.ServeHTTP(w, r)
}

// first does something before a request has its effect.
func first(f func()) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		f()
		next.ServeHTTP(w, r)
	}
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := s3.ParseAddress(r)
	c.mu.Lock()
	c.log = append(c.log, strings.TrimSpace(a.Operation+" "+a.Key))
	c.owners = append(c.owners, r.Header.Get(ownerHeader))
	var met *fault
	for _, f := range c.faults {
		if f.op != a.Operation || !strings.HasSuffix(a.Key, f.suffix) {
			continue
		}
		if f.skip > 0 {
			f.skip--
			continue
		}
		if f.times < 0 {
			continue
		}
		if f.times > 0 {
			if f.times--; f.times == 0 {
				f.times = -1
			}
		}
		met = f
		break
	}
	c.mu.Unlock()
	if met != nil {
		met.do(w, r, c.Server)
		return
	}
	c.Server.ServeHTTP(w, r)
}

// requests returns and forgets what was asked.
func (c *cloud) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	log := c.log
	c.log, c.owners = nil, nil
	return log
}

func (c *cloud) wantRequests(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, c.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// overHTTP is a configuration that reaches the cloud over a socket.
func (c *cloud) overHTTP(t *testing.T) aws.Config {
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	cfg := awsConfig()
	cfg.BaseEndpoint = &server.URL
	cfg.HTTPClient = server.Client()
	return cfg
}

// inProcess is a configuration whose requests need no socket, on which the
// clock of a synctest bubble would stand still.
func (c *cloud) inProcess() aws.Config {
	cfg := awsConfig()
	cfg.BaseEndpoint = aws.String("http://s3.test")
	cfg.HTTPClient = &http.Client{Transport: direct{c}}
	return cfg
}

func awsConfig() aws.Config {
	return aws.Config{
		Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}, nil
		}),
	}
}

type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	in := r.Clone(context.WithoutCancel(r.Context()))
	in.Body = io.NopCloser(bytes.NewReader(body))
	in.RequestURI = r.URL.RequestURI()
	answered := make(chan *http.Response, 1)
	go func() {
		var resp *http.Response
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			}
			answered <- resp
		}()
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, in)
		resp = w.Result()
		resp.Request = r
	}()
	select {
	case resp := <-answered:
		if resp == nil {
			return nil, errors.New("connection reset by peer")
		}
		return resp, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func open(t *testing.T, cfg aws.Config, edit ...func(*Options)) *Store {
	t.Helper()
	opt := Options{Bucket: bucket, Prefix: DefaultPrefix, Region: "eu-west-1", Account: fixedAccount}
	for _, e := range edit {
		e(&opt)
	}
	s, err := Open(t.Context(), cfg, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fixedAccount(context.Context) (string, error) { return account, nil }

// shop is the stack of most tests, over a socket.
func shop(t *testing.T) (*cloud, *Stack) {
	c := newCloud(t)
	return c, open(t, c.overHTTP(t)).Stack("Shop", "eu-west-1")
}

// bubbleShop is the stack of tests that need time to pass.
func bubbleShop(t *testing.T, edit ...func(*Options)) (*cloud, *Stack) {
	c := newCloud(t)
	return c, open(t, c.inProcess(), edit...).Stack("Shop", "eu-west-1")
}

func versioned(t *testing.T, s *Store) {
	t.Helper()
	_, err := s.client.PutBucketVersioning(t.Context(), &awss3.PutBucketVersioningInput{
		Bucket: &s.bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) body(t *testing.T, key string) string {
	t.Helper()
	o, ok := c.Object(bucket, key)
	if !ok {
		t.Fatalf("there is no object %s", key)
	}
	return string(o.Body)
}

func (c *cloud) has(key string) bool {
	_, ok := c.Object(bucket, key)
	return ok
}

// notes collects warnings.
type notes struct {
	mu   sync.Mutex
	text []string
}

func (n *notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text = append(n.text, text)
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.text...)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func as[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("got error %v (%T), want a %T", err, err, *new(E))
	}
	return e
}

func at(d time.Duration) time.Time { return time.Now().Add(d) }

// Package sandbox is AWS on one address, for the demo and the tests.
//
// One HTTP front takes every call. It knows service and action of each, logs
// it, and can delay it, hold it, refuse it or cut its connection before or
// after the effect: the failures that a deploy has to survive. Behind it,
// whichever emulator answers best:
//
//   - S3, Cloud Control, DescribeType, GetCallerIdentity and Lambda's Invoke
//     are the sandbox's own, because what a deploy leans on there (conditional
//     writes, request tokens, custom resources) no emulator has, and of
//     CloudFormation what takes stacks over and gives them away;
//   - everything else is an upstream's, kumo or moto, in a process of its own
//     that ends with the sandbox.
//
// All S3 traffic goes to the one S3, so that state, assets and the buckets of
// the deployed apps are in one place. Resources made through Cloud Control are
// known to Cloud Control only.
//
// The sandbox runs in the process of a test (Start), or in one of its own
// (Main), which is steered over HTTP below /_sandbox/ and outlives an engine
// that is killed. Nothing here is part of the released binary.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
	"github.com/org/cdkd-action/internal/sandbox/cloudformation"
	"github.com/org/cdkd-action/internal/sandbox/s3"
)

// An Upstream is the emulator behind the sandbox.
type Upstream string

// The upstreams. Kumo is quick and needs nothing installed; Moto covers far
// more and checks references, and needs moto_server.
const (
	Kumo Upstream = "kumo"
	Moto Upstream = "moto"
	None Upstream = "none"
)

// Options say what kind of AWS is wanted. The zero value is good.
type Options struct {
	AccountID string   // "" is 123456789012, which is also moto's
	Region    string   // default region of Env and Config; "" is us-east-1
	Addr      string   // to listen at; "" is a free port on 127.0.0.1
	Upstream  Upstream // "" is Kumo
	// ProgressDelay is how long Cloud Control's operations take.
	ProgressDelay time.Duration
	// Types finds Cloud Control's schemas; nil is schema.Lookup.
	Types func(name string) (*schema.Type, bool)
	// RunCode runs the code of invoked Lambda functions under node or python3.
	// Otherwise only what Handle was given is run.
	RunCode bool
	// Stored is told of what is put into S3; see s3.Options.
	Stored func(s3.Put)
}

// A Sandbox is a running AWS.
type Sandbox struct {
	// URL is the endpoint of all services.
	URL string
	// These let tests look without asking.
	S3             *s3.Server
	CloudControl   *cloudcontrol.Server
	CloudFormation *cloudformation.Server

	account, region string
	began           time.Time
	types           func(string) (*schema.Type, bool)
	stored          func(s3.Put)
	runCode         bool
	progress        time.Duration
	upstream        *upstream // nil when there is none
	kind            Upstream
	server          *http.Server
	served          chan error
	life            context.Context // ends with the sandbox
	end             context.CancelFunc
	closeOnce       sync.Once
	background      sync.WaitGroup // event invocations

	mu         sync.Mutex // guards what follows
	closed     bool
	changed    chan struct{}
	log        []*Request
	open       int // connections of clients
	faults     []*fault
	faultCount int
	latencies  []latency
	handlers   []handler
	functions  map[functionKey]*function
	mirrored   map[string]bool
	denied     []string // actions, in simulations
}

// Start runs a sandbox until Close. The context bounds only the start.
func Start(ctx context.Context, o Options) (*Sandbox, error) {
	if o.AccountID == "" {
		o.AccountID = "123456789012"
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Types == nil {
		o.Types = schema.Lookup
	}
	if o.Upstream == "" {
		o.Upstream = Kumo
	}
	s := &Sandbox{
		S3:      s3.New(s3.Options{AccountID: o.AccountID, Region: o.Region, Stored: o.Stored}),
		began:   time.Now(),
		account: o.AccountID, region: o.Region, types: o.Types, stored: o.Stored, runCode: o.RunCode, progress: o.ProgressDelay, kind: o.Upstream,
		served: make(chan error, 1), changed: make(chan struct{}),
		functions: map[functionKey]*function{}, mirrored: map[string]bool{},
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.CloudControl, s.CloudFormation = s.newCloudControl(), s.newCloudFormation()
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	switch o.Upstream {
	case Kumo:
		s.upstream, err = startKumo(ctx, o.AccountID)
	case Moto:
		s.upstream, err = startMoto(ctx)
	case None:
	default:
		err = fmt.Errorf("unknown upstream %q: use kumo, moto or none", o.Upstream)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the sandbox: %w", err), listener.Close())
	}
	s.URL = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: s, ConnState: s.connection}
	go func() { s.served <- s.server.Serve(listener) }()
	return s, nil
}

// Close ends all that the sandbox started, and waits for it. Calls that are
// held lose their connection. A second Close does nothing.
func (s *Sandbox) Close() error {
	var err error
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.end()
		// Handlers may finish; connections that nobody uses are not waited for.
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		if s.server.Shutdown(ctx) != nil {
			err = s.server.Close()
		}
		if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		s.background.Wait()
		if s.upstream != nil {
			s.upstream.stop()
		}
	})
	return err
}

// spawn runs something beside the calls, until it or the sandbox ends.
func (s *Sandbox) spawn(run func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.background.Go(func() { run(s.life) })
	}
}

// Env is what a process needs in its environment to use the sandbox, and
// nothing else, as its AWS. An AWS_PROFILE has to be removed: an empty one is
// an error to some clients.
func (s *Sandbox) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + s.URL,
		"AWS_ACCESS_KEY_ID=AKIDSANDBOX",
		"AWS_SECRET_ACCESS_KEY=sandbox",
		"AWS_SESSION_TOKEN=",
		"AWS_REGION=" + s.region,
		"AWS_DEFAULT_REGION=" + s.region,
		"AWS_CONFIG_FILE=" + os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true",
		"AWS_PAGER=",
	}
}

// Config is the same for clients in this process. Change Region to be in
// another one.
func (s *Sandbox) Config() aws.Config {
	return aws.Config{
		Region:       s.region,
		BaseEndpoint: &s.URL,
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDSANDBOX", "sandbox", ""),
	}
}

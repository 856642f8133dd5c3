// Package engine deploys CDK apps: it reads a cloud assembly, compares it with
// what is recorded, and creates, updates, replaces and deletes resources until
// the two agree.
//
// One method a command, each returning a typed result. A method returns its
// result also when it returns an error: what was done before the failure is in
// it, and callers must report both.
//
// Rules that hold everywhere inside:
//
//   - Nothing is written before everything that can be refused beforehand has
//     been: the input, the assembly, the template, unsupported types.
//   - The record changes in memory as soon as a resource was provisioned, and
//     every such change is saved at once. A lock is released only after the
//     save of what was done under it was answered.
//   - Region and account are arguments. Nothing is read from or put into the
//     environment of the process.
//   - The package prints nothing. It tells an observer what happens.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/reference"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/synth"
)

// Config is what an Engine works with.
type Config struct {
	// AWS holds the credentials. Its region is that of stacks that name none,
	// and may be "" when all do.
	AWS aws.Config
	// RoleARN is the role that they are of, for journals; "" for none.
	RoleARN string
	// Others are for stacks that are made for other accounts. The state of each is in
	// the default bucket of its account.
	Others []Account

	Bucket state.Wanted // which state bucket; zero: the account's default one
	Prefix string       // first part of the keys in it, usually state.DefaultPrefix

	// CDKStorage leaves assets where the app puts them, in regions too that have
	// asset storage of cdkd's own.
	CDKStorage bool

	// Owner names this process in locks; it is unique.
	Owner string
	// NoOwnerTag makes resources without the tag that proves which create made one.
	NoOwnerTag bool
	// RunsURL, when set, is where this repository's workflow runs are shown:
	// https://github.com/OWNER/REPO/actions/runs.
	RunsURL string
	// Version is this program's, for the event history.
	Version string

	// Environ is the environment of programs that make an asset, before what
	// they have no use for is taken out.
	Environ []string
	// Environment says what else is taken out of it, or not.
	Environment synth.EnvironmentOptions

	// HandlerRetries is how often the handler of a custom resource that was
	// denied something is invoked again: CDKD_CR_AUTHZ_MAX_RETRIES as it stands.
	HandlerRetries string
	// RecycleHandlers makes such a handler's function start anew before.
	RecycleHandlers bool

	AssetPublishes int // at once; 0: 8
	ImageBuilds    int // at once; 0: 4

	// Children, when set, takes what such programs print.
	Children io.Writer

	// Window tells when to stop.
	Window Window
	// Observe, when set, is told what happens. It is called from several
	// goroutines.
	Observe func(Event)
	// Secrets collects the plaintexts that the run meets, for masking.
	Secrets *secret.Set
}

// A Window tells when to stop. See signals.Window, which is one.
type Window interface {
	// Draining closes when nothing new is to be started and waits are to be
	// dropped.
	Draining() <-chan struct{}
	// Interrupted tells whether Draining is closed.
	Interrupted() bool
	// Seal says that no call is in flight any more.
	Seal()
	// Context is for calls whose answer matters, Interruptible for what can be
	// dropped without loss, Cleanup for saves and releases.
	Context(context.Context) (context.Context, context.CancelFunc)
	Interruptible(context.Context) (context.Context, context.CancelFunc)
	Cleanup(time.Duration) (context.Context, context.CancelFunc)
}

// An Engine runs commands for one account, and hands what is of another one to the
// engine of that. It is safe for concurrent use.
type Engine struct {
	config Config
	others map[string]*Engine // by account
	named  string             // the account, where this is one of the others

	account func(context.Context) (string, error)
	open    func(context.Context) (*state.Store, error)
	choice  state.Choice // of the bucket; set by open

	locks *heldLocks // of this run

	warned sync.Map // what was said once, by run and kind

	publishing chan struct{} // a place for each asset that is being published

	mu         sync.Mutex
	deployed   []*deployment // without a baseline
	sessions   map[string]*session
	looking    map[string]chan struct{} // see lookUps
	custodies  map[string]*custody      // by run
	foreigners map[string]*foreign      // by role
}

// A session is one region of the account.
type session struct {
	provider  *provider.Session
	reference *reference.Resolver
}

// New returns an engine. It sends no request.
func New(config Config) *Engine {
	e := &Engine{config: config, sessions: map[string]*session{}, foreigners: map[string]*foreign{}, looking: map[string]chan struct{}{}, custodies: map[string]*custody{},
		locks: &heldLocks{}, others: map[string]*Engine{}}
	e.publishing = make(chan struct{}, cmp.Or(config.AssetPublishes, publishes))
	if e.config.Secrets == nil {
		e.config.Secrets = &secret.Set{}
	}
	e.account = once(e.callerAccount)
	e.open = once(e.openStore)
	for _, a := range config.Others {
		e.others[a.ID] = e.ofAccount(a)
	}
	return e
}

// once asks for a value when it is first needed; those who ask meanwhile wait
// for the same answer. A failure is not kept.
func once[T any](ask func(context.Context) (T, error)) func(context.Context) (T, error) {
	var mu sync.Mutex
	var known bool
	var v T
	return func(ctx context.Context) (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if known {
			return v, nil
		}
		var err error
		v, err = ask(ctx)
		known = err == nil
		return v, err
	}
}

// A CredentialsError says that AWS does not know who is calling.
type CredentialsError struct{ Err error }

func (e *CredentialsError) Error() string {
	return fmt.Sprintf("find out which AWS account the credentials belong to: %v", e.Err)
}

func (e *CredentialsError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *CredentialsError) Remedy() string {
	if host, ok := errors.AsType[*net.DNSError](e.Err); ok {
		return fmt.Sprintf("there is no host %s: check the name of the region, and that the network reaches AWS", host.Name)
	}
	// To find credentials other services may have been asked, which do not answer
	// where there are none.
	if op, ok := errors.AsType[*smithy.OperationError](e.Err); ok && op.ServiceID == sts.ServiceID &&
		!is[*smithy.OperationError](op.Err) && is[*smithyhttp.RequestSendError](op.Err) {
		return "AWS could not be reached: check the network of the machine, and its proxy if it has one; what is recorded is as it was"
	}
	switch (retry.Classifier{}).Of(e.Err) {
	case retry.Throttle, retry.Server:
		return "AWS has a fault of its own, or is asked too much: run the command again in a while; nothing was changed"
	}
	return "give the step credentials before this one, for example with aws-actions/configure-aws-credentials; " +
		"a workflow that assumes a role by OIDC needs the permission id-token: write"
}

func (e *Engine) callerAccount(ctx context.Context) (string, error) {
	out, err := e.callerIdentity(ctx)
	if err != nil {
		return "", &CredentialsError{Err: err}
	}
	return aws.ToString(out.Account), nil
}

// callerIdentity asks who the credentials belong to.
func (e *Engine) callerIdentity(ctx context.Context) (*sts.GetCallerIdentityOutput, error) {
	return sts.NewFromConfig(e.config.AWS, func(o *sts.Options) {
		if o.Region == "" {
			o.Region = "us-east-1" // any region answers
		}
	}).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
}

func (e *Engine) openStore(ctx context.Context) (*state.Store, error) {
	choice, err := state.Resolve(ctx, e.config.AWS, e.config.Bucket, e.account)
	if err != nil {
		return nil, err
	}
	if choice.Notice != "" {
		e.observe(Event{Kind: Warning, Text: choice.Notice})
	}
	store, err := state.Open(ctx, e.config.AWS, state.Options{
		Bucket: choice.Bucket, Prefix: e.config.Prefix, Account: e.account, Draining: e.config.Window.Draining(),
		Warn: func(text string) { e.observe(Event{Kind: Warning, Text: text}) },
	})
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.choice = choice
	e.mu.Unlock()
	// Open makes do without the account; nothing after it does.
	if _, err := e.account(ctx); err != nil {
		return nil, err
	}
	return store, nil
}

// Region is where stacks go that name no region, and where lookups are made
// that name none.
func (e *Engine) Region() string { return e.defaultRegion() }

// StateBucket is the bucket that was chosen for an account, "" for the caller's; it is
// "" before anything was asked of it.
func (e *Engine) StateBucket(account string) string {
	e = e.in(account)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.choice.Bucket
}

// Account is the id of the caller's account; a failure is a *CredentialsError.
func (e *Engine) Account(ctx context.Context) (string, error) { return e.account(ctx) }

// ConfigOf is the configuration of calls in a region.
func (e *Engine) ConfigOf(region string) aws.Config { return e.session(region).provider.Config }

// ConfigIn is the same for an account, if there are credentials for it; else it is
// that of the caller's.
func (e *Engine) ConfigIn(account, region string) aws.Config { return e.in(account).ConfigOf(region) }

// session returns the clients of a region.
func (e *Engine) session(region string) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.sessions[region]; ok {
		return s
	}
	config := e.config.AWS.Copy()
	config.Region = region
	provider.ObserveEffects(&config)
	s := &session{provider: &provider.Session{Config: config}, reference: reference.New(config)}
	s.reference.Warn = func(text string) { e.observe(Event{Kind: Warning, Region: region, Text: text}) }
	e.sessions[region] = s
	return s
}

// explain shows where a fault of our own happened, to who looks closely.
func (e *Engine) explain(err error) {
	if p, ok := errors.AsType[*routine.PanicError](err); ok {
		e.observe(Event{Kind: Detail, Text: fmt.Sprintf("%v\n%s", p, p.Stack)})
	}
}

func (e *Engine) observe(ev Event) {
	if e.config.Observe == nil {
		return
	}
	if ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	ev.Account = e.named
	ev.Text = e.config.Secrets.Mask(ev.Text)
	e.config.Observe(ev)
}

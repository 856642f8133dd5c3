// Package customresource provisions what a stack's own code makes: types
// Custom::* and AWS::CloudFormation::CustomResource.
//
// A request is one event for a Lambda function or an SNS topic, in the form
// that CloudFormation sends, with a URL to which the handler puts its answer:
// an object in the state bucket that is made, signed and read here.
//
// A request that may have reached a handler is never sent again, because
// nobody can know what it did. What is retried is what came before that (a
// role that IAM has not spread yet, a busy function), and a handler that said by itself that it
// was not allowed to do its work.
package customresource

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

// Options are what the provider has to be told.
type Options struct {
	// Responses is where handlers put their answers.
	Responses Responses
	// Sending, when set, is told of each request before it is sent, so that a
	// run that is killed leaves a trace of it. An error keeps it from being sent.
	Sending func(ctx context.Context, r *provider.Request, requestType string, s Sent) error
	// KeepResponses leaves the response objects where they are when they were
	// read. The caller deletes them, with Discard, once what they said is recorded.
	KeepResponses bool
	// Over, when set, is told of a request that no handler can have had.
	Over func(s Sent)
	// AuthzRetries is how often a handler that was denied something is invoked
	// again; see AuthzRetries. The zero value is never.
	AuthzRetries int
	// Recycle makes a denied function start anew before it is invoked again,
	// which changes its description for a while.
	Recycle bool
}

// A Sent is a request that may have reached its handler.
type Sent struct {
	RequestID   string // of the event
	ResponseKey string // of the object
	// AnswerBy is until when an answer can come.
	AnswerBy time.Time
}

// A Provider sends events to the code behind custom resources.
type Provider struct{ Options }

// New returns a provider.
func New(o Options) *Provider { return &Provider{o} }

// DefaultAuthzRetries is how often a denied handler is invoked again when
// nobody says otherwise.
const DefaultAuthzRetries = 2

// AuthzRetries reads the number of re-invocations from the text of a setting:
// 0 to 10, fractions cut off, and the default for anything else.
func AuthzRetries(text string) int {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 10) {
		return DefaultAuthzRetries
	}
	return int(f)
}

// Create sends a Create.
func (p *Provider) Create(ctx context.Context, r *provider.Request) (provider.Created, error) {
	answer, err := p.ask(ctx, r, event{requestType: "Create", properties: r.Properties})
	if err != nil {
		return provider.Created{}, err
	}
	made := provider.Created{PhysicalID: answer.physicalID, Attributes: answer.data, NoEcho: answer.noEcho}
	if made.PhysicalID == "" {
		made.PhysicalID = r.LogicalID
	}
	if r.Made != nil {
		r.Made(made)
	}
	return made, nil
}

// Update sends an Update. A handler that answers with another physical id has
// replaced the resource; deleting the old one is the caller's to do.
func (p *Provider) Update(ctx context.Context, r *provider.Request) (provider.Updated, error) {
	answer, err := p.ask(ctx, r, event{requestType: "Update", physicalID: r.PhysicalID, properties: r.Properties, old: r.Previous})
	if err != nil {
		return provider.Updated{}, err
	}
	out := provider.Updated{PhysicalID: answer.physicalID, Attributes: answer.data, NoEcho: answer.noEcho}
	if out.PhysicalID == "" {
		out.PhysicalID = r.PhysicalID
	}
	return out, nil
}

// Delete sends a Delete. A handler that fails leaves the resource skipped, not
// the deploy failed, as nothing here could mend it.
func (p *Provider) Delete(ctx context.Context, r *provider.Request) (provider.Deleted, error) {
	token, ok := r.Properties.Get("ServiceToken")
	if !ok {
		return provider.Deleted{Skipped: "its record has no ServiceToken to send the delete to"}, nil
	}
	arn, ok := token.(string)
	if !ok || arn == "" {
		return provider.Deleted{}, fmt.Errorf("delete %s (%s): its recorded ServiceToken is %s, not the ARN of a function or topic", r.LogicalID, r.Type, value.Kind(token))
	}
	if !isTopic(arn) && functionGone(ctx, r, arn) {
		notice(r, fmt.Sprintf("%s (%s): its function %s does not exist any more; what it made is NOT deleted, and no longer recorded", r.LogicalID, r.Type, arn))
		return provider.Deleted{}, nil
	}
	_, err := p.ask(ctx, r, event{requestType: "Delete", physicalID: r.PhysicalID, properties: r.Properties})
	var open *OpenError
	var interrupted *retry.InterruptedError
	switch {
	case err == nil:
		return provider.Deleted{}, nil
	case errors.As(err, &open), errors.As(err, &interrupted):
		return provider.Deleted{}, err
	}
	return provider.Deleted{Skipped: cut(err.Error(), 200)}, nil
}

// Read cannot be done: only the handler knows what it made.
func (p *Provider) Read(_ context.Context, r *provider.Request) (*value.Object, error) {
	return nil, fmt.Errorf("%s (%s): %w", r.LogicalID, r.Type, ErrUnreadable)
}

// ErrUnreadable says that custom resources cannot be read.
var ErrUnreadable = errors.New("a custom resource cannot be read")

// Waits before a denied handler is invoked again.
var authzWaits = []time.Duration{5 * time.Second, 10 * time.Second}

// ask sends an event until it was delivered and answered.
func (p *Provider) ask(ctx context.Context, r *provider.Request, e event) (*answer, error) {
	if p.Responses == nil {
		return nil, fmt.Errorf("%s %s (%s): no bucket is configured to which its handler could answer", strings.ToLower(e.requestType), r.LogicalID, r.Type)
	}
	for again := 0; ; again++ {
		a, err := p.deliver(ctx, r, e)
		var failed *FailedError
		if !errors.As(err, &failed) || failed.Denied == "" {
			return a, err
		}
		if again >= p.AuthzRetries {
			failed.Spent = again
			return nil, err
		}
		wait := authzWaits[min(again, len(authzWaits)-1)]
		notice(r, fmt.Sprintf("%s (%s): its handler was denied something (%s); invoking it again in %s", r.LogicalID, r.Type, failed.Denied, wait))
		if err := pause(ctx, r, wait, err); err != nil {
			return nil, err
		}
		if token := e.properties.String("ServiceToken"); p.Recycle && !isTopic(token) {
			defer recycle(ctx, r, token)() // back when the last attempt is over
		}
		if e.requestType == "Create" && failed.PhysicalID != "" {
			// What a failed create made goes first, or the next one meets it.
			undo := event{requestType: "Delete", physicalID: failed.PhysicalID, properties: e.properties}
			if _, undoErr := p.deliver(ctx, r, undo); undoErr != nil {
				return nil, fmt.Errorf("%w; deleting what it made failed too: %w", err, undoErr)
			}
		}
	}
}

// deliver sends one event, again as long as it is not accepted for a role or policy
// that has not spread, or because the function is busy.
func (p *Provider) deliver(ctx context.Context, r *provider.Request, e event) (*answer, error) {
	budget, err := budgetOf(r, e)
	if err != nil {
		return nil, err
	}
	for k := 0; ; k++ {
		a, err := p.once(ctx, r, e, budget)
		var early *undelivered
		if !errors.As(err, &early) || early.again == nil || k >= early.again.Retries {
			return a, err
		}
		if err := pause(ctx, r, early.again.Delay(k), err); err != nil {
			return nil, err
		}
	}
}

// once sends one event under a new request id, and waits for its answer.
func (p *Provider) once(ctx context.Context, r *provider.Request, e event, b budget) (*answer, error) {
	s := Sent{RequestID: uuid.NewString(), AnswerBy: time.Now().Add(b.limit)}
	s.ResponseKey = p.Responses.Key(s.RequestID)
	url, until, err := p.prepare(ctx, r, e, s, b)
	if err != nil {
		if url != "" {
			p.forget(ctx, r, s)
		}
		p.over(s)
		return nil, &undelivered{err: err}
	}
	if until.Before(s.AnswerBy) {
		s.AnswerBy = until
	}
	body := e.body(r, s.RequestID, url)
	token := r.Properties.String("ServiceToken")
	var said *invocation
	if isTopic(token) {
		err = publish(ctx, r, token, body)
	} else {
		said, err = invoke(ctx, r, token, body)
	}
	if early := (*undelivered)(nil); errors.As(err, &early) || errors.As(err, new(*retry.InterruptedError)) {
		p.drop(ctx, r, s)
		return nil, err
	}
	if said != nil {
		b = said.budget(r, b)
	}
	return p.await(ctx, r, e, s, said, b) // also when no answer came to the call: it may have run
}

// prepare makes the response object and its URL, and tells that a request is
// about to be sent, side by side: both are needed before it is. With an error, a
// URL says that the object was made.
func (p *Provider) prepare(ctx context.Context, r *provider.Request, e event, s Sent, b budget) (url string, until time.Time, err error) {
	told := make(chan error, 1)
	go func() {
		told <- routine.Try(func() error {
			if p.Sending == nil {
				return nil
			}
			return p.Sending(ctx, r, e.requestType, s)
		})
	}()
	err = retry.Do(ctx, retry.Policy{}, retry.Task{Name: r.LogicalID, Draining: r.Draining}, func(ctx context.Context) error {
		var err error
		url, until, err = p.Responses.Open(ctx, s.ResponseKey, max(2*time.Hour, b.limit+5*time.Minute))
		return err
	})
	if err := errors.Join(err, <-told); err != nil {
		return url, until, fmt.Errorf("prepare the response of %s (%s): %w", r.LogicalID, r.Type, retry.Terminal(err))
	}
	if time.Until(until) < b.limit {
		notice(r, fmt.Sprintf("%s (%s): the credentials of this run end in %s; an answer of its handler after that is lost", r.LogicalID, r.Type, time.Until(until).Round(time.Second)))
	}
	return url, until, nil
}

// pause waits between attempts; the last one has failed, so an interruption
// leaves nothing open.
func pause(ctx context.Context, r *provider.Request, d time.Duration, last error) error {
	err := provider.Sleep(ctx, r.Draining, d)
	if errors.Is(err, provider.ErrDraining) {
		return &retry.InterruptedError{Last: last}
	}
	return err
}

func isTopic(token string) bool {
	partition, rest, ok := strings.Cut(strings.TrimPrefix(token, "arn:"), ":")
	return ok && strings.HasPrefix(token, "arn:aws") && strings.HasPrefix(partition, "aws") && strings.HasPrefix(rest, "sns:")
}

func notice(r *provider.Request, text string) {
	if r.Notice != nil {
		r.Notice(text)
	}
}

func cut(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return s
}

package customresource

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// A budget is how long to wait for an answer, and how.
type budget struct {
	limit    time.Duration
	declared bool // by ServiceTimeout
	steady   bool // every 2 s, instead of ever more slowly
	// otherwise is what the handler returned, to take when it has put no answer
	// by then.
	otherwise *outcome
}

// An outcome is what came of a request.
type outcome struct {
	answer *answer
	err    error
}

const hour = time.Hour

func budgetOf(r *provider.Request, e event) (budget, error) {
	token, ok := e.properties.Value("ServiceToken").(string)
	if !ok || token == "" {
		return budget{}, fmt.Errorf("%s (%s): ServiceToken must be the ARN of a function or topic, it is %s", r.LogicalID, r.Type, value.Kind(e.properties.Value("ServiceToken")))
	}
	v, ok := e.properties.Get("ServiceTimeout")
	if !ok {
		return budget{limit: hour}, nil
	}
	text, _ := value.Text(v)
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || seconds > 3600 {
		return budget{}, fmt.Errorf("%s (%s): ServiceTimeout must be a whole number of seconds from 1 to 3600", r.LogicalID, r.Type)
	}
	return budget{limit: time.Duration(seconds) * time.Second, declared: true}, nil
}

// await polls the response object until it holds an answer.
func (p *Provider) await(ctx context.Context, r *provider.Request, e event, s Sent, said *invocation, b budget) (*answer, error) {
	start := time.Now()
	end := start.Add(b.limit)
	delay := 2 * time.Second
	var failing time.Time // since when the object cannot be read
	var unusable string   // why what lies there is no answer
	for n := 1; ; n++ {
		body, err := p.Responses.Read(ctx, s.ResponseKey)
		switch {
		case err == nil:
			failing = time.Time{}
			o, why := response(body)
			if o != nil {
				if len(body) > 4096 {
					notice(r, fmt.Sprintf("%s (%s): its handler's answer has %d bytes; CloudFormation takes 4096", r.LogicalID, r.Type, len(body)))
				}
				a, err := read(r, s.RequestID, o)
				return p.settled(ctx, r, e, s, said, a, err)
			}
			if why != unusable {
				unusable = why
				notice(r, fmt.Sprintf("%s (%s): what its handler has put is no answer: %s; still waiting for one", r.LogicalID, r.Type, why))
			}
		case ctx.Err() != nil && b.otherwise == nil:
			return nil, p.open(r, e, s, err)
		case errors.Is(err, ErrNoResponse):
			failing = time.Time{}
		case failing.IsZero():
			failing = time.Now()
		case time.Since(failing) >= time.Minute:
			return p.settled(ctx, r, e, s, said, nil, fmt.Errorf("read the response of %s (%s): %w", r.LogicalID, r.Type, err))
		}
		left := time.Until(end)
		if left <= 0 {
			if b.otherwise != nil {
				return p.settled(ctx, r, e, s, said, b.otherwise.answer, b.otherwise.err)
			}
			return p.settled(ctx, r, e, s, said, nil, &TimeoutError{
				LogicalID: r.LogicalID, Type: r.Type, Request: e.requestType, After: b.limit, Unusable: unusable, Log: said.tail(),
			})
		}
		if n%10 == 0 {
			notice(r, fmt.Sprintf("%s (%s): waiting for its handler's answer for %s", r.LogicalID, r.Type, time.Since(start).Round(time.Second)))
		}
		if err := provider.Sleep(ctx, r.Draining, min(delay, left)); err != nil {
			if b.otherwise == nil {
				return nil, p.open(r, e, s, err)
			}
			end = time.Time{} // a look more, as the handler has ended
		}
		if !b.steady {
			delay = min(delay*3/2, 30*time.Second)
		}
	}
}

// response reads an answer, or says why what lies in its place is none.
func response(body []byte) (o *value.Object, why string) {
	if len(body) > maxResponse {
		return nil, fmt.Sprintf("it has more than %d bytes", maxResponse)
	}
	o, err := value.ParseObject(body)
	if err != nil {
		return nil, "it is not a JSON object"
	}
	if status := o.String("Status"); status != "SUCCESS" && status != "FAILED" {
		return nil, "its Status is neither SUCCESS nor FAILED"
	}
	return o, ""
}

// settled ends a request that has an outcome.
func (p *Provider) settled(ctx context.Context, r *provider.Request, e event, s Sent, said *invocation, a *answer, err error) (*answer, error) {
	if !p.KeepResponses {
		p.forget(ctx, r, s)
	}
	var failed *FailedError
	if errors.As(err, &failed) {
		failed.Request = e.requestType
		failed.Denied, failed.inLog = denied(failed.Reason, said)
		if failed.Denied == "" || failed.inLog {
			failed.Log = said.tail()
		}
	}
	return a, err
}

// drop ends a request that no handler can have had.
func (p *Provider) drop(ctx context.Context, r *provider.Request, s Sent) {
	p.forget(ctx, r, s)
	p.over(s)
}

func (p *Provider) over(s Sent) {
	if p.Over != nil {
		p.Over(s)
	}
}

// Discard deletes the response object of a request whose outcome is recorded.
func (p *Provider) Discard(ctx context.Context, r *provider.Request, s Sent) { p.forget(ctx, r, s) }

// forget deletes the response object: nothing will read it any more.
func (p *Provider) forget(ctx context.Context, r *provider.Request, s Sent) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	if err := p.Responses.Delete(ctx, s.ResponseKey); err != nil {
		notice(r, fmt.Sprintf("%s (%s): its response object could not be deleted: %v", r.LogicalID, r.Type, err))
	}
}

func (p *Provider) open(r *provider.Request, e event, s Sent, err error) error {
	return &OpenError{Sent: s, LogicalID: r.LogicalID, Type: r.Type, Request: e.requestType, Err: err}
}

// Settle waits for the answer to a request of an earlier run. The response
// object is left for the caller to delete, after it has recorded the outcome.
func (p *Provider) Settle(ctx context.Context, r *provider.Request, requestType string, s Sent) (provider.Created, error) {
	delay := 2 * time.Second
	var unusable string
	for {
		body, err := p.Responses.Read(ctx, s.ResponseKey)
		if err != nil && !errors.Is(err, ErrNoResponse) {
			return provider.Created{}, fmt.Errorf("read the response of %s (%s): %w", r.LogicalID, r.Type, err)
		}
		var o *value.Object
		if err == nil {
			o, unusable = response(body)
		}
		if o != nil {
			a, err := read(r, s.RequestID, o)
			if failed := (*FailedError)(nil); errors.As(err, &failed) {
				failed.Request = requestType
			}
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: or(a.physicalID, or(r.PhysicalID, r.LogicalID)), Attributes: a.data, NoEcho: a.noEcho}, nil
		}
		left := time.Until(s.AnswerBy)
		if left <= 0 {
			return provider.Created{}, &TimeoutError{LogicalID: r.LogicalID, Type: r.Type, Request: requestType, Unusable: unusable}
		}
		if err := provider.Sleep(ctx, r.Draining, min(delay, left)); err != nil {
			return provider.Created{}, p.open(r, event{requestType: requestType}, s, err)
		}
		delay = min(delay*3/2, 30*time.Second)
	}
}

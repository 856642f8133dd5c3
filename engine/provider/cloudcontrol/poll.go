package cloudcontrol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/schema"
)

// How long Cloud Control may be out of reach while an operation is followed.
const (
	outageAllowance     = 2 * time.Minute
	protectionAllowance = 10 * time.Second
	// How long a cancelled operation is waited for.
	cancelAllowance = 2 * time.Minute
)

// Waits between status reads: two early ones, as most handlers finish within
// seconds, then half as long again each time up to ten seconds.
var waits = []time.Duration{
	250 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	1500 * time.Millisecond, 2250 * time.Millisecond, 3375 * time.Millisecond,
	5063 * time.Millisecond, 7595 * time.Millisecond, 10 * time.Second,
}

var outageWaits = retry.Schedule{First: 2 * time.Second, Cap: 10 * time.Second}

// A deadline is how long an operation of a slow type may take, in minutes.
type deadline struct{ create, update, delete time.Duration }

const ordinary = 15 * time.Minute

var slow = map[string]deadline{
	"AWS::OpenSearchService::Domain":     {60, 60, 60},
	"AWS::Elasticsearch::Domain":         {60, 60, 60},
	"AWS::Redshift::Cluster":             {60, 15, 60},
	"AWS::ElastiCache::ReplicationGroup": {60, 15, 60},
	"AWS::ElastiCache::CacheCluster":     {60, 15, 60},
	"AWS::RDS::DBInstance":               {60, 15, 60},
	"AWS::RDS::DBCluster":                {60, 15, 60},
	"AWS::EKS::Cluster":                  {30, 15, 30},
}

// Limit returns how long an operation of a type may take.
func Limit(typeName string, op types.Operation) time.Duration {
	d, ok := slow[typeName]
	switch {
	case !ok:
		return ordinary
	case op == types.OperationCreate:
		return d.create * time.Minute
	case op == types.OperationDelete:
		return d.delete * time.Minute
	}
	return d.update * time.Minute
}

// Slow tells whether a type is known to take longer than others.
func Slow(typeName string) bool { return slow[typeName] != deadline{} }

type allowanceKey struct{}

func withAllowance(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, allowanceKey{}, d)
}

// follow polls an accepted operation until it ends.
func (p *Provider) follow(ctx context.Context, r *provider.Request, accepted *types.ProgressEvent, clientToken string) (*types.ProgressEvent, error) {
	if accepted == nil || aws.ToString(accepted.RequestToken) == "" {
		return nil, fmt.Errorf("%s (%s): Cloud Control accepted the operation without a request token", r.LogicalID, r.Type)
	}
	return p.poll(ctx, r, accepted, clientToken, Limit(r.Type, accepted.Operation), closed(r.Draining))
}

// Settle follows an operation that an earlier run had to let go, by its
// request token, until its type's deadline counted from when it was sent, and
// for two minutes at least. It returns the outcome as Create would have: what
// there is now, or a *FailedError. It looks once at least, also when waits are
// to be abandoned.
func (p *Provider) Settle(ctx context.Context, r *provider.Request, requestToken string, op types.Operation, since time.Time) (provider.Created, error) {
	made, err := p.Outcome(ctx, r, requestToken, op, since)
	if failed, ok := errors.AsType[*FailedError](err); ok && op == types.OperationCreate {
		p.sweep(ctx, r, failed)
	}
	return made, err
}

// Outcome is Settle for who may not touch what a failed create left.
func (p *Provider) Outcome(ctx context.Context, r *provider.Request, requestToken string, op types.Operation, since time.Time) (provider.Created, error) {
	limit := max(2*time.Minute, Limit(r.Type, op)-time.Since(since))
	event, err := p.poll(ctx, r, &types.ProgressEvent{
		RequestToken: &requestToken, Operation: op, OperationStatus: types.OperationStatusInProgress, Identifier: optional(r.PhysicalID),
	}, "", limit, false)
	if late, ok := errors.AsType[*TimeoutError](err); ok {
		event, err = p.ended(ctx, r, late)
	}
	if err != nil {
		return provider.Created{}, gone(r, err)
	}
	made := provider.Created{PhysicalID: aws.ToString(event.Identifier)}
	if op == types.OperationUpdate {
		made.PhysicalID = r.PhysicalID // the record's form of it
	}
	if op != types.OperationDelete && made.PhysicalID != "" {
		typ, _ := schema.Lookup(r.Type)
		made.Attributes = p.readAttributes(ctx, r, typ, made.PhysicalID, attributes(typ, model(event), made.PhysicalID, r))
	}
	return made, nil
}

// ended is what came of an operation that was out of time, and cancelled for
// that: it may have ended well after all.
func (p *Provider) ended(ctx context.Context, r *provider.Request, late *TimeoutError) (*types.ProgressEvent, error) {
	event, err := p.poll(ctx, r, &types.ProgressEvent{
		RequestToken: &late.RequestToken, Operation: late.Operation, OperationStatus: types.OperationStatusCancelInProgress, Identifier: optional(late.Identifier),
	}, "", cancelAllowance, false)
	if errors.As(err, new(*TimeoutError)) {
		err = late
	}
	return event, err
}

// Cancel asks that an operation be ended. What becomes of it Settle tells.
func (p *Provider) Cancel(ctx context.Context, r *provider.Request, requestToken string) error {
	_, err := client(r).CancelResourceRequest(ctx, &cloudcontrol.CancelResourceRequestInput{RequestToken: &requestToken})
	if err != nil {
		return fmt.Errorf("cancel what goes on of %s (%s): %w", r.LogicalID, r.Type, err)
	}
	return nil
}

func (p *Provider) poll(ctx context.Context, r *provider.Request, event *types.ProgressEvent, clientToken string, limit time.Duration, ending bool) (*types.ProgressEvent, error) {
	start := time.Now()
	token := event.RequestToken
	out := outage{allowed: outageAllowance}
	if d, ok := ctx.Value(allowanceKey{}).(time.Duration); ok {
		out.allowed = d
	}
	warned := false
	beat := provider.Heartbeat{Of: fmt.Sprintf("%s (%s)", r.LogicalID, r.Type), What: "following its " + verb(event)}
	for n := 0; ; {
		switch event.OperationStatus {
		case types.OperationStatusSuccess:
			return event, nil
		case types.OperationStatusFailed:
			return nil, failure(r, event)
		case types.OperationStatusCancelComplete:
			return nil, &CancelledError{LogicalID: r.LogicalID, Type: r.Type, Identifier: aws.ToString(event.Identifier)}
		case types.OperationStatusPending, types.OperationStatusInProgress, types.OperationStatusCancelInProgress:
		default:
			if !warned {
				warned = true
				notice(r, fmt.Sprintf("%s (%s): Cloud Control reports the status %q, which is not known; waiting", r.LogicalID, r.Type, event.OperationStatus))
			}
		}
		wait := time.Duration(0) // the first status is read at once
		if n > 0 {
			wait = waits[min(n-1, len(waits)-1)]
			if at := event.RetryAfter; at != nil {
				wait = max(wait, time.Until(*at))
			}
		}
		n++
		beat.Tell(r, string(event.OperationStatus))
		if out.failures > 0 {
			wait = outageWaits.Delay(out.failures - 1)
		}
		if left := limit - time.Since(start); left <= 0 {
			return nil, p.cancel(ctx, r, event, limit)
		} else if wait > 0 {
			if err := provider.Sleep(ctx, r.Draining, min(wait, left)); err != nil {
				return nil, p.open(r, event, clientToken, err)
			}
		} else if ending || n > 1 && closed(r.Draining) {
			return nil, p.open(r, event, clientToken, provider.ErrDraining)
		}
		next, err := client(r).GetResourceRequestStatus(ctx, &cloudcontrol.GetResourceRequestStatusInput{RequestToken: token})
		switch {
		case err == nil && next.ProgressEvent == nil:
			return nil, p.open(r, event, clientToken, errors.New("a status was asked for, and the answer has none"))
		case err == nil:
			out.failures = 0
			event = carry(event, next.ProgressEvent)
		case ctx.Err() != nil:
			return nil, p.open(r, event, clientToken, err)
		case provider.HasCode(err, "RequestTokenNotFoundException"):
			return p.byIdentifier(ctx, r, event, err)
		case !out.goesOn(err):
			// Whatever keeps us from asking, such as credentials that have expired,
			// does not end the operation.
			return nil, p.open(r, event, clientToken, fmt.Errorf("follow it: %w", err))
		}
	}
}

// carry keeps of the last status what the next one leaves out. A failure
// speaks for itself: an identifier that it does not name was not made.
func carry(last, next *types.ProgressEvent) *types.ProgressEvent {
	if next.Identifier == nil && next.OperationStatus != types.OperationStatusFailed {
		next.Identifier = last.Identifier
	}
	if next.Operation == "" {
		next.Operation = last.Operation
	}
	if next.RequestToken == nil {
		next.RequestToken = last.RequestToken
	}
	return next
}

// byIdentifier finds out how an operation ended whose token is not known any
// more.
func (p *Provider) byIdentifier(ctx context.Context, r *provider.Request, event *types.ProgressEvent, lost error) (*types.ProgressEvent, error) {
	if aws.ToString(event.Identifier) == "" {
		return nil, retry.Terminal(fmt.Errorf("follow the %s of %s (%s): %w", verb(event), r.LogicalID, r.Type, lost))
	}
	read := *r
	read.PhysicalID = *event.Identifier
	_, err := p.Read(ctx, &read)
	switch deleting := event.Operation == types.OperationDelete; {
	case err == nil && !deleting, deleting && errors.Is(err, provider.ErrNotFound):
		return event, nil
	case err != nil && !errors.Is(err, provider.ErrNotFound):
		lost = errors.Join(lost, err)
	}
	return nil, retry.Terminal(fmt.Errorf("follow the %s of %s (%s): %w", verb(event), r.LogicalID, r.Type, lost))
}

// cancel ends an operation that is out of time.
func (p *Provider) cancel(ctx context.Context, r *provider.Request, event *types.ProgressEvent, limit time.Duration) error {
	late := &TimeoutError{LogicalID: r.LogicalID, Type: r.Type, Operation: event.Operation,
		RequestToken: aws.ToString(event.RequestToken), Identifier: aws.ToString(event.Identifier), After: limit}
	if event.OperationStatus == types.OperationStatusCancelInProgress {
		return late
	}
	if _, err := client(r).CancelResourceRequest(ctx, &cloudcontrol.CancelResourceRequestInput{RequestToken: event.RequestToken}); err != nil {
		notice(r, fmt.Sprintf("%s (%s): its request could not be cancelled either: %v", r.LogicalID, r.Type, err))
	}
	return late
}

func (p *Provider) open(r *provider.Request, event *types.ProgressEvent, clientToken string, err error) error {
	return &OpenError{LogicalID: r.LogicalID, Type: r.Type, Operation: event.Operation,
		RequestToken: aws.ToString(event.RequestToken), ClientToken: clientToken, Identifier: aws.ToString(event.Identifier), Err: err}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// An outage is a time in which the status cannot be read.
type outage struct {
	allowed  time.Duration
	since    time.Time
	failures int
}

// goesOn counts a failed read, and tells whether to try again.
func (o *outage) goesOn(err error) bool {
	_, network := errors.AsType[net.Error](err)
	switch (retry.Classifier{}).Of(err) {
	case retry.Throttle, retry.Server:
		network = true
	}
	if !network && !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if o.failures == 0 {
		o.since = time.Now()
	}
	o.failures++
	return time.Since(o.since) < o.allowed
}

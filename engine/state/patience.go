package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// How long one attempt of a request waits for its answer, after which it is
// sent again on another connection. The bucket's objects are small, and S3
// answers for them in well under a second.
const (
	patience         = 5 * time.Second
	drainingPatience = 1500 * time.Millisecond // from the signal on, at least

	slowest = 256 << 10 // bytes a second that a body may take besides
)

// A patient is a client that waits for an answer only so long. A connection
// that hangs must cost neither a save nor the seconds that a cancelled run has.
type patient struct {
	client   aws.HTTPClient
	draining <-chan struct{} // nil: never
}

// withPatience makes the requests of a configuration time out by themselves.
func withPatience(cfg aws.Config, draining <-chan struct{}) aws.Config {
	client := cfg.HTTPClient
	if client == nil {
		client = awshttp.NewBuildableClient()
	}
	cfg.HTTPClient = patient{client, draining}
	return cfg
}

// An unansweredError says that an attempt was given up. Not being a context's
// error, it has the SDK send the request again.
type unansweredError struct{ after time.Duration }

func (e *unansweredError) Error() string {
	return fmt.Sprintf("no answer within %s", e.after.Round(100*time.Millisecond))
}

// Timeout tells that the request may have had its effect.
func (e *unansweredError) Timeout() bool { return true }

func (p patient) Do(r *http.Request) (*http.Response, error) {
	start := time.Now()
	ctx, cancel := context.WithCancelCause(r.Context())
	answered := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.watch(ctx, max(r.ContentLength, 0), answered, func() { cancel(&unansweredError{time.Since(start)}) })
	}()
	response, err := p.client.Do(r.WithContext(ctx))
	close(answered)
	<-watched
	if err != nil {
		defer cancel(nil)
		if late, ok := errors.AsType[*unansweredError](context.Cause(ctx)); ok && r.Context().Err() == nil {
			return nil, late
		}
		return nil, err
	}
	response.Body = &readOnce{response.Body, func() { cancel(nil) }}
	return response, nil
}

// watch gives up when the time for the answer is over.
func (p patient) watch(ctx context.Context, length int64, answered <-chan struct{}, giveUp func()) {
	sending := time.Duration(length) * time.Second / slowest
	end := time.Now().Add(patience + sending)
	limit := time.NewTimer(time.Until(end))
	defer limit.Stop()
	draining := p.draining
	for {
		select {
		case <-answered:
			return
		case <-ctx.Done():
			return
		case <-draining:
			draining = nil
			limit.Reset(min(time.Until(end), drainingPatience+sending))
		case <-limit.C:
			giveUp()
			return
		}
	}
}

// readOnce ends a request's context with its body.
type readOnce struct {
	io.ReadCloser
	done func()
}

func (b *readOnce) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

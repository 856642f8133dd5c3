package asset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/org/cdkd-action/engine/secret"
)

// A Publisher puts assets where they have to be. Publish may be called at once
// for any number of assets; how many is up to the caller. A Publisher that has
// published images must be closed.
type Publisher struct {
	// AccountID is the caller's account. A bucket that bears it in its name must
	// belong to it: such names can be guessed, and taken by somebody else.
	AccountID string
	// Client gives the client of a region.
	Client func(region string) *s3.Client
	// Repositories gives the client of a region for images.
	Repositories func(region string) *ecr.Client
	// Env is the environment of commands that make an asset, and of the
	// container builder; nil: our own.
	Env []string
	// Log takes what the container builder prints, whole lines; nil drops it.
	Log io.Writer
	// Builds is how many images are built at once; 0 is 4.
	Builds int
	// Secrets is told the passwords of registries; it may be nil.
	Secrets *secret.Set

	mu     sync.Mutex
	runs   map[string]*run // by URL, image and registry
	slots  chan struct{}   // of builds
	config string          // folder of our logins, "" for none yet
	logins map[string]bool // by registry

	logging sync.Mutex
}

// A run is something that is done once. Whoever wants the same meanwhile waits
// for it.
type run struct {
	done      chan struct{}
	err       error
	abandoned bool // because the context of who did it ended
}

// once does what a key stands for, once; only after a failure it is done
// again. Nobody waits longer than his own context lasts, nor fails because
// another's did not.
func (p *Publisher) once(ctx context.Context, key string, do func() error) error {
	for {
		p.mu.Lock()
		r, ok := p.runs[key]
		if !ok {
			if p.runs == nil {
				p.runs = map[string]*run{}
			}
			r = &run{done: make(chan struct{})}
			p.runs[key] = r
		}
		p.mu.Unlock()
		if !ok {
			if r.err = do(); r.err != nil {
				r.abandoned = ctx.Err() != nil
				p.mu.Lock()
				delete(p.runs, key)
				p.mu.Unlock()
			}
			close(r.done)
			return r.err
		}
		select {
		case <-r.done:
			if r.abandoned && ctx.Err() == nil {
				continue
			}
			return r.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *Publisher) env() []string {
	if p.Env == nil {
		return os.Environ()
	}
	return p.Env
}

// Publish makes sure that the asset is at its destination. A second call for
// the same destination waits for the first and shares what came of it; only
// after a failure it is tried again.
func (p *Publisher) Publish(ctx context.Context, a Asset) error {
	return p.once(ctx, a.URL(), func() error {
		if err := a.publish(ctx, p); err != nil {
			return fmt.Errorf("publish %s to %s: %w", a, a.URL(), err)
		}
		return nil
	})
}

func (f *File) publish(ctx context.Context, p *Publisher) error {
	client, owner := p.Client(f.Region), p.owner(f)
	_, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &f.Bucket, Key: &f.Key, ExpectedBucketOwner: owner})
	if err == nil {
		return nil
	}
	if status(err) != http.StatusNotFound {
		return explain(err, f, "look")
	}
	body, err := p.open(ctx, f)
	if err != nil {
		return err
	}
	defer body.close()
	_, err = client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &f.Bucket, Key: &f.Key, ExpectedBucketOwner: owner,
		Body: body, ContentLength: &body.size,
	})
	if err != nil {
		return explain(err, f, "upload")
	}
	return nil
}

// owner is the account that a file's bucket is expected to belong to, nil when
// its name does not say.
func (p *Publisher) owner(f *File) *string {
	if p.AccountID != "" && (f.Owned || slices.Contains(strings.Split(f.Bucket, "-"), p.AccountID)) {
		return aws.String(p.AccountID)
	}
	return nil
}

// A BucketError says why a bucket cannot be used.
type BucketError struct {
	Bucket, Region string
	Reason         string // what is wrong, and what to do
	Err            error
}

func (e *BucketError) Error() string {
	return fmt.Sprintf("bucket %s in %s %s: %v", e.Bucket, e.Region, e.Reason, e.Err)
}

func (e *BucketError) Unwrap() error { return e.Err }

func explain(err error, f *File, tried string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	refused := func(reason string) error {
		return &BucketError{Bucket: f.Bucket, Region: f.Region, Reason: reason, Err: err}
	}
	var api smithy.APIError
	code := ""
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	switch {
	case code == "NoSuchBucket":
		return refused("does not exist; bootstrap the account in this region, or correct the name in the app's synthesizer")
	case status(err) == http.StatusMovedPermanently, code == "PermanentRedirect":
		return refused("is in another region; an asset bucket has to be in the stack's region")
	case status(err) == http.StatusForbidden:
		return refused("refuses access; the credentials need s3:GetObject, s3:ListBucket and s3:PutObject there, and the bucket must belong to the account that its name says")
	}
	return fmt.Errorf("%s at bucket %s, key %s: %w", tried, f.Bucket, f.Key, err)
}

func status(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

package customresource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/org/cdkd-action/engine/provider"
)

// Responses is where handlers put their answers.
type Responses interface {
	// Key is the name of a request's response object. It cannot be guessed
	// without the request's id.
	Key(requestID string) string
	// Open makes an empty object and a URL to put the answer to, valid for the
	// lifetime given or until the credentials end, whichever comes first.
	Open(ctx context.Context, key string, lifetime time.Duration) (url string, until time.Time, err error)
	// Read returns the object, or ErrNoResponse while it is empty or missing.
	Read(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
}

// ErrNoResponse says that a handler has not answered yet.
var ErrNoResponse = errors.New("no response yet")

// A Bucket keeps responses in an S3 bucket, outside the prefix of the state.
type Bucket struct {
	Client *s3.Client // of the bucket's own region
	Name   string
}

var _ Responses = Bucket{}

// Key implements Responses.
func (b Bucket) Key(requestID string) string {
	return "custom-resource-responses/" + requestID + ".json"
}

// maxResponse is the longest response that is read; CloudFormation takes 4096 bytes.
const maxResponse = 1 << 20

// maxLifetime is the longest that a signature of S3 is valid.
const maxLifetime = 7 * 24 * time.Hour

// Open implements Responses.
func (b Bucket) Open(ctx context.Context, key string, lifetime time.Duration) (string, time.Time, error) {
	lifetime = min(lifetime, maxLifetime)
	if _, err := b.Client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.Name, Key: &key}); err != nil {
		return "", time.Time{}, fmt.Errorf("put response object in bucket %s: %w", b.Name, err)
	}
	// A checksum would be that of the empty object, and signed into the URL.
	signer := s3.NewPresignClient(b.Client, s3.WithPresignClientFromClientOptions(func(o *s3.Options) {
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	}))
	signed, err := signer.PresignPutObject(ctx, &s3.PutObjectInput{Bucket: &b.Name, Key: &key}, s3.WithPresignExpires(lifetime))
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign response URL in bucket %s: %w", b.Name, err)
	}
	until := time.Now().Add(lifetime)
	if c, err := b.Client.Options().Credentials.Retrieve(ctx); err == nil && c.CanExpire && c.Expires.Before(until) {
		until = c.Expires
	}
	return signed.URL, until, nil
}

// Read implements Responses.
func (b Bucket) Read(ctx context.Context, key string) ([]byte, error) {
	out, err := b.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
	switch {
	case provider.HasCode(err, "NoSuchKey"):
		return nil, ErrNoResponse
	case err != nil:
		return nil, err
	}
	defer out.Body.Close()
	body, err := io.ReadAll(io.LimitReader(out.Body, maxResponse+1))
	if err == nil && len(body) == 0 {
		err = ErrNoResponse
	}
	return body, err
}

// Delete implements Responses.
func (b Bucket) Delete(ctx context.Context, key string) error {
	_, err := b.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(b.Name), Key: &key})
	return err
}

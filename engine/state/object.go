package state

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// An ETag names one version of an object, with the quotes that S3 puts around
// it.
type ETag string

const (
	// Absent stands for no object: a write with it makes a new one.
	Absent ETag = ""
	// Legacy stands for a record read at the key of its oldest version, which
	// the first save moves.
	Legacy ETag = "legacy"

	// unseen stands for an object that nobody looked for: a write with it makes a
	// new one, and never goes over one that is there.
	unseen ETag = "unseen"
)

const (
	typeJSON  = "application/json"
	typeLines = "application/x-ndjson"
)

var (
	errAbsent      = errors.New("there is no such object")
	errUnsupported = errors.New("the endpoint does not implement conditional requests")
	errBusy        = errors.New("another conditional request is under way")
)

// A condition is put on a write.
type condition struct {
	match  ETag
	absent bool
}

var always condition

// when is the condition that the object still is the version e.
func when(e ETag) condition {
	switch e {
	case Absent, unseen:
		return condition{absent: true}
	case Legacy:
		return always
	}
	return condition{match: e}
}

func (s *Store) get(ctx context.Context, key string) ([]byte, ETag, error) {
	body, etag, _, err := s.getUnless(ctx, key, Absent)
	return body, etag, err
}

// getUnless reads the object unless it still is the version known.
func (s *Store) getUnless(ctx context.Context, key string, known ETag) (body []byte, etag ETag, same bool, err error) {
	in := &s3.GetObjectInput{Bucket: &s.bucket, Key: &key}
	if known != Absent {
		in.IfNoneMatch = aws.String(string(known))
	}
	out, err := s.client.GetObject(ctx, in)
	if status(err) == http.StatusNotModified {
		return nil, known, true, nil
	}
	if err != nil {
		return nil, "", false, s.failed("read", key, "s3:GetObject", Absent, err)
	}
	if body, err = readAll(out.Body); err != nil {
		return nil, "", false, s.failed("read", key, "s3:GetObject", Absent, err)
	}
	return body, ETag(aws.ToString(out.ETag)), false, nil
}

func readAll(body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	return io.ReadAll(body)
}

// put sends a write once, apart from what the SDK repeats.
func (s *Store) put(ctx context.Context, key string, body []byte, contentType string, c condition) (ETag, error) {
	in := &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, ContentType: &contentType}
	switch {
	case c.absent:
		in.IfNoneMatch = aws.String("*")
	case c.match != "":
		in.IfMatch = aws.String(string(c.match))
	}
	var etag ETag
	err := unlessBusy(ctx, func() error {
		in.Body = bytes.NewReader(body)
		out, err := s.client.PutObject(ctx, in)
		if err != nil {
			return s.failed("write", key, "s3:PutObject", c.match, err)
		}
		etag = ETag(aws.ToString(out.ETag))
		return nil
	})
	if errors.Is(err, errAbsent) && c.match != "" {
		err = &ConflictError{Key: key, ETag: c.match} // deleted since
	}
	return etag, err
}

// write is put for a body that tells whose it is: refused, it looks whether
// the object is its own, written by a request whose answer was lost. While
// that cannot be told it is no conflict.
func (s *Store) write(ctx context.Context, key string, body []byte, contentType string, c condition) (ETag, error) {
	etag, err := s.put(ctx, key, body, contentType, c)
	if !isConflict(err) {
		return etag, err
	}
	found, etag, readErr := s.get(ctx, key)
	switch {
	case errors.Is(readErr, errAbsent):
		return "", err
	case readErr != nil:
		return "", readErr
	case bytes.Equal(found, body):
		return etag, nil
	}
	return "", err
}

// answerTime is how long the answer to a write is waited for after the run was
// stopped: less than a cancelled run has for what is under way.
const answerTime = 4 * time.Second

// answered returns a context for a write of which must be known whether it had
// its effect: it goes on for a while when ctx ends.
func answered(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(answerTime, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() {
		stop()
		cancel(context.Canceled)
	}
}

// persistTime is how long one write is sent again when it fails in passing.
const persistTime = 20 * time.Second

// persist is write for what must not be lost: it repeats, with the same
// condition, what fails in passing, and insists on a version to go on from.
func (s *Store) persist(ctx context.Context, key string, body []byte, etag ETag) (ETag, error) {
	ctx, cancel := context.WithTimeout(ctx, persistTime)
	defer cancel()
	cond := when(etag)
	wait := 200 * time.Millisecond
	for {
		written, err := s.write(ctx, key, body, typeJSON, cond)
		switch {
		case err == nil && written != Absent:
			return written, nil
		case err == nil:
			return "", &RequestError{s.bucket, key, "write", errors.New("the answer names no version to go on from")}
		case errors.Is(err, errUnsupported) && cond.absent && etag == Absent:
			cond = always // the lock alone guards a first write here
			continue
		case !passing(err):
			return "", err
		}
		if pause(ctx, wait+rand.N(wait/2)) != nil {
			return "", err
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// remove deletes the object whatever it is. One that is not there is gone.
func (s *Store) remove(ctx context.Context, key string) error {
	err := s.delete(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	if errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// removeIf deletes the object if it still is the version e. One that is not
// there is errAbsent, also when S3 says that it is another version: a delete
// whose answer was lost is sent again, and then meets what it did itself.
func (s *Store) removeIf(ctx context.Context, key string, e ETag) error {
	if e == Absent {
		return &RequestError{s.bucket, key, "delete", errUnsupported} // no version to name
	}
	err := s.delete(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key, IfMatch: aws.String(string(e))})
	if isConflict(err) {
		if _, _, readErr := s.get(ctx, key); errors.Is(readErr, errAbsent) {
			return readErr
		}
	}
	return err
}

func (s *Store) delete(ctx context.Context, in *s3.DeleteObjectInput) error {
	return unlessBusy(ctx, func() error {
		_, err := s.client.DeleteObject(ctx, in)
		if err != nil {
			return s.failed("delete", *in.Key, "s3:DeleteObject", ETag(aws.ToString(in.IfMatch)), err)
		}
		return nil
	})
}

// list calls each for every key under a prefix, and for every folder when
// delimiter is "/"; each returns false to stop.
func (s *Store) list(ctx context.Context, prefix, delimiter string, each func(key string) bool) error {
	return s.listSizes(ctx, prefix, delimiter, func(key string, _ int64) bool { return each(key) })
}

// listSizes is list with the objects' sizes in bytes, 0 for a folder's.
func (s *Store) listSizes(ctx context.Context, prefix, delimiter string, each func(key string, size int64) bool) error {
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix}
	if delimiter != "" {
		in.Delimiter = &delimiter
	}
	for {
		out, err := s.client.ListObjectsV2(ctx, in)
		if err != nil {
			return s.failed("list", "", "s3:ListBucket", Absent, err)
		}
		for _, o := range out.Contents {
			if !each(aws.ToString(o.Key), aws.ToInt64(o.Size)) {
				return nil
			}
		}
		for _, p := range out.CommonPrefixes {
			if !each(aws.ToString(p.Prefix), 0) {
				return nil
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			return nil
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

// unlessBusy repeats a request that met another conditional one on the same
// object; S3 says so instead of choosing a winner.
func unlessBusy(ctx context.Context, request func() error) error {
	for tries := 0; ; tries++ {
		err := request()
		if !errors.Is(err, errBusy) || tries == 3 {
			return err
		}
		if pauseErr := pause(ctx, 100*time.Millisecond+rand.N(300*time.Millisecond)); pauseErr != nil {
			return pauseErr
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// failed says what a failed request means.
func (s *Store) failed(doing, key, permission string, e ETag, err error) error {
	code := ""
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
	}
	switch st := status(err); {
	case code == "NoSuchBucket", st == http.StatusNotFound && key == "":
		return &NoBucketError{Bucket: s.bucket}
	case code == "PermanentRedirect", code == "AuthorizationHeaderMalformed", st == http.StatusMovedPermanently,
		st == http.StatusBadRequest && bucketRegion(err) != "" && bucketRegion(err) != s.region: // HEAD has no code
		return &RegionError{Bucket: s.bucket, Region: bucketRegion(err), Err: err}
	case code == "NotImplemented", st == http.StatusNotImplemented:
		return &RequestError{s.bucket, key, doing, errors.Join(errUnsupported, err)}
	case code == "ConditionalRequestConflict", st == http.StatusConflict:
		return &RequestError{s.bucket, key, doing, errors.Join(errBusy, err)}
	case st == http.StatusPreconditionFailed:
		return &ConflictError{Key: key, ETag: e}
	case st == http.StatusForbidden:
		return &AccessError{s.bucket, key, permission, err}
	case st == http.StatusNotFound:
		return &RequestError{s.bucket, key, doing, errAbsent}
	}
	return &RequestError{s.bucket, key, doing, err}
}

func status(err error) int {
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return re.HTTPStatusCode()
	}
	return 0
}

func bucketRegion(err error) string {
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok && re.Response != nil {
		return re.Response.Header.Get("x-amz-bucket-region")
	}
	return ""
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isConflict(err error) bool { return is[*ConflictError](err) }

// passing tells whether a failure may be over when the request is sent again:
// no answer, a server's error, throttling, credentials that could not be had.
func passing(err error) bool {
	if is[*AccessError](err) || is[*ConflictError](err) || is[*NoBucketError](err) || is[*RegionError](err) {
		return false
	}
	switch st := status(err); st {
	case 0, http.StatusOK: // no answer, or half of one
		return true
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict:
		return true
	case http.StatusNotImplemented:
		return false
	default:
		return st >= 500
	}
}

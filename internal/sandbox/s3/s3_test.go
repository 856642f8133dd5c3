package s3_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/org/cdkd-action/internal/sandbox/s3"
)

type world struct {
	*s3.Server
	url string
}

func start(t *testing.T) world {
	t.Helper()
	s := s3.New(s3.Options{})
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return world{s, srv.URL}
}

func (w world) client(region string) *awss3.Client {
	return awss3.New(awss3.Options{
		BaseEndpoint: &w.url, Region: region, UsePathStyle: true,
		Credentials:      credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
		RetryMaxAttempts: 1,
	})
}

// outcome is an error as "status code", or "ok".
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	status := 0
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = r.HTTPStatusCode()
	}
	code := "?"
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		code = e.ErrorCode()
	}
	return fmt.Sprintf("%d %s", status, code)
}

func want(t *testing.T, what string, err error, expected string) {
	t.Helper()
	if got := outcome(err); got != expected {
		t.Errorf("%s: got %s (%v), want %s", what, got, err, expected)
	}
}

func put(t *testing.T, c *awss3.Client, key, body string) *awss3.PutObjectOutput {
	t.Helper()
	out, err := c.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String("b-1"), Key: &key, Body: strings.NewReader(body)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func get(t *testing.T, c *awss3.Client, key string, edit ...func(*awss3.GetObjectInput)) (string, error) {
	t.Helper()
	in := &awss3.GetObjectInput{Bucket: aws.String("b-1"), Key: &key}
	for _, f := range edit {
		f(in)
	}
	out, err := c.GetObject(t.Context(), in)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(out.Body)
	return string(body), err
}

func TestConditions(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	ctx := t.Context()
	bucket := aws.String("b-1")
	tag := put(t, c, "k", "one").ETag

	putIf := func(key string, match, noneMatch *string) error {
		_, err := c.PutObject(ctx, &awss3.PutObjectInput{Bucket: bucket, Key: &key, Body: strings.NewReader("two"), IfMatch: match, IfNoneMatch: noneMatch})
		return err
	}
	deleteIf := func(key string, match string) error {
		_, err := c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: bucket, Key: &key, IfMatch: &match})
		return err
	}
	old := `"00000000000000000000000000000000"`

	want(t, "put If-None-Match on an existing key", putIf("k", nil, aws.String("*")), "412 PreconditionFailed")
	want(t, "put If-None-Match on a new key", putIf("new", nil, aws.String("*")), "ok")
	want(t, "put If-Match with an old tag", putIf("k", &old, nil), "412 PreconditionFailed")
	want(t, "put If-Match on nothing", putIf("none", &old, nil), "404 NoSuchKey")
	want(t, "put If-Match with the tag", putIf("k", tag, nil), "ok")
	want(t, "delete If-Match with an old tag", deleteIf("k", *tag), "412 PreconditionFailed")
	if body, err := get(t, c, "k"); body != "two" || err != nil {
		t.Errorf("a refused delete changed the object: %q, %v", body, err)
	}
	want(t, "delete If-Match on nothing", deleteIf("none", *tag), "404 NoSuchKey")
	o, _ := w.Object("b-1", "k")
	want(t, "delete If-Match with the tag", deleteIf("k", o.ETag), "ok")

	tag = put(t, c, "k", "three").ETag
	_, err := get(t, c, "k", func(in *awss3.GetObjectInput) { in.IfNoneMatch = tag })
	if got := outcome(err); !strings.HasPrefix(got, "304") {
		t.Errorf("get If-None-Match with the tag: got %s, want 304", got)
	}
	_, err = get(t, c, "k", func(in *awss3.GetObjectInput) { in.IfMatch = &old })
	want(t, "get If-Match with an old tag", err, "412 PreconditionFailed")
	part, err := get(t, c, "k", func(in *awss3.GetObjectInput) { in.Range = aws.String("bytes=1-2") })
	if part != "hr" || err != nil {
		t.Errorf("range: got %q, %v", part, err)
	}
	_, err = get(t, c, "k", func(in *awss3.GetObjectInput) { in.Range = aws.String("bytes=9-") })
	want(t, "range behind the end", err, "416 InvalidRange")
}

// Of many writers of one new key exactly one wins (S-89).
func TestRacingCreates(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	results := make([]string, 16)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			_, err := c.PutObject(t.Context(), &awss3.PutObjectInput{
				Bucket: aws.String("b-1"), Key: aws.String("lock.json"), IfNoneMatch: aws.String("*"),
				Body: strings.NewReader(fmt.Sprint(i)),
			})
			results[i] = outcome(err)
		})
	}
	wg.Wait()
	won := ""
	for i, r := range results {
		switch {
		case r == "ok" && won == "":
			won = fmt.Sprint(i)
		case r != "412 PreconditionFailed":
			t.Errorf("writer %d: %s", i, r)
		}
	}
	if o, ok := w.Object("b-1", "lock.json"); !ok || string(o.Body) != won {
		t.Errorf("writer %q won, the object holds %q", won, o.Body)
	}
}

func TestRegions(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	here, there := w.client("eu-west-1"), w.client("us-east-1")
	bucket := aws.String("b-1")
	in := func(constraint string) *awss3.CreateBucketInput {
		i := &awss3.CreateBucketInput{Bucket: bucket}
		if constraint != "" {
			i.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(constraint)}
		}
		return i
	}
	_, err := here.CreateBucket(ctx, in(""))
	want(t, "create without constraint away from us-east-1", err, "400 IllegalLocationConstraintException")
	_, err = here.CreateBucket(ctx, in("eu-west-1"))
	want(t, "create", err, "ok")
	_, err = here.CreateBucket(ctx, in("eu-west-1"))
	want(t, "create again", err, "409 BucketAlreadyOwnedByYou")
	_, err = there.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String("b-2")})
	want(t, "create in us-east-1", err, "ok")
	_, err = there.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String("b-2")})
	want(t, "create again in us-east-1", err, "ok")

	for name, region := range map[string]string{"b-1": "eu-west-1", "b-2": ""} {
		loc, err := there.GetBucketLocation(ctx, &awss3.GetBucketLocationInput{Bucket: &name})
		if err != nil || string(loc.LocationConstraint) != region {
			t.Errorf("location of %s: %v, %v", name, loc, err)
		}
	}

	// A HEAD in the wrong region is a 301 with an empty body (S-15).
	_, err = there.HeadBucket(ctx, &awss3.HeadBucketInput{Bucket: bucket})
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || r.HTTPStatusCode() != http.StatusMovedPermanently || r.Response.Header.Get("x-amz-bucket-region") != "eu-west-1" {
		t.Errorf("head in the wrong region: %v", err)
	}
	_, err = there.GetObject(ctx, &awss3.GetObjectInput{Bucket: bucket, Key: aws.String("k")})
	want(t, "get in the wrong region", err, "301 PermanentRedirect")
	_, err = here.HeadBucket(ctx, &awss3.HeadBucketInput{Bucket: bucket})
	want(t, "head at home", err, "ok")
	_, err = here.HeadBucket(ctx, &awss3.HeadBucketInput{Bucket: aws.String("b-3")})
	want(t, "head of nothing", err, "404 NotFound")
}

func TestOwners(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	w.AddBucket("foreign", "us-east-1", "210987654321")
	c := w.client("us-east-1")
	put(t, c, "k", "x")

	_, err := get(t, c, "k", func(in *awss3.GetObjectInput) { in.ExpectedBucketOwner = aws.String("123456789012") })
	want(t, "the expected owner (S-17)", err, "ok")
	_, err = get(t, c, "k", func(in *awss3.GetObjectInput) { in.ExpectedBucketOwner = aws.String("210987654321") })
	want(t, "another expected owner (S-17)", err, "403 AccessDenied")
	_, err = c.HeadBucket(t.Context(), &awss3.HeadBucketInput{Bucket: aws.String("foreign")})
	want(t, "another account's bucket", err, "403 Forbidden")
	_, err = c.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String("foreign")})
	want(t, "another account's name", err, "409 BucketAlreadyExists")
	_, err = c.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String("Not_A_Name")})
	want(t, "a bad name", err, "400 InvalidBucketName")

	res, err := http.Get(w.url + "/b-1/k")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("unsigned request: %s", res.Status)
	}
}

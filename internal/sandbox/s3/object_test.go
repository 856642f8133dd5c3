package s3_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/internal/sandbox/s3"
)

func TestVersions(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	ctx := t.Context()
	bucket, key := aws.String("b-1"), aws.String("a/state.json")

	put(t, c, *key, "before versioning")
	_, err := c.PutBucketVersioning(ctx, &awss3.PutBucketVersioningInput{Bucket: bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled}})
	want(t, "enable versioning", err, "ok")
	second := put(t, c, *key, "second").VersionId
	deleted, err := c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: bucket, Key: key})
	if err != nil || !aws.ToBool(deleted.DeleteMarker) || deleted.VersionId == nil {
		t.Fatalf("delete: %+v, %v", deleted, err)
	}
	_, err = c.PutObject(ctx, &awss3.PutObjectInput{Bucket: bucket, Key: key, IfMatch: second, Body: strings.NewReader("x")})
	want(t, "put If-Match over a delete marker", err, "404 NoSuchKey")
	_, err = c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: bucket, Key: key, IfMatch: aws.String("*")})
	want(t, "delete If-Match over a delete marker", err, "412 PreconditionFailed")
	_, err = get(t, c, *key)
	want(t, "get of a deleted key", err, "404 NoSuchKey")
	_, err = get(t, c, *key, func(in *awss3.GetObjectInput) { in.VersionId = deleted.VersionId })
	want(t, "get of a marker", err, "405 MethodNotAllowed")
	if body, err := get(t, c, *key, func(in *awss3.GetObjectInput) { in.VersionId = second }); body != "second" {
		t.Errorf("get by version: %q, %v", body, err)
	}
	if _, err := c.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: bucket}); outcome(err) != "409 BucketNotEmpty" {
		t.Errorf("delete of a bucket with old versions: %v", err)
	}
	_, err = c.PutObject(ctx, &awss3.PutObjectInput{Bucket: bucket, Key: key, IfNoneMatch: aws.String("*"), Body: strings.NewReader("third")})
	want(t, "If-None-Match over a delete marker", err, "ok")

	var seen []string
	pages := awss3.NewListObjectVersionsPaginator(c, &awss3.ListObjectVersionsInput{Bucket: bucket, MaxKeys: aws.Int32(1)})
	n := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, v := range page.Versions {
			o, _ := w.Version("b-1", *v.Key, *v.VersionId)
			seen = append(seen, fmt.Sprintf("%s latest=%t", o.Body, *v.IsLatest))
		}
		for _, m := range page.DeleteMarkers {
			seen = append(seen, fmt.Sprintf("marker latest=%t", *m.IsLatest))
		}
	}
	order := []string{"third latest=true", "marker latest=false", "second latest=false", "before versioning latest=false"}
	if diff := cmp.Diff(order, seen); diff != "" || n != 4 {
		t.Errorf("versions, newest first, on %d pages (-want +got):\n%s", n, diff)
	}

	var ids []types.ObjectIdentifier
	for _, v := range w.Versions("b-1", *key) {
		ids = append(ids, types.ObjectIdentifier{Key: key, VersionId: aws.String(v.VersionID)})
	}
	_, err = c.DeleteObjects(ctx, &awss3.DeleteObjectsInput{Bucket: bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
	want(t, "delete all versions", err, "ok")
	_, err = c.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: bucket})
	want(t, "delete of the empty bucket", err, "ok")
}

func TestListing(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	for _, key := range []string{"p/a/1", "p/a/2", "p/b", "p/c d/1", "p/z", "q"} {
		put(t, c, key, key)
	}
	for _, tc := range []struct {
		name, delimiter string
		size            int32
		want            []string
	}{
		{"everything under a prefix, page by page (S-21)", "", 2, []string{"p/a/1", "p/a/2", "p/b", "p/c d/1", "p/z"}},
		{"folded at a delimiter, page by page", "/", 1, []string{"p/a/…", "p/b", "p/c d/…", "p/z"}},
		{"folded at a delimiter, on one page", "/", 1000, []string{"p/b", "p/z", "p/a/…", "p/c d/…"}},
	} {
		for _, encoding := range []types.EncodingType{"", types.EncodingTypeUrl} {
			t.Run(tc.name+" "+string(encoding), func(t *testing.T) {
				in := &awss3.ListObjectsV2Input{Bucket: aws.String("b-1"), Prefix: aws.String("p/"), MaxKeys: &tc.size, EncodingType: encoding}
				if tc.delimiter != "" {
					in.Delimiter = &tc.delimiter
				}
				decode := func(s string) string { return s }
				if encoding != "" {
					decode = func(s string) string { return strings.ReplaceAll(s, "+", " ") }
				}
				var got []string
				pages := awss3.NewListObjectsV2Paginator(c, in)
				for pages.HasMorePages() {
					page, err := pages.NextPage(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if n := len(page.Contents) + len(page.CommonPrefixes); n > int(tc.size) || int(*page.KeyCount) != n {
						t.Errorf("a page of %d has %d rows, KeyCount %d", tc.size, n, *page.KeyCount)
					}
					for _, o := range page.Contents {
						got = append(got, decode(*o.Key))
					}
					for _, p := range page.CommonPrefixes {
						got = append(got, decode(*p.Prefix)+"…")
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestPresigned(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "eu-west-1", "")
	presign := awss3.NewPresignClient(w.client("eu-west-1"))
	send := func(method, url, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	put, err := presign.PresignPutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String("b-1"), Key: aws.String("answers/1 ü.json")})
	if err != nil {
		t.Fatal(err)
	}
	if status, text := send(http.MethodPut, put.URL, `{"Status":"SUCCESS"}`); status != 200 {
		t.Fatalf("presigned put: %d %s", status, text)
	}
	got, err := presign.PresignGetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String("b-1"), Key: aws.String("answers/1 ü.json")})
	if err != nil {
		t.Fatal(err)
	}
	if status, text := send(http.MethodGet, got.URL, ""); status != 200 || text != `{"Status":"SUCCESS"}` {
		t.Errorf("presigned get: %d %s", status, text)
	}
	stale := strings.Replace(got.URL, "X-Amz-Date=", "X-Amz-Date=20200101T000000Z&X-Amz-Was=", 1)
	if status, text := send(http.MethodGet, stale, ""); status != 403 || !strings.Contains(text, "Request has expired") {
		t.Errorf("expired: %d %s", status, text)
	}
}

// Bodies arrive as they were sent, whichever way the SDK frames them.
func TestBodies(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	big := bytes.Repeat([]byte("0123456789abcdef"), 20<<10)
	for _, algorithm := range []types.ChecksumAlgorithm{"", types.ChecksumAlgorithmCrc32, types.ChecksumAlgorithmCrc32c, types.ChecksumAlgorithmSha256, types.ChecksumAlgorithmCrc64nvme} {
		t.Run("checksum "+string(algorithm), func(t *testing.T) {
			_, err := c.PutObject(t.Context(), &awss3.PutObjectInput{
				Bucket: aws.String("b-1"), Key: aws.String("big"), Body: bytes.NewReader(big), ChecksumAlgorithm: algorithm,
				ContentType: aws.String("application/json"), ContentEncoding: aws.String("gzip"), Metadata: map[string]string{"who": "me"},
			})
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String("b-1"), Key: aws.String("big")})
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(out.Body)
			if err != nil || !bytes.Equal(body, big) {
				t.Errorf("%d bytes came back, %v", len(body), err)
			}
			if *out.ContentType != "application/json" || *out.ContentEncoding != "gzip" || out.Metadata["who"] != "me" {
				t.Errorf("headers: %s, %s, %v", *out.ContentType, *out.ContentEncoding, out.Metadata)
			}
		})
	}
	_, err := c.PutObject(t.Context(), &awss3.PutObjectInput{
		Bucket: aws.String("b-1"), Key: aws.String("bad"), Body: strings.NewReader("x"), ChecksumSHA256: aws.String("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
	})
	want(t, "a wrong checksum", err, "400 BadDigest")
}

func TestMultipart(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	ctx := t.Context()
	bucket, key := aws.String("b-1"), aws.String("big.zip")
	up, err := c.CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	var parts []types.CompletedPart
	for i, body := range []string{strings.Repeat("a", 5<<20), "end"} {
		p, err := c.UploadPart(ctx, &awss3.UploadPartInput{Bucket: bucket, Key: key, UploadId: up.UploadId, PartNumber: aws.Int32(int32(i + 1)), Body: strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, types.CompletedPart{PartNumber: aws.Int32(int32(i + 1)), ETag: p.ETag})
	}
	out, err := c.CompleteMultipartUpload(ctx, &awss3.CompleteMultipartUploadInput{Bucket: bucket, Key: key, UploadId: up.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := w.Object("b-1", *key); len(o.Body) != 5<<20+3 || o.ETag != *out.ETag || !strings.HasSuffix(o.ETag, `-2"`) {
		t.Errorf("%d bytes, ETag %s", len(o.Body), o.ETag)
	}
	_, err = c.UploadPart(ctx, &awss3.UploadPartInput{Bucket: bucket, Key: key, UploadId: up.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("x")})
	want(t, "a part after the end", err, "404 NoSuchUpload")
}

func TestCopy(t *testing.T) {
	w := start(t)
	w.AddBucket("b-1", "us-east-1", "")
	c := w.client("us-east-1")
	w.PutObject("b-1", "from here", []byte("x"))
	_, err := c.CopyObject(t.Context(), &awss3.CopyObjectInput{Bucket: aws.String("b-1"), Key: aws.String("to"), CopySource: aws.String("b-1/from%20here")})
	want(t, "copy", err, "ok")
	if body, err := get(t, c, "to"); body != "x" {
		t.Errorf("copied %q, %v", body, err)
	}
	_, err = c.CopyObject(t.Context(), &awss3.CopyObjectInput{Bucket: aws.String("b-1"), Key: aws.String("to"), CopySource: aws.String("b-1/none")})
	want(t, "copy of nothing", err, "404 NoSuchKey")
}

func TestVirtualHosts(t *testing.T) {
	for host, bucket := range map[string]string{
		"b-1.s3.eu-west-1.amazonaws.com": "b-1",
		"a.b.s3.amazonaws.com":           "a.b",
		"b-1.s3-us-west-2.amazonaws.com": "b-1",
		"b-1.localhost:4566":             "b-1",
		"b-1.s3.localhost":               "b-1",
		"s3.eu-west-1.amazonaws.com":     "",
		"127.0.0.1:4566":                 "",
		"localhost":                      "",
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/b-1/x", nil)
		if bucket == "" {
			bucket = "b-1"
		} else {
			r.URL.Path = "/x"
		}
		a := s3.ParseAddress(r)
		if diff := cmp.Diff(s3.Address{Operation: "GetObject", Bucket: bucket, Key: "x"}, a); diff != "" {
			t.Errorf("%s (-want +got):\n%s", host, diff)
		}
	}
}

// A moved clock shows in what is stored.
func TestClock(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := s3.New(s3.Options{Now: func() time.Time { return at }})
	s.AddBucket("b-1", "us-east-1", "")
	if o := s.PutObject("b-1", "k", nil); !o.Modified.Equal(at) {
		t.Errorf("modified %s, want %s", o.Modified, at)
	}
}

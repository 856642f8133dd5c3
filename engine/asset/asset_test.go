package asset_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/value"
)

// buckets is as much of S3 as publishing uses.
type buckets struct {
	mu       sync.Mutex
	objects  map[string][]byte // by /bucket/key
	requests []string          // method, path and expected owner
	status   map[string]int    // by method: what to answer instead
}

func (b *buckets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Amz-Expected-Bucket-Owner")))
	if code, ok := b.status[r.Method]; ok {
		w.WriteHeader(code)
		if r.Method == http.MethodPut {
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", map[int]string{404: "NoSuchBucket", 403: "AccessDenied"}[code])
		}
		return
	}
	switch r.Method {
	case http.MethodHead:
		if _, ok := b.objects[r.URL.Path]; !ok {
			w.WriteHeader(http.StatusNotFound)
		}
	case http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		b.objects[r.URL.Path] = body
	}
}

func publisher(t *testing.T, b *buckets) *asset.Publisher {
	t.Helper()
	b.objects = map[string][]byte{}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return &asset.Publisher{AccountID: "123456789012", Client: func(region string) *s3.Client {
		return s3.New(s3.Options{
			Region: region, BaseEndpoint: aws.String(server.URL), UsePathStyle: true, Retryer: aws.NopRetryer{},
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "k", SecretAccessKey: "s"}, nil
			}),
		})
	}}
}

var env = asset.Environment{Stack: "S", AccountID: "123456789012", Region: "eu-west-1"}

func manifest(dir string, files ...assembly.FileAsset) *assembly.AssetManifest {
	return &assembly.AssetManifest{File: filepath.Join(dir, "S.assets.json"), Dir: dir, Root: dir, Files: files}
}

func file(path, packaging string) assembly.FileAsset {
	return assembly.FileAsset{ID: "abc", Path: path, Packaging: packaging, Destinations: []assembly.FileDestination{
		{ID: "current", Bucket: "cdk-assets-${AWS::AccountId}-${AWS::Region}", Key: "abc.zip"},
	}}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func one(t *testing.T, m *assembly.AssetManifest) *asset.File {
	t.Helper()
	files, err := asset.Files(m, env)
	if err != nil || len(files) != 1 {
		t.Fatalf("want one file, got %d, %v", len(files), err)
	}
	return files[0]
}

func TestFiles(t *testing.T) {
	m := manifest("/a",
		file("S.template.json", "file"), // T-101
		assembly.FileAsset{ID: "x", Path: "x", Packaging: "zip", Destinations: []assembly.FileDestination{
			{Bucket: "b-${AWS::AccountId}-${AWS::Region}-${AWS::Partition}", Key: "${AWS::Region}/x.zip", Region: "cn-north-1"},
			{Bucket: "b", Key: "x.zip"},
		}},
	)
	files, err := asset.Files(m, env)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Region+" "+f.URL())
	}
	want := []string{"cn-north-1 s3://b-123456789012-cn-north-1-aws-cn/cn-north-1/x.zip", "eu-west-1 s3://b/x.zip"} // T-103, T-104, T-105, T-106
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if files, err := asset.Files(nil, env); files != nil || err != nil {
		t.Errorf("no manifest: %v, %v (T-102)", files, err)
	}
}

func TestNeeded(t *testing.T) {
	files, err := asset.Files(manifest("/a", file("x", "zip")), env)
	if err != nil {
		t.Fatal(err)
	}
	uses := value.NewObject("Code", value.NewObject("S3Key", "abc.zip"))
	if got := asset.Needed(files, uses); len(got) != 1 {
		t.Errorf("want the file that is named, got %v", got)
	}
	if got := asset.Needed(files, value.NewObject("Name", "n")); len(got) != 0 {
		t.Errorf("want none, got %v", got)
	}
}

func TestPublishUploadsWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "asset.abc/index.js", "code")
	b := &buckets{}
	p := publisher(t, b)
	f := one(t, manifest(dir, file("asset.abc", "zip")))
	for range 2 { // the second call finds it done (T-115)
		if err := p.Publish(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	// T-110, T-115
	want := []string{
		"HEAD /cdk-assets-123456789012-eu-west-1/abc.zip 123456789012",
		"PUT /cdk-assets-123456789012-eu-west-1/abc.zip 123456789012",
	}
	if diff := cmp.Diff(want, b.requests); diff != "" {
		t.Error(diff)
	}
	again := &asset.Publisher{AccountID: p.AccountID, Client: p.Client}
	if err := again.Publish(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if len(b.requests) != 3 {
		t.Errorf("what is there was uploaded again: %q", b.requests)
	}
}

func TestPublishSharesOneUpload(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "f.txt", "text")
	b := &buckets{}
	p := publisher(t, b)
	f := one(t, manifest(dir, file("f.txt", "file")))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := p.Publish(t.Context(), f); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(b.requests) != 2 {
		t.Errorf("want one look and one upload (T-115, T-151, T-152), got %q", b.requests)
	}
	if got := string(b.objects["/cdk-assets-123456789012-eu-west-1/abc.zip"]); got != "text" {
		t.Errorf("packaging file is uploaded as it is (T-111), got %q", got)
	}
}

func TestACallThatIsGivenUpDoesNotFailTheOthers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "f.txt", "text")
	b := &buckets{}
	p := publisher(t, b)
	f := one(t, manifest(dir, file("f.txt", "file")))
	ctx, cancel := context.WithCancel(t.Context())
	b.mu.Lock() // the first request gets no answer
	var wg sync.WaitGroup
	first := make(chan error, 1)
	wg.Go(func() { first <- p.Publish(ctx, f) })
	for range 8 {
		wg.Go(func() {
			if err := p.Publish(t.Context(), f); err != nil {
				t.Error(err)
			}
		})
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b.mu.Unlock()
	wg.Wait()
	if len(b.objects) != 1 {
		t.Errorf("%d objects are there", len(b.objects))
	}
}

func TestPublishExplains(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "f.txt", "text")
	for _, c := range []struct {
		name    string
		status  map[string]int
		file    assembly.FileAsset
		want    string
		refused bool // a BucketError
	}{
		{"another region (T-110)", map[string]int{"HEAD": 301}, file("f.txt", "file"), "is in another region", true},
		{"no access (T-110)", map[string]int{"HEAD": 403}, file("f.txt", "file"), "refuses access", true},
		{"no bucket", map[string]int{"PUT": 404}, file("f.txt", "file"), "does not exist; bootstrap", true},
		{"server error (T-110)", map[string]int{"HEAD": 500}, file("f.txt", "file"), "look at bucket cdk-assets-123456789012-eu-west-1, key abc.zip", false},
		{"no source", nil, file("gone", "zip"), "its source " + filepath.Join(dir, "gone") + " is not there", false},
		{"a folder as a file", nil, file(".", "file"), "is a folder", false},
		{"out of the assembly (T-107)", nil, file("../x", "file"), `"../x" leads out of the assembly`, false},
		{"absolute (T-107)", nil, file("/etc/passwd", "file"), "is not a relative path", false},
		{"command that fails (T-114)", nil, assembly.FileAsset{ID: "abc", Packaging: "file", Executable: []string{"sh", "-c", "echo why >&2; exit 3"}, Destinations: file("", "").Destinations}, "run sh: exit status 3:\nwhy", false},
		{"command without output (T-114)", nil, assembly.FileAsset{ID: "abc", Packaging: "file", Executable: []string{"true"}, Destinations: file("", "").Destinations}, "want one line that says what it made", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := publisher(t, &buckets{status: c.status})
			err := p.Publish(t.Context(), one(t, manifest(dir, c.file)))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "asset abc of stack S") {
				t.Fatalf("want an error with %q, got %v", c.want, err)
			}
			var refused *asset.BucketError
			if errors.As(err, &refused) != c.refused {
				t.Errorf("a BucketError: want %v, got %v", c.refused, err)
			}
		})
	}
}

func TestPublishRunsTheCommandThatMakesAnAsset(t *testing.T) { // T-113, T-114
	dir := t.TempDir()
	write(t, dir, "made.txt", "made")
	b := &buckets{}
	p := publisher(t, b)
	a := assembly.FileAsset{ID: "abc", Packaging: "file", Executable: []string{"echo", "made.txt"}, Destinations: file("", "").Destinations}
	if err := p.Publish(t.Context(), one(t, manifest(dir, a))); err != nil {
		t.Fatal(err)
	}
	if got := string(b.objects["/cdk-assets-123456789012-eu-west-1/abc.zip"]); got != "made" {
		t.Errorf("got %q", got)
	}
}

func TestZip(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "src/b.txt", "b")
	write(t, dir, "src/a/deep.txt", "deep")
	write(t, dir, "src/run.sh", "#!/bin/sh")
	write(t, dir, "other/linked.txt", "linked")
	if err := os.Chmod(filepath.Join(dir, "src/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../other", filepath.Join(dir, "src/link")); err != nil {
		t.Fatal(err)
	}
	first, err := asset.Zip(filepath.Join(dir, "src"), dir)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "src/b.txt"), later, later); err != nil {
		t.Fatal(err)
	}
	second, err := asset.Zip(filepath.Join(dir, "src"), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the same content gives other bytes (T-112)")
	}
	r, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.File {
		got = append(got, fmt.Sprintf("%s %v", f.Name, f.Mode()))
	}
	// Sorted, contents at the root, modes kept, links followed (T-111, T-112).
	want := []string{"a/deep.txt -rw-r--r--", "b.txt -rw-r--r--", "link/linked.txt -rw-r--r--", "run.sh -rwxr-xr-x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	single, err := asset.Zip(filepath.Join(dir, "src/b.txt"), dir)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := zip.NewReader(bytes.NewReader(single), int64(len(single))); err != nil || len(r.File) != 1 || r.File[0].Name != "b.txt" {
		t.Errorf("a single file goes under its base name (T-111): %v", err)
	}

	// A link stays in the assembly (T-107), whatever is on the way.
	elsewhere, out := t.TempDir(), filepath.Join(dir, "src/a/out")
	write(t, elsewhere, "secret", "not the app's")
	if err := os.Symlink(elsewhere, filepath.Join(dir, "other/out")); err != nil {
		t.Fatal(err)
	}
	for what, target := range map[string]string{
		"a file": filepath.Join(elsewhere, "secret"), "a folder": "../../..", "a link": "../../other/out", "a file through a link": "../../other/out/secret",
	} {
		if err := os.Symlink(target, out); err != nil {
			t.Fatal(err)
		}
		if _, err := asset.Zip(filepath.Join(dir, "src/a"), dir); err == nil || !strings.Contains(err.Error(), "a/out is a link that leads out of the assembly") {
			t.Errorf("a link to %s outside: want a refusal, got %v", what, err)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "other/out")); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink("..", filepath.Join(dir, "src/a/up")); err != nil {
		t.Fatal(err)
	}
	if _, err := asset.Zip(filepath.Join(dir, "src"), dir); err == nil || !strings.Contains(err.Error(), "a link to a folder that it is in") {
		t.Errorf("want an error for a link in a circle, got %v", err)
	}
}

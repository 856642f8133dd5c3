//go:build unix

package asset_test

import (
	"bytes"
	"encoding/base64"
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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox"
)

// builder is a publisher of images whose docker is the one in testdata, and
// whose repositories have what that has pushed.
type builder struct {
	*asset.Publisher
	state string // folder of the fake docker
	home  string
	dir   string // of the assembly
	log   bytes.Buffer

	mu       sync.Mutex
	requests []string
	status   map[string]string // by action: the error to answer with
}

const registry = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"

func newBuilder(t *testing.T) *builder {
	t.Helper()
	b := &builder{state: t.TempDir(), home: t.TempDir(), dir: t.TempDir(), status: map[string]string{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	docker, err := filepath.Abs("testdata/docker")
	if err != nil {
		t.Fatal(err)
	}
	write(t, b.dir, "web/Dockerfile", "FROM scratch")
	write(t, b.home, ".docker/config.json", `{"currentContext":"remote","credsStore":"desktop"}`)
	b.Publisher = &asset.Publisher{
		AccountID: "123456789012",
		Repositories: func(region string) *ecr.Client {
			return ecr.NewFromConfig(aws.Config{Region: region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKID", "s", ""), RetryMaxAttempts: 1})
		},
		Env:     []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "CDK_DOCKER=" + docker, "FAKE_DOCKER=" + b.state},
		Log:     &b.log,
		Secrets: &secret.Set{},
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *builder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	b.requests = append(b.requests, action)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	failure := b.status[action]
	if action == "DescribeImages" && failure == "" {
		o, err := value.ParseObject(body)
		if err != nil {
			failure = err.Error()
		}
		tag := o.List("imageIds")[0].(*value.Object).String("imageTag")
		if _, err := os.Stat(filepath.Join(b.state, "pushed."+tag)); err != nil {
			failure = "ImageNotFoundException"
		}
	}
	if failure != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q}`, failure)
		return
	}
	if action == "GetAuthorizationToken" {
		fmt.Fprintf(w, `{"authorizationData":[{"authorizationToken":%q,"proxyEndpoint":"https://%s"}]}`, base64.StdEncoding.EncodeToString([]byte("AWS:pass:word")), registry)
		return
	}
	fmt.Fprint(w, `{"imageDetails":[{}]}`)
}

// image is one with a destination for each repository.
func (b *builder) image(t *testing.T, id, source string, repositories ...string) []*asset.Image {
	t.Helper()
	o, err := value.ParseObject([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	a := assembly.ImageAsset{ID: id, DisplayName: "Web", Source: o}
	for _, name := range repositories {
		a.Destinations = append(a.Destinations, assembly.ImageDestination{Repository: name, Tag: id})
	}
	m := manifest(b.dir)
	m.Images = []assembly.ImageAsset{a}
	images, err := asset.Images(m, env)
	if err != nil {
		t.Fatal(err)
	}
	return images
}

func (b *builder) publish(t *testing.T, images ...*asset.Image) {
	t.Helper()
	for _, i := range images {
		if err := b.Publish(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *builder) calls(t *testing.T, want ...string) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(b.state, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.TrimSpace(string(body))); diff != "" {
		t.Errorf("calls of docker (-want +got)\n%s", diff)
	}
}

func TestImages(t *testing.T) {
	m := manifest("/a")
	m.Images = []assembly.ImageAsset{{ID: "x", Source: value.NewObject("directory", "x"), Destinations: []assembly.ImageDestination{
		{Repository: "repo-${AWS::AccountId}-${AWS::Region}", Tag: "x", Region: "cn-north-1"}, {Repository: "r", Tag: "x"},
	}}}
	m.Files = []assembly.FileAsset{file("f", "zip")}
	all, err := asset.All(m, env)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range all {
		got = append(got, a.URL())
	}
	want := []string{ // T-103, T-105, T-106, T-125
		"s3://cdk-assets-123456789012-eu-west-1/abc.zip",
		"123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/repo-123456789012-cn-north-1:x",
		registry + "/r:x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	uses := value.NewObject("ImageUri", registry+"/r:x")
	if needed := asset.Needed(all, uses); len(needed) != 2 {
		t.Errorf("a function needs what it names, got %v", needed)
	}
	m.Images[0].Source = value.NewObject("dockerFile", "f")
	if _, err := asset.All(m, env); err == nil || !strings.Contains(err.Error(), "image x in /a/S.assets.json has neither a directory") { // T-124
		t.Errorf("got %v", err)
	}
	if none, err := asset.All(nil, env); none != nil || err != nil { // T-102
		t.Errorf("got %v, %v", none, err)
	}
}

func TestAnImageIsBuiltAndPushed(t *testing.T) { // T-120, T-123, T-125
	t.Setenv("TMPDIR", t.TempDir())
	b := newBuilder(t)
	first, second := b.image(t, "h1", `{"directory":"web"}`, "one", "two"), b.image(t, "h2", `{"directory":"web"}`, "one")
	b.publish(t, append(first, second...)...)
	b.calls(t,
		"build --tag cdkd-asset-h1 . in web 1",
		"tag cdkd-asset-h1 "+registry+"/one:h1",
		"push "+registry+"/one:h1", // with the step's own logins
		"login --username AWS --password-stdin "+registry,
		"push "+registry+"/one:h1",
		// The other destination's tag is there by now: the fake registry knows
		// tags only.
		"build --tag cdkd-asset-h2 . in web 1",
		"tag cdkd-asset-h2 "+registry+"/one:h2",
		"push "+registry+"/one:h2", // one login a registry (T-126)
	)
	if log := b.log.String(); !strings.Contains(log, "took the password ***") || strings.Contains(log, "pass:word") { // T-126
		t.Errorf("the log has\n%s", log)
	}
	config, err := os.ReadFile(filepath.Join(b.state, "config.json"))
	if err != nil || strings.TrimSpace(string(config)) != `{"currentContext":"remote","auths":{"`+registry+`":{}}}` {
		t.Errorf("docker's configuration was %s, %v", config, err)
	}
	if entries, err := os.ReadDir(filepath.Join(b.home, ".docker")); err != nil || len(entries) != 1 {
		t.Errorf("the step's own logins are touched: %v, %v", entries, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "cdkd-docker-*")); len(left) > 0 {
		t.Errorf("logins are left: %v", left)
	}
}

func TestAnImageThatIsThereIsNotBuilt(t *testing.T) { // T-122
	b := newBuilder(t)
	write(t, b.state, "pushed.h1", "")
	b.publish(t, b.image(t, "h1", `{"directory":"web"}`, "one")...)
	b.calls(t)
	if diff := cmp.Diff([]string{"DescribeImages"}, b.requests); diff != "" {
		t.Error(diff)
	}
}

func TestAnImageIsBuiltOnceForAllItsDestinations(t *testing.T) {
	b := newBuilder(t)
	b.status["DescribeImages"] = "RepositoryNotFoundException" // there is none (T-121)
	images := b.image(t, "h1", `{"directory":"web"}`, "one", "two", "three")
	var wg sync.WaitGroup
	for range 3 {
		for _, i := range images {
			wg.Go(func() {
				if err := b.Publish(t.Context(), i); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	body, err := os.ReadFile(filepath.Join(b.state, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int{"build ": 1, "login ": 1, "tag ": 3} {
		if got := strings.Count("\n"+string(body), "\n"+what); got != want {
			t.Errorf("%d times %s, want %d", got, what, want)
		}
	}
}

func TestEveryOptionOfABuild(t *testing.T) { // T-123
	b := newBuilder(t)
	b.publish(t, b.image(t, "h1", `{"directory":"web","cacheDisabled":true,"cacheTo":{"type":"registry","params":{"ref":"r","mode":"max"}},
		"cacheFrom":[{"type":"gha"},{"type":"registry","params":{"ref":"r"}}],"dockerOutputs":["type=docker"],"platform":"linux/arm64","networkMode":"host",
		"dockerFile":"D","dockerBuildTarget":"t","dockerBuildSsh":"default","dockerBuildSecrets":{"s":"src=f"},"dockerBuildContexts":{"c":"../c"},"dockerBuildArgs":{"A":"1","B":"x y"}}`, "one")...)
	body, err := os.ReadFile(filepath.Join(b.state, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(body), "\n")
	want := "build --tag cdkd-asset-h1 --build-arg A=1 --build-arg B=x y --build-context c=../c --secret id=s,src=f --ssh default --target t --file D --network host " +
		"--platform linux/arm64 --output=type=docker --cache-from type=gha --cache-from type=registry,ref=r --cache-to type=registry,ref=r,mode=max --no-cache . in web 1"
	if first != want {
		t.Errorf("got\n%s\nwant\n%s", first, want)
	}
}

func TestACommandThatMakesAnImage(t *testing.T) { // T-124
	b := newBuilder(t)
	b.publish(t, b.image(t, "h1", `{"executable":["sh","-c","echo made-$(basename $PWD)"],"directory":"web"}`, "one")...)
	body, err := os.ReadFile(filepath.Join(b.state, "calls"))
	if err != nil || !strings.HasPrefix(string(body), "tag made-web cdkd-asset-h1\n") {
		t.Errorf("got %s, %v", body, err)
	}
}

func TestSomebodyElsePushedTheSame(t *testing.T) {
	b := newBuilder(t)
	write(t, b.state, "final", "")
	b.publish(t, b.image(t, "h1", `{"directory":"web"}`, "one")...)
}

func TestImagesThatCannotBePublished(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		alter  func(*builder)
		want   string
		typed  any
	}{
		"a build that fails": {`{"directory":"web"}`, func(b *builder) { write(t, b.dir, "web/broken", "") }, "it is broken", new(*asset.ContainerError)},
		"no builder": {`{"directory":"web"}`, func(b *builder) {
			b.Env = append(b.Env, "CDK_DOCKER=no-such-builder")
		}, "run no-such-builder: ", new(*asset.BuilderError)},
		"no source":                            {`{"directory":"gone"}`, func(*builder) {}, "gone is not there", nil},
		"a source out of the assembly (T-107)": {`{"directory":"../web"}`, func(*builder) {}, "leads out of the assembly", nil},
		"a command without output (T-124)":     {`{"executable":["true"]}`, func(*builder) {}, "want one line that says what it made", nil},
		"no access":                            {`{"directory":"web"}`, func(b *builder) { b.status["DescribeImages"] = "AccessDeniedException" }, "look for tag h1 in repository one in eu-west-1", nil},
		"no login":                             {`{"directory":"web"}`, func(b *builder) { b.status["GetAuthorizationToken"] = "AccessDeniedException" }, "log in to " + registry, nil},
		"a push that no login would help": {`{"directory":"web"}`, func(b *builder) {
			write(t, b.state, "full", "")
			b.status["GetAuthorizationToken"] = "NotToBeAsked"
		}, "docker push: exit status 1:\nno space left on device", new(*asset.ContainerError)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(t)
			i := b.image(t, "h1", test.source, "one")[0]
			test.alter(b)
			err := b.Publish(t.Context(), i)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "image Web (h1) of stack S") {
				t.Fatalf("want an error with %q, got %v", test.want, err)
			}
			if test.typed != nil && !errors.As(err, test.typed) {
				t.Errorf("want a %T, got %v", test.typed, err)
			}
			if strings.Contains(err.Error()+b.log.String(), "pass:word") {
				t.Error("the password came out")
			}
		})
	}
}

// TestRepositories asks an emulated ECR, whose answers were not written for it.
func TestRepositories(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("needs moto_server: pip install 'moto[server]'")
	}
	s, err := sandbox.Start(t.Context(), sandbox.Options{Region: "eu-west-1", Upstream: sandbox.Moto})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := ecr.NewFromConfig(s.Config())
	if _, err := client.CreateRepository(t.Context(), &ecr.CreateRepositoryInput{RepositoryName: aws.String("one")}); err != nil {
		t.Fatal(err)
	}
	_, err = client.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: aws.String("one"), ImageTag: aws.String("there"), ImageManifest: aws.String(
		`{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{"mediaType":"application/vnd.docker.container.image.v1+json","size":1,"digest":"sha256:aa"},"layers":[]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.DescribeImages(t.Context(), &ecr.DescribeImagesInput{RepositoryName: aws.String("one"), ImageIds: []types.ImageIdentifier{{ImageTag: aws.String("there")}}}); err != nil {
		t.Fatal(err)
	}

	b := newBuilder(t)
	b.Repositories = func(string) *ecr.Client { return client }
	b.publish(t, b.image(t, "there", `{"directory":"web"}`, "one")...)
	b.calls(t)
	for _, i := range []*asset.Image{b.image(t, "new", `{"directory":"web"}`, "one")[0], b.image(t, "other", `{"directory":"web"}`, "none")[0]} {
		// The emulator has a password of its own, which the fake docker takes for
		// a wrong one: so far, that it was built and a login was tried, is right.
		err := b.Publish(t.Context(), i)
		if err == nil || !strings.Contains(err.Error(), "docker login: exit status 1:\nwrong password ***") {
			t.Errorf("got %v", err)
		}
	}
}

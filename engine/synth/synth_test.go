//go:build unix

package synth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/org/cdkd-action/engine/lookup"
	"github.com/org/cdkd-action/engine/synth"
	"github.com/org/cdkd-action/engine/value"
)

// Kumo, behind the sandbox, starts a goroutine that nobody can end.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// finished is the end of an app that writes an assembly and misses nothing.
const finished = `; echo '{"version":"38.0.0"}' > "$CDK_OUTDIR/manifest.json"`

// missing writes an assembly that lacks parameters of these names.
func missing(names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf(`{"key":%q,"provider":"ssm","props":{"parameterName":"/%s"}}`, name, name))
	}
	return fmt.Sprintf(`echo '{"version":"38.0.0","missing":[%s]}' > "$CDK_OUTDIR/manifest.json"`, strings.Join(all, ","))
}

// A run is one synthesis, and what was told meanwhile.
type run struct {
	synth.Options
	out, errs bytes.Buffer
	mu        sync.Mutex
	warnings  []string
}

func newRun(t *testing.T, command string) *run {
	t.Helper()
	dir := t.TempDir()
	r := &run{}
	r.Options = synth.Options{
		Command: command, Dir: dir, Output: filepath.Join(dir, "cdk.out"),
		Environ: []string{"PATH=" + os.Getenv("PATH")},
		Stdout:  &r.out, Stderr: &r.errs,
		Warn: func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.warnings = append(r.warnings, text)
		},
	}
	return r
}

func (r *run) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r *run) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (r *run) succeed(t *testing.T) *synth.Result {
	t.Helper()
	result, err := synth.Synthesize(t.Context(), r.Options)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.errs.String())
	}
	return result
}

// parameters lets lookups of SSM parameters be answered.
func (r *run) parameters(t *testing.T, values map[string]string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		o, err := value.ParseObject(body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		v, ok := values[strings.TrimPrefix(o.String("Name"), "/")]
		if !ok {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"ParameterNotFound"}`)
			return
		}
		fmt.Fprintf(w, `{"Parameter":{"Value":%q}}`, v)
	}))
	t.Cleanup(server.Close)
	r.Region = "eu-west-1"
	r.Config = func(_, region string) aws.Config {
		return aws.Config{
			Region: region, BaseEndpoint: &server.URL,
			Credentials: credentials.NewStaticCredentialsProvider("AKID", "s", ""),
			HTTPClient:  &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		}
	}
}

func TestWhatAnAppGets(t *testing.T) {
	r := newRun(t, `pwd; env | grep -e CDK_ -e CONTEXT_ | sort; cat`+finished)
	r.Region = "eu-west-1"
	r.Account = func(context.Context) (string, error) { return "123456789012", nil }
	r.Environ = append(r.Environ, "CDK_OUTDIR=stale", "CDK_CONTEXT_JSON=stale", "CONTEXT_OVERFLOW_LOCATION_ENV=stale", "CDK_DEFAULT_REGION=stale")
	r.Context = value.NewObject("a", json1)
	if result := r.succeed(t); result.Dir != r.Output || result.Saved != nil {
		t.Errorf("got %+v", result)
	}
	dir, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	want := dir + `
CDK_CLI_ASM_VERSION=55.0.0
CDK_CLI_VERSION=2.1000.0
CDK_CONTEXT_JSON={"aws:cdk:enable-path-metadata":true,"aws:cdk:enable-asset-metadata":true,"aws:cdk:version-reporting":true,"aws:cdk:bundling-stacks":["**"],"a":1}
CDK_DEFAULT_ACCOUNT=123456789012
CDK_DEFAULT_REGION=eu-west-1
CDK_OUTDIR=` + r.Output + `
CDK_VALIDATION=false
` // T-10, T-13, T-14
	if diff := cmp.Diff(want, r.out.String()); diff != "" {
		t.Error(diff)
	}

	r = newRun(t, `env | grep -e CDK_DEFAULT -e CDK_VALIDATION; true`+finished)
	r.Validate = true
	r.Account = func(context.Context) (string, error) { return "", errors.New("no credentials") }
	r.succeed(t)
	if r.out.Len() > 0 {
		t.Errorf("what is not known is not set (T-13, T-15), got %s", r.out.String())
	}
}

var json1 = value.Int(1)

func TestContextMerges(t *testing.T) { // T-17
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".cdk.json"), []byte(`{"app":"not this","context":{"h":"home","p":"home","f":"home","c":"home"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newRun(t, `echo "$CDK_CONTEXT_JSON"`+finished)
	r.write(t, "cdk.json", `{"context":{"aws:cdk:version-reporting":false,"p":"project","f":"project","c":"project"}}`)
	r.write(t, "cdk.context.json", `{"f":"file","c":"file"}`)
	p := synth.ReadProject(r.Dir, home)
	if p.App != "" || len(p.Warnings) > 0 {
		t.Errorf("an app is not taken from the home folder (T-1), got %+v", p)
	}
	r.Context = p.Context
	var err error
	if r.Overrides, err = synth.ParseContext([]string{"c=a=b", "=ignored", "n=1"}); err != nil { // T-18
		t.Fatal(err)
	}
	r.succeed(t)
	want := `{"aws:cdk:enable-path-metadata":true,"aws:cdk:enable-asset-metadata":true,"aws:cdk:version-reporting":false,"aws:cdk:bundling-stacks":["**"],"h":"home","p":"project","f":"file","c":"a=b","n":"1"}`
	if diff := cmp.Diff(want, strings.TrimSpace(r.out.String())); diff != "" {
		t.Error(diff)
	}
	var entry *synth.ContextEntryError
	if _, err := synth.ParseContext([]string{"a=b", "c"}); !errors.As(err, &entry) || entry.Entry != "c" {
		t.Errorf("an entry without = (T-19): %v", err)
	}
}

func TestLookupsGoOnUntilNothingIsMissing(t *testing.T) { // T-20, T-22
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node")
	}
	script, err := filepath.Abs("testdata/app.js")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	r := newRun(t, script+` "an argument"`) // T-11
	r.parameters(t, map[string]string{"name": "shop", "of/shop": "<it>"})
	r.write(t, "cdk.context.json", `{"z":1.50,"name of old":"kept"}`)
	r.Context = value.NewObject("long", strings.Repeat("ä", 17_000)) // T-13
	result := r.succeed(t)
	if diff := cmp.Diff([]string{"name", "of shop"}, result.Saved); diff != "" { // T-27
		t.Error(diff)
	}
	want := "{\n  \"z\": 1.50,\n  \"name of old\": \"kept\",\n  \"name\": \"shop\",\n  \"of shop\": \"<it>\"\n}\n"
	if diff := cmp.Diff(want, r.read(t, "cdk.context.json")); diff != "" || result.ContextFile != filepath.Join(r.Dir, "cdk.context.json") {
		t.Error(result.ContextFile, diff)
	}
	if got := r.out.String(); got != "asked for 1\nasked for 1\nasked for 0\n" {
		t.Errorf("rounds: %q", got)
	}
	seen, err := value.ParseObject([]byte(r.read(t, "cdk.out/seen.json")))
	if err != nil {
		t.Fatal(err)
	}
	if seen.Value("overflow") != true || seen.Object("context").String("of shop") != "<it>" || value.JSON(seen.Value("arguments")) != `["an argument"]` {
		t.Errorf("the app saw overflow %v, arguments %s", seen.Value("overflow"), value.JSON(seen.Value("arguments")))
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "cdk-context-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestLookupsThatDoNotHelp(t *testing.T) {
	// Asks for a, which is there, and b, which is not, until it has both.
	both := `case "$CDK_CONTEXT_JSON" in *'"a"'*) ` + missing("b") + `;; *) ` + missing("a", "b") + `;; esac; echo round`
	for name, test := range map[string]struct {
		command, rounds string
		values          map[string]string
		want            []string
		warnings        int
	}{
		"one of two fails (T-24)": {both, "round\nround\n", map[string]string{"a": "1"},
			[]string{"b: there is no SSM parameter /b in eu-west-1"}, 2},
		"all fail: the app would ask the same (T-21)": {missing("a", "b") + "; echo round", "round\n", nil,
			[]string{"a: there is no SSM parameter /a", "b: there is no SSM parameter /b"}, 2},
		"an answer that the app does not see (T-21)": {missing("a") + "; echo round", "round\nround\n", map[string]string{"a": "1"},
			[]string{"a: was answered, and is asked for again"}, 0},
		"an unknown provider (T-24)": {`echo '{"missing":[{"key":"k","provider":"new","props":{}}]}' > "$CDK_OUTDIR/manifest.json"; echo round`, "round\n", nil,
			[]string{`k: context provider "new" is not known`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, test.command)
			r.parameters(t, test.values)
			_, err := synth.Synthesize(t.Context(), r.Options)
			var stuck *synth.LookupError
			if !errors.As(err, &stuck) || stuck.Remedy() == "" {
				t.Fatalf("got %v", err)
			}
			for _, text := range test.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v does not say %q", err, text)
				}
			}
			if r.out.String() != test.rounds || len(r.warnings) != test.warnings {
				t.Errorf("rounds %q, warnings %q", r.out.String(), r.warnings)
			}
			var none *lookup.NotFoundError
			if test.values == nil && test.warnings == 2 && !errors.As(err, &none) {
				t.Errorf("%v does not lead to its reasons", err)
			}
		})
	}
}

func TestABrokenContextFileIsLeftAlone(t *testing.T) { // T-22, T-23
	r := newRun(t, `case "$CDK_CONTEXT_JSON" in *'"a"'*) true `+finished+`;; *) `+missing("a")+`;; esac`)
	r.parameters(t, map[string]string{"a": "1"})
	const broken = `{"mine": "work",`
	r.write(t, "cdk.context.json", broken)
	result := r.succeed(t)
	if got := r.read(t, "cdk.context.json"); got != broken || result.Saved != nil {
		t.Errorf("it is now %q, and %v is said to be saved", got, result.Saved)
	}
	if len(r.warnings) != 1 || !strings.Contains(r.warnings[0], "cdk.context.json is not a JSON object") {
		t.Errorf("warnings %q", r.warnings)
	}
}

func TestAContextFileThatCannotBeWrittenCostsOnlyTheNextRun(t *testing.T) {
	r := newRun(t, `case "$CDK_CONTEXT_JSON" in *'"b"'*) true `+finished+`;; *'"a"'*) `+missing("b")+`;; *) `+missing("a")+`;; esac`)
	r.parameters(t, map[string]string{"a": "1", "b": "2"})
	if err := os.Symlink(filepath.Join(r.Dir, "gone", "file"), filepath.Join(r.Dir, "cdk.context.json")); err != nil {
		t.Fatal(err)
	}
	if result := r.succeed(t); result.Saved != nil {
		t.Errorf("saved %v", result.Saved)
	}
	if len(r.warnings) != 1 || !strings.Contains(r.warnings[0], "what was looked up is not kept") {
		t.Errorf("warnings %q", r.warnings)
	}
}

func TestAppsThatFail(t *testing.T) {
	for name, test := range map[string]struct {
		command string
		want    any
		text    string
		remedy  string
	}{
		"exits with 1 (T-16)":       {`echo progress; echo why >&2; exit 1`, new(*synth.AppError), "failed: exit status 1\nwhy", "run its command in its folder"},
		"is not there":              {`no-such-app`, new(*synth.AppError), "exit status 127", "npm ci"},
		"dies":                      {`kill -9 $$`, new(*synth.AppError), "signal: killed", "correct the app"},
		"prints its credentials":    {`env >&2; exit 1`, new(*synth.AppError), "AWS_SECRET_ACCESS_KEY=***", "correct"},
		"writes nothing":            {`true`, new(*synth.NoAssemblyError), "without writing a cloud assembly to ", "calls synth()"},
		"writes no JSON":            {`echo '{' > "$CDK_OUTDIR/manifest.json"`, new(*synth.NoAssemblyError), "cdk.out: manifest.json: ", "calls synth()"},
		"does not end":              {`sleep 1000`, new(*synth.TimeoutError), "did not end within 100ms", "wait for input"},
		"is a script, without node": {`bin/app.js`, new(*synth.NoProgramError), `run the app "bin/app.js": there is no node in PATH`, "npx cdk synth"},
		"has no shell":              {`python3 app.py`, new(*synth.NoProgramError), `run the app "python3 app.py": there is no sh in PATH`, "npx cdk synth"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, test.command)
			r.Timeout = time.Minute
			switch test.want.(type) {
			case **synth.TimeoutError:
				r.Timeout = 100 * time.Millisecond
			case **synth.NoProgramError:
				r.Environ = []string{"PATH=" + t.TempDir()}
			}
			r.Environ = append(r.Environ, "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI")
			if err := os.Mkdir(r.Output, 0o755); err != nil {
				t.Fatal(err)
			}
			r.write(t, "cdk.out/manifest.json", `{"version":"38.0.0"}`) // of an earlier run
			_, err := synth.Synthesize(t.Context(), r.Options)
			if err == nil || !strings.Contains(err.Error(), test.text) || test.want != nil && !errors.As(err, test.want) {
				t.Fatalf("want a %T with %q, got %v", test.want, test.text, err)
			}
			var remedy interface{ Remedy() string }
			if test.remedy != "" && (!errors.As(err, &remedy) || !strings.Contains(remedy.Remedy(), test.remedy)) {
				t.Errorf("no remedy with %q in %v", test.remedy, err)
			}
			if all := err.Error() + r.out.String() + r.errs.String(); strings.Contains(all, "wJalr") {
				t.Errorf("the secret key came out: %s", all)
			}
		})
	}
}

func TestAFolderThatIsNotThereIsNotMade(t *testing.T) {
	r := newRun(t, "true"+finished)
	parent := r.Dir
	r.Dir = filepath.Join(parent, "typo")
	r.Output = filepath.Join(r.Dir, "cdk.out")
	var none *synth.NoAppError
	if _, err := synth.Synthesize(t.Context(), r.Options); !errors.As(err, &none) || !strings.Contains(none.Remedy(), "working directory") {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("made %v, %v", entries, err)
	}
}

func TestAnAppThatPrintsWithoutMeasure(t *testing.T) {
	r := newRun(t, `yes 'a line of output' | head -c 33554432; echo why >&2; exit 1`)
	_, err := synth.Synthesize(t.Context(), r.Options)
	var failed *synth.AppError
	if !errors.As(err, &failed) || failed.Stderr != "why" {
		t.Errorf("got %v", err)
	}
	if size := r.out.Len(); size < 16<<20 || size > 17<<20 || !strings.HasSuffix(r.out.String(), "more than 16 MiB; the rest is not shown\n") {
		t.Errorf("%d bytes came through", size)
	}
}

// begun cancels when the app has printed something.
type begun struct{ cancel func() }

func (b begun) Write(p []byte) (int, error) {
	b.cancel()
	return len(p), nil
}

func TestACancelledRunLeavesNoApp(t *testing.T) {
	// The app and its children ignore interrupts, and hold a pipe.
	r := newRun(t, `exec 3>witness; trap '' INT; sleep 1000 & sleep 1000 & echo begun; wait`)
	witness := filepath.Join(r.Dir, "witness")
	if err := syscall.Mkfifo(witness, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		f, err := os.Open(witness)
		if err == nil {
			_, err = io.Copy(io.Discard, f) // until nobody holds it
			f.Close()
		}
		gone <- err
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("cancelled")
	r.Stdout, r.Grace = begun{func() { cancel(why) }}, 50*time.Millisecond
	if _, err := synth.Synthesize(ctx, r.Options); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	select {
	case err := <-gone:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the app is still there")
	}
}

func TestNoTokenOfTheWorkflowReachesTheApp(t *testing.T) { // T-28
	r := newRun(t, "env"+finished)
	r.Environ = append(r.Environ,
		"GITHUB_ACTIONS=true", "GITHUB_REPOSITORY=org/app",
		"GITHUB_TOKEN=t0ken", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=t0ken", "ACTIONS_RUNTIME_TOKEN=t0ken",
		"INPUT_GITHUB-TOKEN=t0ken", "STATE_isPost=t0ken", "GITHUB_ENV=t0ken", "GITHUB_OUTPUT=t0ken",
		"AWS_ACCESS_KEY_ID=AKID")
	r.succeed(t)
	if out := r.out.String(); strings.Contains(out, "t0ken") || !strings.Contains(out, "GITHUB_REPOSITORY=org/app\n") || !strings.Contains(out, "AWS_ACCESS_KEY_ID=AKID\n") {
		t.Errorf("the app saw\n%s", out)
	}
}

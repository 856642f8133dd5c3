package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/cdkd-action/ci/github/githubtest"
	"github.com/org/cdkd-action/examples"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// A signalled is the program as a step of a workflow for a pull request, with an
// AWS and a GitHub of its own.
type signalled struct {
	t   *testing.T
	aws *sandbox.Sandbox
	hub *githubtest.Server
	dir string
	cmd *exec.Cmd
	out bytes.Buffer
}

func newSignalled(t *testing.T, environ ...string) *signalled {
	t.Helper()
	aws, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(stateBucket, "us-east-1", "")
	aws.S3.AddBucket("cdk-hnb659fds-assets-123456789012-us-east-1", "us-east-1", "")
	hub := githubtest.New()
	t.Cleanup(hub.Close)
	hub.Token("ghs_write", githubtest.Actions, true)
	p := &signalled{t: t, aws: aws, hub: hub, dir: t.TempDir()}
	if err := os.CopyFS(p.dir, examples.Shop); err != nil {
		t.Fatal(err)
	}
	event := filepath.Join(p.dir, "event.json")
	if err := os.WriteFile(event, []byte(`{"pull_request":{"number":7,"head":{"repo":{"full_name":"acme/shop"}},"base":{"repo":{"full_name":"acme/shop"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.CommandContext(t.Context(), "cdkd-action", "action")
	p.cmd.Dir = p.dir
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.Env = append(append(os.Environ(), aws.Env()...), append([]string{
		"GITHUB_ACTIONS=true", "GITHUB_OUTPUT=" + filepath.Join(p.dir, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(p.dir, "summary"),
		"GITHUB_EVENT_NAME=pull_request", "GITHUB_EVENT_PATH=" + event, "GITHUB_REPOSITORY=acme/shop", "GITHUB_API_URL=" + hub.URL,
		"INPUT_GITHUB-TOKEN=ghs_write", "INPUT_APP=shop/cdk.out", "INPUT_STACKS=ShopStorage", "CDKD_STATE_BUCKET=" + stateBucket,
	}, environ...)...)
	return p
}

func (p *signalled) start() {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *signalled) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *signalled) wantExit(code int) {
	p.t.Helper()
	p.cmd.Wait() // what it came to is in ProcessState
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit %d, want %d:\n%s", got, code, p.out.String())
	}
}

func (p *signalled) wantOutcome(want string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "output"))
	if err != nil {
		p.t.Fatal(err)
	}
	if got := entries(string(text))["outcome"]; got != want {
		p.t.Errorf("outcome %q, want %q:\n%s", got, want, p.out.String())
	}
}

func (p *signalled) wantNoLock() {
	p.t.Helper()
	for _, o := range p.aws.S3.Objects(stateBucket) {
		if strings.HasSuffix(o.Key, "lock.json") {
			p.t.Errorf("a lock is left at %s: %s", o.Key, o.Body)
		}
	}
}

// holdGitHub lets GitHub's next answer wait until the test is over, and tells
// when it is waited for.
func (p *signalled) holdGitHub() (asked <-chan struct{}) {
	reached := make(chan struct{})
	p.hub.Next(func(_ http.ResponseWriter, r *http.Request) bool {
		close(reached)
		<-r.Context().Done() // the program gives up
		return true
	})
	return reached
}

func (p *signalled) await(happened <-chan struct{}) {
	p.t.Helper()
	select {
	case <-happened:
	case <-time.After(time.Minute):
		p.cmd.Process.Kill()
		p.cmd.Wait()
		p.t.Fatalf("it did not come as far:\n%s", p.out.String())
	}
}

// Nobody reads the log, and the pipe is full from the beginning: the record is
// saved and the lock is free all the same (S-189).
func TestSignalWithAFullPipe(t *testing.T) {
	p := newSignalled(t, "INPUT_VERBOSE=true")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	fill(t, write)
	p.cmd.Stdout, p.cmd.Stderr = write, write
	held := p.aws.AddFault(sandbox.Fault{Service: "dynamodb", Action: "CreateTable", Hold: true})
	p.start()
	write.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := p.aws.Await(ctx, 1, func(r sandbox.Request) bool { return r.State == sandbox.Held }); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGINT)
	p.signal(syscall.SIGTERM) // the runner's escalation: nothing in flight is waited for
	p.wantExit(130)
	p.aws.Release(held)
	p.wantOutcome("cancelled")
	p.wantNoLock()
	if _, ok := p.aws.S3.Object(stateBucket, "cdkd/ShopStorage/us-east-1/pending.json"); !ok {
		t.Error("the create that was let go of is not written down")
	}
}

// fill leaves no room in a pipe.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	if err := pipe.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 16, 1} {
		for block := bytes.Repeat([]byte("x"), size); ; {
			if _, err := pipe.Write(block); err != nil {
				break
			}
		}
		pipe.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	}
}

// A GitHub that does not answer is not waited for after a signal, be it asked
// what was reviewed or told what was done (G-8.7).
func TestSignalWithAGitHubThatHangs(t *testing.T) {
	t.Run("before anything is locked: nothing is done", func(t *testing.T) {
		p := newSignalled(t, "INPUT_REQUIRE-REVIEWED-PLAN=true")
		asked := p.holdGitHub()
		p.start()
		p.await(asked)
		p.signal(syscall.SIGINT)
		p.wantExit(130)
		p.wantOutcome("cancelled")
		p.wantNoLock()
		if _, ok := p.aws.S3.Object(stateBucket, "cdkd/ShopStorage/us-east-1/state.json"); ok {
			t.Error("something was deployed")
		}
	})
	t.Run("when everything was done: it stays so, and the step ends in time", func(t *testing.T) {
		kept := filepath.Join(t.TempDir(), "state")
		p := newSignalled(t, "GITHUB_STATE="+kept, "GITHUB_RUN_ID=1", "GITHUB_RUN_ATTEMPT=1")
		asked := p.holdGitHub()
		p.start()
		p.await(asked)
		p.wantNoLock() // GitHub comes after the locks
		signalled := time.Now()
		p.signal(syscall.SIGINT)
		p.signal(syscall.SIGTERM)
		p.wantExit(0)
		if took := time.Since(signalled); took > signals.KillAfter {
			t.Errorf("the program ended after %s, the runner kills after %s", took, signals.KillAfter)
		}

		// Nor does the post step call cancelled what was done (G-8.8).
		state, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		post := exec.CommandContext(t.Context(), p.cmd.Path)
		post.Args = []string{postName, "action"}
		post.Dir, post.Env = p.dir, p.cmd.Env
		for name, value := range entries(string(state)) {
			post.Env = append(post.Env, "STATE_"+name+"="+value)
		}
		log, err := post.CombinedOutput()
		if err != nil {
			t.Fatalf("the post step: %v\n%s", err, log)
		}
		summary, err := os.ReadFile(filepath.Join(p.dir, "summary"))
		if err != nil {
			t.Fatal(err)
		}
		said := string(log) + string(summary)
		for _, c := range p.hub.Comments("acme/shop", 7) {
			said += c.Body
		}
		if !strings.Contains(said, "no lock of the run is left") || strings.Contains(said, "was cancelled") {
			t.Errorf("of a deploy that was done the post step says:\n%s", said)
		}
	})
}

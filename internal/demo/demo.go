// Package demo shows, on a machine that has nothing but Go, what a deploy looks
// like: planned on a pull request, deployed, changed, failed and rolled back,
// cancelled in the middle and resumed, destroyed.
//
// AWS is a sandbox in this process, GitHub a few lines of a server beside it.
// What deploys is the very binary that runs in a workflow: each chapter starts
// it as a step, with the inputs, files and signals that a runner gives it.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/org/cdkd-action/examples"
	"github.com/org/cdkd-action/internal/sandbox"
)

const (
	bucket = "demo-state"
	assets = "cdk-hnb659fds-assets-123456789012-us-east-1"
)

// A show is one run of the demo.
type show struct {
	out     io.Writer
	program string // the binary that is shown
	dir     string
	aws     *sandbox.Sandbox
	github  *pullRequest
	chapter int
}

// Run tells the story to out. program is the path of cdkd-action.
func Run(ctx context.Context, out io.Writer, program string) error {
	start := time.Now()
	told := &told{to: out}
	s := &show{out: told, program: program}
	var err error
	if s.dir, err = os.MkdirTemp("", "cdkd-action-demo-"); err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer os.RemoveAll(s.dir)
	if err := os.CopyFS(s.dir, examples.Shop); err != nil {
		return fmt.Errorf("lay out the example app: %w", err)
	}
	if s.aws, err = sandbox.Start(ctx, sandbox.Options{ProgressDelay: 300 * time.Millisecond}); err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	defer s.aws.Close()
	s.aws.S3.AddBucket(bucket, "us-east-1", "")
	s.aws.S3.AddBucket(assets, "us-east-1", "")
	s.aws.SetLatency("", "", 15*time.Millisecond) // so that there is something to watch
	s.github = openPullRequest()
	defer s.github.close()

	s.say("This is an AWS account in one process, at %s. It holds nothing but a state bucket\n"+
		"and the CDK's asset bucket. The app is examples/shop: two stacks, 23 resources.", s.aws.URL)
	for _, chapter := range []func(context.Context) error{
		s.plan, s.first, s.again, s.changed, s.broken, s.destroyOne, s.cancelled, s.resumed, s.destroyAll,
	} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	s.say("\nThat was the demo, in %s. Everything in it ran the binary that runs in a workflow.", time.Since(start).Round(100*time.Millisecond))
	if told.err != nil {
		return fmt.Errorf("tell the story: %w", told.err)
	}
	return nil
}

// told keeps the first error of writing: a story that nobody could read was
// not told.
type told struct {
	to  io.Writer
	err error
}

func (t *told) Write(p []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	var n int
	n, t.err = t.to.Write(p)
	return n, t.err
}

func (s *show) plan(ctx context.Context) error {
	s.title("A pull request: what would be deployed?")
	if _, err := s.step(ctx, want{exit: 0}, "diff", "cdk.out"); err != nil {
		return err
	}
	body := s.github.comment()
	if body == "" {
		return errors.New("the pull request has no comment")
	}
	s.say("The comment on the pull request, as Markdown:\n")
	s.indented(visible(body), "    │ ")
	return nil
}

func (s *show) first(ctx context.Context) error {
	s.title("Merged: the first deploy")
	r, err := s.step(ctx, want{exit: 0, outcome: "success"}, "deploy", "cdk.out")
	if err == nil {
		s.say("%d requests to AWS. Step outputs: created=%s, ShopOrders.QueueUrl=%s", r.requests, r.outputs["created"], r.outputs["ShopOrders.QueueUrl"])
	}
	return err
}

func (s *show) again(ctx context.Context) error {
	s.title("The same again: nothing to do")
	r, err := s.step(ctx, want{exit: 0, outcome: "no-change"}, "deploy", "cdk.out")
	if err == nil {
		s.say("%d requests to AWS for both stacks, all of them for credentials, lock, record and history.", r.requests)
	}
	return err
}

func (s *show) changed(ctx context.Context) error {
	s.title("Two properties change")
	if _, err := s.step(ctx, want{exit: 0}, "diff", "cdk.out.changed"); err != nil {
		return err
	}
	_, err := s.step(ctx, want{exit: 0, outcome: "success"}, "deploy", "cdk.out.changed")
	return err
}

func (s *show) broken(ctx context.Context) error {
	s.title("A change that AWS refuses: rolled back")
	if _, err := s.step(ctx, want{exit: 1, outcome: "failed"}, "deploy", "cdk.out.broken"); err != nil {
		return err
	}
	s.say("Exit code 1, failure-reason=resource. What is deployed is what was deployed before:")
	_, err := s.step(ctx, want{exit: 0, outcome: "no-change"}, "deploy", "cdk.out.changed")
	return err
}

func (s *show) destroyOne(ctx context.Context) error {
	s.title("One stack is destroyed, to deploy it once more")
	_, err := s.step(ctx, want{exit: 0, outcome: "success"}, "destroy", "cdk.out.changed", "INPUT_STACKS=ShopOrders", "INPUT_ALL=")
	return err
}

func (s *show) cancelled(ctx context.Context) error {
	s.title("The job is cancelled in the middle")
	hold := s.aws.AddFault(sandbox.Fault{Service: "lambda", Action: "CreateFunction", Hold: true})
	defer s.aws.Release(hold)
	running, err := s.start(ctx, "deploy", "cdk.out.changed")
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	// Until nothing is left to do but what waits for the functions.
	if _, err := s.aws.Await(waiting, 2, func(r sandbox.Request) bool { return r.State == sandbox.Held }); err != nil {
		running.wait()
		return fmt.Errorf("wait for the deploy to be in the middle: %w", err)
	}
	at := time.Now()
	if err := running.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return fmt.Errorf("cancel the deploy: %w", err)
	}
	time.AfterFunc(400*time.Millisecond, func() { s.aws.Release(hold) }) // AWS answers meanwhile
	r, err := s.check(running.wait(), want{exit: 130, outcome: "cancelled"})
	if err != nil {
		return err
	}
	if _, held := s.aws.S3.Object(bucket, "cdkd/ShopOrders/us-east-1/lock.json"); held {
		return errors.New("the cancelled deploy left its lock behind")
	}
	s.say("SIGINT, and %s later everything that was made is recorded and the lock is free: created=%s of 19, exit code 130.",
		time.Since(at).Round(100*time.Millisecond), r.outputs["created"])
	return nil
}

func (s *show) resumed(ctx context.Context) error {
	s.title("The next run goes on where it stopped")
	r, err := s.step(ctx, want{exit: 0, outcome: "success"}, "deploy", "cdk.out.changed")
	if err == nil {
		s.say("created=%s, unchanged=%s: nothing was made twice.", r.outputs["created"], r.outputs["unchanged"])
	}
	return err
}

func (s *show) destroyAll(ctx context.Context) error {
	s.title("Everything goes")
	if _, err := s.step(ctx, want{exit: 0, outcome: "success"}, "destroy", "cdk.out.changed"); err != nil {
		return err
	}
	for _, o := range s.aws.S3.Objects(bucket) {
		if strings.HasSuffix(o.Key, "/state.json") {
			return fmt.Errorf("%s is still recorded", o.Key)
		}
	}
	s.say("No stack is recorded any more.")
	return nil
}

func (s *show) title(text string) {
	s.chapter++
	fmt.Fprintf(s.out, "\n━━ %d. %s\n\n", s.chapter, text)
}

func (s *show) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

func (s *show) indented(text, margin string) {
	for line := range strings.Lines(text) {
		fmt.Fprint(s.out, margin+line)
	}
	if !strings.HasSuffix(text, "\n") {
		fmt.Fprintln(s.out)
	}
}

func (s *show) app(name string) string { return filepath.Join(s.dir, "shop", name) }

// visible is a comment without the lines that only programs read.
func visible(markdown string) string {
	var b strings.Builder
	for line := range strings.Lines(markdown) {
		if !strings.HasPrefix(line, "<!-- ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

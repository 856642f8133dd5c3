package containertest

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/ci/github/githubtest"
	"github.com/org/cdkd-action/internal/runner"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/stateshape"
)

const (
	root    = "../.."
	slim    = "cdkd-action-test:slim"
	full    = "cdkd-action-test:full"
	region  = "eu-west-1"
	account = "123456789012"
	bucket  = "state-of-the-shop"
	token   = "ghs_token"
)

var built = flag.Bool("built", false, "take the images "+slim+" and "+full+" as they are")

func TestAction(t *testing.T) {
	if err := runner.Engine(t.Context()); err != nil {
		t.Skipf("needs a Docker engine: %v", err)
	}
	if !*built {
		build(t, slim, "--target", "slim")
		build(t, full) // without a target, as the runner builds it
	}

	t.Run("the binary is process 1, and root", func(t *testing.T) {
		var config struct {
			User       string
			Entrypoint []string
		}
		if err := json.Unmarshal(docker(t, "image", "inspect", "--format", "{{json .Config}}", slim), &config); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"/cdkd-action"}, config.Entrypoint); diff != "" || config.User != "" {
			t.Errorf("user %q, entrypoint (-want +got):\n%s", config.User, diff)
		}
	})
	t.Run("the full image can synthesize and build images", func(t *testing.T) {
		for _, program := range []string{"cdkd-action", "/cdkd-action-post", "node", "npm", "git", "docker"} {
			docker(t, "run", "--rm", "--network", "none", "--entrypoint", program, full, "--version")
		}
		docker(t, "run", "--rm", "--network", "none", "--entrypoint", "docker", full, "buildx", "version")
	})
	t.Run("the slim image is small, and has a post step", testSlimIsSmall)
	t.Run("deploy, again, and what cannot be", testDeploy)
	t.Run("diff on a pull request", testPullRequest)
	t.Run("the example workflows", testWorkflows)
	t.Run("cancel in the middle, and resume", testCancel)
	t.Run("a container that outlives its client is waited for", testOutlived)
	t.Run("table", testTable)
	t.Run("a second signal, on a terminal", testSecondSignal)
	if *figures {
		t.Run("figures", testFigures)
	}
}

func testDeploy(t *testing.T) {
	a := newAccount(t)

	first := a.step(t, "cdk.out", map[string]string{"command": "deploy", "all": "true"})
	a.wantResult(t, first, runner.Success, 0, map[string]string{
		"outcome": "success", "exit-code": "0", "changed": "true", "failed": "0", "failure-reason": "",
	})
	var outputs map[string]map[string]string
	if err := json.Unmarshal([]byte(first.Outputs["outputs"]), &outputs); err != nil {
		t.Fatalf("the output outputs is %q: %v", first.Outputs["outputs"], err)
	}
	for _, name := range []string{"ShopStorage.OrdersTable", "ShopStorage.ReceiptsBucket", "ShopOrders.QueueUrl", "ShopOrders.ShippingArn"} {
		stack, output, _ := strings.Cut(name, ".")
		if first.Outputs[name] == "" || first.Outputs[name] != outputs[stack][output] {
			t.Errorf("output %s is %q, and %q in outputs", name, first.Outputs[name], outputs[stack][output])
		}
	}
	for _, text := range []string{"ShopStorage", "ShopOrders"} {
		if !strings.Contains(first.Summary, text) {
			t.Errorf("the summary does not mention %s:\n%s", text, first.Summary)
		}
	}
	a.wantRecorded(t, "ShopStorage", "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SNS::Topic", "AWS::SSM::Parameter")
	a.wantRecorded(t, "ShopOrders", "AWS::SQS::Queue", "AWS::Lambda::Function", "AWS::Scheduler::Schedule")

	again := a.step(t, "cdk.out", map[string]string{"all": "true"}) // deploy is the default
	a.wantResult(t, again, runner.Success, 0, map[string]string{"outcome": "no-change", "changed": "false", "created": "0"})

	unknown := a.step(t, "cdk.out", map[string]string{"stacks": "NoSuchStack"})
	a.wantResult(t, unknown, runner.Failure, 1, map[string]string{"outcome": "failed", "exit-code": "1"})
	if !strings.Contains(unknown.Log, "NoSuchStack") {
		t.Errorf("the log does not name the stack that there is not:\n%s", unknown.Log)
	}
}

func testPullRequest(t *testing.T) {
	a := newAccount(t)
	hub := a.onPullRequest(t)
	for range 2 { // the second run edits the comment of the first
		r := a.step(t, "cdk.out", map[string]string{"command": "diff", "all": "true"})
		a.wantResult(t, r, runner.Success, 0, map[string]string{"outcome": "success", "changed": "true"})
		comments := hub.Comments("org/shop", 7)
		if len(comments) != 1 || r.Outputs["comment-url"] != comments[0].HTMLURL {
			t.Fatalf("there are %d comments, want the one at %q", len(comments), r.Outputs["comment-url"])
		}
		for _, text := range []string{"ShopStorage", "ShopOrders", "AWS::Scheduler::Schedule"} {
			if !strings.Contains(comments[0].Body, text) {
				t.Errorf("the comment does not mention %s:\n%s", text, comments[0].Body)
			}
		}
	}
	if left := a.S3.Objects(bucket); len(left) > 0 {
		t.Errorf("diff wrote to the state bucket: %d objects, the first at %s", len(left), left[0].Key)
	}
}

func testCancel(t *testing.T) {
	a := newAccount(t)
	// Held calls are dropped in the end, so they have no effect.
	held := a.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Hold: true, Drop: true})
	step := a.start(t, "cdk.out", map[string]string{"all": "true"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := a.Await(ctx, 1, func(r sandbox.Request) bool { return r.State == sandbox.Held }); err != nil {
		t.Fatalf("no queue was being created: %v\n%s", err, step.Log())
	}

	step.Cancel()
	cancelled := wait(t, step)
	a.wantResult(t, cancelled, runner.Cancelled, 130, map[string]string{"outcome": "cancelled", "exit-code": "130"})
	t.Logf("%.1f s from the first signal to the exit", cancelled.CancelTook.Seconds())
	if running, err := step.Running(t.Context()); err != nil || running {
		t.Errorf("the container runs: %t, %v", running, err)
	}
	// What was done before is on record; what was held is not.
	a.wantRecorded(t, "ShopStorage", "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SNS::Topic", "AWS::SSM::Parameter")
	if types := a.recorded(t, "ShopOrders"); slices.Contains(types, "AWS::SQS::Queue") {
		t.Errorf("ShopOrders has a queue on record that was never made: %q", types)
	}

	a.Release(held)
	resumed := a.step(t, "cdk.out", map[string]string{"all": "true"})
	a.wantResult(t, resumed, runner.Success, 0, map[string]string{"outcome": "success"})
	a.wantRecorded(t, "ShopOrders", "AWS::SQS::Queue", "AWS::Lambda::Function", "AWS::Scheduler::Schedule")
}

// An awsAccount is a sandbox that is bootstrapped for the CDK, and a job that
// has the example in its workspace.
type awsAccount struct {
	*sandbox.Sandbox
	action *runner.Action
	job    *runner.Job
	env    map[string]string
	event  string
}

func newAccount(t *testing.T) *awsAccount {
	t.Helper()
	return newAccountWith(t, sandbox.Options{}, region)
}

func newAccountWith(t *testing.T, opt sandbox.Options, region string) *awsAccount {
	t.Helper()
	opt.AccountID, opt.Region = account, region
	opt.Stored = stateshape.Watch(t, t.Name(), bucket)
	s, err := sandbox.Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.S3.AddBucket(bucket, region, "")
	s.S3.AddBucket("cdk-hnb659fds-assets-"+account+"-"+region, region, "")
	if _, err := ssm.NewFromConfig(s.Config()).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: aws.String("/cdk-bootstrap/hnb659fds/version"), Value: aws.String("28"), Type: ssmtypes.ParameterTypeString,
	}); err != nil {
		t.Fatal(err)
	}
	action, err := runner.ReadAction(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	job, err := runner.NewJob(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(job.Workspace, os.DirFS(filepath.Join(root, "examples", "shop"))); err != nil {
		t.Fatal(err)
	}
	a := &awsAccount{Sandbox: s, action: action, job: job, env: map[string]string{
		"GITHUB_EVENT_NAME":  "push",
		"GITHUB_REPOSITORY":  "org/shop",
		"GITHUB_RUN_ID":      "1",
		"GITHUB_RUN_ATTEMPT": "1",
		"GITHUB_SERVER_URL":  "https://github.example",
		"GITHUB_API_URL":     "http://127.0.0.1:9", // a push has no comment to write
		"RUNNER_OS":          "Linux",
	}}
	for _, entry := range s.Env() {
		name, value, _ := strings.Cut(entry, "=")
		a.env[name] = value
	}
	return a
}

// onPullRequest makes the steps that follow steps of a workflow that pull request
// 7 of org/shop started, on a GitHub that must not object to what it is asked.
func (a *awsAccount) onPullRequest(t *testing.T) *githubtest.Server {
	t.Helper()
	hub := githubtest.New()
	t.Cleanup(func() {
		hub.Close()
		if faults := hub.Faults(); len(faults) > 0 {
			t.Errorf("GitHub's contract: %q", faults)
		}
	})
	hub.Token(token, githubtest.Actions, true)
	a.env["GITHUB_API_URL"], a.env["GITHUB_EVENT_NAME"] = hub.URL, "pull_request"
	a.event = `{"pull_request": {"number": 7,
		"head": {"repo": {"full_name": "org/shop"}}, "base": {"repo": {"full_name": "org/shop"}}}}`
	return hub
}

func (a *awsAccount) start(t *testing.T, app string, with map[string]string) *runner.Step {
	t.Helper()
	return a.startUse(t, a.use(slim, app, with))
}

// use is a step that uses the Action.
func (a *awsAccount) use(image, app string, with map[string]string) runner.Use {
	with = maps.Clone(with)
	with["app"], with["state-bucket"] = app, bucket
	return runner.Use{
		Action: a.action, Image: image, With: with, Env: a.env, Event: a.event, Token: token,
		// The sandbox listens on the host's loopback.
		Network: "host",
	}
}

func (a *awsAccount) startUse(t *testing.T, use runner.Use) *runner.Step {
	t.Helper()
	step, err := a.job.Start(use)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := step.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return step
}

func (a *awsAccount) step(t *testing.T, app string, with map[string]string) *runner.Result {
	t.Helper()
	return wait(t, a.start(t, app, with))
}

func wait(t *testing.T, step *runner.Step) *runner.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := step.Wait(ctx)
	if err != nil {
		t.Fatalf("%v\n%s", err, step.Log())
	}
	return r
}

// wantResult checks a step, and what must be so after each: the runner has no
// objection, no lock is left, and the token is nowhere to be read.
func (a *awsAccount) wantResult(t *testing.T, r *runner.Result, conclusion runner.Conclusion, exit int, outputs map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name := range outputs {
		got[name] = r.Outputs[name]
	}
	if diff := cmp.Diff(outputs, got); diff != "" || r.Conclusion != conclusion || r.ExitCode != exit {
		t.Fatalf("conclusion %s and exit %d, want %s and %d; outputs (-want +got):\n%s\n%s", r.Conclusion, r.ExitCode, conclusion, exit, diff, r.Log)
	}
	if len(r.Faults) > 0 {
		t.Errorf("the runner objects: %q", r.Faults)
	}
	if r.Summary == "" {
		t.Error("there is no summary")
	}
	if strings.Contains(r.Log+r.Summary, token) {
		t.Error("the token is in the log or in the summary")
	}
	for _, o := range a.S3.Objects(bucket) {
		if strings.HasSuffix(o.Key, "lock.json") {
			t.Errorf("a lock is left at %s: %s", o.Key, o.Body)
		}
	}
}

// recorded returns the resource types in a stack's record.
func (a *awsAccount) recorded(t *testing.T, stack string) []string {
	t.Helper()
	o, ok := a.S3.Object(bucket, "cdkd/"+stack+"/"+region+"/state.json")
	if !ok {
		t.Fatalf("%s has no record", stack)
	}
	var record struct {
		Resources map[string]struct{ ResourceType string }
	}
	if err := json.Unmarshal(o.Body, &record); err != nil {
		t.Fatalf("the record of %s: %v\n%s", stack, err, o.Body)
	}
	var types []string
	for _, r := range record.Resources {
		types = append(types, r.ResourceType)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

func (a *awsAccount) wantRecorded(t *testing.T, stack string, types ...string) {
	t.Helper()
	got := a.recorded(t, stack)
	for _, typ := range types {
		if !slices.Contains(got, typ) {
			t.Errorf("the record of %s has no %s, only %q", stack, typ, got)
		}
	}
}

func build(t *testing.T, tag string, args ...string) {
	t.Helper()
	if err := runner.Build(t.Context(), root, tag, args...); err != nil {
		t.Fatalf("%v\nif it is an image that could not be pulled: .ci/base-images makes those that the Dockerfile builds on", err)
	}
}

func docker(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %v: %v\n%s", args, err, out)
	}
	return out
}

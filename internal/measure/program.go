package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/org/cdkd-action/internal/sandbox"
)

const bucket = "measure-state"

// cloudControlDelay is how long Cloud Control works on a request: about what was
// measured that it adds to a service's own call. docs/performance.md has the
// source.
const cloudControlDelay = 5 * time.Second

// build makes the binary as the Dockerfile does.
func build(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "cdkd-action")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "release,timetzdata",
		"-gcflags=github.com/aws/aws-sdk-go-v2/service/...=-l", "-ldflags", "-s -w -buildid=", "-o", program, "github.com/org/cdkd-action/cmd/action")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the released binary: %w\n%s", err, out)
	}
	return program, nil
}

// A ground is where the program runs: an AWS, and a folder for its files.
type ground struct {
	program string
	dir     string
	aws     *sandbox.Sandbox
}

// prepare starts an AWS in which each request takes as long as latency says.
// close must be called.
func prepare(ctx context.Context, program, dir string, latency time.Duration, upstream sandbox.Upstream) (g *ground, err error) {
	g = &ground{program: program, dir: dir}
	if g.aws, err = sandbox.Start(ctx, sandbox.Options{Upstream: upstream, ProgressDelay: cloudControlDelay}); err != nil {
		return nil, err
	}
	g.aws.S3.AddBucket(bucket, "us-east-1", "")
	// State buckets are versioned, which costs requests of its own.
	_, err = s3.NewFromConfig(g.aws.Config(), func(o *s3.Options) { o.UsePathStyle = true }).PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: aws.String(bucket), VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the state bucket: %w", err), g.aws.Close())
	}
	if upstream == sandbox.Moto {
		g.warm(ctx)
	}
	g.aws.SetLatency("", "", latency)
	return g, nil
}

// warm has moto load the services of the shapes of apps, which takes it up to seconds
// the first time, and holds up all else that it is asked meanwhile. What it answers
// does not matter.
func (g *ground) warm(ctx context.Context) {
	cfg := g.aws.Config()
	_, _ = ec2.NewFromConfig(cfg).DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	_, _ = ec2.NewFromConfig(cfg).DescribeNetworkAcls(ctx, &ec2.DescribeNetworkAclsInput{})
	_, _ = ecs.NewFromConfig(cfg).ListClusters(ctx, &ecs.ListClustersInput{})
	_, _ = elb.NewFromConfig(cfg).DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{})
	_, _ = iam.NewFromConfig(cfg).ListRoles(ctx, &iam.ListRolesInput{})
	_, _ = logs.NewFromConfig(cfg).DescribeLogGroups(ctx, &logs.DescribeLogGroupsInput{})
	_, _ = ssm.NewFromConfig(cfg).DescribeParameters(ctx, &ssm.DescribeParametersInput{})
}

func (g *ground) close() error { return g.aws.Close() }

// A sample is what one run of the program cost.
type sample struct {
	log   []sandbox.Request
	wall  time.Duration // of the process
	first time.Duration // from its start to the first request
	cpu   time.Duration // of the processors, the system's part included
	peak  int64         // bytes of memory in use at most; 0 where the system does not tell
}

// run runs the program as a workflow step, and fails unless it ends as the
// chapter has to. What fails is not rolled back.
func (g *ground) run(ctx context.Context, c chapter, app string) (sample, error) {
	files, err := os.MkdirTemp(g.dir, "step-")
	if err != nil {
		return sample{}, err
	}
	stacks := c.app.stack()
	if c.command == "state list" || c.command == "state info" {
		stacks = "" // it is about all that there are
	}
	asks := []string{"destroy", "rollback", "state destroy", "state orphan"}
	cmd := exec.CommandContext(ctx, g.program, "action")
	cmd.Env = append(g.aws.Env(), "PATH="+os.Getenv("PATH"), "HOME="+files,
		"GITHUB_ACTIONS=true", "CI=true", "GITHUB_RUN_ID=1000", "GITHUB_RUN_ATTEMPT=1",
		"GITHUB_REPOSITORY=acme/wide", "GITHUB_SERVER_URL=https://github.com", "GITHUB_EVENT_NAME=push",
		"GITHUB_OUTPUT="+filepath.Join(files, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(files, "summary"), "GITHUB_STATE="+filepath.Join(files, "state"),
		"INPUT_COMMAND="+c.command, "INPUT_APP="+app, "INPUT_STACKS="+stacks, "INPUT_STATE-BUCKET="+bucket, "INPUT_CONCURRENCY="+c.concurrency,
		"INPUT_CAPTURE-OBSERVED-STATE="+strconv.FormatBool(c.baselines), // most of it comes beside what is measured, and would count
		"INPUT_YES="+strconv.FormatBool(slices.Contains(asks, c.command)), "INPUT_ROLLBACK="+strconv.FormatBool(!c.fails))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out

	g.aws.ClearLog()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return sample{}, fmt.Errorf("start %s: %w", g.program, err)
	}
	peak := watch(cmd.Process.Pid)
	if c.interrupt != nil {
		if start, err = g.interrupt(ctx, cmd.Process, c.interrupt); err != nil {
			return sample{}, errors.Join(fmt.Errorf("%s: %w", c.name, err), cmd.Process.Kill(), cmd.Wait())
		}
	}
	err = cmd.Wait()
	s := sample{wall: time.Since(start), peak: peak(), log: g.aws.Log()}
	if c.interrupt != nil {
		s.log = slices.DeleteFunc(s.log, func(r sandbox.Request) bool { return r.Start.Before(start) })
		freed := slices.IndexFunc(s.log, func(r sandbox.Request) bool { return purpose(r) == "DeleteObject lock.json" })
		if freed < 0 {
			return s, fmt.Errorf("%s: the lock was not given back\n%s", c.name, out.String())
		}
		s.wall = s.log[freed].End.Sub(start)
	}
	if cmd.ProcessState != nil {
		s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if (err != nil) != c.fails {
		return s, fmt.Errorf("%s of %s: %v\n%s", c.command, app, err, out.String())
	}
	if len(s.log) == 0 {
		return s, errors.New("the program sent no request")
	}
	s.first = s.log[0].Start.Sub(start)
	return s, nil
}

// interrupt sends the process what the runner sends when a workflow is cancelled,
// once a request as wanted is answered, and returns when.
func (g *ground) interrupt(ctx context.Context, p *os.Process, wanted func(sandbox.Request) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := g.aws.Await(ctx, 1, func(r sandbox.Request) bool { return r.State == sandbox.Done && wanted(r) })
	if err != nil {
		return time.Time{}, fmt.Errorf("wait for the moment to interrupt: %w", err)
	}
	return time.Now(), p.Signal(os.Interrupt)
}

// watch follows the memory of a process until the function that it returns is
// called. What the system reports of a process that has ended is of no use: on
// Linux it includes what this process had when it started the other.
func watch(pid int) (peak func() int64) {
	quit, done := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				done <- most
				return
			case <-tick.C:
				most = max(most, highWater(pid))
			}
		}
	}()
	return func() int64 {
		close(quit)
		return <-done
	}
}

// highWater is the most memory that a process has had so far, 0 when that is
// not known.
func highWater(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

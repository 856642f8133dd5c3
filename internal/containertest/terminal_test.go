package containertest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/org/cdkd-action/internal/sandbox"
)

// A second signal means what it means for the command, where no runner sends it
// (S-182, S-184, S-185).
func testSecondSignal(t *testing.T) {
	var mu sync.Mutex
	rows := map[string]string{}
	cases := []struct {
		command string
		action  string // of SQS, held while the signals come
		args    []string
		before  func(*scene)
		says    string
		exit    int
		locked  bool // the lock stays
	}{
		{command: "deploy", action: "CreateQueue", args: []string{"--app", "cdk.out"},
			says: "locks are left behind and expire by themselves", exit: 130, locked: true},
		{command: "destroy", action: "DeleteQueue", args: []string{"--app", "cdk.out", "--yes"},
			before: func(s *scene) { s.terminal("deploy", "--app", "cdk.out").wantExit(0) },
			says:   "if its lock stays behind, remove it with", exit: 130},
		{command: "rollback", action: "DeleteQueue", args: []string{stack, "--yes"},
			before: func(s *scene) {
				id := s.AddFault(sandbox.Fault{Service: "sns", Action: "CreateTopic", Status: 403, Code: "AuthorizationError"})
				s.terminal("deploy", "--app", "cdk.out", "--no-rollback").wantExit(1)
				s.RemoveFault(id)
			},
			says: "a rollback ends when the operations that are under way have", exit: 130},
	}
	t.Run("rows", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.command, func(t *testing.T) {
				t.Parallel()
				s := &scene{awsAccount: newAccountWith(t, sandbox.Options{}, place), t: t}
				w := work{queues: 4}
				if c.command == "rollback" {
					w.resources = object{"Bad": object{"Type": "AWS::SNS::Topic", "DependsOn": []string{"Queue01", "Queue02", "Queue03", "Queue04"}, "Properties": object{}}}
				}
				s.writeApp(w, "cdk.out")
				if c.before != nil {
					c.before(s)
				}
				s.ClearLog()
				held := s.AddFault(sandbox.Fault{Service: "sqs", Action: c.action, Nth: 2, Hold: true, Drop: true})
				p := s.startTerminal(append([]string{c.command}, c.args...)...)
				p.until(func() bool { return s.asked(1, "sqs", c.action, sandbox.Held) })
				p.signal()
				p.until(func() bool { return strings.Contains(p.log(), "interrupted: nothing new") })
				second := time.Now()
				p.signal()
				p.until(func() bool { return strings.Contains(p.log(), c.says) })
				ended := "at once"
				if c.command == "rollback" {
					ended = "when what was under way had ended"
				}
				p.wantExit(c.exit)
				took := time.Since(second)
				_, locked := s.S3.Object(bucket, lockKey)
				if locked != c.locked {
					t.Errorf("the lock is there: %t, want %t\n%s", locked, c.locked, p.log())
				}
				s.RemoveFault(held)
				lock := "free"
				if locked {
					lock = "stays until it expires"
					s.terminal("force-unlock", stack).wantExit(0)
				}
				next := s.terminal(append([]string{c.command}, c.args...)...)
				next.wantExit(0)
				mu.Lock()
				defer mu.Unlock()
				rows[c.command] = fmt.Sprintf("| %s | %s, %.1f s later | %d | %s | done |\n", c.command, ended, took.Seconds(), c.exit, lock)
			})
		}
	})
	text := "| command | ends | exit code | lock | the same again |\n|---|---|---|---|---|\n"
	for _, c := range cases {
		text += rows[c.command]
	}
	t.Logf("\n%s", text)
	if *update && *wholeTable && !t.Failed() {
		writeSection(t, "second", text)
	}
}

// A terminal is the program in a container as a person would start it: nothing
// of a workflow is in its environment.
type terminal struct {
	s      *scene
	client *exec.Cmd
	done   chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func (p *terminal) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *terminal) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (s *scene) startTerminal(args ...string) *terminal {
	s.t.Helper()
	name := "cdkd-action-terminal-" + uuid.NewString()[:8]
	run := []string{"run", "--rm", "--name", name, "--network", "host", "--workdir", "/w", "-v", s.job.Workspace + ":/w"}
	for _, e := range s.Env() {
		run = append(run, "-e", e)
	}
	p := &terminal{s: s, done: make(chan struct{})}
	p.client = exec.Command("docker", append(append(run, "-e", "CDKD_STATE_BUCKET="+bucket, full), args...)...)
	p.client.Stdout, p.client.Stderr = p, p
	p.client.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.client.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.client.Wait() // the exit code is in ProcessState
	}()
	s.t.Cleanup(func() {
		_ = exec.CommandContext(context.Background(), "docker", "rm", "--force", name).Run() // it is gone but after a failure
		<-p.done
	})
	return p
}

func (s *scene) terminal(args ...string) *terminal {
	s.t.Helper()
	p := s.startTerminal(args...)
	<-p.done
	return p
}

func (p *terminal) signal() {
	p.s.t.Helper()
	if err := p.client.Process.Signal(syscall.SIGINT); err != nil {
		p.s.t.Fatal(err)
	}
}

func (p *terminal) wantExit(code int) {
	p.s.t.Helper()
	<-p.done
	if got := p.client.ProcessState.ExitCode(); got != code {
		p.s.t.Fatalf("exit %d, want %d:\n%s", got, code, p.log())
	}
}

// until waits for something that the program does.
func (p *terminal) until(happened func() bool) {
	p.s.t.Helper()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-tick.C:
		case <-limit.C:
			p.s.t.Fatalf("it did not happen:\n%s", p.log())
		}
	}
}

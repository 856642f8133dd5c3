package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// A Job is what the steps of a job share: the folders that are mounted into a
// container action.
type Job struct {
	// Workspace is where the repository is checked out.
	Workspace string
	// Temp is RUNNER_TEMP. The runner keeps its own folders in it.
	Temp string
}

// NewJob lays out a job's folders in dir.
func NewJob(dir string) (*Job, error) {
	j := &Job{Workspace: filepath.Join(dir, "work", "repo", "repo"), Temp: filepath.Join(dir, "work", "_temp")}
	for _, d := range []string{j.Workspace, j.home(), j.workflow(), j.fileCommands()} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("lay out the job: %w", err)
		}
	}
	return j, nil
}

func (j *Job) home() string         { return filepath.Join(j.Temp, "_github_home") }
func (j *Job) workflow() string     { return filepath.Join(j.Temp, "_github_workflow") }
func (j *Job) fileCommands() string { return filepath.Join(j.Temp, "_runner_file_commands") }

// A Use is a step of a workflow that uses a container action.
type Use struct {
	Action *Action
	Image  string
	With   map[string]string
	// Env is the environment of the step, and what the runner knows of the run
	// beyond what it sets itself: GITHUB_REPOSITORY, RUNNER_ARCH and so on.
	Env   map[string]string
	Event string // the JSON at GITHUB_EVENT_PATH; "" for {}
	Token string // github.token
	// Network is that of a job with a container or services; "" for the
	// default, the bridge.
	Network string
	// Entrypoint replaces the image's; State is what an earlier run of the
	// action saved. Both are for the post step.
	Entrypoint string
	State      map[string]string
}

// A Step is a container action at work.
type Step struct {
	// Container is the name of the container.
	Container string

	files   map[string]string // by variable, on the host
	client  *exec.Cmd
	output  *os.File
	started time.Time
	done    chan struct{}
	ended   time.Time

	cancelled time.Time // zero when it was not
	timedOut  bool
}

func (s *Step) signalled() { s.cancelled = time.Now() }

// Started is when the docker client was started.
func (s *Step) Started() time.Time { return s.started }

// Cancelled is when the first signal was sent.
func (s *Step) Cancelled() time.Time { return s.cancelled }

// fileCommands are the files that a step may write, each with the name that the
// runner gives it.
var fileCommands = map[string]string{
	"GITHUB_OUTPUT":       "set_output_",
	"GITHUB_STATE":        "save_state_",
	"GITHUB_ENV":          "set_env_",
	"GITHUB_PATH":         "add_path_",
	"GITHUB_STEP_SUMMARY": "step_summary_",
}

// Start runs the step and returns while it is at work. The context does not
// end it: [Step.Cancel] does.
func (j *Job) Start(use Use) (*Step, error) {
	id := uuid.NewString()
	s := &Step{
		Container: strings.NewReplacer(":", "", "/", "", "-", "").Replace(use.Image) + "_" + id[:6],
		files:     map[string]string{},
		done:      make(chan struct{}),
	}
	env := use.Action.inputs(use.With, use.Token)
	maps.Copy(env, use.Env)
	for name, value := range use.State {
		env["STATE_"+name] = value
	}
	for variable, prefix := range fileCommands {
		s.files[variable] = filepath.Join(j.fileCommands(), prefix+id)
		if err := os.WriteFile(s.files[variable], nil, 0o644); err != nil {
			return nil, fmt.Errorf("make the files of the step: %w", err)
		}
		env[variable] = "/github/file_commands/" + prefix + id
	}
	event := use.Event
	if event == "" {
		event = "{}"
	}
	if err := os.WriteFile(filepath.Join(j.workflow(), "event.json"), []byte(event), 0o644); err != nil {
		return nil, fmt.Errorf("write the event: %w", err)
	}
	env["GITHUB_EVENT_PATH"] = "/github/workflow/event.json"
	env["GITHUB_WORKSPACE"] = "/github/workspace"
	env["RUNNER_TEMP"] = "/github/runner_temp"
	env["HOME"] = "/github/home"

	output, err := os.Create(filepath.Join(j.Temp, "log_"+id))
	if err != nil {
		return nil, fmt.Errorf("make the log of the step: %w", err)
	}
	s.output = output
	s.client = exec.Command("docker", j.arguments(s.Container, env, use)...)
	s.client.Env = []string{"PATH=" + os.Getenv("PATH")}
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		s.client.Env = append(s.client.Env, "DOCKER_HOST="+host)
	}
	for name, value := range env {
		s.client.Env = append(s.client.Env, name+"="+value)
	}
	s.client.Stdout, s.client.Stderr = output, output
	// A group of its own, so that a Ctrl-C meant for the test does not reach it.
	s.client.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	s.started = time.Now()
	if err := s.client.Start(); err != nil {
		output.Close()
		return nil, fmt.Errorf("start the docker client: %w", err)
	}
	go func() {
		defer close(s.done)
		s.client.Wait() // what it came to is in ProcessState
		s.ended = time.Now()
		output.Close()
	}()
	return s, nil
}

// arguments is the runner's command line, in its order. There is no --init, no
// terminal, no standard input and no user.
func (j *Job) arguments(name string, env map[string]string, use Use) []string {
	label := sha256.Sum256([]byte(j.Temp))
	args := []string{
		"run",
		"--name", name,
		"--label", hex.EncodeToString(label[:3]),
		"--workdir", "/github/workspace",
		"--rm",
	}
	for _, variable := range slices.Sorted(maps.Keys(env)) {
		args = append(args, "-e", variable)
	}
	args = append(args, "-e", "GITHUB_ACTIONS=true")
	if env["CI"] == "" {
		args = append(args, "-e", "CI=true")
	}
	entrypoint := use.Entrypoint
	if entrypoint == "" {
		entrypoint = use.Action.Runs.Entrypoint
	}
	if entrypoint != "" {
		args = append(args, "--entrypoint", entrypoint)
	}
	if use.Network != "" {
		args = append(args, "--network", use.Network)
	}
	args = append(args,
		"-v", socket()+":/var/run/docker.sock",
		"-v", j.Temp+":/github/runner_temp",
		"-v", j.home()+":/github/home",
		"-v", j.workflow()+":/github/workflow",
		"-v", j.fileCommands()+":/github/file_commands",
		"-v", j.Workspace+":/github/workspace",
		use.Image)
	return append(args, use.Action.Runs.Args...)
}

// socket is that of the engine which runs the containers: the runner's, unless a
// test brings one of its own.
func socket() string {
	if path, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		return path
	}
	return "/var/run/docker.sock"
}

// The runner's ladder.
const (
	toTerminate = 7500 * time.Millisecond
	toKill      = 2500 * time.Millisecond
)

// Cancel cancels the step and returns when the docker client has ended, which
// is after ten seconds at the latest. The container may outlive it.
func (s *Step) Cancel() {
	s.signalled()
	for _, rung := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, toTerminate}, {syscall.SIGTERM, toKill}} {
		s.client.Process.Signal(rung.signal)
		select {
		case <-s.done:
			return
		case <-time.After(rung.wait):
		}
	}
	s.client.Process.Kill()
	<-s.done
}

// Wait waits for the step and reads what it left. When ctx ends first, the
// client is killed.
func (s *Step) Wait(ctx context.Context) (*Result, error) {
	select {
	case <-s.done:
		return s.result()
	case <-ctx.Done():
		s.client.Process.Kill()
		<-s.done
		return nil, fmt.Errorf("wait for %s: %w", s.Container, ctx.Err())
	}
}

// AwaitLog waits until the step has printed text, or has ended without.
func (s *Step) AwaitLog(ctx context.Context, text string) error {
	// A file says nothing when it grows, so it is looked at.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ended := false; ; {
		if strings.Contains(s.Log(), text) {
			return nil
		}
		if ended {
			return fmt.Errorf("%s ended without printing %q:\n%s", s.Container, text, s.Log())
		}
		select {
		case <-tick.C:
		case <-s.done:
			ended = true
		case <-ctx.Done():
			return fmt.Errorf("%s did not print %q: %w\n%s", s.Container, text, ctx.Err(), s.Log())
		}
	}
}

// Log returns what the step printed so far.
func (s *Step) Log() string {
	text, err := os.ReadFile(s.output.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

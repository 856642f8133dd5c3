package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// A want is how a step is expected to end. The demo is a test that one can
// watch: what comes otherwise ends it.
type want struct {
	exit    int
	outcome string // "" is any
}

// An ending is how a step ended.
type ending struct {
	exit     int
	outputs  map[string]string
	requests int // to AWS
	err      error
}

// A running step.
type running struct {
	s       *show
	cmd     *exec.Cmd
	outputs string
	before  int
	copied  sync.WaitGroup
}

// step runs the program as a workflow step and checks how it ends.
func (s *show) step(ctx context.Context, w want, command, app string, env ...string) (ending, error) {
	r, err := s.start(ctx, command, app, env...)
	if err != nil {
		return ending{}, err
	}
	return s.check(r.wait(), w)
}

func (s *show) check(e ending, w want) (ending, error) {
	switch {
	case e.err != nil:
		return e, e.err
	case e.exit != w.exit:
		return e, fmt.Errorf("the step ended with %d, not with %d", e.exit, w.exit)
	case w.outcome != "" && e.outputs["outcome"] != w.outcome:
		return e, fmt.Errorf("the step's outcome is %q, not %q", e.outputs["outcome"], w.outcome)
	}
	return e, nil
}

// start starts the program with what a runner gives to a step.
func (s *show) start(ctx context.Context, command, app string, env ...string) (*running, error) {
	files, err := os.MkdirTemp(s.dir, "step-")
	if err != nil {
		return nil, err
	}
	event := filepath.Join(files, "event.json")
	if err := os.WriteFile(event, []byte(s.github.event()), 0o600); err != nil {
		return nil, err
	}
	r := &running{s: s, outputs: filepath.Join(files, "output"), before: len(s.aws.Log())}
	for _, f := range []string{"output", "summary", "state"} {
		if err := os.WriteFile(filepath.Join(files, f), nil, 0o600); err != nil {
			return nil, err
		}
	}
	if command == "destroy" {
		env = append(env, "INPUT_YES=true")
	}
	name := "push"
	if command == "diff" {
		name = "pull_request"
	}
	r.cmd = exec.CommandContext(ctx, s.program, "action")
	r.cmd.Env = append(append(s.aws.Env(),
		"PATH="+os.Getenv("PATH"), "HOME="+files,
		"GITHUB_ACTIONS=true", "CI=true", "GITHUB_EVENT_NAME="+name, "GITHUB_EVENT_PATH="+event,
		"GITHUB_REPOSITORY="+repository, "GITHUB_SERVER_URL=https://github.com", "GITHUB_API_URL="+s.github.url(),
		"GITHUB_RUN_ID=1000", "GITHUB_RUN_ATTEMPT=1",
		"GITHUB_OUTPUT="+r.outputs, "GITHUB_STEP_SUMMARY="+filepath.Join(files, "summary"), "GITHUB_STATE="+filepath.Join(files, "state"),
		"INPUT_COMMAND="+command, "INPUT_APP="+s.app(app), "INPUT_ALL=true",
		"INPUT_STATE-BUCKET="+bucket, "INPUT_GITHUB-TOKEN=ghs_demo",
	), env...)
	pipe, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.cmd.Stderr = r.cmd.Stdout
	shown := ""
	for _, e := range env {
		if name, v, _ := strings.Cut(strings.TrimPrefix(e, "INPUT_"), "="); v != "" && name != "YES" {
			shown += ", " + strings.ToLower(name) + ": " + v
		}
	}
	if shown == "" {
		shown = ", all: true"
	}
	s.say("  uses: org/cdkd-action  with: command: %s, app: %s%s", command, app, shown)
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.program, err)
	}
	r.copied.Go(func() {
		lines := bufio.NewScanner(pipe)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if line := lines.Text(); !forRunner(line) {
				fmt.Fprintln(s.out, "    "+line)
			}
		}
	})
	return r, nil
}

// forRunner tells whether a line is a command that a runner acts upon and does
// not show.
func forRunner(line string) bool {
	return strings.HasPrefix(line, "::stop-commands::") || strings.HasPrefix(line, "::add-mask::") ||
		strings.HasPrefix(line, "::") && strings.HasSuffix(line, "::")
}

// wait waits for the step to end.
func (r *running) wait() ending {
	r.copied.Wait()
	err := r.cmd.Wait()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return ending{err: fmt.Errorf("run %s: %w", r.s.program, err)}
	}
	e := ending{exit: r.cmd.ProcessState.ExitCode(), outputs: map[string]string{}, requests: len(r.s.aws.Log()) - r.before}
	text, err := os.ReadFile(r.outputs)
	if err != nil {
		e.err = err
		return e
	}
	e.outputs = parseOutputs(string(text))
	return e
}

// parseOutputs reads the output file as the runner does: name<<DELIMITER, the
// value's lines, DELIMITER.
func parseOutputs(text string) map[string]string {
	outputs := map[string]string{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		name, delimiter, ok := strings.Cut(lines[i], "<<")
		if !ok {
			continue
		}
		var v []string
		for i++; i < len(lines) && lines[i] != delimiter; i++ {
			v = append(v, lines[i])
		}
		outputs[name] = strings.Join(v, "\n")
	}
	return outputs
}

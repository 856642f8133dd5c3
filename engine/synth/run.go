package synth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/child"
	"github.com/org/cdkd-action/engine/value"
)

// inlineContext is how large context may be to fit an environment variable.
const inlineContext = 32 << 10

// cliVersion is how new a CDK command line the app is told to run under: as
// new as can be, since what counts is the version of the assembly.
const cliVersion = "2.1000.0"

// run runs the app once and returns what it asks for.
func (s *synthesis) run(ctx context.Context) ([]assembly.Missing, error) {
	if s.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Timeout, &TimeoutError{Command: s.Command, Dir: s.Dir, After: s.Timeout})
		defer cancel()
	}
	// The manifest of an earlier run must not be taken for this one's.
	manifest := filepath.Join(s.Output, assembly.ManifestFile)
	if err := os.Remove(manifest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("make room for the assembly: %w", err)
	}
	given, err := value.Marshal(s.context())
	if err != nil {
		return nil, fmt.Errorf("write the context of the app: %w", err)
	}
	env := Environment(s.Environ, s.Environment)
	command, err := rewrite(s.Command, func() (string, error) { return child.LookPath("node", s.Dir, env) })
	if err != nil {
		return nil, err
	}
	contextVariable, remove, err := contextFor(given)
	if err != nil {
		return nil, err
	}
	defer remove()
	env = s.with(env, contextVariable)

	hide := hider(env)
	left := shown
	c := child.Command{
		Args: []string{"sh", "-c", command}, Dir: s.Dir, Env: env, Grace: s.Grace,
		Stdout: &printed{hide, &left, s.Stdout}, Stderr: &printed{hide, &left, s.Stderr},
	}
	err = c.Run(ctx)
	exit, failed := errors.AsType[*child.ExitError](err)
	switch {
	case failed:
		return nil, &AppError{Command: s.Command, Dir: s.Dir, Code: exit.Code, Status: exit.Status, Stderr: hide.Replace(exit.Tail)}
	case errors.Is(err, exec.ErrNotFound):
		return nil, &NoProgramError{Program: "sh", Command: s.Command}
	case errors.As(err, new(*TimeoutError)):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("run the app: %w", err)
	}
	return s.missing(manifest)
}

// contextFor is the variable by which the app gets its context. remove is
// called when the app is over.
func contextFor(given []byte) (variable string, remove func(), err error) {
	if len(given) <= inlineContext {
		return "CDK_CONTEXT_JSON=" + string(given), func() {}, nil
	}
	file, err := os.CreateTemp("", "cdk-context-*.json")
	if err != nil {
		return "", nil, fmt.Errorf("write the context of the app: %w", err)
	}
	remove = func() { _ = os.Remove(file.Name()) }
	_, err = file.Write(given)
	if err = errors.Join(err, file.Close()); err != nil {
		remove()
		return "", nil, fmt.Errorf("write the context of the app: %w", err)
	}
	return "CONTEXT_OVERFLOW_LOCATION_ENV=" + file.Name(), remove, nil
}

// with adds to an environment what an app reads.
func (s *synthesis) with(env []string, contextVariable string) []string {
	env = without(env, "CDK_CONTEXT_JSON", "CONTEXT_OVERFLOW_LOCATION_ENV")
	set := []string{
		contextVariable,
		"CDK_OUTDIR=" + s.Output,
		fmt.Sprintf("CDK_CLI_ASM_VERSION=%d.0.0", assembly.SchemaVersion),
		"CDK_CLI_VERSION=" + cliVersion,
	}
	if s.Region != "" {
		set = append(set, "CDK_DEFAULT_REGION="+s.Region)
	}
	if s.account != "" {
		set = append(set, "CDK_DEFAULT_ACCOUNT="+s.account)
	}
	if !s.Validate {
		set = append(set, "CDK_VALIDATION=false")
	}
	for _, v := range set {
		name, _, _ := strings.Cut(v, "=")
		env = append(without(env, name), v)
	}
	return env
}

// missing reads what the app asks for. The rest of the manifest is read by who
// deploys it.
func (s *synthesis) missing(manifest string) ([]assembly.Missing, error) {
	none := &NoAssemblyError{Command: s.Command, Dir: s.Dir, Output: s.Output}
	body, err := os.ReadFile(manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	if err != nil {
		return nil, fmt.Errorf("read what the app made: %w", err)
	}
	var m struct {
		Missing []struct {
			Key      string        `json:"key"`
			Provider string        `json:"provider"`
			Props    *value.Object `json:"props"`
		} `json:"missing"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		none.Err = fmt.Errorf("%s: %w", assembly.ManifestFile, err)
		return nil, none
	}
	var all []assembly.Missing
	seen := map[string]bool{}
	for _, q := range m.Missing {
		if !seen[q.Key] {
			all = append(all, assembly.Missing{Key: q.Key, Provider: q.Provider, Props: q.Props})
		}
		seen[q.Key] = true
	}
	return all, nil
}

// hider takes the credentials of an environment out of text: an app that prints
// its environment is common, and its last words end up in reports.
func hider(env []string) *strings.Replacer {
	var pairs []string
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		switch name {
		case "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN":
			if value != "" {
				pairs = append(pairs, value, "***")
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// shown is how much of what one run of the app prints is passed on. More would
// only hide in the log what is of use there.
const shown = 16 << 20

// printed passes on what the app prints, without credentials. Two of them that
// share what is left are not written to at once.
type printed struct {
	hide *strings.Replacer
	left *int // of shown
	to   io.Writer
}

func (p *printed) Write(lines []byte) (int, error) {
	if p.to == nil || *p.left <= 0 {
		return len(lines), nil
	}
	text := p.hide.Replace(string(lines))
	if *p.left -= len(lines); *p.left <= 0 {
		text += fmt.Sprintf("… the app prints more than %d MiB; the rest is not shown\n", shown>>20)
	}
	if _, err := io.WriteString(p.to, text); err != nil {
		return 0, err
	}
	return len(lines), nil
}

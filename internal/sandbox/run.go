package sandbox

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed runtime
var runtimes embed.FS

// runFunction runs a function's own code in a process of its own, which has
// the sandbox as its AWS. Layers and container images are not run.
func (s *Sandbox) runFunction(ctx context.Context, region, name string, f *function, event map[string]any) (any, error) {
	dir, err := os.MkdirTemp("", "sandbox-function-")
	if err != nil {
		return nil, fmt.Errorf("run function %s: %w", name, err)
	}
	defer os.RemoveAll(dir)
	task := filepath.Join(dir, "task")
	if err := unzip(f.zip, task); err != nil {
		return nil, fmt.Errorf("run function %s: %w", name, err)
	}
	if err := os.CopyFS(filepath.Join(dir, "opt"), runtimes); err != nil {
		return nil, fmt.Errorf("run function %s: %w", name, err)
	}
	opt := filepath.Join(dir, "opt", "runtime")

	timeout := time.Duration(max(f.Timeout, 3)) * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var cmd *exec.Cmd
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LAMBDA_TASK_ROOT=" + task}
	switch {
	case strings.HasPrefix(f.Runtime, "nodejs"):
		// Where node looks for what the code does not bring along.
		env = append(env, "NODE_PATH="+opt)
		cmd = exec.CommandContext(ctx, "node", filepath.Join(opt, "index.js"))
	case strings.HasPrefix(f.Runtime, "python"):
		env = append(env, "PYTHONPATH="+opt, "PYTHONDONTWRITEBYTECODE=1")
		cmd = exec.CommandContext(ctx, "python3", filepath.Join(opt, "main.py"))
	default:
		return nil, fmt.Errorf("run function %s: cannot run runtime %q, only nodejs and python", name, f.Runtime)
	}
	env = append(env, s.Env()...)
	for k, v := range f.Environment {
		env = append(env, k+"="+v)
	}
	result := filepath.Join(dir, "result.json")
	cmd.Env = append(env,
		"AWS_REGION="+region, "AWS_DEFAULT_REGION="+region,
		"_HANDLER="+f.Handler,
		"AWS_EXECUTION_ENV=AWS_Lambda_"+f.Runtime,
		"AWS_LAMBDA_FUNCTION_NAME="+name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE="+strconv.Itoa(max(f.MemorySize, 128)),
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/"+name,
		"AWS_LAMBDA_LOG_STREAM_NAME=2026/01/01/[$LATEST]"+strings.ToLower(rand.Text()),
		"SANDBOX_FUNCTION_ARN=arn:aws:lambda:"+region+":"+s.account+":function:"+name,
		"SANDBOX_REQUEST_ID="+strings.ToLower(rand.Text()),
		"SANDBOX_TIMEOUT="+strconv.Itoa(int(timeout.Seconds())),
		"SANDBOX_RESULT="+result,
	)
	input, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("run function %s: %w", name, err)
	}
	var output bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = task, bytes.NewReader(input), &output, &output
	cmd.SysProcAttr = childAttributes()
	cmd.Cancel = func() error { stopChild(cmd.Process); return nil }
	ran := cmd.Run()
	text, err := os.ReadFile(result)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, &FunctionError{"Sandbox.Timedout", fmt.Sprintf("Task timed out after %d.00 seconds", int(timeout.Seconds()))}
	case err != nil:
		return nil, &FunctionError{"Runtime.ExitError", fmt.Sprintf("the process ended without a result (%v): %s", ran, output.String())}
	}
	var out struct {
		Payload                 any
		ErrorType, ErrorMessage string
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("run function %s: %w", name, err)
	}
	if out.ErrorType != "" || out.ErrorMessage != "" {
		return nil, &FunctionError{out.ErrorType, out.ErrorMessage}
	}
	return out.Payload, nil
}

func unzip(raw []byte, dir string) error {
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return fmt.Errorf("its code: %w", err)
	}
	if err := os.CopyFS(dir, archive); err != nil {
		return fmt.Errorf("its code: %w", err)
	}
	return nil
}

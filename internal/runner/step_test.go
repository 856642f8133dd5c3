package runner

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// probeImage makes an image that holds nothing but the probe.
func probeImage(t *testing.T) string {
	t.Helper()
	if err := Engine(t.Context()); err != nil {
		t.Skipf("needs a Docker engine: %v", err)
	}
	binary := filepath.Join(t.TempDir(), "probe")
	build := exec.Command("go", "build", "-o", binary, "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the probe: %v\n%s", err, out)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	w.WriteHeader(&tar.Header{Name: "probe", Mode: 0o755, Size: int64(len(program))})
	w.Write(program)
	w.WriteHeader(&tar.Header{Name: "probe-post", Typeflag: tar.TypeSymlink, Linkname: "probe"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tag := "cdkd-action-probe:" + uuid.NewString()[:8]
	load := exec.Command("docker", "import", "--change", `ENTRYPOINT ["/probe"]`, "-", tag)
	load.Stdin = &archive
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("make the probe's image: %v\n%s", err, out)
	}
	t.Cleanup(func() { docker(context.Background(), "rmi", tag) })
	return tag
}

func probeUse(image, what string) Use {
	a := &Action{Inputs: map[string]ActionInput{"a-b": {Default: "by default"}}}
	a.Runs.PostEntrypoint = "/probe-post"
	return Use{Action: a, Image: image, Env: map[string]string{"PROBE": what}, Network: "none"}
}

func startProbe(t *testing.T, use Use) *Step {
	t.Helper()
	job, err := NewJob(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	step, err := job.Start(use)
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

func wait(t *testing.T, step *Step) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := step.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// waitForLog waits until the step has printed text.
func waitForLog(t *testing.T, step *Step, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := step.AwaitLog(ctx, text); err != nil {
		t.Fatal(err)
	}
}

func TestStep(t *testing.T) {
	image := probeImage(t)

	t.Run("what a step writes is read when it ends (G-1.2)", func(t *testing.T) {
		use := probeUse(image, "write")
		r := wait(t, startProbe(t, use))
		const first = `pid 1 in /github/workspace, HOME /github/home, input "by default", stdin <nil>` + "\n"
		if !strings.HasPrefix(r.Log, first) {
			t.Errorf("the log starts with %q, want %q", r.Log, first)
		}
		if !strings.Contains(r.Log, "told ***") || r.Summary != "# Summary of ***\n" {
			t.Errorf("not masked: log %q, summary %q", r.Log, r.Summary)
		}
		if diff := cmp.Diff([]any{Success, map[string]string{"result": "done"}, []string{"/a", "/b"}},
			[]any{r.Conclusion, r.Outputs, r.Path}); diff != "" {
			t.Errorf("conclusion, outputs and path (-want +got):\n%s", diff)
		}
		post, ok := r.Post(use)
		if !ok {
			t.Fatal("there is no post step")
		}
		post.Env = map[string]string{"PROBE": "post"}
		if r := wait(t, startProbe(t, post)); !strings.Contains(r.Log, "kept: for later") {
			t.Errorf("the post step saw no state:\n%s", r.Log)
		}
	})

	t.Run("a malformed file fails a step that exited with 0 (G-1.2)", func(t *testing.T) {
		r := wait(t, startProbe(t, probeUse(image, "malformed")))
		if r.Conclusion != Failure || r.ExitCode != 0 || len(r.Faults) != 1 {
			t.Errorf("conclusion %s, exit %d, faults %q; want failure, 0 and one fault", r.Conclusion, r.ExitCode, r.Faults)
		}
	})

	t.Run("an exit code other than 0 fails the step", func(t *testing.T) {
		if r := wait(t, startProbe(t, probeUse(image, "fail"))); r.Conclusion != Failure || r.ExitCode != 3 {
			t.Errorf("conclusion %s, exit %d; want failure and 3", r.Conclusion, r.ExitCode)
		}
	})

	t.Run("SIGINT reaches process 1, whose exit ends the ladder (G-1.3, G-1.4)", func(t *testing.T) {
		step := startProbe(t, probeUse(image, "handle"))
		waitForLog(t, step, "ready")
		step.Cancel()
		r := wait(t, step)
		if r.Conclusion != Cancelled || r.ExitCode != 130 || !strings.Contains(r.Log, "got interrupt") {
			t.Errorf("conclusion %s, exit %d; want cancelled and 130; log:\n%s", r.Conclusion, r.ExitCode, r.Log)
		}
		if r.CancelTook >= toTerminate {
			t.Errorf("cancelling took %v, although the process ended at once", r.CancelTook)
		}
	})

	t.Run("a program that does not handle SIGINT exits with 2 (G-0.5)", func(t *testing.T) {
		step := startProbe(t, probeUse(image, "unhandled"))
		waitForLog(t, step, "ready")
		step.Cancel()
		if r := wait(t, step); r.ExitCode != 2 {
			t.Errorf("exit %d, want 2", r.ExitCode)
		}
	})

	t.Run("the ladder kills the client and not the container (G-1.4)", func(t *testing.T) {
		step := startProbe(t, probeUse(image, "ignore"))
		waitForLog(t, step, "ready")
		step.Cancel()
		r := wait(t, step)
		if r.ExitCode != -1 || !strings.Contains(r.Log, "got interrupt\ngot terminated") {
			t.Errorf("exit %d, want -1 after both signals; log:\n%s", r.ExitCode, r.Log)
		}
		if r.CancelTook < toTerminate+toKill {
			t.Errorf("the client was gone after %v, want the whole ladder", r.CancelTook)
		}
		if running, err := step.Running(t.Context()); err != nil || !running {
			t.Errorf("the container runs: %t, %v; want it to outlive its client", running, err)
		}
	})
}

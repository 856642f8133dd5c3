package containertest

import (
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/org/cdkd-action/internal/runner"
	"github.com/org/cdkd-action/internal/sandbox"
)

var figures = flag.Bool("figures", false, "measure how long it takes to start and to be cancelled, 30 times")

// measured is how many deploys the figures are of.
const measured = 30

// testFigures measures what people wait for: the first line of the log, and the
// end of a deploy that is cancelled while it makes 48 resources.
func testFigures(t *testing.T) {
	var first, exit []time.Duration
	w := works[slices.IndexFunc(works, func(w work) bool { return w.queues == 48 })]
	for range measured {
		s := &scene{awsAccount: newAccountWith(t, sandbox.Options{}, place), t: t}
		s.writeApp(w, "cdk.out")
		s.SetLatency("sqs", "CreateQueue", 500*time.Millisecond)
		step := s.startUse(t, s.use(full, "cdk.out", map[string]string{"stacks": stack}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := step.AwaitLog(ctx, "cdkd-action "); err != nil {
			t.Fatal(err)
		}
		first = append(first, time.Since(step.Started()))
		cancel()
		s.awaitWork(step, w)
		step.Cancel()
		r := wait(t, step)
		if r.ExitCode != 130 || r.Conclusion != runner.Cancelled {
			t.Fatalf("exit %d:\n%s", r.ExitCode, r.Log)
		}
		exit = append(exit, r.CancelTook)
	}
	text := "| | median | worst of 30 |\n|---|---|---|\n" +
		figure("`docker run` to the first line of the log", first) +
		figure("cancel to exit, while 48 resources are made by calls of 0.5 s", exit) +
		"\n| image | compressed |\n|---|---|\n" +
		fmt.Sprintf("| `slim` | %.1f MB |\n| the default | %.0f MB |\n", compressed(t, slim), compressed(t, full))
	t.Logf("\n%s", text)
	if *update {
		writeSection(t, "figures", text)
	}
}

func figure(name string, d []time.Duration) string {
	slices.Sort(d)
	return fmt.Sprintf("| %s | %.2f s | %.2f s |\n", name, d[len(d)/2].Seconds(), d[len(d)-1].Seconds())
}

// compressed is the size of an image's layers in a registry, in megabytes.
func compressed(t *testing.T, image string) float64 {
	t.Helper()
	save := exec.CommandContext(t.Context(), "docker", "save", image)
	out, err := save.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := save.Start(); err != nil {
		t.Fatal(err)
	}
	size := &counter{}
	z := gzip.NewWriter(size)
	if _, err := io.Copy(z, out); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := save.Wait(); err != nil {
		t.Fatal(err)
	}
	return float64(size.n) / 1e6
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// The small image is there to be small.
func testSlimIsSmall(t *testing.T) {
	const most = 25
	if got := compressed(t, slim); got >= most {
		t.Errorf("%s has %.1f MB compressed, want less than %d", slim, got, most)
	}
	docker(t, "run", "--rm", "--network", "none", "--entrypoint", "/cdkd-action-post", slim)
}

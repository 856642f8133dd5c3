package sandbox_test

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/org/cdkd-action/internal/sandbox"
)

// asMain makes this test program the sandbox's.
const asMain = "SANDBOX_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		os.Exit(sandbox.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	cmd.Stderr = t.Output()
	return cmd
}

func TestProcessOfItsOwn(t *testing.T) {
	cmd := program(t, "-region", "eu-west-1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	url := lines.Text()
	var env []string
	for len(env) < 5 && lines.Scan() {
		env = append(env, lines.Text())
	}
	if want := "export AWS_ENDPOINT_URL=" + url; env[0] != want || env[4] != "export AWS_REGION=eu-west-1" {
		t.Errorf("environment %q, want first %q", env, want)
	}
	res, err := http.Get(url + "/_sandbox/log")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("log: %s", res.Status)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func TestProcessRefusesBadFlags(t *testing.T) {
	for _, args := range []string{"-upstream=localstack", "-addr=256.0.0.1:0", "-nonsense"} {
		cmd := program(t, strings.Fields(args)...)
		cmd.Stderr = nil
		if err := cmd.Run(); err == nil {
			t.Errorf("%s was accepted", args)
		}
	}
}

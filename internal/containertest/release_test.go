package containertest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/org/cdkd-action"

// What only the demo and the tests use must not be in what people run with
// their credentials.
func TestReleaseHasNoSandbox(t *testing.T) {
	isSandbox := func(pkg string) bool {
		return strings.HasPrefix(pkg, module+"/internal/sandbox") || strings.HasPrefix(pkg, "github.com/sivchari/kumo")
	}
	if deps := dependencies(t); !slices.ContainsFunc(deps, isSandbox) {
		t.Error("the ordinary build has no sandbox: this test looks for the wrong packages")
	}
	for _, pkg := range dependencies(t, "-tags", "release") {
		if isSandbox(pkg) {
			t.Errorf("the release build depends on %s", pkg)
		}
	}
}

func dependencies(t *testing.T, flags ...string) []string {
	t.Helper()
	args := append(append([]string{"list", "-deps"}, flags...), module+"/cmd/action")
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			t.Fatalf("go %v: %v\n%s", args, err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

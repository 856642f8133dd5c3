package engine_test

import (
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// The import that a refused create prints is one that goes through when it is
// followed: of what was to replace something, which is on record, with force
// (S-251, S-315).
func TestAdvisedImportOfAReplacementNeedsForce(t *testing.T) {
	e, cloud := newEngine(t)
	dir := t.TempDir()
	role := func(name string) string {
		return `"Role": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "` + name + `", "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []}}}`
	}
	taken := sandbox.Fault{Service: "iam", Action: "CreateRole", Status: 409, Code: "EntityAlreadyExists", Count: 1}
	failed := func() string {
		t.Helper()
		cloud.AddFault(taken)
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Outcome != result.Failed || len(run.Stacks[0].Failures) != 1 {
			t.Fatalf("%v %+v", err, run.Stacks)
		}
		return run.Stacks[0].Failures[0].Remedy
	}
	writeApp(t, dir, map[string]string{"Shop": role("one")})
	if remedy := failed(); !strings.Contains(remedy, "import Shop --resource Role=one\n") || strings.Contains(remedy, "force") {
		t.Errorf("of a new one: %s", remedy)
	}
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks)
	}
	writeApp(t, dir, map[string]string{"Shop": role("two")})
	remedy := failed()
	for _, want := range []string{"import Shop --resource Role=two --force\n", "resource: Role=two, force: true, yes: true", "one, which is on record, is left in AWS then"} {
		if !strings.Contains(remedy, want) {
			t.Errorf("of a replacement: %s\nwant %q", remedy, want)
		}
	}
}

package synth

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRewrite(t *testing.T) { // T-11
	node := func() (string, error) { return "/opt/my node/node", nil }
	for _, c := range []struct{ command, want string }{
		{" app.js ", `"/opt/my node/node" "app.js"`},
		{"bin/app.js --flag 'two  words'", `"/opt/my node/node" "bin/app.js" --flag 'two  words'`},
		{`"bin/app.js" x`, `"/opt/my node/node" "bin/app.js" x`},
		{`'bin/app.js'`, `"/opt/my node/node" "bin/app.js"`},
		{`"bin/app.js' x`, `"bin/app.js' x`},
		{"node bin/app.js", "node bin/app.js"},
		{"npx ts-node --prefer-ts-exts bin/app.ts", "npx ts-node --prefer-ts-exts bin/app.ts"},
		{"cd app && python3 app.py", "cd app && python3 app.py"},
		{"app.jsx", "app.jsx"},
		{"'", "'"},
	} {
		if got, err := rewrite(c.command, node); err != nil || got != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.command, got, err, c.want)
		}
	}
	var none *NoProgramError
	if _, err := rewrite("app.js", func() (string, error) { return "", exec.ErrNotFound }); !errors.As(err, &none) || none.Program != "node" || none.Command != "app.js" {
		t.Errorf("without node (T-12): %v", err)
	}
}

func TestEnvironment(t *testing.T) { // T-28
	step := []string{
		"GITHUB_ACTIONS=true", "PATH=/bin", "INPUT_APP=a", "INPUT_ROLE-ARN=r", "STATE_x=1", "ACTIONS_RUNTIME_TOKEN=t", "GITHUB_TOKEN=t",
		"GITHUB_OUTPUT=f", "GITHUB_ENV=f", "GITHUB_PATH=f", "GITHUB_STATE=f", "GITHUB_STEP_SUMMARY=f",
		"GITHUB_SHA=s", "NPM_TOKEN=n", "AWS_PROFILE=p", "AWS_SECRET_ACCESS_KEY=k", "AWS_REGION=eu-west-1", "ODD=a=b",
	}
	for _, c := range []struct {
		name string
		env  []string
		opt  EnvironmentOptions
		want []string
	}{
		{"in a workflow", step, EnvironmentOptions{},
			[]string{"GITHUB_ACTIONS=true", "PATH=/bin", "GITHUB_SHA=s", "NPM_TOKEN=n", "AWS_PROFILE=p", "AWS_SECRET_ACCESS_KEY=k", "AWS_REGION=eu-west-1", "ODD=a=b"}},
		{"kept and removed", step, EnvironmentOptions{Keep: []string{"GITHUB_TOKEN", "INPUT_*"}, Remove: []string{"NPM_TOKEN", "GITHUB_SHA", "INPUT_ROLE*", "AWS_*"}},
			[]string{"GITHUB_ACTIONS=true", "PATH=/bin", "INPUT_APP=a", "GITHUB_TOKEN=t", "ODD=a=b"}},
		{"without credentials", step, EnvironmentOptions{NoCredentials: true, Keep: []string{"AWS_PROFILE"}},
			[]string{"GITHUB_ACTIONS=true", "PATH=/bin", "GITHUB_SHA=s", "NPM_TOKEN=n", "AWS_REGION=eu-west-1", "ODD=a=b",
				"AWS_EC2_METADATA_DISABLED=true", "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull, "AWS_CONFIG_FILE=" + os.DevNull}},
		{"elsewhere", []string{"INPUT_APP=a", "GITHUB_TOKEN=t", "X=1"}, EnvironmentOptions{Remove: []string{"X"}}, []string{"INPUT_APP=a", "GITHUB_TOKEN=t"}},
	} {
		if diff := cmp.Diff(c.want, Environment(c.env, c.opt)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"cdk.out", "other"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cdk.json"), []byte(`{"app":"npx tsx app.ts","output":"out","context":{"cdkd":{"stateBucket":"b"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p := ReadProject(dir, "")
	for _, c := range []struct {
		name, input, environment string
		want                     App
	}{
		{"cdk.json last (T-1)", "", "", App{Command: "npx tsx app.ts"}},
		{"the environment before it (T-1)", "", "./app.sh", App{Command: "./app.sh"}},
		{"the input first (T-1)", "node app", "./app.sh", App{Command: "node app"}},
		{"a folder is an assembly (T-2)", "cdk.out", "", App{Assembly: filepath.Join(dir, "cdk.out")}},
		{"also an absolute one (T-2)", filepath.Join(dir, "other"), "", App{Assembly: filepath.Join(dir, "other")}},
	} {
		if got, err := p.Resolve(c.input, c.environment); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
	if p.Settings.String("stateBucket") != "b" { // T-7
		t.Errorf("settings %v", p.Settings)
	}
	for input, want := range map[string]string{"": "out", "mine": "mine"} { // T-5, T-6
		if got, err := p.OutputFolder(input); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("output %q: %s, %v", input, got, err)
		}
	}

	prefixing := t.TempDir()
	if err := os.WriteFile(filepath.Join(prefixing, "cdk.json"), []byte(`{"context":{"cdkd":{"prefixUserSuppliedNames":true}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := ReadProject(prefixing, ""); len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "prefixUserSuppliedNames is not used") { // T-504, T-505
		t.Errorf("warnings %q", p.Warnings)
	}

	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "cdk.json"), []byte(`{"app":`), 0o644); err != nil {
		t.Fatal(err)
	}
	p = ReadProject(broken, broken)
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "cdk.json") { // T-4
		t.Errorf("warnings %q", p.Warnings)
	}
	var none *NoAppError
	if _, err := p.Resolve("", ""); !errors.As(err, &none) || !strings.Contains(none.Remedy(), "the input app, the variable CDKD_APP, or app in cdk.json") { // T-1
		t.Errorf("got %v", err)
	}
	if got, err := p.OutputFolder(""); err != nil || got != filepath.Join(broken, "cdk.out") {
		t.Errorf("output %s, %v", got, err)
	}
}

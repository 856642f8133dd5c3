package containertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/ci/github/githubtest"
)

// The example workflows are carried out by nektos/act, as they are: its expressions,
// conditions, matrix and step outputs are GitHub's grammar, read by somebody else.
// What they use of other people's (setup-node, configure-aws-credentials, npm, the
// CDK) is stood in for, since none of it is ours to test; org/cdkd-action is the
// image that was built, as a release names it.
//
// act cannot be asked for what a cancelled job does: it sends no signals.
func testWorkflows(t *testing.T) {
	if _, err := exec.LookPath("act"); err != nil {
		t.Skip("needs act: go install github.com/nektos/act@v0.2.89")
	}
	w := newWorkflows(t)

	alone := w.repository(t, "alone")
	w.run(t, alone, "deploy-on-merge.yml", "push", "{}")
	var outputs map[string]map[string]string
	if err := json.Unmarshal(w.readByJQ(t), &outputs); err != nil {
		t.Fatal(err)
	}
	url := outputs["Alone"]["Url"]
	if url == "" {
		t.Fatalf("a later step read the outputs %v", outputs)
	}

	w.run(t, alone, "drift-on-schedule.yml", "schedule", "{}")
	if _, err := sqs.NewFromConfig(w.Config()).SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": "17"},
	}); err != nil {
		t.Fatal(err)
	}
	if log, err := w.act(t, alone, "drift-on-schedule.yml", "schedule", "{}"); err == nil {
		t.Errorf("drift-on-schedule.yml finds no drift:\n%s", log)
	}
	if issues := w.hub.Issues(repository); len(issues) != 1 || !strings.Contains(issues[0].Title, "Alone") || !strings.Contains(issues[0].Body, "+ VisibilityTimeout: 17") {
		t.Errorf("drift-on-schedule.yml left the issues %+v", issues)
	}

	reviewed := w.repository(t, "cdk.out")

	w.run(t, reviewed, "diff-on-pull-request.yml", "pull_request", pullRequest(7, "opened", repository))
	w.wantComment(t, 7, `### This would create 23 resources in 2 stacks`)

	group := fmt.Sprintf(`{"merge_group": {"head_ref": "refs/heads/gh-readonly-queue/main/pr-7-%s"}}`, strings.Repeat("0", 40))
	w.run(t, reviewed, "merge-queue.yml", "merge_group", group)

	// What was not reviewed is refused, what was is deployed.
	other := w.repository(t, "cdk.out.changed")
	w.hub.Merge(repository, other.commit, 7)
	if log, err := w.act(t, other, "deploy-reviewed.yml", "push", "{}"); err == nil || !strings.Contains(log, "is not what was reviewed on "+repository+"#7") {
		t.Fatalf("deploy-reviewed.yml deploys what was not reviewed: %v\n%s", err, log)
	}
	w.hub.Merge(repository, reviewed.commit, 7)
	w.run(t, reviewed, "deploy-reviewed.yml", "push", "{}")

	w.run(t, w.repository(t, "three"), "diff-matrix.yml", "pull_request", pullRequest(8, "opened", repository))
	w.wantComment(t, 8, `## This would create 3 resources in 3 stacks`, "`Network`", "`Storage`", "`Orders`")

	preview := w.repository(t, "preview")
	w.run(t, preview, "pull-request-environments.yml", "pull_request", pullRequest(9, "opened", repository))
	w.wantComment(t, 9, "### Deployed `Preview-9-Shop`: 1 created")
	deployments := w.hub.Deployments()
	if len(deployments) != 1 || deployments[0].Environment != "preview-9" {
		t.Fatalf("pull-request-environments.yml left the deployments %+v", deployments)
	}
	if last := deployments[0].Statuses[len(deployments[0].Statuses)-1]; last.State != "success" || last.EnvironmentURL == "" {
		t.Errorf("the deployment is %+v in the end", last)
	}
	w.hub.Pull(repository, 9, "closed")
	w.run(t, preview, "pull-request-environments.yml", "pull_request", pullRequest(9, "closed", repository))
	if _, ok := w.S3.Object("my-preview-state", "cdkd/Preview-9-Shop/"+region+"/state.json"); ok {
		t.Error("pull-request-environments.yml did not sweep the stacks of a closed pull request")
	}

	before := len(w.Log())
	log := w.run(t, w.repository(t, "cdk.out", "cdk.out.changed"), "diff-of-forks.yml", "pull_request", pullRequest(10, "opened", "someone/shop"))
	if !strings.Contains(log, "Compared with the base branch, this would update 2 resources in `ShopOrders`, 1 of 2 stacks") {
		t.Errorf("diff-of-forks.yml says:\n%s", log)
	}
	if after := len(w.Log()); after != before {
		t.Errorf("diff-of-forks.yml sent AWS %d requests", after-before)
	}

	all, err := filepath.Glob(filepath.Join(root, "examples", "workflows", "*.yml"))
	if err != nil || len(all) != len(w.ran) {
		t.Errorf("of %d workflows %d ran: %q, %v", len(all), len(w.ran), w.ran, err)
	}
}

const repository = "org/shop"

func pullRequest(number int, action, head string) string {
	return fmt.Sprintf(`{"action": %q, "number": %d, "pull_request": {"number": %[2]d,
		"head": {"ref": "change", "sha": "1111111111111111111111111111111111111111", "repo": {"full_name": %q}},
		"base": {"ref": "main", "repo": {"full_name": %q}}}}`, action, number, head, repository)
}

// workflows is what the example workflows run in: an account, a GitHub, and a
// machine.
type workflows struct {
	*awsAccount
	hub  *githubtest.Server
	home string
	ran  []string
}

func newWorkflows(t *testing.T) *workflows {
	t.Helper()
	w := &workflows{awsAccount: newAccount(t), home: t.TempDir()}
	w.hub = w.onPullRequest(t)
	for _, b := range []string{"my-cdk-state", "my-preview-state"} {
		w.S3.AddBucket(b, region, "")
	}
	w.write(t, "bin/npm", "#!/bin/sh\nexit 0\n")
	// npx cdk synth … --output DIR [--context pr=N]: what a file of the repository names.
	w.write(t, "bin/npx", `#!/bin/sh
for word; do
	case $last in --output) to=$word ;; --context) pr=${word#pr=} ;; esac
	last=$word
done
cp -r "`+w.home+`/assemblies/$(cat assembly)" "$to" && sed -i "s/@pr@/$pr/g" "$to"/*.json
`)
	w.write(t, "bin/jq", "#!/bin/sh\ncat >'"+w.home+"/jq'\n")
	w.write(t, "setup-node/action.yml", `name: node
inputs: {node-version: {}, cache: {}}
runs: {using: composite, steps: [{run: "true", shell: sh}]}
`)
	w.write(t, "credentials/action.yml", `name: credentials
inputs: {role-to-assume: {required: true}, aws-region: {required: true}}
runs:
  using: composite
  steps:
    - shell: sh
      run: |
        [ -n "${{ inputs.role-to-assume }}" ] && [ "${{ inputs.aws-region }}" = `+region+` ] && cat >>"$GITHUB_ENV" <<'END'
`+indented(slices.DeleteFunc(w.Env(), func(kv string) bool { return strings.HasSuffix(kv, "=") }))+`        END
`)
	action, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, "cdkd-action/action.yml", strings.Replace(string(action), "image: Dockerfile", "image: docker://"+slim, 1))
	for _, name := range []string{"cdk.out", "cdk.out.changed"} {
		if err := os.CopyFS(filepath.Join(w.home, "assemblies", name), os.DirFS(filepath.Join(root, "examples", "shop", name))); err != nil {
			t.Fatal(err)
		}
	}
	w.assembly(t, "alone", "Alone")
	w.assembly(t, "three", "Network", "Storage", "Orders")
	w.assembly(t, "preview", "Preview-@pr@-Shop")
	return w
}

func indented(lines []string) string {
	return "        " + strings.Join(lines, "\n        ") + "\n"
}

func (w *workflows) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// assembly writes one whose stacks are a queue each.
func (w *workflows) assembly(t *testing.T, name string, stacks ...string) {
	t.Helper()
	artifacts := map[string]any{}
	for i, s := range stacks {
		file := fmt.Sprintf("stack%d.json", i)
		w.write(t, "assemblies/"+name+"/"+file, `{"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}, "Outputs": {"Url": {"Value": {"Ref": "Queue"}}}}`)
		artifacts[s] = map[string]any{"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": map[string]string{"templateFile": file}}
	}
	manifest, err := json.Marshal(map[string]any{"version": "48.0.0", "artifacts": artifacts})
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, "assemblies/"+name+"/manifest.json", string(manifest))
}

// A checkout is a clone of the repository.
type checkout struct{ dir, commit string }

// repository makes one with the example workflows, and a commit for each of the
// assemblies that it is to be synthesized to.
func (w *workflows) repository(t *testing.T, assemblies ...string) checkout {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, ".github", "workflows"), os.DirFS(filepath.Join(root, "examples", "workflows"))); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--initial-branch", "main")
	git("remote", "add", "origin", "https://github.com/"+repository+".git")
	for _, a := range assemblies {
		if err := os.WriteFile(filepath.Join(dir, "assembly"), []byte(a+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "--quiet", "--message", a)
	}
	return checkout{dir, git("rev-parse", "HEAD")}
}

// run runs a workflow that must succeed, and returns its log.
func (w *workflows) run(t *testing.T, c checkout, workflow, event, payload string) string {
	t.Helper()
	log, err := w.act(t, c, workflow, event, payload)
	if err != nil {
		t.Fatalf("%s on %s: %v\n%s", workflow, event, err, log)
	}
	return log
}

func (w *workflows) act(t *testing.T, c checkout, workflow, event, payload string) (string, error) {
	t.Helper()
	if !slices.Contains(w.ran, workflow) {
		w.ran = append(w.ran, workflow)
	}
	w.write(t, "event.json", payload)
	// act grants its token everything.
	text, err := os.ReadFile(filepath.Join(c.dir, ".github", "workflows", workflow))
	if err != nil {
		t.Fatal(err)
	}
	file, err := githubtest.ReadWorkflow(text)
	if err != nil {
		t.Fatalf("%s: %v", workflow, err)
	}
	w.hub.Grant(token, githubtest.Actions, file.Permissions)
	// A runner's own machine, with only what the steps need of its environment.
	cache := filepath.Join(w.home, ".cache", "act")
	env := []string{"HOME=" + w.home, "PATH=" + filepath.Join(w.home, "bin") + ":" + os.Getenv("PATH")}
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONFIG"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	args := []string{event, "--workflows", ".github/workflows/" + workflow, "--eventpath", filepath.Join(w.home, "event.json"),
		"--platform", "ubuntu-latest=-self-hosted", "--pull=false", "--no-cache-server", "--action-cache-path", cache,
		// act keeps the files of outputs and summaries where only the host has them.
		"--container-options", "--network host --volume " + cache + ":" + cache,
		"--secret", "GITHUB_TOKEN=" + token, "--env", "GITHUB_API_URL=" + w.hub.URL, "--env", "GITHUB_GRAPHQL_URL=" + w.hub.GraphQL,
		"--env", "AWS_EC2_METADATA_DISABLED=true"}
	if m := regexp.MustCompile(`"head_ref": "(.*?)"`).FindStringSubmatch(payload); m != nil {
		args = append(args, "--env", "GITHUB_REF="+m[1])
	}
	for action, dir := range map[string]string{
		"org/cdkd-action@v1": "cdkd-action", "actions/setup-node@v5": "setup-node", "aws-actions/configure-aws-credentials@v5": "credentials",
	} {
		args = append(args, "--local-repository", action+"="+filepath.Join(w.home, dir))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "act", args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.dir, env, &out, &out, 10*time.Second
	err = cmd.Run()
	if strings.Contains(out.String(), token) {
		t.Errorf("%s: the token is in the log", workflow)
	}
	return out.String(), err
}

// readByJQ is what the step that uses outputs gave to jq.
func (w *workflows) readByJQ(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.home, "jq"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (w *workflows) wantComment(t *testing.T, number int, texts ...string) {
	t.Helper()
	comments := w.hub.Comments(repository, number)
	if len(comments) != 1 {
		t.Fatalf("pull request %d has %d comments", number, len(comments))
	}
	for _, text := range texts {
		if !strings.Contains(comments[0].Body, text) {
			t.Errorf("the comment on pull request %d lacks %q:\n%s", number, text, comments[0].Body)
		}
	}
}

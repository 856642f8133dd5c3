package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/ci/github/githubtest"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/stateshape"
)

// A use is where an example workflow uses the Action.
type use struct {
	workflow, job, event string
	expressions          map[string]string // what GitHub makes of them
	fork                 bool
	first                func(w *workflowWorld)
}

var uses = []use{
	{workflow: "diff-on-pull-request.yml", job: "diff", event: "pull_request"},
	{workflow: "diff-matrix.yml", job: "diff", event: "pull_request", expressions: map[string]string{"matrix.stack": "Network"}},
	{workflow: "diff-of-forks.yml", job: "templates", event: "pull_request", fork: true},
	{workflow: "merge-queue.yml", job: "plan", event: "pull_request", expressions: map[string]string{"github.event_name == 'merge_group' && 'check' || 'diff'": "diff"}},
	{workflow: "merge-queue.yml", job: "plan", event: "merge_group", expressions: map[string]string{"github.event_name == 'merge_group' && 'check' || 'diff'": "check"}},
	{workflow: "deploy-reviewed.yml", job: "deploy", event: "push", first: (*workflowWorld).review},
	{workflow: "deploy-on-merge.yml", job: "deploy", event: "push"},
	{workflow: "drift-on-schedule.yml", job: "drift", event: "schedule", first: (*workflowWorld).drift},
	{workflow: "pull-request-environments.yml", job: "deploy", event: "pull_request", expressions: map[string]string{"github.event.number": "7"}},
	{workflow: "pull-request-environments.yml", job: "sweep", event: "pull_request", expressions: map[string]string{"github.event.number": "7"},
		first: func(w *workflowWorld) { w.hub.Pull(repository, pullNumber, "closed") }},
}

// notOurs are permissions for what stands in a workflow beside the Action:
// actions/checkout and aws-actions/configure-aws-credentials.
var notOurs = []string{"contents", "id-token"}

// An example workflow grants what the Action needs there, and nothing more: GitHub
// refuses nothing, and with any permission a level lower it refuses something
// wherever the workflow uses the Action (G-8.9).
func TestExampleWorkflowsGrantWhatIsNeeded(t *testing.T) {
	files, err := filepath.Glob("../../examples/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			workflow, err := githubtest.ReadWorkflow(text)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorkflowWorld(t)
			missed := map[string]bool{}
			used := false
			for _, u := range uses {
				if u.workflow != name {
					continue
				}
				used = true
				if u.first != nil {
					u.first(w)
				}
				granted := workflow.Granted(u.job)
				for scope := range granted {
					if !slices.Contains(notOurs, scope) && refused(w.run(workflow, u, granted.Lowered(scope))) {
						missed[scope] = true
					}
				}
				// A fork's token reads, whatever is granted: its report is in the summary.
				if said := w.run(workflow, u, granted); refused(said) != u.fork {
					t.Errorf("%s on %s, refused %t:\n%s", u.job, u.event, refused(said), said)
				}
			}
			if !used {
				t.Error("it is not in the list of this test")
			}
			for scope := range workflow.Permissions {
				if !missed[scope] && !slices.Contains(notOurs, scope) {
					t.Errorf("%s: %s is more than is needed", scope, workflow.Permissions[scope])
				}
			}
		})
	}
}

func refused(said string) bool {
	return strings.Contains(said, "Resource not accessible by integration")
}

// A workflowWorld is an account and a GitHub for one example workflow.
type workflowWorld struct {
	t   *testing.T
	aws *sandbox.Sandbox
	hub *githubtest.Server
	dir string
}

func newWorkflowWorld(t *testing.T) *workflowWorld {
	t.Helper()
	w := &workflowWorld{t: t, hub: githubtest.New(), dir: t.TempDir()}
	t.Cleanup(func() {
		w.hub.Close()
		if faults := w.hub.Faults(); len(faults) > 0 {
			t.Errorf("GitHub's contract: %q", faults)
		}
	})
	w.hub.Merge(repository, merged, pullNumber)
	var err error
	if w.aws, err = sandbox.Start(t.Context(), sandbox.Options{Stored: stateshape.Watch(t, t.Name(), "my-cdk-state", "my-preview-state")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.aws.Close() })
	for _, bucket := range []string{"my-cdk-state", "my-preview-state"} {
		w.aws.S3.AddBucket(bucket, "us-east-1", "")
	}
	for _, app := range []string{"cdk.out", "base/cdk.out"} {
		artifacts := map[string]any{}
		for _, stack := range []string{"Network", "Preview-7-Shop"} {
			artifacts[stack] = map[string]any{"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": map[string]string{"templateFile": "one.json"}}
		}
		manifest, err := json.Marshal(map[string]any{"version": "48.0.0", "artifacts": artifacts})
		if err != nil {
			t.Fatal(err)
		}
		w.write(filepath.Join(app, "manifest.json"), string(manifest))
		w.write(filepath.Join(app, "one.json"), `{"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}, "Outputs": {"Url": {"Value": {"Ref": "Queue"}}}}`)
	}
	return w
}

// review has the comment written that a deploy is held to.
func (w *workflowWorld) review() {
	w.t.Helper()
	diff := map[string]string{"command": "diff", "app": "cdk.out", "all": "true", "state-bucket": "my-cdk-state"}
	w.start(diff, "pull_request", false, githubtest.Permissions{"pull-requests": "write"})
}

func (w *workflowWorld) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// drift deploys, and changes a queue by hand.
func (w *workflowWorld) drift() {
	w.t.Helper()
	w.start(map[string]string{"command": "deploy", "app": "cdk.out", "all": "true", "state-bucket": "my-cdk-state"}, "push", false, nil)
	queues := sqs.NewFromConfig(w.aws.Config())
	list, err := queues.ListQueues(w.t.Context(), &sqs.ListQueuesInput{})
	if err != nil || len(list.QueueUrls) == 0 {
		w.t.Fatalf("%d queues, %v", len(list.QueueUrls), err)
	}
	if _, err := queues.SetQueueAttributes(w.t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: &list.QueueUrls[0], Attributes: map[string]string{"VisibilityTimeout": "17"},
	}); err != nil {
		w.t.Fatal(err)
	}
}

// run runs the step of a job that uses the Action.
func (w *workflowWorld) run(workflow *githubtest.Workflow, u use, granted githubtest.Permissions) string {
	w.t.Helper()
	for _, step := range workflow.Jobs[u.job].Steps {
		if !strings.HasPrefix(step.Uses, "org/cdkd-action@") {
			continue
		}
		with := map[string]string{}
		for name, text := range step.With {
			for expression, v := range u.expressions {
				text = strings.ReplaceAll(text, "${{ "+expression+" }}", v)
			}
			if strings.Contains(text, "${{") {
				w.t.Fatalf("%s: what is %s?", u.workflow, text)
			}
			with[name] = text
		}
		return w.start(with, u.event, u.fork, granted)
	}
	w.t.Fatalf("%s: job %s does not use the Action", u.workflow, u.job)
	return ""
}

// start runs the program as a step with these inputs, and returns what it says.
func (w *workflowWorld) start(with map[string]string, event string, fork bool, granted githubtest.Permissions) string {
	w.t.Helper()
	const token = "ghs_of-the-job"
	w.hub.Grant(token, githubtest.Actions, granted)
	head, ref := repository, "refs/heads/main"
	if fork {
		head = "someone/shop"
	}
	if event == "merge_group" {
		ref = fmt.Sprintf("refs/heads/gh-readonly-queue/main/pr-%d-%s", pullNumber, merged)
	}
	w.write("event.json", fmt.Sprintf(`{"number":%d,"pull_request":{"number":%[1]d,"head":{"sha":"abc123","repo":{"full_name":%q}},"base":{"repo":{"full_name":%q}}}}`, pullNumber, head, repository))
	var out bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), "cdkd-action", "action")
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, &out, &out
	cmd.Env = append(os.Environ(), w.aws.Env()...)
	cmd.Env = append(cmd.Env, "INPUT_GITHUB-TOKEN="+token, "GITHUB_ACTIONS=true", "GITHUB_API_URL="+w.hub.URL, "GITHUB_GRAPHQL_URL="+w.hub.GraphQL,
		"GITHUB_SERVER_URL=https://github.com", "GITHUB_REPOSITORY="+repository, "GITHUB_EVENT_NAME="+event, "GITHUB_EVENT_PATH="+filepath.Join(w.dir, "event.json"),
		"GITHUB_SHA="+merged, "GITHUB_REF="+ref, "GITHUB_RUN_ID=1000", "GITHUB_RUN_ATTEMPT=1")
	if fork {
		cmd.Env = append(cmd.Env, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=")
	}
	for name, v := range with {
		cmd.Env = append(cmd.Env, "INPUT_"+strings.ToUpper(name)+"="+v)
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return out.String()
}

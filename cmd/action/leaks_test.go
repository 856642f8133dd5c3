package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/org/cdkd-action/ci/github/githubtest"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/sandbox/s3"
	"github.com/org/cdkd-action/internal/stateshape"
)

// planted are the secrets, by where they stand. They have what other forms write
// otherwise: quotes, signs of HTML and of URLs, blanks, line ends.
var planted = map[string]string{
	"NoEcho":       `Nq7"zT4&mK<9w/Vb+2 xL0'hD5rYc`,
	"lines":        "kA3vP8sJ2mX6qW9e\ntF5bN1yH7uR4zC0d\ngL8oI2pE6nV3xS9a",
	"pin":          "84729163507",
	"resolved":     `Rk5\vD8"pQ2>sG6&hJ9/wM3+tB7y`,
	"whole":        "Wz4cF7vB1nM5kL9jH3gD6sA8pO2iU0yT",
	"secure":       `Se9!uX3@qC6#wV1$rB8%tN4^yM7`,
	"secretString": "Ss2dF5gH8jK1lQ4wE7rT0yU3iO6p",
	"environment":  "En6vI9rO2nM5eN8tV1aL4uE7xY0z",
	"tag":          "Tg1bV4nC7xZ0aS3dF6gH9jK2lP5o",
	"shaped":       "ghp_Sh4pEd0tOkEn1bYiTsFoRm2ZxCvBnMaSdFgH",
	"stack":        "AKIAST4CKN4M3PLANTED",
	"warned":       "ghp_wArNeD0oF9bYaUsEr8QpOwIeUrYtTyRuEi",
	"awsSecret":    "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",
	"awsSession":   "sE5sIoN8tOkEn/oF1tHe4pRoCeSs7+aBcD0eFgH3iJkL6mNoP9==",
	"githubToken":  "ghs_pL4nTeD7gItHuB0tOkEn3wItH6wRiTe9",
	"runtimeToken": "rT2mAcTiOnS5rUnTiMe8tOkEn1xYzAbCdEf4",
	"oidcToken":    "oI7dCrEqUeSt0tOkEn3jKlMnOpQrStUvWx6",
	"masked":       "mA8sKeDbYtHeApP1oPqRsTuVwXyZ4aBcD7",
	"printed":      "ghp_pRiNtEd0bYtHeApP1oNsTdErR2wHeN3",
	"drifted":      "dR4iFtEd7vAlUe0sEtBy3hAnD6oUtSiDe",
}

// recorded are what nobody can tell from an ordinary property: it is in the record,
// as it is in the template, and nowhere else.
var recorded = []string{"secretString", "environment", "tag", "shaped", "drifted", "runtimeToken"}

// window is how much of a secret is looked for: more than chance would bring, less
// than what is left of one that was cut.
const window = 12

// forms are the ways in which a text can hold another.
func forms(text string) map[string]string {
	quoted := func(escape bool) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escape)
		if e.Encode(text) != nil {
			panic("a string has no JSON")
		}
		return strings.Trim(b.String(), "\"\n")
	}
	all := map[string]string{
		"plain": text, "JSON": quoted(false), "JSON with HTML escaped": quoted(true), "HTML": html.EscapeString(text),
		"query": url.QueryEscape(text), "path": url.PathEscape(text),
	}
	for shift := range 3 {
		padded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + text))
		inner := strings.TrimRight(padded[4*min(shift, 1):], "=")
		all[fmt.Sprintf("base64 +%d", shift)] = inner[:len(inner)-1] // its last character depends on what follows
	}
	return all
}

// A hunt looks for all secrets in all forms, and for parts of them.
type hunt map[string]string // by the text of a window: whose it is

func newHunt(without ...string) hunt {
	h := hunt{}
	for name, text := range planted {
		if slices.Contains(without, name) {
			continue
		}
		for form, text := range forms(text) {
			size := min(window, len(text))
			for i := range len(text) - size + 1 {
				h[text[i:i+size]] = name + " (" + form + ")"
			}
		}
	}
	return h
}

// in returns whose parts are in a text, with what stands around them.
func (h hunt) in(text string) []string {
	found := map[string]string{}
	for i := range len(text) {
		for _, size := range []int{window, len(planted["pin"])} {
			if i+size > len(text) {
				continue
			}
			if who, ok := h[text[i:i+size]]; ok && found[who] == "" {
				found[who] = fmt.Sprintf("%s: %q", who, text[max(0, i-60):min(len(text), i+size+60)])
			}
		}
	}
	var all []string
	for _, where := range found {
		all = append(all, where)
	}
	return slices.Sorted(slices.Values(all))
}

// leakWorld is an AWS, a GitHub and a machine that are full of secrets.
type leakWorld struct {
	t   *testing.T
	aws *sandbox.Sandbox
	hub *githubtest.Server
	dir string

	// What people read has none. What machines read has what the template has.
	people, machines, record hunt

	kept map[string]string // of the last step, for its post step

	mu   sync.Mutex
	puts []s3.Put
}

func newLeakWorld(t *testing.T) *leakWorld {
	t.Helper()
	w := &leakWorld{t: t, dir: t.TempDir(), hub: githubtest.New(), people: newHunt(), machines: newHunt("shaped"), record: newHunt(recorded...)}
	t.Cleanup(w.hub.Close)
	w.hub.Token(planted["githubToken"], githubtest.Actions, true)
	var err error
	shaped := stateshape.Watch(t, t.Name(), stateBucket)
	w.aws, err = sandbox.Start(t.Context(), sandbox.Options{Stored: func(p s3.Put) {
		shaped(p)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.puts = append(w.puts, p)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.aws.Close() })
	w.aws.S3.AddBucket(stateBucket, "us-east-1", "")
	w.aws.S3.AddBucket("cdk-hnb659fds-assets-123456789012-us-east-1", "us-east-1", "")
	vault, parameters := secretsmanager.NewFromConfig(w.aws.Config()), ssm.NewFromConfig(w.aws.Config())
	password, _ := json.Marshal(map[string]string{"password": planted["resolved"]})
	for name, text := range map[string]string{"planted/db": string(password), "planted/whole": planted["whole"], "planted/lines": planted["lines"]} {
		if _, err := vault.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: &text}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := parameters.PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: aws.String("/planted/secure"), Type: types.ParameterTypeSecureString, Value: aws.String(planted["secure"]),
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"manifest.json", "Planted.template.json", "Preview.template.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "leaks", name))
		if err != nil {
			t.Fatal(err)
		}
		// Where a report cuts a long value, a secret may stand.
		text = bytes.ReplaceAll(text, []byte("@cut@"), bytes.Repeat([]byte("cut "), 495))
		for name, secret := range planted {
			text = bytes.ReplaceAll(text, []byte("@"+name+"@"), []byte(secret))
		}
		w.write(filepath.Join("app", name), string(text))
	}
	for app, name := range map[string]string{"named": "Named-" + planted["stack"], "pinned": "Shop-" + planted["pin"]} {
		preview, err := os.ReadFile(filepath.Join(w.dir, "app", "Preview.template.json"))
		if err != nil {
			t.Fatal(err)
		}
		w.write(filepath.Join(app, "Preview.template.json"), string(preview))
		w.write(filepath.Join(app, "manifest.json"), fmt.Sprintf(`{"version": "48.0.0", "artifacts": {%q: {"type": "aws:cloudformation:stack",
			"environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "Preview.template.json"}}}}`, name))
	}
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + planted["githubToken"]))
	w.write("app.sh", `env
echo "::add-mask::`+planted["masked"]+`"
echo "the app logs in with `+planted["masked"]+`"
echo "AUTHORIZATION: basic `+basic+`" >&2
printf '%s' "GIT_TOKEN=`+planted["printed"]+`" >&2
[ -z "$BROKEN" ] || exit 1
cp app/* "$CDK_OUTDIR"
`)
	return w
}

func (w *leakWorld) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// echo makes AWS answer calls with secrets that it was sent, in all forms. What is
// sent for a delete is no property.
func (w *leakWorld) echo(service, action, mentions string) {
	names := []string{"awsSecret", "githubToken"}
	if strings.HasPrefix(action, "Put") {
		names = append(names, "NoEcho", "resolved", "pin")
	}
	var text strings.Builder
	for _, name := range names {
		all := forms(planted[name])
		for _, form := range slices.Sorted(maps.Keys(all)) {
			if !strings.HasPrefix(form, "base64") {
				text.WriteString(" " + all[form])
			}
		}
		for before := range 3 {
			text.WriteString(" " + base64.StdEncoding.EncodeToString([]byte("<<<"[:before]+planted[name]+">")))
		}
	}
	w.aws.AddFault(sandbox.Fault{Service: service, Action: action, Mentions: mentions, Status: 400, Code: "ValidationException", Message: "invalid:" + text.String()})
}

// drift changes by hand what is deployed.
func (w *leakWorld) drift() {
	queues := sqs.NewFromConfig(w.aws.Config())
	queue, err := queues.GetQueueUrl(w.t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("planted")})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := queues.TagQueue(w.t.Context(), &sqs.TagQueueInput{QueueUrl: queue.QueueUrl, Tags: map[string]string{
		"login": planted["drifted"], "token": planted["drifted"], "note": planted["NoEcho"] + planted["resolved"],
	}}); err != nil {
		w.t.Fatal(err)
	}
}

// run runs a program, does something meanwhile, and looks for secrets wherever the
// program can have written. It returns what was printed.
func (w *leakWorld) run(program string, meanwhile func(*os.Process), env []string, args ...string) (string, error) {
	w.t.Helper()
	w.mu.Lock()
	w.puts = nil
	w.mu.Unlock()
	files := []string{"output", "summary", "state", "plan.md", "plan.json", "mapping.json"}
	for _, f := range files {
		w.write(f, "")
	}
	w.write("event.json", fmt.Sprintf(`{"number":%d,"pull_request":{"number":%[1]d,"title":"x","head":{"sha":"abc123","repo":{"full_name":%q}},"base":{"repo":{"full_name":%[2]q}}}}`, pullNumber, repository))
	var out bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, &out, &out
	cmd.Env = append(os.Environ(), w.aws.Env()...)
	cmd.Env = append(cmd.Env, "CDKD_STATE_BUCKET="+stateBucket,
		"AWS_SECRET_ACCESS_KEY="+planted["awsSecret"], "AWS_SESSION_TOKEN="+planted["awsSession"],
		"GITHUB_TOKEN="+planted["githubToken"], "INPUT_GITHUB-TOKEN="+planted["githubToken"],
		"ACTIONS_RUNTIME_TOKEN="+planted["runtimeToken"], "ACTIONS_ID_TOKEN_REQUEST_TOKEN="+planted["oidcToken"],
		"GITHUB_ACTIONS=true", "GITHUB_API_URL="+w.hub.URL, "GITHUB_GRAPHQL_URL="+w.hub.GraphQL, "GITHUB_SERVER_URL=https://github.com",
		"GITHUB_REPOSITORY="+repository, "GITHUB_EVENT_NAME=pull_request", "GITHUB_SHA="+merged, "GITHUB_RUN_ID=1000", "GITHUB_RUN_ATTEMPT=1",
		"GITHUB_WORKSPACE="+w.dir, "GITHUB_EVENT_PATH="+filepath.Join(w.dir, "event.json"),
		"GITHUB_OUTPUT="+filepath.Join(w.dir, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(w.dir, "summary"), "GITHUB_STATE="+filepath.Join(w.dir, "state"))
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile(cmd.Process)
	}
	err := cmd.Wait()

	w.look("the log", logged(out.String()), w.people)
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(w.dir, f))
		if err != nil {
			w.t.Fatal(err)
		}
		h := w.people
		switch f {
		case "state":
			w.kept = entries(string(text))
			h = w.machines
		case "output":
			h = w.machines
		}
		w.look(f, string(text), h)
	}
	for _, c := range w.hub.Comments(repository, pullNumber) {
		w.look("the comment", c.Body, w.people)
		for _, s := range report.Sections(c.Body) {
			fields, _ := json.Marshal(s)
			w.look("the fields of the comment", string(fields), w.machines)
		}
	}
	for _, i := range w.hub.Issues(repository) {
		w.look("the issue", i.Title+"\n"+i.Body, w.people)
	}
	for _, d := range w.hub.Deployments() {
		w.look("the deployment", fmt.Sprintf("%+v", d), w.people)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.puts {
		if p.Bucket == stateBucket {
			p.Header.Del("X-Amz-Security-Token")
			w.look("the object "+p.Key, fmt.Sprintf("%s %s %v", p.Key, p.Body, p.Header), w.record)
		}
	}
	return out.String(), err
}

// logged is what a runner shows of what a step prints: it takes the masks away.
func logged(out string) string {
	var shown []string
	stopped := ""
	for line := range strings.Lines(out) {
		token, stops := strings.CutPrefix(strings.TrimSpace(line), "::stop-commands::")
		switch {
		case stopped == "" && stops:
			stopped = token
		case strings.TrimSpace(line) == "::"+stopped+"::":
			stopped = ""
		case stopped == "" && strings.HasPrefix(line, "::add-mask::"):
			continue
		}
		shown = append(shown, line)
	}
	return strings.Join(shown, "")
}

func (w *leakWorld) look(where, text string, h hunt) {
	w.t.Helper()
	for _, found := range h.in(text) {
		w.t.Errorf("%s has %s", where, found)
	}
}

package main

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/org/cdkd-action/examples"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/stateshape"
	"github.com/org/cdkd-action/signals/early"
)

func TestMain(m *testing.M) {
	programs := map[string]func(){"cdkd-action": main, postName: main}
	if _, program := programs[filepath.Base(os.Args[0])]; !program {
		signal.Stop(early.Signals) // a Ctrl-C ends the tests
	}
	testscript.Main(m, programs)
}

// TestScripts plays what users do, a page each, with the program in a process
// of its own against an AWS that each script has for itself.
//
// Beside testscript's own commands a script has those of scriptCommands. The
// sandbox has the state bucket "state" and the CDK's asset bucket; the order
// shop's assemblies lie in shop/.
func TestScripts(t *testing.T) {
	said := newTold()
	t.Cleanup(func() { said.check(t) }) // when the scripts, which run side by side, are over
	testscript.RunT(scripted{t, said}, testscript.Params{
		Dir:   "testdata/script",
		Setup: func(env *testscript.Env) error { return setUp(t, env) },
		Cmds:  scriptCommands,
	})
}

type awsKey struct{}

const stateBucket = "state"

// startSandbox starts an AWS that holds what is written to the state bucket to the
// shapes that all of its readers know (S-2, S-4).
func startSandbox(t *testing.T, options sandbox.Options) (*sandbox.Sandbox, error) {
	options.Stored = stateshape.Watch(t, t.Name(), stateBucket)
	return sandbox.Start(t.Context(), options)
}

func setUp(t *testing.T, env *testscript.Env) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	aws, err := sandbox.Start(ctx, sandbox.Options{Stored: stateshape.Watch(t, filepath.Base(env.WorkDir), stateBucket)})
	if err != nil {
		return err
	}
	env.Defer(func() { aws.Close() })
	aws.S3.AddBucket(stateBucket, "us-east-1", "")
	aws.S3.AddBucket("cdk-hnb659fds-assets-123456789012-us-east-1", "us-east-1", "")
	env.Values[awsKey{}] = aws
	env.Values[githubKey{}] = &githubHolder{}
	env.Vars = append(env.Vars, aws.Env()...)
	env.Setenv("CDKD_STATE_BUCKET", stateBucket)
	return os.CopyFS(env.WorkDir, examples.Shop)
}

// interruptThenKill sends what the runner sends when a job is cancelled, at its
// times. A program that is still there at the end is killed, and has then not
// said what the script goes on to look for.
func interruptThenKill(ts *testscript.TestScript, _ bool, _ []string) {
	for _, p := range ts.BackgroundCmds() {
		ts.Check(p.Process.Signal(syscall.SIGINT))
		terminate := time.AfterFunc(7500*time.Millisecond, func() { p.Process.Signal(syscall.SIGTERM) })
		kill := time.AfterFunc(10*time.Second, func() { p.Process.Kill() })
		ts.Defer(func() { terminate.Stop(); kill.Stop() })
	}
}

func awsOf(ts *testscript.TestScript) *sandbox.Sandbox { return ts.Value(awsKey{}).(*sandbox.Sandbox) }

var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"fault":               fault,
	"appears":             appears,
	"release":             release,
	"await":               await,
	"object":              object,
	"put":                 put,
	"rewrite":             rewrite,
	"requests":            requests,
	"edit":                edit,
	"github":              onGitHub,
	"comment":             comment,
	"pull":                pull,
	"organization":        organization,
	"issue":               issue,
	"deployment":          deployment,
	"forget":              func(ts *testscript.TestScript, _ bool, _ []string) { awsOf(ts).ClearLog() },
	"interrupt":           interrupt,
	"interrupt-twice":     interruptTwice,
	"interrupt-then-kill": interruptThenKill,
	"deny":                func(ts *testscript.TestScript, _ bool, args []string) { awsOf(ts).Deny(args...) }, // when IAM is asked
	"output":              output,
	"recall":              recallState,
	"copy-output":         copyOutput,
	"aws":                 awsCommand,
}

// interrupt sends SIGINT to what runs in the background. In a step it waits
// until the program has taken notice: that it was cancelled is an output at
// once.
func interrupt(ts *testscript.TestScript, _ bool, _ []string) {
	path := ts.Getenv("GITHUB_OUTPUT")
	before, _ := os.ReadFile(path) // no file: no output yet
	for _, p := range ts.BackgroundCmds() {
		ts.Check(p.Process.Signal(syscall.SIGINT))
	}
	if path == "" || ts.Getenv("GITHUB_ACTIONS") != "true" {
		return
	}
	untilFile(ts, path, len(before), "cancelled")
}

// appears FILE TEXT waits until the text stands in a file.
func appears(ts *testscript.TestScript, _ bool, args []string) {
	untilFile(ts, ts.MkAbs(args[0]), 0, args[1])
}

// untilFile waits until a text stands in a file after an offset. A file says
// nothing when it grows, so it is looked at.
func untilFile(ts *testscript.TestScript, path string, offset int, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		now, _ := os.ReadFile(path) // no file yet: nothing in it
		if len(now) > offset && bytes.Contains(now[offset:], []byte(text)) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("%q does not appear in %s:\n%s", text, path, now)
		}
	}
}

// interruptTwice sends two signals at once: a person who will not wait. They are
// not of one kind, because the system keeps only one of a kind.
func interruptTwice(ts *testscript.TestScript, _ bool, _ []string) {
	for _, p := range ts.BackgroundCmds() {
		ts.Check(p.Process.Signal(syscall.SIGINT))
		ts.Check(p.Process.Signal(syscall.SIGTERM))
	}
}

// aws runs the aws command line against the sandbox: what is in AWS is looked
// at by somebody else than ourselves. Its output is stdout's.
func awsCommand(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("aws", append([]string{"--endpoint-url", awsOf(ts).URL}, args...)...)
	if (err != nil) != neg {
		ts.Fatalf("aws %s: %v", strings.Join(args, " "), err)
	}
}

// fault service:Action [hold | drop | drop-after | STATUS CODE | CODE] [mentions=TEXT] [nth=N] [count=N]
// makes calls go wrong, those that have the text in their path or body, from
// the Nth on, count of them. "!" makes only the first of them go wrong.
func fault(ts *testscript.TestScript, neg bool, args []string) {
	service, action, _ := strings.Cut(args[0], ":")
	f := sandbox.Fault{Service: service, Action: action}
	if neg {
		f.Count = 1
	}
	for name, v, ok := strings.Cut(args[len(args)-1], "="); ok; name, v, ok = strings.Cut(args[len(args)-1], "=") {
		switch name {
		case "mentions":
			f.Mentions = v
		case "nth":
			n, err := strconv.Atoi(v)
			ts.Check(err)
			f.Nth = n
		case "count":
			n, err := strconv.Atoi(v)
			ts.Check(err)
			f.Count = n
		default:
			ts.Fatalf("fault: %s is unknown", name)
		}
		args = args[:len(args)-1]
	}
	switch args[1] {
	case "hold":
		f.Hold = true
	case "drop":
		f.Drop = true
	case "drop-after":
		f.Drop, f.After = true, true
	default:
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		f.Status, f.Code, f.Message = status, args[2], "as the script wants it"
	}
	awsOf(ts).AddFault(f)
}

// release ends all faults; "release held" only lets go what they hold.
func release(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) > 0 && args[0] == "held" {
		awsOf(ts).Release("")
		return
	}
	awsOf(ts).RemoveFault("")
}

// await N service:Action [TEXT] waits until N such calls, on a resource that has
// the text in its name, are held or done.
func await(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	service, action, _ := strings.Cut(args[1], ":")
	key := ""
	if len(args) > 2 {
		key = args[2]
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = awsOf(ts).Await(ctx, n, func(r sandbox.Request) bool {
		return r.Service == service && r.Action == action && r.State != sandbox.Open && strings.Contains(r.Resource, key)
	})
	ts.Check(err)
}

// object KEY [REGEXP] looks whether the state bucket has the object, and what
// is in it. "!" wants it not to be there.
func object(ts *testscript.TestScript, neg bool, args []string) {
	o, ok := awsOf(ts).S3.Object(stateBucket, args[0])
	switch {
	case neg && ok && len(args) == 1:
		ts.Fatalf("%s is there:\n%s", args[0], o.Body)
	case neg && len(args) == 1:
	case !ok:
		ts.Fatalf("%s is not there", args[0])
	case len(args) > 1 && regexp.MustCompile("(?m)"+args[1]).Match(o.Body) == neg:
		ts.Fatalf("%s: want match %t of %s in:\n%s", args[0], !neg, args[1], o.Body)
	}
}

// put KEY FILE puts a file of the script into the state bucket.
func put(ts *testscript.TestScript, _ bool, args []string) {
	awsOf(ts).S3.PutObject(stateBucket, args[0], []byte(ts.ReadFile(args[1])))
}

// rewrite KEY [OLD NEW] writes an object again, with a blank more or another text:
// what somebody else who works on it would do.
func rewrite(ts *testscript.TestScript, _ bool, args []string) {
	o, ok := awsOf(ts).S3.Object(stateBucket, args[0])
	if !ok {
		ts.Fatalf("%s is not there", args[0])
	}
	body := append(slices.Clone(o.Body), ' ')
	if len(args) == 3 {
		body = bytes.ReplaceAll(o.Body, []byte(args[1]), []byte(args[2]))
		if bytes.Equal(body, o.Body) {
			ts.Fatalf("%s has no %s", args[0], args[1])
		}
	}
	awsOf(ts).S3.PutObject(stateBucket, args[0], body)
}

// requests N [service:Action] wants at most N calls since the last forget, in
// all or of one kind; "! requests" wants none that changes anything outside
// the state bucket's locks and history.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	var seen []string
	for _, r := range awsOf(ts).Log() {
		name := r.Service + ":" + r.Action
		switch {
		case neg:
			reads := strings.HasPrefix(r.Action, "Get") || strings.HasPrefix(r.Action, "Head") || strings.HasPrefix(r.Action, "List") || strings.HasPrefix(r.Action, "Describe")
			bookkeeping := strings.Contains(r.Resource, "/lock.json") || strings.Contains(r.Resource, "/deployments/")
			if !reads && !bookkeeping {
				seen = append(seen, name+" "+r.Resource)
			}
		case len(args) < 2 || args[1] == name:
			seen = append(seen, name+" "+r.Resource)
		}
	}
	most := 0
	if !neg {
		var err error
		most, err = strconv.Atoi(args[0])
		ts.Check(err)
	}
	if len(seen) > most {
		ts.Fatalf("%d requests, want at most %d:\n%s", len(seen), most, strings.Join(seen, "\n"))
	}
}

// edit FILE OLD NEW replaces text in a file.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.Contains(text, []byte(args[1])) {
		ts.Fatalf("%s does not hold %s", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, bytes.ReplaceAll(text, []byte(args[1]), []byte(args[2])), 0o600))
}

// recall makes what a step kept in GITHUB_STATE the environment of its post step.
func recallState(ts *testscript.TestScript, _ bool, _ []string) {
	for name, value := range entries(ts.ReadFile(ts.Getenv("GITHUB_STATE"))) {
		ts.Setenv("STATE_"+name, value)
	}
}

// entries reads a file command; of a name that comes twice the last counts.
func entries(text string) map[string]string {
	found := map[string]string{}
	for _, e := range written(text) {
		found[e.name] = e.value
	}
	return found
}

type entry struct{ name, value string }

func written(text string) (all []entry) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		name, delimiter, ok := strings.Cut(lines[i], "<<")
		if !ok {
			continue
		}
		j := i + 1 + slices.Index(lines[i+1:], delimiter)
		all = append(all, entry{name, strings.Join(lines[i+1:j], "\n")})
		i = j
	}
	return all
}

// unreasoned tells whether a command of those that wrote the outputs failed and
// did not say why in failure-reason (G-8.4).
func unreasoned(text string) bool {
	failed := false
	for _, e := range written(text) {
		switch {
		case e.name == "outcome" && failed:
			return true
		case e.name == "outcome":
			failed = slices.Contains([]string{"failed", "locked", "plan-changed", "approval-required"}, e.value)
		case e.name == "failure-reason" && e.value != "":
			failed = false
		}
	}
	return failed
}

// output NAME REGEXP looks at a step output in the file that GITHUB_OUTPUT
// names.
func output(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(ts.Getenv("GITHUB_OUTPUT"))
	if unreasoned(text) {
		ts.Fatalf("a failure has no reason:\n%s", text)
	}
	v, found := entries(text)[args[0]]
	if !found && !neg {
		ts.Fatalf("there is no output %s", args[0])
	}
	if len(args) > 1 && regexp.MustCompile("^(?:"+args[1]+")$").MatchString(v) == neg {
		ts.Fatalf("output %s is %q, want match %t of %s", args[0], v, !neg, args[1])
	}
}

// copy-output NAME VARIABLE puts a step output into the environment.
func copyOutput(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[1], entries(ts.ReadFile(ts.Getenv("GITHUB_OUTPUT")))[args[0]])
}

// Where a tool is missing, a script that needs it is skipped.
func TestScriptsSayWhatTheyNeed(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"aws", "node", "python3", "docker", "git"} {
			used := regexp.MustCompile(`(?m)^(! )?(exec )?` + tool + ` `).Match(text)
			if used && !bytes.Contains(text, []byte("[!exec:"+tool+"] skip")) {
				t.Errorf("%s uses %s and does not skip without it", path, tool)
			}
		}
	}
}

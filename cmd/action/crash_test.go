package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/cdkd-action/internal/sandbox"
)

var everyRequest = flag.Bool("every-request", false, "let TestCrash disturb every request, not a sample of them")

// A disturbance is what happens to the Nth request of a run.
type disturbance struct {
	name  string
	fault sandbox.Fault
	kill  bool // the program is killed while the fault holds the request
}

var disturbances = []disturbance{
	{"killed before", sandbox.Fault{Hold: true, Drop: true}, true},
	{"killed after", sandbox.Fault{Hold: true, Drop: true, After: true}, true},
	{"answer lost", sandbox.Fault{Drop: true, After: true}, false},
	{"answered 500", sandbox.Fault{Status: http.StatusInternalServerError, Code: "InternalFailure", Message: "as the test wants it"}, false},
	{"throttled", sandbox.Fault{Status: http.StatusBadRequest, Code: "ThrottlingException", Message: "as the test wants it"}, false},
	{"denied", sandbox.Fault{Status: http.StatusForbidden, Code: "AccessDenied", Message: "as the test wants it"}, false},
}

// A crashStory is a run that is disturbed and the one that has to put it right.
type crashStory struct {
	name   string
	before []string // a run that is not disturbed
	run    []string
	after  []string
}

var crashStories = []crashStory{
	{"deploy", nil, []string{"deploy", "--app", "crash"}, []string{"deploy", "--app", "crash"}},
	{"rollback", []string{"deploy", "--app", "crash"}, []string{"deploy", "--app", "broken"}, []string{"deploy", "--app", "crash"}},
	{"destroy", []string{"deploy", "--app", "crash"}, []string{"destroy", "--app", "crash", "--yes"}, []string{"destroy", "--app", "crash", "--yes"}},
}

// TestCrash disturbs a run at its Nth request, lets the lock expire, and runs
// again: the second run has to end as an undisturbed one does, with no
// resource there twice and none that no record names (P-35, S-213).
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("disturbs some dozens of deploys")
	}
	var tried, converged, wrong atomic.Int64
	t.Run("", func(t *testing.T) {
		for _, story := range crashStories {
			t.Run(story.name, func(t *testing.T) {
				t.Parallel()
				aws := startMoto(t)
				want := newCrashWorld(t, aws).undisturbed(story)
				for _, d := range disturbances {
					for _, n := range sample(want.requests, 4) {
						t.Run(fmt.Sprintf("%s %d", d.name, n), func(t *testing.T) {
							w := newCrashWorld(t, aws)
							if !w.disturb(story, d, n) {
								return // this run had fewer requests
							}
							tried.Add(1)
							if w.rerun(story, d, want) {
								converged.Add(1)
							} else {
								wrong.Add(1)
							}
						})
					}
				}
			})
		}
	})
	t.Logf("requests disturbed %d, converged %d, wrong %d", tried.Load(), converged.Load(), wrong.Load())
	if tried.Load() == 0 {
		t.Error("nothing was disturbed")
	}
}

// TestCrashAfterRollback kills a run that rolled back and saved that it did,
// before its journal and its ledger say so: nothing is left to change then but
// what its creates may have left (S-213).
func TestCrashAfterRollback(t *testing.T) {
	if testing.Short() {
		t.Skip("disturbs a deploy")
	}
	aws := startMoto(t)
	story := crashStories[slices.IndexFunc(crashStories, func(s crashStory) bool { return s.name == "rollback" })]
	want := newCrashWorld(t, aws).undisturbed(story)
	killed := disturbance{"killed before", sandbox.Fault{
		Service: "s3", Action: "GetObject", Mentions: "rollback-journal.json", Hold: true, Drop: true,
	}, true}
	w := newCrashWorld(t, aws)
	if !w.disturb(story, killed, 2) {
		t.Fatal("the journal was not read a second time")
	}
	w.rerun(story, killed, want)
}

// sample returns numbers from 1 to n: few of them, spread, or all.
func sample(n, few int) []int {
	step := max(n/few, 1)
	if *everyRequest {
		step = 1
	}
	var out []int
	for i := 1 + (step-1)/2; i <= n; i += step {
		out = append(out, i)
	}
	return out
}

// A crashWorld is an AWS, a bucket and a directory for one story.
type crashWorld struct {
	t   *testing.T
	aws *sandbox.Sandbox
	dir string
}

// startMoto starts an AWS that knows networks, and the tags of all that the
// stack has.
func startMoto(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	if _, err := exec.LookPath("moto_server"); err != nil {
		t.Skip("needs moto_server")
	}
	aws, err := sandbox.Start(t.Context(), sandbox.Options{Upstream: sandbox.Moto, Stored: shaped(t, "crash")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	return aws
}

// newCrashWorld makes the AWS an empty one with a state bucket.
func newCrashWorld(t *testing.T, aws *sandbox.Sandbox) *crashWorld {
	t.Helper()
	if err := aws.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	aws.S3.AddBucket(stateBucket, "us-east-1", "")
	dir := t.TempDir()
	for _, app := range []string{"crash", "broken"} {
		if err := os.CopyFS(filepath.Join(dir, app), os.DirFS("testdata/crash")); err != nil {
			t.Fatal(err)
		}
	}
	breakApp(t, filepath.Join(dir, "broken", "Crash.template.json"))
	return &crashWorld{t: t, aws: aws, dir: dir}
}

// breakApp changes resources, adds one, and adds another that AWS refuses when
// the others are done.
func breakApp(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range [][2]string{
		{`"VisibilityTimeout": 45`, `"VisibilityTimeout": 50`},
		{`"Threshold": 1`, `"Threshold": 2`},
		{`"Size": 3`, `"Size": 4`},
		{`"UserPoolName": "crash"`, `"UserPoolName": "broken"`},
		{`"Role": {`, `"Added": {"Type": "AWS::SNS::Topic", "Properties": {}},
    "Never": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "Crash-Inner-Name", "Value": "held"}, "DependsOn": ["Added", "Queue", "Alarm", "Thing", "Pool"]},
    "Role": {`},
	} {
		if !bytes.Contains(text, []byte(edit[0])) {
			t.Fatalf("%s does not hold %s", path, edit[0])
		}
		text = bytes.Replace(text, []byte(edit[0]), []byte(edit[1]), 1)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// command prepares a run of the program.
func (w *crashWorld) command(args []string) (*exec.Cmd, *bytes.Buffer) {
	out := &bytes.Buffer{}
	cmd := exec.CommandContext(w.t.Context(), "cdkd-action", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, out, out
	cmd.Env = append(os.Environ(), w.aws.Env()...)
	cmd.Env = append(cmd.Env, "CDKD_STATE_BUCKET="+stateBucket)
	return cmd, out
}

func (w *crashWorld) must(args []string) {
	w.t.Helper()
	cmd, out := w.command(args)
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// A calmEnd is what an undisturbed run leaves.
type calmEnd struct {
	requests int // of the run that others disturb
	made     []string
	kept     map[string]string
}

func (w *crashWorld) undisturbed(s crashStory) calmEnd {
	w.t.Helper()
	before := w.made()
	if s.before != nil {
		w.must(s.before)
	}
	w.aws.ClearLog()
	cmd, out := w.command(s.run)
	if err := cmd.Run(); (err != nil) != (s.name == "rollback") {
		w.t.Fatalf("%s: %v\n%s", strings.Join(s.run, " "), err, out)
	}
	end := calmEnd{requests: len(w.aws.Log())}
	w.must(s.after)
	end.made, end.kept = w.made(), w.kept()
	if s.name == "destroy" && !slices.Equal(end.made, before) {
		w.t.Fatalf("before: %v\nafter: %v", before, end.made)
	}
	return end
}

// disturb does to the Nth request what is wanted, and reports whether there
// was one.
func (w *crashWorld) disturb(s crashStory, d disturbance, n int) bool {
	w.t.Helper()
	if s.before != nil {
		w.must(s.before)
	}
	f := d.fault
	f.ID, f.Nth, f.Count = "disturbed", n, 1
	w.aws.AddFault(f)
	cmd, out := w.command(s.run)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the disturbed run:\n%s", out)
		}
	})
	ended, end := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer end()
	go func() { cmd.Wait(); end() }()
	if _, err := w.aws.Await(ended, 1, func(r sandbox.Request) bool {
		// An invocation that failed may have reached its handler: its answer is
		// waited for, up to an hour (T-645), which is cut short here.
		waits := r.Action == "Invoke" && d.fault.Status >= 500
		return r.Fault == "disturbed" && r.State != sandbox.Open && (d.kill || waits)
	}); err == nil {
		if err := cmd.Process.Kill(); err != nil {
			w.t.Fatal(err)
		}
	}
	<-ended.Done()
	if ended.Err() == context.DeadlineExceeded {
		w.t.Errorf("still running")
		cmd.Process.Kill()
	}
	w.aws.RemoveFault("")
	for _, r := range w.aws.Log() {
		if r.Fault == "disturbed" {
			w.t.Logf("%s: request %d was %s:%s %s", d.name, n, r.Service, r.Action, r.Resource)
			w.quiet()
			return true
		}
	}
	return false
}

// quiet waits until no request is being answered.
func (w *crashWorld) quiet() {
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	all := len(w.aws.Log())
	if _, err := w.aws.Await(ctx, all, func(r sandbox.Request) bool { return r.State == sandbox.Done }); err != nil {
		w.t.Fatalf("requests that are not answered: %v", err)
	}
}

// rerun runs after a disturbed run, and compares with the calm end.
func (w *crashWorld) rerun(s crashStory, d disturbance, want calmEnd) bool {
	w.t.Helper()
	w.expireLocks()
	cmd, out := w.command(s.after)
	if err := cmd.Run(); err != nil {
		w.t.Errorf("%s: %v\n%s", strings.Join(s.after, " "), err, out)
		return false
	}
	made, kept := w.made(), w.kept()
	if got, want := kinds(made), kinds(want.made); !slices.Equal(got, want) {
		w.t.Errorf("made:\n%s\nwant:\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), out)
	}
	for key, text := range want.kept {
		if strings.HasPrefix(key, "_cdkd-registry/") && d.fault.Status == http.StatusForbidden {
			continue // a bucket that refuses the claim has no registry (S-265)
		}
		if got, ok := kept[key]; !ok || got != text {
			w.t.Errorf("%s: there %t:\n%s\nwant\n%s", key, ok, got, text)
		}
	}
	for key, text := range kept {
		if _, ok := want.kept[key]; !ok && (text != "" || !strings.HasSuffix(key, "/retained.json")) {
			o, _ := w.aws.S3.Object(stateBucket, key)
			w.t.Errorf("%s is left:\n%s%s", key, text, o.Body)
		}
	}
	if s.name != "destroy" {
		cmd, out := w.command([]string{"diff", "--app", "crash", "--fail"})
		if err := cmd.Run(); err != nil {
			w.t.Errorf("diff: %v\n%s", err, out)
		}
	}
	return !w.t.Failed()
}

// expireLocks does what 30 minutes do.
func (w *crashWorld) expireLocks() {
	for _, o := range w.aws.S3.Objects(stateBucket) {
		if !strings.HasSuffix(o.Key, "/lock.json") {
			continue
		}
		var lock map[string]any
		if err := json.Unmarshal(o.Body, &lock); err != nil {
			w.t.Fatalf("%s: %v", o.Key, err)
		}
		lock["expiresAt"] = time.Now().Add(-time.Minute).UnixMilli()
		text, err := json.Marshal(lock)
		if err != nil {
			w.t.Fatal(err)
		}
		w.aws.S3.PutObject(stateBucket, o.Key, text)
	}
}

// kept is what the bucket holds, but for histories and the answers of custom
// resources that a killed run could not clear away: of a record its resources
// and outputs, of a retained list what it retains (S-249), of other objects
// only that they are there.
func (w *crashWorld) kept() map[string]string {
	w.t.Helper()
	ids := map[string]bool{}
	kept := map[string]string{}
	for _, o := range w.aws.S3.Objects(stateBucket) {
		switch {
		case strings.Contains(o.Key, "/deployments/"), strings.HasPrefix(o.Key, "custom-resource-responses/"):
		case strings.HasSuffix(o.Key, "/retained.json"):
			kept[o.Key] = strings.Join(regexp.MustCompile(`"physicalId": .*`).FindAllString(string(o.Body), -1), "\n")
		case strings.HasSuffix(o.Key, "/state.json"):
			kept[o.Key] = w.recorded(o.Key, o.Body, ids)
		default:
			kept[o.Key] = ""
		}
	}
	for _, made := range w.made() {
		kind, id, _ := strings.Cut(made, " ")
		if kind != "statement" && !ids[id] && len(ids) > 0 {
			w.t.Errorf("no record names %s", made)
		}
	}
	return kept
}

// recorded sums a record up, and notes its physical ids.
func (w *crashWorld) recorded(key string, body []byte, ids map[string]bool) string {
	w.t.Helper()
	var record struct {
		Resources map[string]struct{ ResourceType, PhysicalID string }
		Outputs   map[string]any
	}
	if err := json.Unmarshal(body, &record); err != nil {
		w.t.Fatalf("%s: %v", key, err)
	}
	var lines []string
	for id, r := range record.Resources {
		lines = append(lines, id+" "+r.ResourceType)
		ids[r.PhysicalID] = true
	}
	for name, v := range record.Outputs {
		lines = append(lines, fmt.Sprintf("output %s %v", name, v))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// kinds counts what was made: ids may differ, numbers may not.
func kinds(made []string) []string {
	var out []string
	for _, m := range made {
		kind, _, _ := strings.Cut(m, " ")
		out = append(out, kind)
	}
	slices.Sort(out)
	return out
}

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

var (
	everyRequest = flag.Bool("every-request", false, "let TestCrash disturb every request, each in every way, and TestInterrupted interrupt each")
	share        = part{1, 1}
)

func init() { flag.Var(&share, "share", "`K/N`: with -every-request, only the Kth of N parts") }

// A part is the first of the numbers and each nth after it.
type part struct{ first, of int }

func (p *part) String() string      { return fmt.Sprintf("%d/%d", p.first, p.of) }
func (p *part) has(number int) bool { return number%p.of == p.first-1 }
func (p *part) Set(text string) error {
	if _, err := fmt.Sscanf(text, "%d/%d", &p.first, &p.of); err != nil || p.first < 1 || p.first > p.of {
		return fmt.Errorf("want K/N with K from 1 to N")
	}
	return nil
}

// A tally counts what became of disturbed runs.
type tally struct{ tried, converged, refused, wrong, free atomic.Int64 }

func (c *tally) String() string {
	return fmt.Sprintf("%d requests disturbed: %d converged, %d refused as they have to be, %d wrong",
		c.tried.Load(), c.converged.Load(), c.refused.Load(), c.wrong.Load())
}

// TestCrash disturbs a request of a run, lets the lock expire, and runs again:
// the second run has to end as an undisturbed one does, with no resource there
// twice and none that no record names (P-35, S-213). Or it may refuse to take
// what nothing proves to be its own (S-236), which is counted apart.
//
// Of each kind of request the first is disturbed, in one of the ways, or with
// -every-request every single one in every way.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("disturbs some dozens of deploys")
	}
	counts := make([]tally, len(crashStories))
	lab := newCrashLab(t)
	seen := kinds{seen: map[sandbox.Fault]bool{}, ways: disturbances}
	t.Run("", func(t *testing.T) {
		for i, story := range crashStories {
			t.Run(story.name, func(t *testing.T) {
				want := lab.world(t).undisturbed(story)
				sample := &seen
				if story.name == deployedAgain {
					sample = &kinds{seen: map[sandbox.Fault]bool{}, ways: disturbances[:2]} // both kills
				}
				cases := sample.cases(want.log)
				if *everyRequest {
					cases = everyCase(want.log)
				}
				t.Parallel()
				for _, c := range cases {
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						w := lab.world(t)
						if !w.disturb(story, c.disturbance) {
							if !*everyRequest {
								t.Error("there was no such request")
							}
							return // this run had fewer of them
						}
						counts[i].tried.Add(1)
						switch {
						case !w.rerun(story, c.disturbance, want):
							counts[i].wrong.Add(1)
						case w.refused:
							counts[i].refused.Add(1)
						default:
							counts[i].converged.Add(1)
						}
					})
				}
			})
		}
	})
	for i := range counts {
		t.Logf("%s: %s", crashStories[i].name, &counts[i])
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
	story := crashStories[slices.IndexFunc(crashStories, func(s crashStory) bool { return s.name == "failed deploy" })]
	want := newCrashWorld(t, aws).undisturbed(story)
	killed := disturbance{name: "killed before", fault: sandbox.Fault{
		Service: "s3", Action: "GetObject", Mentions: "rollback-journal.json", Nth: 2, Hold: true, Drop: true,
	}, kill: true}
	w := newCrashWorld(t, aws)
	if !w.disturb(story, killed) {
		t.Fatal("the journal was not read a second time")
	}
	w.rerun(story, killed, want)
}

// TestCrashBeforeAChange kills a run when Cloud Control made something for it,
// and changes the app before the next: the token of the first request cannot be
// sent with other properties. What it made is found by its tag (P-15). Where
// nobody may look, no other is made, however often it is deployed, and a destroy
// forgets nothing, until a person has looked and does what is said (P-17, P-28).
func TestCrashBeforeAChange(t *testing.T) {
	if testing.Short() {
		t.Skip("disturbs a deploy")
	}
	aws := startMoto(t)
	story := crashStories[0]
	for _, listed := range []bool{true, false} {
		t.Run(fmt.Sprintf("may list %t", listed), func(t *testing.T) {
			w := newCrashWorld(t, aws)
			killed := disturbance{name: "killed after", fault: sandbox.Fault{Service: "cloudcontrolapi", Action: "CreateResource", Hold: true, Drop: true, After: true}, kill: true}
			if !w.disturb(story, killed) {
				t.Fatal("nothing was made by Cloud Control")
			}
			path := filepath.Join(w.dir, "crash", "Crash.template.json")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, bytes.Replace(text, []byte(`"Name": "crash"`), []byte(`"Name": "changed"`), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			w.age()
			want := []string{"AWS::AppConfig::Application changed"}
			if !listed {
				want = append(want, "AWS::AppConfig::Application crash")
				aws.AddFault(sandbox.Fault{Service: "cloudcontrolapi", Action: "ListResources", Status: http.StatusForbidden, Code: "AccessDeniedException"})
				w.must(w.forgetting(destroyCrash, story.after, story.after))
			}
			w.must(story.after)
			var names []string
			for _, r := range aws.CloudControl.Resources() {
				names = append(names, r.TypeName+" "+fmt.Sprint(r.Model["Name"]))
			}
			if slices.Sort(names); !slices.Equal(names, want) {
				t.Errorf("Cloud Control has %q, want %q", names, want)
			}
			w.must([]string{"diff", "--app", "crash", "--fail"})
		})
	}
}

// forgetting runs commands of which each has to end badly and to say how what
// nobody can tell of is forgotten: that is returned.
func (w *crashWorld) forgetting(commands ...[]string) (remedy []string) {
	w.t.Helper()
	for _, args := range commands {
		cmd, out := w.command(args)
		err := cmd.Run()
		said := regexp.MustCompile(`cdkd-action (state orphan \S+ --pending \S+ --yes)`).FindAllStringSubmatch(out.String(), -1)
		if err == nil || said == nil {
			w.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
		remedy = strings.Fields(said[len(said)-1][1])
	}
	return remedy
}

// TestStraysAfterForceUnlock kills a run when it made something that the app
// does not have any more when it is deployed next, and has the lock removed by
// hand: that something goes, though nothing else changes (S-238).
func TestStraysAfterForceUnlock(t *testing.T) {
	if testing.Short() {
		t.Skip("disturbs a deploy")
	}
	w := newCrashWorld(t, startMoto(t))
	w.must([]string{"deploy", "--app", "crash"})
	before := sorts(made(w.t, w.aws.Sandbox))
	killed := disturbance{name: "killed after", fault: sandbox.Fault{Service: "sns", Action: "CreateTopic", Mentions: "Crash-Added", Hold: true, Drop: true, After: true}, kill: true}
	if !w.disturb(crashStory{run: []string{"deploy", "--app", "broken"}}, killed) {
		t.Fatal("the topic was not made")
	}
	if there := sorts(made(w.t, w.aws.Sandbox)); slices.Equal(there, before) {
		t.Fatal("the topic is not there")
	}
	w.must([]string{"force-unlock", "Crash"})
	w.overdue("cdkd/Crash/us-east-1/")
	w.must([]string{"deploy", "--app", "crash"})
	w.must([]string{"deploy", "--app", "crash"})
	if there := sorts(made(w.t, w.aws.Sandbox)); !slices.Equal(there, before) {
		t.Errorf("made:\n%s\nwant:\n%s", strings.Join(there, "\n"), strings.Join(before, "\n"))
	}
}

// editApp changes an app's template.
func editApp(t *testing.T, path string, edits [][2]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range edits {
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
	log  []sandbox.Request // of the run that others disturb
	made []string
	kept map[string]string
}

func (w *crashWorld) undisturbed(s crashStory) calmEnd {
	w.t.Helper()
	before := made(w.t, w.aws.Sandbox)
	w.prepare(s.before)
	w.aws.ClearLog()
	cmd, out := w.command(s.run)
	if err := cmd.Run(); (err != nil) != (s.name == "failed deploy") {
		w.t.Fatalf("%s: %v\n%s", strings.Join(s.run, " "), err, out)
	}
	end := calmEnd{log: w.aws.Log()}
	w.must(s.after)
	end.made, end.kept = made(w.t, w.aws.Sandbox), w.kept()
	if s.name == "destroy" && !slices.Equal(end.made, before) {
		w.t.Fatalf("before: %v\nafter: %v", before, end.made)
	}
	return end
}

// disturb does to a request what is wanted, and reports whether there was such
// a one.
func (w *crashWorld) disturb(s crashStory, d disturbance) bool {
	w.t.Helper()
	w.prepare(s.before)
	w.aws.ClearLog() // of what an earlier test disturbed
	f := d.fault
	f.ID = "disturbed"
	if !d.lasts {
		f.Count = 1
	}
	w.aws.AddFault(f)
	cmd, out := w.command(s.run)
	others := w.aws.Connections()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.said = out
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the disturbed run:\n%s", out)
		}
	})
	ended, end := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer end()
	go func() { w.failed = cmd.Wait() != nil; end() }()
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
			w.t.Logf("%s: %s:%s %s", d.name, r.Service, r.Action, r.Resource)
			w.struck = r
			w.quiet(others)
			return true
		}
	}
	return false
}

// quiet waits until no request is being answered, nor one that was sent is to be
// read: the process has none but the connections that there were before it.
func (w *crashWorld) quiet(connections int) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	if err := w.aws.Left(ctx, connections); err != nil {
		w.t.Fatalf("connections that stay: %v", err)
	}
	all := len(w.aws.Log())
	if _, err := w.aws.Await(ctx, all, func(r sandbox.Request) bool { return r.State == sandbox.Done }); err != nil {
		w.t.Fatalf("requests that are not answered: %v", err)
	}
}

// rerun runs after a disturbed run, and compares with the calm end.
func (w *crashWorld) rerun(s crashStory, d disturbance, want calmEnd) bool {
	w.t.Helper()
	w.age()
	cmd, out := w.command(s.after)
	err := cmd.Run()
	if remedy := remedies.FindAllStringSubmatch(out.String(), -1); err != nil && remedy != nil {
		w.refused = true
		for _, r := range remedy {
			w.must([]string{"import", r[1], "--resource", r[2], "--app", s.app(), "--yes"})
		}
		cmd, out = w.command(s.after)
		err = cmd.Run()
	}
	if err != nil {
		w.t.Errorf("%s: %v\n%s", strings.Join(s.after, " "), err, out)
		return false
	}
	there, kept := made(w.t, w.aws.Sandbox), w.kept()
	if got, want := sorts(there), sorts(want.made); !slices.Equal(got, want) {
		w.t.Errorf("made:\n%s\nwant:\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), out)
	}
	for key, text := range want.kept {
		if strings.HasPrefix(key, "_cdkd-registry/") && d.fault.Status == http.StatusForbidden {
			continue // a bucket that refuses the claim has no registry (S-265)
		}
		if text == "" && strings.HasSuffix(key, "/retained.json") {
			continue // a run that ends between the record's delete and this write leaves none (S-255)
		}
		if got, ok := kept[key]; !ok || got != text {
			w.t.Errorf("%s: there %t:\n%s\nwant\n%s", key, ok, got, text)
		}
	}
	for key, text := range kept {
		o, _ := w.aws.S3.Object(stateBucket, key)
		harmless := text == "" && strings.HasSuffix(key, "/retained.json") || strings.HasSuffix(key, "/lock.json") && expired(o.Body) ||
			strings.HasPrefix(key, "_cdkd-registry/") && s.name == "destroy" // a marker with nothing behind it is taken over (S-263)
		if _, ok := want.kept[key]; !ok && !harmless {
			w.t.Errorf("%s is left:\n%s%s", key, text, o.Body)
		}
	}
	if s.name != "destroy" {
		cmd, out := w.command([]string{"diff", "--app", s.app(), "--fail"})
		if err := cmd.Run(); err != nil {
			w.t.Errorf("diff: %v\n%s", err, out)
		}
	}
	return !w.t.Failed()
}

// expired tells whether a lock has expired: that of a run that was killed, where
// nothing was left to do that needs it. It is in nobody's way.
func expired(lock []byte) bool {
	var l struct{ ExpiresAt int64 }
	return json.Unmarshal(lock, &l) == nil && time.UnixMilli(l.ExpiresAt).Before(time.Now())
}

// remedies are the imports that a refusal asks for.
var remedies = regexp.MustCompile(`cdkd-action import (\S+) --resource (\S+=\S+)`)

// age does what the time until a lock's expiry does, and longer for the answers
// of handlers that were never asked. A takeover bounds what the dead run can
// have made by its last renewal (S-238): that is put into the ledger as it would
// be half an hour later, because by the lock as aged here it was before.
func (w *crashWorld) age() {
	for _, o := range w.aws.S3.Objects(stateBucket) {
		folder, held := strings.CutSuffix(o.Key, "lock.json")
		if !held {
			continue
		}
		var expires int64
		w.edit(o.Key, func(lock map[string]any) {
			was, _ := lock["expiresAt"].(json.Number).Int64()
			expires = was
			lock["expiresAt"] = time.Now().Add(-time.Minute).UnixMilli()
		})
		w.edit(folder+"create-tokens.json", func(ledger map[string]any) {
			ledger["abandonedAt"] = expires - (28 * time.Minute).Milliseconds()
		})
		w.overdue(folder)
	}
}

// overdue cuts short what is waited for of handlers that may not have been asked.
func (w *crashWorld) overdue(folder string) {
	w.edit(folder+"pending.json", func(pending map[string]any) {
		operations, _ := pending["operations"].([]any)
		for _, op := range operations {
			if o := op.(map[string]any); o["answerBy"] != nil {
				o["answerBy"] = time.Now().Add(-time.Second).UnixMilli()
			}
		}
	})
}

// edit changes an object of the bucket, if it is there.
func (w *crashWorld) edit(key string, change func(map[string]any)) {
	w.t.Helper()
	object, ok := w.aws.S3.Object(stateBucket, key)
	if !ok {
		return
	}
	var body map[string]any
	decoder := json.NewDecoder(bytes.NewReader(object.Body))
	decoder.UseNumber()
	if err := decoder.Decode(&body); err != nil {
		w.t.Fatalf("%s: %v", key, err)
	}
	change(body)
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	w.aws.S3.PutObject(stateBucket, key, text)
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
	for _, line := range made(w.t, w.aws.Sandbox) {
		kind, id, _ := strings.Cut(line, " ")
		if kind != "statement" && !ids[id] && len(ids) > 0 {
			w.t.Errorf("no record names %s", line)
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
		value := strings.ReplaceAll(fmt.Sprint(v), w.aws.URL, "https://aws")
		lines = append(lines, fmt.Sprintf("output %s %s", name, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// sorts counts what was made: ids may differ, numbers may not.
func sorts(made []string) []string {
	var out []string
	for _, m := range made {
		kind, _, _ := strings.Cut(m, " ")
		out = append(out, kind)
	}
	slices.Sort(out)
	return out
}

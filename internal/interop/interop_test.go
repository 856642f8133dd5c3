package interop

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/stateshape"
	"github.com/org/cdkd-action/signals"
)

const stateBucket = "state"

// eachObject calls do for the objects of a bucket folder by key.
func eachObject(t *testing.T, bucket string, do func(key string, body []byte)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(bucket), ".", func(key string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(filepath.Join(bucket, key))
		if err == nil {
			do(key, body)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func buckets(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*/*bucket")
	if err != nil || len(all) != 12 {
		t.Fatalf("buckets %v, %v", all, err)
	}
	return all
}

// Every object is within the shapes that ours are held to, and what we read and
// write again is the same, but for the record's version (S-2, S-4, S-5, S-350).
func TestObjects(t *testing.T) {
	kinds := map[string]int{}
	for _, bucket := range buckets(t) {
		eachObject(t, bucket, func(key string, body []byte) {
			t.Run(filepath.Base(bucket)+"/"+key, func(t *testing.T) {
				if err := stateshape.Check(stateshape.Object{Key: key, Body: body}); err != nil {
					t.Error(err)
				}
				var written []byte
				var err error
				switch kinds[filepath.Base(key)]++; filepath.Base(key) {
				case "state.json":
					var r *state.Record
					if r, err = state.ParseRecord(key, body); err == nil {
						written, err = r.Marshal()
						body = []byte(strings.Replace(string(body), `"version": 8`, `"version": 11`, 1))
					}
				case "rollback-journal.json":
					var j *state.Journal
					if j, err = state.ParseJournal(key, body); err == nil {
						written, err = j.Marshal()
					}
				default:
					written = body
				}
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(body), string(written)); d != "" {
					t.Errorf("(-read +written)\n%s", d)
				}
			})
		})
	}
	if kinds["state.json"] != 12 || kinds["rollback-journal.json"] != 5 || kinds["lock.json"] != 1 || kinds["exports.json"] != 12 {
		t.Errorf("looked at %v", kinds)
	}
}

// world is an AWS whose state bucket is the folder's, and an engine on it.
func world(t *testing.T, bucket string) (*engine.Engine, *sandbox.Sandbox) {
	t.Helper()
	aws, err := sandbox.Start(t.Context(), sandbox.Options{Upstream: sandbox.None, Stored: stateshape.Watch(t, t.Name(), stateBucket)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(stateBucket, "us-east-1", "")
	eachObject(t, bucket, func(key string, body []byte) { aws.S3.PutObject(stateBucket, key, body) })
	window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
	t.Cleanup(window.Close)
	return engine.New(engine.Config{
		AWS: aws.Config(), Bucket: state.Wanted{Input: stateBucket}, Prefix: state.DefaultPrefix,
		Owner: "me@test", Version: "test", Window: window,
	}), aws
}

func deploy(t *testing.T, e *engine.Engine, assemblyDir string) *result.Run {
	t.Helper()
	run, err := e.Deploy(t.Context(), engine.DeployOptions{
		Selection:   engine.Selection{Assembly: assemblyDir, Selection: assembly.Selection{All: true}},
		Concurrency: 4, StackConcurrency: 1, ResourceTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// withOutput is a copy of an assembly whose first template has one output more.
func withOutput(t *testing.T, dir, template string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(to, template)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	body, err := value.ParseObject(b)
	if err != nil {
		t.Fatal(err)
	}
	body.Object("Outputs").Set("Added", value.NewObject("Value", "here"))
	if err := os.WriteFile(path, []byte(value.JSON(body)), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// A stack that the command line deployed is planned without a change where its
// template has none. The record that is saved then, or because an output was
// added, says what it did before; and which of the outputs are exports, which
// the command line did not write down yet (S-2, S-5, S-33, S-39, S-81, S-350).
func TestGoesOnFromWhatCdkdWrote(t *testing.T) {
	for _, tt := range []struct{ bucket, assembly, stack string }{
		{"messaging/bucket", "messaging/assembly", "Messaging"},
		{"nested/bucket", "nested/assembly", "Parent"},
		{"mutate/32-bucket", "mutate/assembly-2", "Mutate"},
		{"mutate/53-bucket", "mutate/assembly-4", "Mutate"},
		{"mutate/60-bucket", "mutate/assembly-4", "Mutate"},
		{"mutate/63-bucket", "mutate/assembly-4", "Mutate"},
		{"mutate/84-bucket", "mutate/assembly-4", "Mutate"},
	} {
		bucket, app := filepath.Join("testdata", tt.bucket), filepath.Join("testdata", tt.assembly)
		t.Run(tt.bucket, func(t *testing.T) {
			e, aws := world(t, bucket)
			if run := deploy(t, e, app); run.Outcome != result.NoChange {
				t.Errorf("the deploy ended %s: %+v", run.Outcome, run.Stacks)
			}
			sameObjects(t, aws, bucket, nil)
			if run := deploy(t, e, withOutput(t, app, tt.stack+".template.json")); run.Outcome != result.Success {
				t.Errorf("the deploy with one output more ended %s: %+v", run.Outcome, run.Stacks)
			}
			sameObjects(t, aws, bucket, map[string]any{"Added": "here"})
		})
	}
}

// sameObjects compares what is there with what was: records and indexes without
// regard to what a save changes, records with the outputs that were added to the
// top-level stack's, the index of runs without those of this test, and that of
// exports without the outputs that are none (S-149).
func sameObjects(t *testing.T, aws *sandbox.Sandbox, bucket string, added map[string]any) {
	t.Helper()
	eachObject(t, bucket, func(key string, body []byte) {
		o, there := aws.S3.Object(stateBucket, key)
		switch filepath.Base(key) {
		case "rollback-journal.json":
			if there {
				t.Errorf("%s is left though the deploy succeeded", key)
			}
			return
		case "index.json":
			was, is := object(t, body), object(t, o.Body)
			before, now := was["runs"].([]any), is["runs"].([]any)
			is["runs"] = now[max(0, len(now)-len(before)):]
			delete(was, "lastModified")
			delete(is, "lastModified")
			if d := cmp.Diff(was, is); d != "" {
				t.Errorf("%s (-before +after)\n%s", key, d)
			}
		case "exports.json":
			was, is := object(t, body), object(t, o.Body)
			delete(was, "lastModified")
			delete(is, "lastModified")
			exported := exportNames(t, aws)
			maps.DeleteFunc(was["exports"].(map[string]any), func(name string, _ any) bool { return !exported[name] })
			if d := cmp.Diff(was, is); d != "" {
				t.Errorf("%s (-before +after)\n%s", key, d)
			}
		case "state.json":
			was, is := object(t, body), object(t, o.Body)
			if !strings.Contains(key, "~") {
				for name, v := range added {
					was["outputs"].(map[string]any)[name] = v
				}
			}
			for _, name := range []string{"version", "lastModified", "exportNames"} {
				delete(was, name)
				delete(is, name)
			}
			if d := cmp.Diff(was, is); d != "" {
				t.Errorf("%s (-before +after)\n%s", key, d)
			}
		default:
			if d := cmp.Diff(string(body), string(o.Body)); d != "" {
				t.Errorf("%s (-before +after)\n%s", key, d)
			}
		}
	})
}

// exportNames are the exports of all that is recorded.
func exportNames(t *testing.T, aws *sandbox.Sandbox) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, o := range aws.S3.Objects(stateBucket) {
		if strings.HasSuffix(o.Key, "/state.json") {
			r, err := state.ParseRecord(o.Key, o.Body)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range r.Exports() {
				names[name] = true
			}
		}
	}
	return names
}

// What the command line wrote of runs, and of who holds a lock, is read whole
// (S-90, S-140, S-144).
func TestReadsHistoriesAndLocks(t *testing.T) {
	read := map[string]int{}
	for _, bucket := range buckets(t) {
		e, _ := world(t, bucket)
		eachObject(t, bucket, func(key string, body []byte) {
			folder, name := filepath.Split(key)
			parts := strings.Split(folder, "/")
			switch {
			case name == "lock.json":
				shown, err := e.StateShow(t.Context(), parts[1], parts[2])
				if err != nil {
					t.Fatal(err)
				}
				l := shown.Lock
				is := map[string]any{"owner": l.Owner, "operation": l.Operation, "timestamp": float64(l.Acquired.UnixMilli()), "expiresAt": float64(l.Expires.UnixMilli())}
				if d := cmp.Diff(object(t, body), is); d != "" {
					t.Errorf("%s (-written +read)\n%s", key, d)
				}
				read["locks"]++
			case strings.HasSuffix(name, ".jsonl"):
				history, err := e.RunEvents(t.Context(), parts[1], parts[2], strings.TrimSuffix(name, ".jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				var was, is []any
				for line := range strings.Lines(string(body)) {
					was = append(was, object(t, []byte(line)))
				}
				for _, event := range history.Events {
					b, err := json.Marshal(event)
					if err != nil {
						t.Fatal(err)
					}
					is = append(is, object(t, b))
				}
				if d := cmp.Diff(was, is); d != "" {
					t.Errorf("%s (-written +read)\n%s", key, d)
				}
				read["histories"]++
			}
		})
	}
	if d := cmp.Diff(map[string]int{"locks": 1, "histories": 11}, read); d != "" {
		t.Errorf("(-want +read)\n%s", d)
	}
}

func object(t *testing.T, b []byte) (o map[string]any) {
	t.Helper()
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// A change of nothing but the removal policies is recorded without a call of
// the resource's service, and counts as an update (S-43).
func TestPolicyOnly(t *testing.T) {
	e, aws := world(t, "testdata/mutate/53-bucket")
	run := deploy(t, e, "testdata/mutate/assembly-4rp")
	if run.Outcome != result.Success || run.Stacks[0].Counts.Updated != 1 {
		t.Errorf("the deploy ended %s: %+v", run.Outcome, run.Stacks[0])
	}
	for _, r := range aws.Log() {
		if r.Service != "s3" && r.Service != "sts" {
			t.Errorf("%s:%s was called", r.Service, r.Action)
		}
	}
	o, _ := aws.S3.Object(stateBucket, "cdkd/Mutate/us-east-1/state.json")
	if got := object(t, o.Body)["resources"].(map[string]any)["Tab103FD378"].(map[string]any)["deletionPolicy"]; got != "Retain" {
		t.Errorf("the policy recorded is %v", got)
	}
}

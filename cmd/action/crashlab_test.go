package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/cdkd-action/internal/sandbox"
)

// A crashAWS is an AWS that is in no time what it was before a story. It knows
// networks, and the tags of all that the stack has.
type crashAWS struct {
	*sandbox.Sandbox
	before map[string]*sandbox.Snapshot // by the runs that led there
}

func needMoto(t *testing.T) {
	t.Helper()
	if !sandbox.MotoAvailable() {
		t.Skip("needs moto_server")
	}
}

// startMoto starts an empty AWS with a state bucket.
func startMoto(t *testing.T) *crashAWS {
	t.Helper()
	needMoto(t)
	aws, err := startSandbox(t, sandbox.Options{Upstream: sandbox.Moto})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(stateBucket, "us-east-1", "")
	made(t, aws) // what moto loads when it is first asked, it then has in each copy
	a := &crashAWS{aws, map[string]*sandbox.Snapshot{}}
	a.keep(t, nil)
	return a
}

// keep notes that some runs led to what there is.
func (a *crashAWS) keep(t *testing.T, runs [][]string) {
	t.Helper()
	now, err := a.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.before[fmt.Sprint(runs)] = now
}

// restore goes back to what some runs led to, and tells whether that is known.
func (a *crashAWS) restore(t *testing.T, runs [][]string) bool {
	t.Helper()
	then := a.before[fmt.Sprint(runs)]
	if then == nil {
		return false
	}
	if err := a.Restore(t.Context(), then); err != nil {
		t.Fatal(err)
	}
	return true
}

// A crashLab has as many of them as are used at once.
type crashLab struct {
	t    *testing.T
	mu   sync.Mutex
	free []*crashAWS
}

func newCrashLab(t *testing.T) *crashLab {
	t.Helper()
	needMoto(t)
	return &crashLab{t: t}
}

// world takes one for a test.
func (l *crashLab) world(t *testing.T) *crashWorld {
	t.Helper()
	l.mu.Lock()
	var aws *crashAWS
	if n := len(l.free); n > 0 {
		aws, l.free = l.free[n-1], l.free[:n-1]
	}
	l.mu.Unlock()
	if aws == nil {
		aws = startMoto(l.t)
	}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.free = append(l.free, aws)
	})
	return newCrashWorld(t, aws)
}

// A crashWorld is an AWS, a bucket and a directory for one story.
type crashWorld struct {
	t   *testing.T
	aws *crashAWS
	dir string

	struck  sandbox.Request // the first request that was disturbed
	said    *bytes.Buffer   // by the disturbed run
	failed  bool            // the disturbed run
	refused bool            // what may be another's was not taken
}

// newCrashWorld makes the AWS an empty one with a state bucket.
func newCrashWorld(t *testing.T, aws *crashAWS) *crashWorld {
	t.Helper()
	aws.restore(t, nil)
	dir := t.TempDir()
	for app, edits := range crashApps {
		if err := os.CopyFS(filepath.Join(dir, app), os.DirFS("testdata/crash")); err != nil {
			t.Fatal(err)
		}
		editApp(t, filepath.Join(dir, app, "Crash.template.json"), edits)
	}
	return &crashWorld{t: t, aws: aws, dir: dir}
}

// prepare does what a story is preceded by, on an empty AWS.
func (w *crashWorld) prepare(runs [][]string) {
	w.t.Helper()
	if len(runs) == 0 || w.aws.restore(w.t, runs) {
		return
	}
	last := len(runs) - 1
	w.prepare(runs[:last])
	cmd, out := w.command(runs[last])
	if err := cmd.Run(); (err != nil) != slices.Contains(runs[last], "--no-rollback") {
		w.t.Fatalf("%s: %v\n%s", strings.Join(runs[last], " "), err, out)
	}
	w.aws.keep(w.t, runs)
}

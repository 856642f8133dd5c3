package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A step whose files cannot be written to deploys all the same, and leaves room
// for other warnings (G-1.5).
func TestUnwritableFiles(t *testing.T) {
	p := newSignalled(t)
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"} {
		p.cmd.Env = append(p.cmd.Env, name+"="+filepath.Join(p.dir, "missing", name))
	}
	p.start()
	p.wantExit(0)
	p.wantNoLock()
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STATE"} {
		if n := strings.Count(p.out.String(), "writes to "+name); n != 1 {
			t.Errorf("%d warnings of %s, want one:\n%s", n, name, p.out.String())
		}
	}
	if n := strings.Count(p.out.String(), "::warning"); n != 3 {
		t.Errorf("%d warnings, want one for each file:\n%s", n, p.out.String())
	}
}

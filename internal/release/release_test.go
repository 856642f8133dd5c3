package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/cdkd-action/internal/runner"
)

const root = "../.."

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseVersion(t *testing.T) {
	for text, ok := range map[string]bool{
		"1.2.3": true, "0.1.0": true, "10.20.30": true,
		"": false, "1.2": false, "v1.2.3": false, "1.2.3-rc.1": false, "01.2.3": false, "1.2.3\n": false, "1.2.3; rm -rf /": false, "1.2.99999999999999999999": false,
	} {
		if v, err := parseVersion(text); (err == nil) != ok || ok && v.String() != text {
			t.Errorf("parseVersion(%q) = %v, %v", text, v, err)
		}
	}
}

func TestNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "CHANGELOG.md")
	if err := os.WriteFile(path, []byte("# Changelog\n\n## [Unreleased]\n\n- later\n\n## [1.2.0] - 2026-12-01\n\n### Added\n\n- this\n\n## [1.1.0] - 2026-11-01\n\n## [1.0.0]\n\n- first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		v    version
		want string
		ok   bool
	}{
		{version{1, 2, 0}, "### Added\n\n- this\n", true},
		{version{1, 0, 0}, "- first\n", true},
		{version{1, 1, 0}, "", false}, // there is a heading, and nothing below it
		{version{1, 2, 1}, "", false},
	} {
		if got, err := notes(path, tt.v); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("notes of %s: %q, %v; want %q", tt.v, got, err, tt.want)
		}
	}
}

func TestImageOf(t *testing.T) {
	if got, err := imageOf("Org/CDKD-Action"); err != nil || got != "ghcr.io/org/cdkd-action" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", "org", "org/a/b", "org/a b", "org/$(id)"} {
		if got, err := imageOf(bad); err == nil {
			t.Errorf("%q gives %q", bad, got)
		}
	}
}

// What is released is this repository's action.yml with one line changed, and
// the runner reads the image in it (G-1.6).
func TestPinned(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	const image = "ghcr.io/org/cdkd-action@" + digest
	got, err := pinned(string(text), image)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(string(text), "image: Dockerfile", "image: docker://"+image, 1); got != want {
		t.Error("more than the image was changed")
	}
	path := filepath.Join(t.TempDir(), "action.yml")
	if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
		t.Fatal(err)
	}
	action, err := runner.ReadAction(path)
	if err != nil || action.Runs.Image != "docker://"+image || action.Runs.PostEntrypoint == "" {
		t.Errorf("the runner reads %+v, %v", action.Runs, err)
	}
	for _, bad := range []string{"", "ghcr.io/org/cdkd-action:v1", "ghcr.io/org/cdkd-action@sha256:12", "ghcr.io/Org/x@" + digest, "x$1@" + digest} {
		if _, err := pinned(string(text), bad); err == nil {
			t.Errorf("%q is taken for an image by its digest", bad)
		}
	}
	if _, err := pinned(got, image); err == nil {
		t.Error("an action.yml that is pinned already is pinned again")
	}
}

// origin makes a bare repository with main's action.yml in it.
func origin(t *testing.T) (bare string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	bare, work := filepath.Join(t.TempDir(), "origin.git"), t.TempDir()
	text, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "action.yml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	r := repository{dir: work, env: []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}}
	must(t, r, "init", "--quiet", "--bare", "--initial-branch=main", bare)
	must(t, r, "init", "--quiet", "--initial-branch=main")
	must(t, r, "add", "action.yml")
	must(t, r, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "Begin")
	must(t, r, "push", "--quiet", bare, "main")
	return bare
}

// checkout is what actions/checkout makes: the newest commit, no tags.
func checkout(t *testing.T, bare string) repository {
	t.Helper()
	r := repository{dir: t.TempDir(), env: []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}}
	must(t, r, "clone", "--quiet", "--depth", "1", "--no-tags", "--branch", "main", "file://"+bare, ".")
	return r
}

func must(t *testing.T, r repository, args ...string) string {
	t.Helper()
	out, err := r.git(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRelease(t *testing.T) {
	bare := origin(t)
	b := repository{dir: bare}
	main := must(t, b, "rev-parse", "main")
	image := "ghcr.io/org/cdkd-action@" + digest
	release := func(v version) {
		t.Helper()
		r := checkout(t, bare)
		if err := r.tag(v, image); err != nil {
			t.Fatal(err)
		}
		if err := checkout(t, bare).move(v); err != nil { // by another machine
			t.Fatal(err)
		}
	}
	at := func(tag string) string { t.Helper(); return must(t, b, "rev-parse", "refs/tags/"+tag) }

	release(version{1, 2, 0})
	if got := must(t, b, "rev-parse", "main"); got != main {
		t.Errorf("main was moved to %s", got)
	}
	if parent := must(t, b, "rev-parse", "v1.2.0^"); parent != main || at("v1") != at("v1.2.0") {
		t.Errorf("v1.2.0 is made of %s, want %s; v1 is %s, want %s", parent, main, at("v1"), at("v1.2.0"))
	}
	if got := must(t, b, "show", "v1:action.yml"); !strings.Contains(got, "  image: docker://"+image+"\n") {
		t.Errorf("v1 runs another image:\n%s", got)
	}
	if got := must(t, b, "diff", "--numstat", "main", "v1"); got != "1\t1\taction.yml" {
		t.Errorf("the released commit changes %q", got)
	}

	t.Run("a job that failed half-way can be run again", func(t *testing.T) {
		before := at("v1.2.0")
		release(version{1, 2, 0})
		if at("v1.2.0") != before {
			t.Error("the tag has moved")
		}
	})
	t.Run("a version is not released twice with other images", func(t *testing.T) {
		before := at("v1.2.0")
		other := "ghcr.io/org/cdkd-action@sha256:" + strings.Repeat("f", 64)
		if err := checkout(t, bare).tag(version{1, 2, 0}, other); err == nil || !strings.Contains(err.Error(), "released already") {
			t.Errorf("got %v", err)
		}
		if at("v1.2.0") != before {
			t.Error("the tag has moved")
		}
	})
	t.Run("the major tag goes forward and never back", func(t *testing.T) {
		release(version{1, 10, 0})
		if at("v1") != at("v1.10.0") {
			t.Error("v1 is not the newest")
		}
		release(version{1, 9, 1}) // a fix of an older line; by letters it would be newer
		if at("v1") != at("v1.10.0") {
			t.Error("v1 went back")
		}
		release(version{2, 0, 0})
		if at("v1") != at("v1.10.0") || at("v2") != at("v2.0.0") {
			t.Error("v1 or v2 is of another version")
		}
	})
	t.Run("nothing moves to what is not released", func(t *testing.T) {
		if err := checkout(t, bare).move(version{3, 0, 0}); err == nil {
			t.Error("v3 was moved to nothing")
		}
	})
	t.Run("which is newest is told apart from other tags", func(t *testing.T) {
		must(t, b, "tag", "v1.99", "main")
		must(t, b, "tag", "v1.99.x", "main")
		must(t, b, "tag", "v10.0.0", "main")
		if got, err := checkout(t, bare).newest(version{1, 3, 0}); err != nil || fmt.Sprint(got) != "1.10.0" {
			t.Errorf("newest is %s, %v", got, err)
		}
	})
}

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestHandOver(t *testing.T) { // (G-5.3)
	if os.Geteuid() != 0 {
		t.Skip("needs to be root, as an action's container is")
	}
	const runner, other = 1001, 1002
	outside := filepath.Join(t.TempDir(), "outside")
	dir := t.TempDir()
	for path, uid := range map[string]int{
		outside: 0, filepath.Join(dir, "theirs"): other, filepath.Join(dir, "cdk.out/tree.json"): 0, filepath.Join(dir, "cdk.context.json"): 0,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	owner := func(path string) uint32 {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Uid
	}
	if err := handOver(dir, time.Time{}); err != nil || owner(filepath.Join(dir, "link")) != 0 {
		t.Errorf("in a workspace of root's: %v, and the link is %d's", err, owner(filepath.Join(dir, "link")))
	}
	if err := os.Chown(dir, runner, runner); err != nil {
		t.Fatal(err)
	}
	if err := handOver(dir, time.Now().Add(-time.Second)); err == nil {
		t.Error("it took time that it did not have")
	}
	if err := handOver(dir, time.Time{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]uint32{
		"cdk.out": runner, "cdk.out/tree.json": runner, "cdk.context.json": runner, "link": runner, "theirs": other,
	} {
		if got := owner(filepath.Join(dir, path)); got != want {
			t.Errorf("%s is %d's, want %d's", path, got, want)
		}
	}
	if got := owner(outside); got != 0 {
		t.Errorf("what a link leads to is %d's", got)
	}
}

//go:build unix

package ci

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk that is full must not leave half an entry, for which the runner fails
// the step (G-1.2).
func TestFullDiskLeavesNoHalfAnEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	s := New([]string{"GITHUB_OUTPUT=" + path}, io.Discard, io.Discard)
	if err := s.SetOutput("first", "kept"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	// A limit on the size of files divides a write as a full disk does.
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGXFSZ)
	defer signal.Stop(over)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = uint64(len(before)) + 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low); err != nil {
		t.Fatal(err)
	}
	failed := s.SetOutput("second", strings.Repeat("x", 100))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}

	if failed == nil {
		t.Error("what was not written whole is said to be written")
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file has %q, %v; want %q", after, err, before)
	}
	if err := s.SetOutput("third", "written"); err != nil {
		t.Error(err)
	}
}

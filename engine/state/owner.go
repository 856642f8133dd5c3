package state

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// NewOwner makes the name under which this process takes locks. Nothing reads
// anything out of it; it is compared and shown. In a workflow it names the run,
// so that the holder can be found, with a random part: every container's
// process is number 1, and the jobs of a matrix share run and attempt.
func NewOwner(env func(string) string) string {
	user := env("USER")
	if user == "" {
		user = env("USERNAME")
	}
	if user == "" {
		user = "unknown"
	}
	if env("GITHUB_ACTIONS") == "true" {
		return fmt.Sprintf("%s%s%s:%d", user, runHost(env), randomHex(4), os.Getpid())
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		return fmt.Sprintf("cdkd:%d", os.Getpid())
	}
	return fmt.Sprintf("%s@%s:%d", user, host, os.Getpid())
}

// OwnerOf tells whether an owner is a process of the workflow run that the
// environment names.
func OwnerOf(owner string, env func(string) string) bool {
	return strings.Contains(owner, runHost(env))
}

func runHost(env func(string) string) string {
	return fmt.Sprintf("@gha-%s-%s-", env("GITHUB_RUN_ID"), env("GITHUB_RUN_ATTEMPT"))
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

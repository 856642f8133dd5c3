// Command release is what .github/workflows/release.yml does beside building
// images, so that it can be tried without GitHub.
//
//	release check VERSION REPOSITORY      prints what the other jobs need to know
//	release notes VERSION                 prints the changelog's section
//	release tag VERSION IMAGE@DIGEST      pins the image, tags that, pushes the tag
//	release newest VERSION                tells whether the major version's tags move
//	release move VERSION                  moves the major version's git tag
//
// It runs at the root of a checkout. A version is released once: each command can
// be given again after a job that failed, and what was done stays as it is.
//
// The released commit is none of main's. It is made of main's and one change,
// the image in action.yml, at the time of main's, so that it always has the same
// name. Tags of versions are never moved; that of a major version goes to the
// newest of them and never back, when an older line gets a fix.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	wants := map[string]int{"check": 3, "notes": 2, "tag": 3, "newest": 2, "move": 2}
	if len(args) == 0 || len(args) != wants[args[0]] {
		return fmt.Errorf("usage: release check VERSION REPOSITORY | notes VERSION | tag VERSION IMAGE@DIGEST | newest VERSION | move VERSION")
	}
	v, err := parseVersion(args[1])
	if err != nil {
		return err
	}
	r := repository{dir: "."}
	switch args[0] {
	case "check":
		if _, err := notes("CHANGELOG.md", v); err != nil {
			return err
		}
		image, err := imageOf(args[2])
		if err != nil {
			return err
		}
		fmt.Printf("major=%s\nimage=%s\n", v.majorTag(), image)
	case "notes":
		text, err := notes("CHANGELOG.md", v)
		if err != nil {
			return err
		}
		fmt.Print(text)
	case "tag":
		return r.tag(v, args[2])
	case "newest":
		newest, err := r.newest(v)
		if err != nil {
			return err
		}
		fmt.Printf("newest=%t\n", newest == v)
	case "move":
		return r.move(v)
	}
	return nil
}

// git runs git and returns what it prints.
func (r repository) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), r.env...)
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A repository is a checkout of the commit that is released, with the remote
// origin.
type repository struct {
	dir string
	env []string // beside the process's
}

// tag makes the commit that pins the image, and pushes its tag. A tag that is
// there already must be of the same commit.
func (r repository) tag(v version, image string) error {
	path := filepath.Join(r.dir, "action.yml")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	action, err := pinned(string(text), image)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(action), 0o644); err != nil {
		return err
	}
	at, err := r.git("log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	const who = "github-actions[bot]"
	const mail = "41898282+github-actions[bot]@users.noreply.github.com"
	r.env = append(r.env, "GIT_AUTHOR_NAME="+who, "GIT_AUTHOR_EMAIL="+mail, "GIT_AUTHOR_DATE="+at,
		"GIT_COMMITTER_NAME="+who, "GIT_COMMITTER_EMAIL="+mail, "GIT_COMMITTER_DATE="+at)
	if _, err := r.git("commit", "--quiet", "--message", "Pin the image of "+v.tag(), "action.yml"); err != nil {
		return err
	}
	commit, err := r.git("rev-parse", "HEAD")
	if err != nil {
		return err
	}
	released, err := r.remoteTags(v.tag())
	if err != nil {
		return err
	}
	switch there := released[v.tag()]; there {
	case commit:
		return nil
	case "":
		_, err := r.git("push", "--quiet", "origin", commit+":refs/tags/"+v.tag())
		return err
	default:
		return fmt.Errorf("%s is released already, as commit %s; this would be %s", v.tag(), there, commit)
	}
}

// move makes the major version's tag that of the newest version. An older one
// that is released after it leaves it where it is.
func (r repository) move(v version) error {
	newest, err := r.newest(v)
	if err != nil {
		return err
	}
	if newest != v {
		fmt.Printf("%s stays at %s, which is newer than %s\n", v.majorTag(), newest.tag(), v.tag())
		return nil
	}
	released, err := r.remoteTags(v.tag())
	if err != nil {
		return err
	}
	commit := released[v.tag()]
	if commit == "" {
		return fmt.Errorf("%s is not released", v.tag())
	}
	if _, err := r.git("fetch", "--quiet", "--depth", "1", "origin", "refs/tags/"+v.tag()); err != nil {
		return err
	}
	_, err = r.git("push", "--quiet", "--force", "origin", commit+":refs/tags/"+v.majorTag())
	return err
}

// newest is the newest of a version and those of its major version that are
// released.
func (r repository) newest(v version) (version, error) {
	released, err := r.remoteTags(v.majorTag() + ".*")
	if err != nil {
		return version{}, err
	}
	newest := v
	for name := range released {
		// Tags may have any name; those of versions are ours.
		if o, err := parseVersion(strings.TrimPrefix(name, "v")); err == nil && o[0] == v[0] && o.compare(newest) > 0 {
			newest = o
		}
	}
	return newest, nil
}

// remoteTags are the commits of origin's tags that match a pattern, by name.
func (r repository) remoteTags(pattern string) (map[string]string, error) {
	out, err := r.git("ls-remote", "--tags", "--refs", "origin", "refs/tags/"+pattern)
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for line := range strings.Lines(out) {
		if commit, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			tags[strings.TrimPrefix(ref, "refs/tags/")] = commit
		}
	}
	return tags, nil
}

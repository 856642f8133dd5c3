package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/cdkd-action/engine"
)

// withinBounds refuses inputs that name something to write outside of the
// workspace and the folders for temporary files: what a workflow hands in may come
// from a pull request. Without a workspace it is a person's own machine.
func (s *step) withinBounds() error {
	if s.surface.Getenv("GITHUB_WORKSPACE") == "" {
		return nil
	}
	for _, f := range []struct{ input, given, path string }{
		{"plan-file", s.in.PlanFile, s.inWorkspace(s.in.PlanFile)},
		{"record-resource-mapping", s.in.RecordResourceMapping, s.path(s.in.RecordResourceMapping)},
		{"output", s.in.Output, s.path(s.in.Output)},
	} {
		if f.given == "" {
			continue
		}
		if root, _ := s.bounds(f.path); root == "" {
			return &engine.InputError{
				What: fmt.Sprintf("%s: %q is outside of the workspace", f.input, f.given),
				Next: "name a path in the workspace, or in the folder that RUNNER_TEMP names",
			}
		}
	}
	return nil
}

// bounds are the folder that a file is to stay in, and its path there; "" when it
// is in none of those that may be written to.
func (s *step) bounds(path string) (root, within string) {
	for _, root := range []string{s.surface.Getenv("GITHUB_WORKSPACE"), s.surface.Getenv("RUNNER_TEMP"), os.TempDir()} {
		if root == "" {
			continue
		}
		folder, err := filepath.Abs(root)
		if err != nil {
			continue
		}
		file, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		if within, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(within) {
			return folder, within
		}
	}
	return "", ""
}

// inWorkspace is a path that is relative to the workspace, where there is one.
func (s *step) inWorkspace(path string) string {
	if workspace := s.surface.Getenv("GITHUB_WORKSPACE"); workspace != "" && !filepath.IsAbs(path) {
		return filepath.Join(workspace, path)
	}
	return path
}

// write puts a file where an input says, with the folders that it needs. In a
// workspace no link leads it out of there.
func (s *step) write(path string, body []byte) error {
	folder, within := s.bounds(path)
	if s.surface.Getenv("GITHUB_WORKSPACE") == "" {
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, body, 0o644))
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	return errors.Join(root.MkdirAll(filepath.Dir(within), 0o755), root.WriteFile(within, body, 0o644), root.Close())
}

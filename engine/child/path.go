package child

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// LookPath finds a program as a child with this folder and environment would:
// by the PATH in it, not by ours.
func LookPath(program, dir string, env []string) (string, error) {
	if strings.ContainsRune(program, filepath.Separator) {
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		found, err := exec.LookPath(program)
		if err != nil {
			return "", err
		}
		return filepath.Abs(found)
	}
	path := ""
	for _, v := range env { // the last one counts
		if after, ok := strings.CutPrefix(v, "PATH="); ok {
			path = after
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if folder == "" {
			folder = "."
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if found, err := exec.LookPath(filepath.Join(folder, program)); err == nil {
			return filepath.Abs(found)
		}
	}
	return "", fmt.Errorf("look for %s in PATH: %w", program, exec.ErrNotFound)
}

//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// handOver gives what is ours in a folder to the folder's owner. A container is
// root, and the runner's user could not remove what an app wrote as root: the
// next checkout would fail. It stops where the time is over.
func handOver(dir string, until time.Time) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("hand the workspace over to its owner: %w", err)
	}
	owner, ours := info.Sys().(*syscall.Stat_t), uint32(os.Geteuid())
	if ours != 0 || owner.Uid == ours {
		return nil
	}
	// Within a root no link leads out of the folder, whatever is renamed meanwhile.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("hand the workspace over to its owner: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			info, err = entry.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone meanwhile
			return nil
		case err != nil:
			return err
		case !until.IsZero() && time.Now().After(until):
			return fmt.Errorf("%s and what follows: no time is left", path)
		case info.Sys().(*syscall.Stat_t).Uid != ours:
			return nil
		}
		return root.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
	if err != nil {
		return fmt.Errorf("hand the workspace over to its owner: %w", err)
	}
	return nil
}

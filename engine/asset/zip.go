package asset

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/assembly"
)

// written is the time of every entry. It is the earliest that a zip can hold;
// the real one would make other bytes from the same content.
var written = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Zip packs a folder's content, or a single file. The same content and modes
// give the same bytes.
//
// Links are followed, as by the CDK, but not out of the folder root: what is
// there is not the app's, and another file on every machine. "" is no bound.
func Zip(source, root string) ([]byte, error) {
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	if root != "" {
		if root, err = filepath.EvalSymlinks(root); err != nil {
			return nil, err
		}
	}
	if info.IsDir() {
		err = addFolder(w, source, "", root, nil)
	} else {
		err = addFile(w, source, filepath.Base(source), info)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("zip %s: %w", source, err)
	}
	return buffer.Bytes(), nil
}

// addFolder adds the files below a folder in the order of their names. above
// are the folders that it is in, which a link may lead back to.
func addFolder(w *zip.Writer, folder, name, root string, above []string) error {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	if slices.Contains(above, real) {
		return fmt.Errorf("%s is a link to a folder that it is in", folder)
	}
	above = append(slices.Clone(above), real)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		info, err := os.Stat(file)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is a link to nothing", file)
			}
			return err
		}
		if entry.Type()&fs.ModeSymlink != 0 && root != "" {
			if real, err := filepath.EvalSymlinks(file); err != nil || !assembly.Within(root, real) {
				return fmt.Errorf("%s is a link that leads out of the assembly; have the app copy what it leads to (followSymlinks), or leave it out (exclude)", file)
			}
		}
		switch inZip := path.Join(name, entry.Name()); {
		case info.IsDir():
			err = addFolder(w, file, inZip, root, above)
		case info.Mode().IsRegular():
			err = addFile(w, file, inZip, info)
		default:
			err = fmt.Errorf("%s is neither a file nor a folder", file)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func addFile(w *zip.Writer, file, name string, info fs.FileInfo) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: written}
	header.SetMode(info.Mode().Perm())
	out, err := w.CreateHeader(header)
	if err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}

package asset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/cdkd-action/engine/child"
)

// content is what is uploaded. Whoever opened it closes it.
type content struct {
	io.ReadSeeker
	size  int64
	close func() error
}

// open makes the bytes of an asset.
func (p *Publisher) open(ctx context.Context, f *File) (*content, error) {
	path, err := p.source(ctx, f)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("its source %s is not there", path)
	case err != nil:
		return nil, err
	case f.packaging == "zip":
		root := f.manifest.Root
		if len(f.executable) > 0 {
			root = "" // the app's own command chose what to pack
		}
		packed, err := Zip(path, root)
		if err != nil {
			return nil, err
		}
		return &content{bytes.NewReader(packed), int64(len(packed)), func() error { return nil }}, nil
	case info.IsDir():
		return nil, fmt.Errorf("its source %s is a folder, but the asset is to be a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &content{file, info.Size(), file.Close}, nil
}

// source finds the file, or runs the command that makes it.
func (p *Publisher) source(ctx context.Context, f *File) (string, error) {
	if len(f.executable) == 0 {
		return f.manifest.Source(f.path)
	}
	path, err := p.output(ctx, f.manifest.Dir, f.executable)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.manifest.Dir, path)
	}
	return path, nil
}

// output runs a command that says in one line what it made.
func (p *Publisher) output(ctx context.Context, dir string, command []string) (string, error) {
	out := &start{}
	c := child.Command{Args: command, Dir: dir, Env: p.env(), Stdout: out}
	if err := c.Run(ctx); err != nil {
		return "", fmt.Errorf("run %w", err)
	}
	text := strings.TrimSpace(string(out.kept))
	if text == "" || strings.ContainsAny(text, "\r\n") || out.size > startBytes {
		return "", fmt.Errorf("run %s: want one line that says what it made as its output, got %d bytes", command[0], out.size)
	}
	return text, nil
}

const startBytes = 4096

// A start keeps the start of what is written to it.
type start struct {
	kept []byte
	size int
}

func (s *start) Write(b []byte) (int, error) {
	s.kept = append(s.kept, b[:min(len(b), startBytes-len(s.kept))]...)
	s.size += len(b)
	return len(b), nil
}

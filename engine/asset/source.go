package asset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		packed, err := Zip(path)
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
	cmd := exec.CommandContext(ctx, f.executable[0], f.executable[1:]...)
	cmd.Dir, cmd.Env = f.manifest.Dir, p.Env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		err = fmt.Errorf("run %s: %w", f.executable[0], err)
		if said := tail(errs.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return "", err
	}
	path := strings.TrimSpace(out.String())
	if path == "" || strings.ContainsAny(path, "\r\n") {
		return "", fmt.Errorf("run %s: want the path of one file as its output, got %d bytes", f.executable[0], out.Len())
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.manifest.Dir, path)
	}
	return path, nil
}

// tail is the end of what a command said.
func tail(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}

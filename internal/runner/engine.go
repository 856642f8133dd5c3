package runner

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

// Engine tells why no Docker engine can be used, or returns nil when one can.
func Engine(ctx context.Context) error {
	_, err := docker(ctx, "info", "--format", "{{.ServerVersion}}")
	return err
}

// Build builds an image from the Dockerfile in dir, as the runner does for
// `image: Dockerfile`, with arguments of docker build before the folder.
//
// The build has the host's network: it then works on a machine that reaches
// registries of packages only through its own configuration.
func Build(ctx context.Context, dir, tag string, args ...string) error {
	_, err := docker(ctx, append(append([]string{"build", "--network", "host", "--tag", tag}, args...), dir)...)
	return err
}

// Running tells whether the step's container is at work.
func (s *Step) Running(ctx context.Context) (bool, error) {
	out, err := docker(ctx, "ps", "--quiet", "--filter", "name=^"+s.Container+"$")
	return out != "", err
}

// Remove ends and removes the container, which a killed client leaves behind.
// It is no error when there is none.
func (s *Step) Remove(ctx context.Context) error {
	if out, err := docker(ctx, "ps", "--all", "--quiet", "--filter", "name=^"+s.Container+"$"); err != nil || out == "" {
		return err
	}
	_, err := docker(ctx, "rm", "--force", s.Container)
	return err
}

func docker(ctx context.Context, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w\n%s%s", args[0], err, out.Bytes(), errs.Bytes())
	}
	return out.String(), nil
}

package asset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"github.com/org/cdkd-action/engine/child"
)

// builds is how many images are built at once when nobody says.
const builds = 4

// A BuilderError says that there is nothing to build or push images with.
type BuilderError struct {
	Program string
	Err     error
}

func (e *BuilderError) Error() string { return fmt.Sprintf("run %s: %v", e.Program, e.Err) }

func (e *BuilderError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *BuilderError) Remedy() string {
	return "publish the images in an earlier step, where docker is, for example with `npx cdk-assets publish`: " +
		"an image that is in its repository is not built; or name another builder with CDK_DOCKER"
}

// A ContainerError says that the container builder failed.
type ContainerError struct {
	Did    string // build, tag, push, …
	Status string // in words
	Tail   string // the end of what it said, without secrets
}

func (e *ContainerError) Error() string {
	text := e.Did + ": " + e.Status
	if e.Tail != "" {
		text += ":\n" + e.Tail
	}
	return text
}

func (i *Image) publish(ctx context.Context, p *Publisher) error {
	there, err := i.there(ctx, p)
	if there || err != nil {
		return err
	}
	if err := p.once(ctx, i.local(), func() error { return p.build(ctx, i) }); err != nil {
		return err
	}
	if err := p.docker(ctx, "", p.env(), nil, "tag", i.local(), i.URL()); err != nil {
		return err
	}
	err = p.push(ctx, i)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// Somebody else may have pushed the same meanwhile, to a repository where
	// tags are final.
	if there, lookErr := i.there(ctx, p); lookErr == nil && there {
		return nil
	}
	return err
}

// there tells whether the repository has the image. A repository that is not
// there has none; it may be one that a push makes.
func (i *Image) there(ctx context.Context, p *Publisher) (bool, error) {
	_, err := p.Repositories(i.Region).DescribeImages(ctx, &ecr.DescribeImagesInput{
		RepositoryName: &i.Repository, ImageIds: []types.ImageIdentifier{{ImageTag: &i.Tag}},
	})
	if err == nil {
		return true, nil
	}
	if errors.As(err, new(*types.ImageNotFoundException)) || errors.As(err, new(*types.RepositoryNotFoundException)) {
		return false, nil
	}
	return false, fmt.Errorf("look for tag %s in repository %s in %s: %w", i.Tag, i.Repository, i.Region, err)
}

// build makes the image under its local tag.
func (p *Publisher) build(ctx context.Context, i *Image) error {
	p.mu.Lock()
	if p.slots == nil {
		n := p.Builds
		if n <= 0 {
			n = builds
		}
		p.slots = make(chan struct{}, n)
	}
	slots := p.slots
	p.mu.Unlock()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}

	dir := i.manifest.Dir
	if directory := i.source.String("directory"); directory != "" {
		var err error
		if dir, err = i.manifest.Source(directory); err != nil {
			return err
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("its source %s is not there, or no folder", dir)
		}
	}
	if command := i.source.List("executable"); len(command) > 0 {
		var args []string
		for _, v := range command {
			text, _ := v.(string)
			args = append(args, text)
		}
		made, err := p.output(ctx, dir, args)
		if err != nil {
			return err
		}
		return p.docker(ctx, "", p.env(), nil, "tag", made, i.local())
	}
	env := append(without(p.env(), "BUILDX_NO_DEFAULT_ATTESTATIONS"), "BUILDX_NO_DEFAULT_ATTESTATIONS=1")
	return p.docker(ctx, dir, env, nil, buildArguments(i.source, i.local())...)
}

// builder is the program that builds images.
func builder(env []string) string {
	program := "docker"
	for _, v := range env {
		if name, found := strings.CutPrefix(v, "CDK_DOCKER="); found && name != "" {
			program = name
		}
	}
	return program
}

// Builder names the container builder, and tells whether it and its daemon
// answer.
func (p *Publisher) Builder(ctx context.Context) (string, error) {
	env, said := p.env(), &end{}
	asking := Publisher{Secrets: p.Secrets} // what it says is not for the log
	// Its own version, which it tells without the daemon, is no reason.
	c := child.Command{Args: []string{builder(env), "version"}, Env: env, Stderr: masked{&asking, said}}
	return builder(env), ran(ctx, &c, said)
}

// docker runs the container builder.
func (p *Publisher) docker(ctx context.Context, dir string, env []string, stdin *strings.Reader, args ...string) error {
	said := &end{}
	c := child.Command{Args: append([]string{builder(env)}, args...), Dir: dir, Env: env, Stdout: masked{p, said}, Stderr: masked{p, said}}
	if stdin != nil {
		c.Stdin = stdin
	}
	return ran(ctx, &c, said)
}

// ran runs the container builder, whose reason for failing is the end of what it
// said.
func ran(ctx context.Context, c *child.Command, said *end) error {
	err := c.Run(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		return &BuilderError{c.Args[0], err}
	}
	if exit, ok := errors.AsType[*child.ExitError](err); ok {
		return &ContainerError{Did: c.Args[0] + " " + c.Args[1], Status: exit.Status, Tail: said.String()}
	}
	return err
}

// masked passes on what the builder says, without secrets.
type masked struct {
	p    *Publisher
	said *end
}

func (m masked) Write(b []byte) (int, error) {
	text := m.p.Secrets.Mask(string(b))
	m.said.add(text)
	if m.p.Log != nil {
		m.p.logging.Lock()
		defer m.p.logging.Unlock()
		if _, err := m.p.Log.Write([]byte(text)); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// An end keeps the end of a text. Builders spread what went wrong over both of
// their outputs.
type end struct{ text string }

const endBytes = 4000

func (e *end) add(text string) {
	e.text += text
	if over := len(e.text) - endBytes; over > 0 {
		e.text = e.text[over:]
	}
}

func (e *end) String() string { return strings.TrimSpace(strings.ToValidUTF8(e.text, "")) }

func without(env []string, name string) []string {
	var kept []string
	for _, v := range env {
		if !strings.HasPrefix(v, name+"=") {
			kept = append(kept, v)
		}
	}
	return kept
}

package asset

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
)

// refused is how registries say that a push needs a login, or another one.
var refused = regexp.MustCompile(`(?i)no basic auth credentials|unauthorized|authentication required|denied|\b40[13]\b`)

// push pushes the image with the logins that the builder has by itself, and if
// these do not do, with ours.
func (p *Publisher) push(ctx context.Context, i *Image) error {
	env := p.env()
	if own := p.loggedIn(i.Registry); own == nil {
		err := p.docker(ctx, "", env, nil, "push", i.URL())
		failed, ok := errors.AsType[*ContainerError](err)
		if !ok || !refused.MatchString(failed.Tail) {
			return err
		}
	}
	if err := p.once(ctx, "login "+i.Registry, func() error { return p.login(ctx, i) }); err != nil {
		return fmt.Errorf("log in to %s: %w", i.Registry, err)
	}
	return p.docker(ctx, "", p.loggedIn(i.Registry), nil, "push", i.URL())
}

// loggedIn is the environment that has our login to a registry, nil when there
// is none.
func (p *Publisher) loggedIn(registry string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.logins[registry] {
		return nil
	}
	return append(without(p.env(), "DOCKER_CONFIG"), "DOCKER_CONFIG="+p.config)
}

func (p *Publisher) login(ctx context.Context, i *Image) error {
	out, err := p.Repositories(i.Region).GetAuthorizationToken(ctx, &ecr.GetAuthorizationTokenInput{})
	if err != nil {
		return err
	}
	if len(out.AuthorizationData) == 0 {
		return errors.New("ECR gave no authorization token")
	}
	token := aws.ToString(out.AuthorizationData[0].AuthorizationToken)
	p.Secrets.AddDerived(token)
	decoded, err := base64.StdEncoding.DecodeString(token)
	user, password, ok := strings.Cut(string(decoded), ":")
	if err != nil || !ok {
		return errors.New("ECR's authorization token is not a user and a password")
	}
	p.Secrets.AddDerived(password)
	if err := p.configure(i.Registry); err != nil {
		return err
	}
	p.mu.Lock()
	env := append(without(p.env(), "DOCKER_CONFIG"), "DOCKER_CONFIG="+p.config)
	p.mu.Unlock()
	// The name in the image decides which login is used, so it is the one to log
	// in to; what the answer calls the endpoint is the same host.
	if err := p.docker(ctx, "", env, strings.NewReader(password), "login", "--username", user, "--password-stdin", i.Registry); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logins == nil {
		p.logins = map[string]bool{}
	}
	p.logins[i.Registry] = true
	return nil
}

// configure makes a folder for our logins, beside which those of the step stay
// what they are. What says where the builder's daemon is goes along.
func (p *Publisher) configure(registry string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "cdkd-docker-*") // for us alone
	if err != nil {
		return err
	}
	theirs := ""
	for _, v := range p.env() {
		if home, ok := strings.CutPrefix(v, "HOME="); ok && theirs == "" {
			theirs = filepath.Join(home, ".docker")
		}
		if folder, ok := strings.CutPrefix(v, "DOCKER_CONFIG="); ok && folder != "" {
			theirs = folder
			break
		}
	}
	config := struct {
		CurrentContext string `json:"currentContext,omitempty"`
		// A login is what keeps docker from putting ours into a keychain.
		Auths map[string]struct{} `json:"auths"`
	}{}
	if body, err := os.ReadFile(filepath.Join(theirs, "config.json")); err == nil {
		_ = json.Unmarshal(body, &config) // one that is broken says nothing
	}
	config.Auths = map[string]struct{}{registry: {}}
	body, err := json.Marshal(config)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.json"), body, 0o600)
	}
	if err == nil && config.CurrentContext != "" {
		err = os.Symlink(filepath.Join(theirs, "contexts"), filepath.Join(dir, "contexts"))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	p.config = dir
	return nil
}

// Close forgets the logins. Nothing may be published meanwhile.
func (p *Publisher) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config == "" {
		return nil
	}
	dir := p.config
	p.config, p.logins = "", nil
	for key := range p.runs {
		if strings.HasPrefix(key, "login ") {
			delete(p.runs, key)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("delete the logins to registries: %w", err)
	}
	return nil
}

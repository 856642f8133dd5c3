package runner

import (
	"fmt"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// An Action is what action.yml says.
type Action struct {
	Inputs map[string]ActionInput
	Runs   struct {
		Using          string
		Image          string
		Args           []string
		Entrypoint     string
		PreEntrypoint  string `yaml:"pre-entrypoint"`
		PostEntrypoint string `yaml:"post-entrypoint"`
	}
}

// An ActionInput is an input as action.yml declares it.
type ActionInput struct{ Default string }

// ReadAction reads an action.yml.
func ReadAction(path string) (*Action, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var a Action
	if err := yaml.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if a.Runs.Using != "docker" {
		return nil, fmt.Errorf("read %s: the action runs by %q, not by docker", path, a.Runs.Using)
	}
	return &a, nil
}

// inputs returns the INPUT_* variables of a step: what `with` gives, also where
// it is not declared, and the defaults for the rest. Of expressions in defaults
// only ${{ github.token }} is known, and stands for the token.
func (a *Action) inputs(with map[string]string, token string) map[string]string {
	env := map[string]string{}
	for name, in := range a.Inputs {
		env[inputVariable(name)] = strings.ReplaceAll(in.Default, "${{ github.token }}", token)
	}
	for name, value := range with {
		env[inputVariable(name)] = value
	}
	return env
}

// inputVariable keeps dashes, as the runner does.
func inputVariable(name string) string {
	return "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
}

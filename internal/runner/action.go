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

// ReadAction reads an action.yml. Like the runner it refuses an expression where
// none may stand, such as in a description.
// https://github.com/actions/runner/blob/main/src/Runner.Worker/action_yaml.json
func ReadAction(path string) (*Action, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var a Action
	if err := yaml.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var all yaml.Node
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if at := misplaced(&all, ""); at != "" {
		return nil, fmt.Errorf("read %s: %s: an expression is not allowed here", path, at)
	}
	if a.Runs.Using != "docker" {
		return nil, fmt.Errorf("read %s: the action runs by %q, not by docker", path, a.Runs.Using)
	}
	return &a, nil
}

// misplaced names the first place with an expression that the runner does not take,
// "" when there is none. It takes them in defaults of inputs, and in what a
// container is given.
func misplaced(n *yaml.Node, path string) string {
	allowed := strings.HasPrefix(path, "inputs.") && strings.HasSuffix(path, ".default") || strings.HasPrefix(path, "runs.args") || strings.HasPrefix(path, "runs.env")
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${{") && !allowed {
		return path
	}
	for i, child := range n.Content {
		at := path
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			at = strings.TrimPrefix(path+"."+n.Content[i-1].Value, ".")
		}
		if found := misplaced(child, at); found != "" {
			return found
		}
	}
	return ""
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

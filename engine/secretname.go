package engine

import (
	"fmt"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

// A SecretNameError says that the name of a stack holds a secret. Names cannot be
// masked: a stack is found by its name, in keys, in resources' names, in outputs.
// Nothing was touched.
type SecretNameError struct{ Name string } // without the secret

func (e *SecretNameError) Error() string {
	return fmt.Sprintf("the name of stack %s holds a secret, and names cannot be masked", e.Name)
}

// Remedy says what to do about it.
func (e *SecretNameError) Remedy() string {
	return "take it out of the name; if it was deployed, pushed or logged before, rotate it"
}

// CheckNames refuses names of stacks that hold what looks like a credential, or a
// secret of this run.
func (e *Engine) CheckNames(names ...string) error {
	for _, name := range names {
		if masked, found := e.config.Secrets.InName(name); found {
			return &SecretNameError{masked}
		}
	}
	return nil
}

// secretsInNames refuses stacks of an app whose names hold a secret, the values of
// their NoEcho parameters included.
func (e *Engine) secretsInNames(stacks []*assembly.Stack, parameters map[string]string) error {
	var names []string
	var noEcho secret.Set // not of the run yet: whoever only lists stacks uses none of them
	for _, s := range stacks {
		names = append(names, s.Name)
		given := parametersOf(s, parameters)
		for _, p := range s.Template.Parameters {
			v, ok := given[p.Name]
			if !ok {
				v, ok = value.Text(p.Default)
			}
			if p.NoEcho && ok {
				noEcho.AddNoEcho(v)
			}
		}
	}
	for _, name := range names {
		if masked, found := noEcho.InName(name); found {
			return &SecretNameError{masked}
		}
	}
	return e.CheckNames(names...)
}

package githubtest

import (
	"fmt"
	"maps"

	"gopkg.in/yaml.v3"
)

// A Workflow is what a workflow file says of its jobs.
type Workflow struct {
	Permissions Permissions
	Jobs        map[string]Job
}

// A Job is one of a workflow. Its permissions take the place of the workflow's.
type Job struct {
	Permissions Permissions
	Steps       []struct {
		Uses string
		With map[string]string
	}
}

// ReadWorkflow reads a workflow file.
func ReadWorkflow(text []byte) (*Workflow, error) {
	var w Workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		return nil, err
	}
	if w.Permissions == nil {
		return nil, fmt.Errorf("the workflow does not say what it permits")
	}
	return &w, nil
}

// Granted is what the token of a job may do.
func (w *Workflow) Granted(job string) Permissions {
	if p := w.Jobs[job].Permissions; p != nil {
		return p
	}
	return w.Permissions
}

// Lowered returns the permissions with one of them a level lower.
func (p Permissions) Lowered(scope string) Permissions {
	out := maps.Clone(p)
	if out[scope] == "write" {
		out[scope] = "read"
	} else {
		delete(out, scope)
	}
	return out
}

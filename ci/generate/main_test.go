package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/org/cdkd-action/ci"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	for path, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s differs from the table; run go generate ./ci (-want +got):\n%s", path, diff)
		}
	}
}

// What GitHub reads is YAML, not our text: it must hold the whole table.
func TestActionYAMLReadsBack(t *testing.T) {
	b, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Name, Description string
		Inputs            map[string]struct {
			Description string
			Required    bool
			Default     string
		}
		Outputs map[string]struct{ Description string }
		Runs    struct {
			Using, Image string
			Args         []string
		}
	}
	if err := yaml.Unmarshal(b, &action); err != nil {
		t.Fatal(err)
	}
	if action.Runs.Using != "docker" || !slices.Equal(action.Runs.Args, []string{ci.ActionCommand}) {
		t.Errorf("runs: %+v", action.Runs)
	}
	if len(action.Inputs) != len(ci.Table()) {
		t.Errorf("want %d inputs, got %d", len(ci.Table()), len(action.Inputs))
	}
	for _, in := range ci.Table() {
		got, ok := action.Inputs[in.Name]
		if !ok || got.Default != actionDefault(in) || got.Description != actionDescription(in) {
			t.Errorf("input %s (G-8.1): got %+v", in.Name, got)
		}
	}
	for _, o := range ci.Outputs() {
		if action.Outputs[o.Name].Description != o.Description {
			t.Errorf("output %s (G-8.4): got %+v", o.Name, action.Outputs[o.Name])
		}
	}
}

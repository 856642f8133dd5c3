package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The runner takes our action.yml, and none with an expression in a description.
func TestReadAction(t *testing.T) {
	ours := filepath.Join("..", "..", "action.yml")
	if _, err := ReadAction(ours); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ours)
	if err != nil {
		t.Fatal(err)
	}
	for place, other := range map[string]string{
		"inputs.app.description":  strings.Replace(string(text), "  app:\n    description: '", "  app:\n    description: '${{ matrix.app }} ", 1),
		"outputs.run.description": "runs: {using: docker}\noutputs:\n  run:\n    description: of ${{ github.run_id }}\n",
	} {
		path := filepath.Join(t.TempDir(), "action.yml")
		if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadAction(path); err == nil || !strings.Contains(err.Error(), place+": an expression is not allowed here") {
			t.Errorf("%s: %v", place, err)
		}
	}
}

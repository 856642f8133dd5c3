package engine_test

import (
	"testing"

	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/stateshape"
)

// startSandbox starts an AWS that holds what is written to its state buckets to
// the shapes that all readers of them know (S-2, S-4).
func startSandbox(t *testing.T, options sandbox.Options) (*sandbox.Sandbox, error) {
	options.Stored = stateshape.Watch(t, t.Name(), bucket, "other")
	return sandbox.Start(t.Context(), options)
}

package engine_test

import (
	"slices"
	"testing"

	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/sandbox/s3"
	"github.com/org/cdkd-action/internal/stateshape"
)

// startSandbox starts an AWS that holds what is written to its state buckets to
// the shapes that all readers of them know (S-2, S-4).
func startSandbox(t *testing.T, options sandbox.Options) (*sandbox.Sandbox, error) {
	options.Stored = func(p s3.Put) {
		if !slices.Contains([]string{bucket, "other"}, p.Bucket) {
			return
		}
		if err := stateshape.Written(p); err != nil {
			t.Errorf("in bucket %s: %v", p.Bucket, err)
		}
	}
	return sandbox.Start(t.Context(), options)
}

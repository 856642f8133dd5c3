//go:build !release

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/org/cdkd-action/ci"
	demonstration "github.com/org/cdkd-action/internal/demo"
)

var without []ci.Name

// demo shows this very binary at work.
func demo(ctx context.Context, surface *ci.Surface) int {
	self, err := os.Executable()
	if err == nil {
		err = demonstration.Run(ctx, os.Stdout, self)
	}
	if err != nil {
		surface.Error(ci.Annotation{Title: "Demo", Message: fmt.Sprintf("the demo did not go as it should: %v", err)})
		return 1
	}
	return 0
}

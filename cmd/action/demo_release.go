//go:build release

package main

import (
	"context"

	"github.com/org/cdkd-action/ci"
)

// A released binary has no sandbox in it, and so no demo.
var without = []ci.Name{ci.Demo}

func demo(context.Context, *ci.Surface) int { return 1 }

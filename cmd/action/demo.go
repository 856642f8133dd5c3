//go:build !release

package main

import (
	"context"

	"github.com/org/cdkd-action/ci"
)

var without []ci.Name

func demo(context.Context, *ci.Surface) int { return 1 }

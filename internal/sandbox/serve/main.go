// Command serve is the sandbox as a server, to try things out against by hand:
//
//	go run ./internal/sandbox/serve
//
// It prints what another shell needs in its environment, and serves until it is
// interrupted.
package main

import (
	"os"

	"github.com/org/cdkd-action/internal/sandbox"
)

func main() { os.Exit(sandbox.Main(os.Args[1:])) }

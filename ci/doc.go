// Package ci is how a run is told what to do, and where it tells what it did:
// the inputs, and the surface of a GitHub workflow step or a terminal.
//
// Inputs. [Table] and [Commands] define every command and input once. The
// Action's INPUT_* variables and the command line's flags fill one typed
// [Inputs]; action.yml and docs/reference.md are generated from them (go
// generate ./ci). All faults are told at once, and the value of a secret input
// is never repeated.
//
// Surface. Whatever comes from outside is data, also where the runner would
// read commands: files are written with delimiters that cannot be guessed,
// children print between stop-commands, and no line of the log begins a
// command. Nothing here fails because a variable or a file is absent; what
// cannot be written is returned as an error and costs nothing but itself.
// Outputs are written as they become known, since a cancelled step still has
// those that are on disk.
//
// The package makes no calls; package github does. It renders nothing; package
// report does.
package ci

//go:generate go run ./generate

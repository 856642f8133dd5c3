// Command action is cdkd-action: the entry point of the GitHub Action, and the
// same commands on a terminal.
//
// It only wires: it reads the inputs, builds an engine, runs one command, and
// turns the result into outputs, a summary, a comment and an exit code. What is
// done is decided in package engine, what is shown in ci/report.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/signals"
	"github.com/org/cdkd-action/signals/early"
)

// version is set when a release is built.
var version = "dev"

func main() {
	taken := signals.FromEnv()
	taken.Early = early.Signals
	window := signals.Open(taken) // first: what came before it is acted on here
	surface := ci.FromEnv(window.Draining())
	var code int
	if isPost(os.Args[0]) {
		runPost(window, surface)
	} else {
		code = run(window, os.Args[1:], surface)
	}
	surface.Close()
	window.Close()
	os.Exit(code)
}

// run runs one command and returns the exit code: the only place that knows
// what ends how.
func run(window *signals.Window, args []string, surface *ci.Surface) int {
	s := newStep(window, surface)
	return s.contained(func() int { return s.command(args) })
}

// contained runs a command so that a fault of the program ends it with 1: Go's
// own code for a panic is 2, which here means a partial outcome.
func (s *step) contained(command func() int) (code int) {
	fault := routine.Try(func() error {
		code = command()
		return nil
	})
	if fault == nil {
		s.memory.ended() // else the post step finds out what is left
		fault = s.observing.fault()
	}
	if fault == nil {
		return code
	}
	s.surface.Error(s.annotation("Internal error", fault))
	s.surface.Print(trace(fault))
	s.set("outcome", string(result.Failed))
	s.set("failure-reason", string(result.ReasonInternal))
	s.set("exit-code", "1")
	return 1
}

// trace is where a fault of the program happened.
func trace(fault error) string {
	if p, ok := errors.AsType[*routine.PanicError](fault); ok {
		return string(p.Stack)
	}
	return ""
}

// command runs the command that the arguments name.
func (s *step) command(args []string) (code int) {
	surface := s.surface
	program := ci.Program{Surface: surface, Run: s.run, Version: version, Without: without}
	command := program.Command()
	command.SetArgs(args)
	err := command.ExecuteContext(context.Background())
	switch end := (*exit)(nil); {
	case err == nil:
		return 0
	case errors.As(err, &end):
		return end.code
	default:
		// Nothing was run: the inputs are wrong, all of what is wrong with them
		// is in the error.
		surface.Error(s.annotation("Inputs", err))
		s.set("outcome", string(result.Failed))
		s.set("failure-reason", string(result.ReasonInput))
		s.set("exit-code", "1")
		return 1
	}
}

// runPost runs the post step of the Action, which never fails.
func runPost(window *signals.Window, surface *ci.Surface) {
	s := newStep(window, surface)
	if fault := routine.Try(s.runPost); fault != nil {
		surface.Warning(s.annotation("Post step", fault))
		surface.Print(trace(fault))
	}
}

func (s *step) runPost() error {
	surface := s.surface
	switch surface.Getenv("STATE_"+keptEnded) + surface.Getenv("STATE_"+keptInterrupted) {
	case "true":
		surface.Print("The step ended by itself: nothing is left to do.")
		return nil
	case "":
		if surface.Getenv("STATE_"+keptOwner) == "" {
			surface.Print("The step did not get as far as to begin, or could keep nothing for its post step: nothing can be done. A lock that it left expires by itself.")
			return nil
		}
	}
	program := ci.Program{Surface: surface, Run: s.post, Version: version}
	command := program.Command()
	command.SetArgs([]string{ci.ActionCommand})
	return command.ExecuteContext(context.Background())
}

// An exit is a command's way to end with a code other than 0. What there is to
// say was said.
type exit struct{ code int }

func (e *exit) Error() string { return fmt.Sprintf("exit %d", e.code) }

func ended(code int) error {
	if code == 0 {
		return nil
	}
	return &exit{code}
}

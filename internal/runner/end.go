package runner

import (
	"context"
	"syscall"
)

// Interrupt sends the first signal of the ladder and no other.
func (s *Step) Interrupt() {
	s.signalled()
	s.client.Process.Signal(syscall.SIGINT)
}

// TimeOut is Cancel for a step that has run into its own limit: the same ladder,
// after which the step has failed.
func (s *Step) TimeOut() {
	s.Cancel()
	s.timedOut = true
}

// Kill kills the container, as a machine that runs out of memory does.
func (s *Step) Kill(ctx context.Context) error {
	s.signalled()
	_, err := docker(ctx, "kill", "--signal", "KILL", s.Container)
	return err
}

// KillClient kills the docker client, as its machine may when memory is short.
// The container goes on.
func (s *Step) KillClient() {
	s.signalled()
	s.client.Process.Kill()
	<-s.done
}

// Stop stops the container as an administrator does: SIGTERM, and SIGKILL ten
// seconds later.
func (s *Step) Stop(ctx context.Context) error {
	s.signalled()
	_, err := docker(ctx, "stop", s.Container)
	return err
}

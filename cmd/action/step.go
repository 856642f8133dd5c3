package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/progress"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/ci/review"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/synth"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/signals"
)

// A step is one invocation: a workflow step, or a command on a terminal.
type step struct {
	window  *signals.Window
	surface *ci.Surface

	in          *ci.Inputs
	log         zerolog.Logger
	secrets     *secret.Set
	children    *children // what other programs print
	memory      *memory   // of the post step
	project     *synth.Project
	engine      *engine.Engine
	environment *environment  // of a deploy
	shown       []review.Plan // what the comment holds a deploy to
	observing   observing
	bucketTold  sync.Once
	table       *progress.Table // of what is under way; nil where nobody sees it
}

func newStep(window *signals.Window, surface *ci.Surface) *step {
	s := &step{window: window, surface: surface, secrets: secret.NewSet(surface.Mask)}
	for _, v := range surface.Credentials() {
		s.secrets.AddDerived(v)
	}
	s.memory = &memory{surface: surface, check: s.check}
	return s
}

// run is called with inputs that are typed and checked.
func (s *step) run(ctx context.Context, in *ci.Inputs) error {
	if in.Command == ci.Demo {
		return ended(demo(ctx, s.surface))
	}
	log := s.surface.Log()
	defer log.Close()
	s.in, s.log = in, newLog(log, in.Verbose)
	s.secrets.AddDerived(in.GitHubToken)
	if s.showsTable() {
		s.table = s.surface.Live()
		defer s.table.Reset()
	}
	s.children = &children{surface: s.surface}
	defer s.children.Close()

	owner := state.NewOwner(s.surface.Getenv)
	s.memory.begin(owner)
	if reported(in.Command) && s.surface.InStep() && !in.JSON { // a sign of life before AWS is asked
		s.log.Info().Msgf("cdkd-action %s: %s", version, in.Command)
	}
	var err error
	if err = report.CheckShowValues(in.ShowValues); err != nil {
		return s.refuse(&engine.InputError{What: "show-values: " + err.Error(), Next: "give each value its path"})
	}
	if err := s.withinBounds(); err != nil {
		return s.refuse(err)
	}
	if s.engine, err = s.newEngine(ctx, owner); err != nil {
		return s.refuse(err)
	}
	if err := s.engine.CheckNames(s.in.Stacks...); err != nil {
		return s.refuse(err)
	}
	defer s.handOverWorkspace()
	done := make(chan struct{})
	var waiting routine.Group
	waiting.Go(func() { s.followSignals(done) })
	defer func() {
		close(done)
		waiting.Wait()
	}()
	switch in.Command {
	case ci.Deploy:
		return s.deploy(ctx)
	case ci.Diff:
		return s.diff(ctx)
	case ci.Check:
		return s.checkReviewed(ctx)
	case ci.Drift:
		return s.drift(ctx)
	case ci.Destroy:
		return s.destroy(ctx)
	case ci.Synth:
		return s.synth(ctx)
	case ci.List:
		return s.list(ctx)
	case ci.Publish:
		return s.publish(ctx)
	case ci.Rollback:
		return s.rollback(ctx)
	case ci.Bootstrap:
		return s.bootstrap(ctx)
	case ci.GC:
		return s.gc(ctx)
	case ci.StateList:
		return s.stateList(ctx)
	case ci.StateShow:
		return s.stateShow(ctx)
	case ci.StateInfo:
		return s.stateInfo(ctx)
	case ci.StateRows:
		return s.stateResources(ctx)
	case ci.StateOrphan:
		return s.stateOrphan(ctx)
	case ci.StateDestroy:
		return s.stateDestroy(ctx)
	case ci.Sweep:
		return s.sweep(ctx)
	case ci.StateMigrate:
		return s.stateMigrate(ctx)
	case ci.OrphanPaths:
		return s.orphanPaths(ctx)
	case ci.Import:
		return s.importStack(ctx)
	case ci.Export:
		return s.export(ctx)
	case ci.Scrub:
		return s.scrub(ctx)
	case ci.StateRefresh:
		return s.stateRefresh(ctx)
	case ci.Events:
		return s.events(ctx)
	case ci.EventsPrune:
		return s.pruneEvents(ctx)
	case ci.ForceUnlock:
		return s.forceUnlock(ctx)
	case ci.Permissions:
		return s.permissions(ctx)
	case ci.Doctor:
		return s.doctor(ctx)
	}
	return fmt.Errorf("command %s has no code", in.Command)
}

// reported tells whether a command ends with a report on stacks: in the log, the
// summary and the comment.
func reported(c ci.Name) bool {
	switch c {
	case ci.Deploy, ci.Diff, ci.Destroy, ci.Rollback, ci.StateDestroy, ci.Sweep:
		return true
	}
	return false
}

// handOverWorkspace comes last, when nothing else needs the time.
func (s *step) handOverWorkspace() {
	dir := s.surface.Getenv("GITHUB_WORKSPACE")
	if dir == "" || !s.surface.InStep() {
		return
	}
	until, _ := s.window.Deadline() // zero: there is no hurry
	if !until.IsZero() {
		until = until.Add(-500 * time.Millisecond)
	}
	s.check(handOver(dir, until))
}

// followSignals says in the outputs that the step was cancelled as soon as it
// is, since it may be killed before it can say more.
func (s *step) followSignals(done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-s.window.Draining():
		s.memory.interrupted(time.Now())
		s.set("outcome", string(result.Cancelled))
		s.set("exit-code", fmt.Sprint(result.Cancelled.ExitCode()))
		s.table.Stop()
		s.log.Warn().Msg("interrupted: nothing new is started, what is under way is recorded")
	}
	select {
	case <-done:
	case <-s.window.SecondSignal():
		if s.in.Command == ci.Rollback {
			s.log.Warn().Msg("interrupted again: a rollback ends when the operations that are under way have; only SIGKILL stops it sooner, and leaves its lock behind")
			return
		}
		s.leave()
	}
}

// leave ends the process at once, for a person who interrupted twice and does
// not want to wait. A deploy, which may hold many locks, leaves them to expire;
// a destroy at least asks for its own to be removed.
func (s *step) leave() {
	switch s.in.Command {
	case ci.Destroy, ci.StateDestroy, ci.Sweep:
		ctx, cancel := s.window.Cleanup(3 * time.Second)
		defer cancel()
		held, done := s.engine.ReleaseLocks(ctx)
		for _, h := range held {
			s.log.Warn().Msg("interrupted twice: what is left of " + report.Line(h.Stack) + " in " + report.Line(h.Region) + " is in " + report.Line(h.Record()) + "; if its lock stays behind, remove it with: " + h.Command())
		}
		select {
		case <-done:
		case <-ctx.Done():
		}
	default:
		s.log.Warn().Msg("interrupted twice: locks are left behind and expire by themselves")
	}
	s.surface.Close()
	os.Exit(result.Cancelled.ExitCode())
}

// set sets a step output. That it could not be written must not cost the run.
func (s *step) set(name, value string) {
	s.check(s.surface.SetOutput(name, value))
}

// check tells of a failure to report, which changes nothing else.
func (s *step) check(err error) {
	if err != nil {
		s.surface.Warning(ci.Annotation{Title: "Report", Message: err.Error()})
	}
}

// annotation explains an error: what to do about it, and where more is said.
func (s *step) annotation(title string, err error) ci.Annotation {
	message := s.secrets.Mask(err.Error())
	if remedy := engine.Remedy(err); remedy != "" {
		message += "\nwhat to do: " + remedy
	}
	return ci.Annotation{Title: title, Message: message, Page: page(err)}
}

// page is where the page about an error is, "" when there is none.
func page(err error) string {
	name := engine.Page(err)
	if given, ok := errors.AsType[*ci.InputError](err); ok {
		name = given.Page()
	}
	return name.URL(version)
}

// refuse ends the step because of an error that belongs to no stack. Who asked
// for JSON gets it: what failed, and what to do about it.
func (s *step) refuse(err error) error {
	if s.in != nil && s.in.JSON {
		outcome, reason := engine.Classify(err)
		o := value.NewObject("command", string(s.in.Command), "outcome", string(outcome),
			"failureReason", string(reason), "message", s.secrets.Mask(err.Error()), "remedy", engine.Remedy(err))
		if at := page(err); at != "" {
			o.Set("page", at)
		}
		if b, err := value.MarshalIndent(o); err == nil {
			s.surface.Print(string(b))
		}
	}
	return s.refusal(err)
}

// refusal is refuse where the result was printed already.
func (s *step) refusal(err error) error {
	outcome, reason := engine.Classify(err)
	s.surface.Error(s.annotation("cdkd-action", err))
	s.set("outcome", string(outcome))
	s.set("failure-reason", string(reason))
	s.set("exit-code", fmt.Sprint(outcome.ExitCode()))
	return ended(outcome.ExitCode())
}

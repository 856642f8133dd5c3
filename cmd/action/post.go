package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/github"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/signals"
	"github.com/org/cdkd-action/signals/container"
)

const (
	// postName is the program's name as post-entrypoint in action.yml. The runner
	// gives a post step the same arguments, so only the name tells.
	postName = "cdkd-action-post"

	// postLimit is how long a container is waited for that outlives its step, or
	// a lock for its silence. After a cancellation the runner leaves some five
	// minutes for everything, and there is still to be reported.
	postLimit = 4 * time.Minute

	// restOfLog is how long the end of a log is waited for whose container ended.
	restOfLog = 5 * time.Second
)

func isPost(program string) bool { return filepath.Base(program) == postName }

// post looks after a step that ended without having its say: it waits for its
// container, releases the locks that are provably left behind, and tells what is
// open. What it cannot do changes no job: it always ends well.
func (s *step) post(ctx context.Context, in *ci.Inputs) error {
	log := s.surface.Log()
	defer log.Close()
	s.in, s.log = in, newLog(log, in.Verbose)
	s.children = &children{surface: s.surface}
	defer s.children.Close()
	kept, err := recall(s.surface.Getenv)
	if err != nil {
		return fmt.Errorf("read what the step kept for its post step: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, postLimit)
	defer cancel()
	limited, cancelWaits := s.window.Interruptible(limited)
	defer cancelWaits()

	docker := container.Dial(container.Socket)
	defer docker.Close()
	defer s.handOverWorkspace()
	main := s.awaitMain(limited, docker, container.ID(), kept)
	if main.running {
		return s.tellOfPost(kept, "the container of the step is still at work and was left alone",
			"wait until the lock is free, then run the same command again", nil)
	}
	kept.reported = kept.reported || main.spoke
	message, remedy := "it was killed before it could say how it ended", "run the same command again"
	if !kept.interrupted.IsZero() {
		message = "interrupted by a signal before everything was done"
	}
	if len(kept.stacks) == 0 {
		s.log.Info().Msg("the step had asked for no lock: there is nothing to release")
		return s.tellOfPost(kept, message+"; no stack was locked or changed", remedy, nil)
	}
	message, remedy = message+"; the record is that of the last save", remedy+": it goes on from what is recorded"
	blind := func(err error) error {
		err = fmt.Errorf("look after the locks of the step: %w", err)
		told := s.tellOfPost(kept, message+"; whether its lock is free is not known: "+s.secrets.Mask(err.Error()),
			"run the same command again; a lock that was left behind is in its way for half an hour at most", nil)
		return errors.Join(err, told)
	}
	wanted := in.StateBucket
	if kept.bucket != "" {
		in.StateBucket = kept.bucket // what chose it may have changed since
	}
	s.engine, err = s.newEngine(ctx, kept.owner)
	in.StateBucket = wanted
	if err != nil {
		return blind(err)
	}
	if !main.at.IsZero() {
		// There is nothing to wait for, so what there is to do is done in any case.
		limited, cancel = context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
	} else if !kept.ended {
		s.log.Info().Msg("whether the step's process is gone cannot be seen: a lock that it left is released when it was not renewed for two and a half minutes")
	}
	left, err := s.engine.CleanUpAfter(limited, kept.owner, main.at, kept.stacks)
	if err != nil {
		return blind(err)
	}
	return s.tellOfPost(kept, message, remedy, left)
}

// An end is what the post step knows of the container of the step.
type end struct {
	at      time.Time // zero when it cannot be seen
	running bool      // it is still at work, and no time is left to wait
	spoke   bool      // it was seen to end by itself, and told so everywhere
}

// awaitMain waits for the container of the step, which the engine that runs
// self may see, and shows what it prints that nobody saw.
func (s *step) awaitMain(ctx context.Context, docker *container.Engine, self string, kept memento) end {
	if kept.container == "" || !docker.Own(ctx, self) {
		return end{}
	}
	st, err := docker.State(ctx, kept.container)
	if err != nil {
		s.log.Warn().Msg(report.Line(err.Error()))
		return end{}
	}
	if !st.Running {
		return end{at: st.Ended}
	}
	s.log.Info().Msg("the container of the step is still at work; its log goes on here")
	var since time.Time
	if !kept.interrupted.IsZero() {
		since = kept.interrupted.Add(signals.KillAfter - 100*time.Millisecond) // up to then the runner read it
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	var shown routine.Group
	shown.Go(func() {
		log := &replay{surface: s.surface, to: s.children}
		if err := docker.Follow(following, kept.container, since, log); err != nil {
			s.log.Warn().Msg(report.Line(err.Error()))
		}
		log.close()
		s.check(s.children.Close())
	})
	code, err := docker.Wait(ctx, kept.container)
	at := time.Now()
	if err != nil {
		stop()
	}
	limit := time.AfterFunc(restOfLog, stop)
	defer limit.Stop()
	shown.Wait()
	switch {
	case ctx.Err() != nil:
		return end{running: true}
	case err != nil: // nothing more can be seen, or it went this moment
		s.log.Warn().Msg(report.Line(err.Error()))
		if st, err := docker.State(ctx, kept.container); err == nil && !st.Running {
			return end{at: st.Ended}
		}
		return end{}
	}
	s.log.Info().Msgf("the container of the step has ended with exit code %d", code)
	// A cancelled one may have had no time to tell; a killed one has a code of
	// neither kind.
	return end{at: at, spoke: code == 0 || code == result.Failed.ExitCode() || code == result.Partial.ExitCode()}
}

// tellOfPost reports the end of a step that could not do it itself. Without left
// nothing is known of its stacks.
func (s *step) tellOfPost(kept memento, message, remedy string, left []engine.Aftermath) error {
	if !reported(s.in.Command) {
		return nil
	}
	run := &result.Run{Command: reportedAs(s.in.Command), RunID: kept.run, Outcome: result.Cancelled}
	if len(kept.stacks) == 0 {
		run.Message, run.Remedy, run.Page = message, remedy, guide.Interrupted.URL(version)
	}
	news := left == nil && len(kept.stacks) > 0
	for _, ref := range kept.stacks {
		st := &result.Stack{Name: ref.Stack, Region: ref.Region, Account: ref.Account, DisplayName: ref.Stack, Outcome: result.Cancelled, Message: message, Remedy: remedy, Page: guide.Interrupted.URL(version)}
		for _, a := range left {
			if a.Locked == ref {
				news = s.tellOfStack(st, a) || news
			}
		}
		run.Add(st)
	}
	if kept.deployment != 0 {
		s.endDeployment(kept.deployment, github.DeploymentStatus{State: github.DeploymentError, Description: report.Title(run)})
	}
	if kept.reported && !news {
		return nil
	}
	s.surface.Print(report.Text(run))
	s.check(s.surface.SetSummary(report.StepSummary(run)))
	s.comment(run)
	return nil
}

// tellOfStack says what became of a stack, and tells whether it is news.
func (s *step) tellOfStack(st *result.Stack, a engine.Aftermath) (news bool) {
	subject := report.Line(a.Stack+" in "+a.Region) + ": "
	switch {
	case a.Err != nil:
		st.Message, st.Remedy = s.secrets.Mask(a.Err.Error()), "wait until the lock is free, then run the same command again; it goes on from what is recorded"
		st.Page = page(a.Err)
		if remedy := engine.Remedy(a.Err); remedy != "" {
			st.Remedy = remedy
		}
		s.log.Warn().Msg(subject + report.Line(st.Message))
	case a.Released:
		st.Message += "; its lock was left behind and is released now"
		s.log.Info().Msg(subject + "the lock was left behind and is released now")
	default:
		s.log.Info().Msg(subject + "no lock of the run is left")
	}
	for _, u := range a.Unsettled {
		change := strings.ToLower(u.ChangeType)
		s.log.Info().Msg(subject + report.Line(fmt.Sprintf("%s (%s): its %s is open since %s, and settled by the next run",
			u.LogicalID, u.Type, change, u.Since.UTC().Format(time.RFC3339))))
		st.Pending = append(st.Pending, result.Pending{
			Stack: a.Stack, LogicalID: u.LogicalID, Type: u.Type, PhysicalID: u.PhysicalID,
			Change: change, Stage: u.Stage, StartedAt: u.Since.UnixMilli(),
		})
	}
	return a.Err != nil || a.Released
}

// reportedAs is what results call a command.
func reportedAs(c ci.Name) string {
	if c == ci.StateDestroy || c == ci.Sweep {
		return string(ci.Destroy)
	}
	return string(c)
}

// A replay takes the log of the step's container. The commands in it were meant
// for the runner. Of those that come too late for it only masks count: what one
// would hide must not be shown as its argument.
type replay struct {
	surface *ci.Surface
	to      io.Writer
	rest    string
}

func (r *replay) Write(p []byte) (int, error) {
	r.rest += string(p)
	for {
		line, rest, ok := strings.Cut(r.rest, "\n")
		if !ok {
			if len(r.rest) > longestLine {
				r.close()
			}
			return len(p), nil
		}
		r.rest = rest
		r.line(line)
	}
}

// longestLine is what is kept of a line that does not end.
const longestLine = 1 << 20

func (r *replay) close() {
	if r.rest != "" {
		r.line(r.rest)
		r.rest = ""
	}
}

func (r *replay) line(line string) {
	command, isCommand := strings.CutPrefix(strings.TrimSpace(line), "::")
	name, message, ok := strings.Cut(command, "::")
	if !isCommand || !ok {
		fmt.Fprintln(r.to, line)
		return
	}
	switch name, _, _ := strings.Cut(name, " "); name {
	case "add-mask":
		r.surface.Mask(unescaped.Replace(message))
	case "error", "warning", "notice":
		fmt.Fprintln(r.to, unescaped.Replace(message))
	}
}

var unescaped = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")

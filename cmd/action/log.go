package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/smithy-go/middleware"
	"github.com/rs/zerolog"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
)

// newLog is the log that a person follows: a line a transition.
func newLog(w io.Writer, verbose bool) zerolog.Logger {
	level := zerolog.InfoLevel
	if verbose {
		level = zerolog.DebugLevel
	}
	return zerolog.New(zerolog.ConsoleWriter{
		Out: w, NoColor: true, TimeFormat: time.TimeOnly,
		FormatLevel: func(level any) string {
			if level == zerolog.LevelInfoValue {
				return " "
			}
			return strings.ToUpper(fmt.Sprint(level))
		},
	}).Level(level).With().Timestamp().Logger()
}

// observe logs what happens, and writes a stack's outputs when it is done.
func (s *step) observe(ev engine.Event) {
	if s.memory != nil {
		s.memory.observe(ev, s.engine)
	}
	s.follow(ev)
	log, line := s.log.Info(), ""
	switch ev.Kind {
	case engine.StackStarted:
		line = "started in " + ev.Region
		if bucket := report.Line(s.engine.StateBucket(ev.Account)); ev.Account != "" {
			line += " of account " + ev.Account + "; its state is in bucket " + bucket
		} else {
			s.bucketTold.Do(func() { log.Msg("the state is in bucket " + bucket); log = s.log.Info() })
		}
	case engine.StackPlanned:
		line = report.Summary(ev.Plan)
	case engine.StackFinished:
		line = fmt.Sprintf("%s in %s", ev.Result.Outcome, round(ev.Elapsed))
		if ev.Elapsed == 0 {
			line = ev.Result.Message // it was not started
		}
		s.outputs(ev)
	case engine.RunStarted:
		log = s.log.Debug()
		line = "run " + ev.Text
		s.set("run-id", ev.Text) // who is killed says no more
	case engine.LockRequested:
		log = s.log.Debug()
		line = "asks for the lock"
	case engine.LockWaiting:
		line = "waiting: " + ev.Text
	case engine.AssetPublished:
		line = "published: " + ev.Text
	case engine.ResourceStarted:
		log = s.log.Debug()
		line = verb(ev) + " started"
	case engine.ResourceWaiting:
		if s.table.Shows(key(ev)) {
			return
		}
		if line = ev.Text; line == "" {
			line = fmt.Sprintf("%s goes on, %s so far", verb(ev), round(ev.Elapsed))
		}
	case engine.ResourceAwaits, engine.ResourceOver:
		return
	case engine.ResourceSucceeded:
		line = fmt.Sprintf("%s done in %s", verb(ev), round(ev.Elapsed))
	case engine.ResourceFailed:
		log = s.log.Error()
		line = fmt.Sprintf("%s failed after %s: %s", verb(ev), round(ev.Elapsed), ev.Text)
	case engine.ResourceLetGo:
		line = fmt.Sprintf("%s let go after %s: %s", verb(ev), round(ev.Elapsed), ev.Text)
	case engine.ResourceRetained:
		line = "kept in AWS by its policy: " + ev.PhysicalID
	case engine.ResourceSkipped:
		log = s.log.Warn()
		line = "left: " + ev.Text
	case engine.RollbackStarted:
		log = s.log.Warn()
		line = "rolling back"
	case engine.RollbackFinished:
		line = "rollback finished"
	case engine.Notice:
		line = ev.Text
	case engine.AppWarning:
		s.surface.Warning(appMessage(ev))
		return
	case engine.AppError:
		s.surface.Error(appMessage(ev))
		return
	case engine.Warning:
		log = s.log.Warn()
		line = ev.Text
	default:
		log = s.log.Debug()
		line = ev.Text
	}
	subject := ""
	if ev.Stack != "" {
		subject = ev.Stack + ": "
	}
	if ev.LogicalID != "" {
		subject += ev.LogicalID + " (" + ev.Type + ") "
	}
	log.Msg(report.Line(subject + line))
}

func appMessage(ev engine.Event) ci.Annotation {
	return ci.Annotation{Title: "Stack " + ev.Stack, Message: ev.Text, File: ev.File, Line: ev.Line}
}

func (s *step) outputs(ev engine.Event) {
	if ev.Result.Outputs.Len() > 0 {
		s.check(s.surface.SetStack(ci.NewOutputNames(nil), ev.Result))
	}
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

func verb(ev engine.Event) string {
	v := map[plan.Action]string{
		plan.Create: "create", plan.Update: "update", plan.Replace: "replacement", plan.MayReplace: "update", plan.Delete: "delete",
	}[ev.Action]
	if ev.Rollback {
		return "rollback " + v
	}
	return v
}

// traceRequests logs every request to AWS: what, how it ended, how long it
// took. Never what was in it.
func (s *step) traceRequests(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("TraceRequests",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			start := time.Now()
			out, metadata, err := next.HandleInitialize(ctx, in)
			outcome := "ok"
			if err != nil {
				outcome = "failed"
			}
			s.log.Debug().Msgf("%s.%s %s in %s", awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), outcome, round(time.Since(start)))
			return out, metadata, err
		}), middleware.After)
}

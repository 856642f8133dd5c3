package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// selection is what the inputs choose of the app.
func (s *step) selection(ctx context.Context) (engine.Selection, error) {
	dir, err := s.assembly(ctx, false)
	return s.selected(dir), err
}

// selectionAndState is the selection of a command that reads the state next.
func (s *step) selectionAndState(ctx context.Context) (engine.Selection, error) {
	dir, err := s.assembly(ctx, true)
	return s.selected(dir), err
}

func (s *step) selected(dir string) engine.Selection {
	return engine.Selection{
		Assembly:  dir,
		Selection: assembly.Selection{Patterns: s.in.Stacks, All: s.in.All, Exclusively: s.in.Exclusively},
		Strict:    s.in.Strict, IgnoreErrors: s.in.IgnoreErrors,
	}
}

func (s *step) deploy(ctx context.Context) error {
	sel, err := s.selectionAndState(ctx)
	if err != nil {
		return s.refuse(err)
	}
	router, err := s.routerOptions()
	if err != nil {
		return s.refuse(err)
	}
	s.environment = s.beginEnvironment()
	baselines := s.in.CaptureObservedState && s.project.Settings.Value("captureObservedState") != false
	run, _ := s.engine.Deploy(ctx, engine.DeployOptions{
		Approve:   s.approval(ctx),
		Selection: sel, Parameters: s.in.Parameters, Router: router, Replacements: s.replacements(),
		SkipFinalSnapshot: s.in.SkipFinalSnapshot, Baselines: baselines,
		DryRun: s.in.DryRun, NoRollback: !s.in.Rollback, SkipAssets: s.in.SkipAssets, MakeStorage: s.in.MakeStorage || s.project.Settings.Value("autoAssetStorage") == true,
		DeclaredOrder: !s.in.AggressiveVPC, NoCloudFormationExports: !s.in.CFNFallback,
		NoMacros: !s.in.ExpandMacros, StrictGetAtt: s.in.StrictGetAtt, GiveUpExports: s.in.ExportsInUse == ci.ExportsWarn, Wait: waitModes[s.in.Wait],
		LockWait: s.in.LockWait, ResourceTimeout: s.in.ResourceTimeout.Each, TypeTimeouts: s.in.ResourceTimeout.Of,
		Concurrency: s.in.Concurrency, StackConcurrency: s.in.StackConcurrency,
	})
	end := s.finish(run)
	if baselines {
		s.engine.CaptureBaselines(ctx)
	}
	return end
}

var waitModes = map[ci.WaitMode]provider.WaitMode{
	ci.WaitNone: provider.WaitNone, ci.WaitDefault: provider.WaitDefault, ci.WaitFull: provider.WaitFull,
}

func (s *step) diff(ctx context.Context) error {
	plan := s.planned
	if s.in.BaseApp != "" && s.withoutCredentials(ctx) {
		plan = s.comparedTemplates
	}
	run, err := plan(ctx)
	if err != nil {
		return s.refuse(err)
	}
	s.explainFork(run)
	if _, err := s.name(run, s.scope()); err != nil {
		return s.refuse(err)
	}
	return s.finish(run)
}

// planned is what a deploy would do.
func (s *step) planned(ctx context.Context) (*result.Run, error) {
	sel, err := s.selectionAndState(ctx)
	if err != nil {
		return nil, err
	}
	router, err := s.routerOptions()
	if err != nil {
		return nil, err
	}
	run, _ := s.engine.Diff(ctx, engine.DiffOptions{
		Selection: sel, Parameters: s.in.Parameters, Router: router, Replacements: s.replacements(),
		DeclaredOrder: !s.in.AggressiveVPC, NoCloudFormationExports: !s.in.CFNFallback,
		NoMacros: !s.in.ExpandMacros, GiveUpExports: s.in.ExportsInUse == ci.ExportsWarn, StackConcurrency: s.in.StackConcurrency,
	})
	return run, nil
}

func (s *step) destroy(ctx context.Context) error {
	sel, err := s.selectionAndState(ctx)
	if err != nil {
		return s.refuse(err)
	}
	opt := s.destroyOptions(ctx)
	opt.Selection = sel
	run, _ := s.engine.Destroy(ctx, opt)
	return s.finish(run)
}

// destroyOptions say how stacks are to be taken down, not which.
func (s *step) destroyOptions(ctx context.Context) engine.DestroyOptions {
	opt := engine.DestroyOptions{
		RemoveProtection: s.in.RemoveProtection, PurgeEvents: s.in.PurgeEvents, SkipFinalSnapshot: s.in.SkipFinalSnapshot,
		ResourceTimeout: s.in.ResourceTimeout.Each, TypeTimeouts: s.in.ResourceTimeout.Of, Concurrency: s.in.Concurrency, StackConcurrency: s.in.StackConcurrency,
	}
	if !s.in.Yes {
		opt.StackConcurrency = 1 // one question at a time
		opt.Consent = s.consent(ctx, "Destroy stack %s?", !s.in.RemoveProtection)
	}
	return opt
}

// consent asks a person, with the plan before them.
func (s *step) consent(ctx context.Context, question string, byDefault bool) func(string, *plan.Plan) bool {
	return func(stack string, p *plan.Plan) bool {
		s.surface.Print(report.PlanText(p))
		return s.surface.Confirm(ctx, fmt.Sprintf(question, stack), byDefault)
	}
}

func (s *step) rollback(ctx context.Context) error {
	opt := engine.RollbackOptions{
		Region: strings.ToLower(s.in.StackRegion), RevertFailed: s.in.RevertFailed, Orphan: s.in.Orphan,
		DropFailed: s.in.DropFailed, SkipFinalSnapshot: s.in.SkipFinalSnapshot,
		LockWait: s.in.LockWait, ResourceTimeout: s.in.ResourceTimeout.Each, TypeTimeouts: s.in.ResourceTimeout.Of, Concurrency: s.in.Concurrency,
	}
	if len(s.in.Stacks) > 0 {
		opt.Stack = s.in.Stacks[0]
	}
	if !s.in.Yes && !s.in.Force {
		opt.Consent = s.consent(ctx, "Roll back stack %s?", false)
	}
	run, _ := s.engine.Rollback(ctx, opt)
	return s.finish(run)
}

// finish reports a run: outputs, summary, comment, log. The locks are free by
// now; what is left of a cancelled step's time goes to GitHub.
func (s *step) finish(run *result.Run) error {
	end := ci.End(run, s.in)
	run.ShowValues = s.in.ShowValues
	s.check(s.surface.SetRun(run, end))
	s.check(s.surface.SetSummary(report.StepSummary(run)))
	if s.in.JSON {
		text, err := report.JSON(run)
		s.check(err)
		s.surface.Print(text)
	} else {
		s.surface.Print(report.Text(run))
	}
	s.check(s.planFile(run))
	s.surface.Annotate(run)
	if s.environment != nil {
		s.environment.end(run, end)
	}
	// The post step has another go at the comment of a cancelled run, and knows no
	// other end: one that ended by itself must not be called cancelled.
	if s.comment(run) || run.Outcome != result.Cancelled {
		s.memory.keep(keptReported, "true")
	}
	return ended(end.StepCode)
}

// planFile writes the whole report where later steps find it.
func (s *step) planFile(run *result.Run) error {
	if s.in.PlanFile == "" {
		return nil
	}
	text := report.Markdown(run)
	if strings.EqualFold(filepath.Ext(s.in.PlanFile), ".json") {
		var err error
		if text, err = report.JSON(run); err != nil {
			return err
		}
	}
	if err := s.write(s.inWorkspace(s.in.PlanFile), []byte(s.surface.Redact(text))); err != nil {
		return fmt.Errorf("write plan-file: %w", err)
	}
	return s.surface.SetOutput("plan-file", s.in.PlanFile)
}

func (s *step) stateShow(ctx context.Context) error {
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	look := s.engine.StateShow
	if s.in.ShowNested {
		look = s.engine.StateShowNested
	}
	shown, err := look(ctx, s.in.Stacks[0], strings.ToLower(s.in.StackRegion))
	if shown == nil || shown.Record == nil {
		return s.refuse(err)
	}
	form, formErr := shownJSON(shown, s.in.ShowNested)
	if formErr != nil {
		return s.refuse(formErr)
	}
	if end := s.show(form, shownText(shown, time.Now())); end != nil || err == nil {
		return end
	}
	return s.refusal(err) // only a part could be shown
}

// printJSON prints a form as it is. A step's log is read by more people than the
// state bucket, and by no program: what reports hide is hidden there.
func (s *step) printJSON(v any) error {
	if s.surface.InStep() {
		v = report.Record(v)
	}
	b, err := value.MarshalIndent(v)
	if err != nil {
		return s.refuse(err)
	}
	s.surface.Print(string(b))
	return nil
}

// forceUnlock removes locks. One that could not be removed is reported and, as on
// the cdkd command line, does not change the exit code.
func (s *step) forceUnlock(ctx context.Context) error {
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	done, err := s.engine.ForceUnlock(ctx, s.in.Stacks, strings.ToLower(s.in.StackRegion))
	removed, failed := false, false
	for _, u := range done {
		if u.Err != nil {
			failed = true
			s.surface.Error(s.annotation("Stack "+unlockSubject(u), u.Err))
		}
		removed = removed || u.There && u.Err == nil
	}
	if err != nil {
		if !s.in.JSON {
			s.surface.Print(unlockedText(done, time.Now()))
		}
		return s.refuse(err)
	}
	s.done(removed)
	if failed {
		s.set("outcome", string(result.Partial))
	}
	return s.show(unlockedJSON(done, time.Now()), unlockedText(done, time.Now()))
}

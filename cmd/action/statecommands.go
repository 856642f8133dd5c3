package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

func (s *step) stateInfo(ctx context.Context) error {
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	o, err := s.engine.StateInfo(ctx)
	if err != nil {
		return s.refuse(err)
	}
	return s.show(overviewJSON(o), overviewText(o))
}

func (s *step) stateList(ctx context.Context) error {
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	if s.in.Long {
		all, err := s.engine.StateSurvey(ctx)
		if err != nil {
			return s.refuse(err)
		}
		for _, f := range all {
			if f.Err != nil {
				s.surface.Warning(ci.Annotation{Title: "State", Message: f.Err.Error()})
			}
		}
		return s.show(surveyJSON(all, time.Now()), surveyText(all, time.Now()))
	}
	refs, err := s.engine.StateList(ctx)
	if err != nil {
		return s.refuse(err)
	}
	if s.in.Tree {
		roots := forest(refs)
		return s.show(forestJSON(roots), forestText(roots))
	}
	var text strings.Builder
	list := []any{}
	for _, r := range refs {
		text.WriteString(refText(r) + "\n")
		list = append(list, value.NewObject("stackName", r.Stack, "region", regionJSON(r)))
	}
	return s.show(list, text.String())
}

func (s *step) stateResources(ctx context.Context) error {
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	r, err := s.engine.StateResources(ctx, s.in.Stacks[0], strings.ToLower(s.in.StackRegion))
	if r == nil {
		return s.refuse(err)
	}
	text := rowsText(r)
	if s.in.Long {
		text = rowsLongText(r)
	}
	if shown := s.show(rowsJSON(r), text); shown != nil || err == nil {
		return shown
	}
	return s.refusal(err) // only a part could be shown
}

func (s *step) stateOrphan(ctx context.Context) error {
	opt := engine.OrphanOptions{
		Stacks: s.in.Stacks, Region: strings.ToLower(s.in.StackRegion), Resources: s.in.Resources, Pending: s.in.Pending, Force: s.in.Force,
	}
	if !s.in.Yes && !s.in.Force {
		opt.Consent = func(targets []engine.Orphaned) bool {
			s.surface.Print(orphansText(targets, "to forget"))
			return s.surface.Confirm(ctx, "Forget this, and leave the resources in AWS?", false)
		}
	}
	done, err := s.engine.StateOrphan(ctx, opt)
	if err != nil {
		if len(done) > 0 {
			s.surface.Print(orphansText(done, "forgotten"))
		}
		return s.refuse(err)
	}
	s.done(len(done) > 0)
	return s.show(orphansJSON(done), orphansText(done, "forgotten"))
}

func (s *step) stateDestroy(ctx context.Context) error {
	return s.takeDown(ctx, engine.RecordSelection{Stacks: s.in.Stacks, All: s.in.All, Region: strings.ToLower(s.in.StackRegion)}, s.in.All)
}

// takeDown destroys recorded stacks. together asks once for all of them.
func (s *step) takeDown(ctx context.Context, stacks engine.RecordSelection, together bool) error {
	opt := s.destroyOptions(ctx)
	if together && opt.Consent != nil {
		opt.Consent, opt.StackConcurrency = nil, s.in.StackConcurrency
		stacks.Agree = func(refs []state.Ref) bool {
			for _, r := range refs {
				s.surface.Print(refText(r))
			}
			return s.surface.Confirm(ctx, fmt.Sprintf("Destroy %s?", amount.Form(len(refs), "this stack", fmt.Sprintf("these %d stacks", len(refs)))), false)
		}
	}
	run, _ := s.engine.StateDestroy(ctx, stacks, opt)
	return s.finish(run)
}

func (s *step) stateMigrate(ctx context.Context) error {
	opt := engine.MigrateOptions{From: s.in.LegacyBucket, To: s.in.NewBucket, DryRun: s.in.DryRun, Remove: s.in.RemoveLegacy}
	if opt.Remove && !opt.DryRun && !s.in.Yes &&
		!s.surface.Confirm(ctx, "Delete the old bucket, with every version of what is in it, when all of it is copied?", false) {
		s.surface.Print("declined: nothing was done")
		s.done(false)
		return nil
	}
	m, err := s.engine.StateMigrate(ctx, opt)
	if err != nil {
		return s.refuse(err)
	}
	if m.Notice != "" {
		s.surface.Notice(ci.Annotation{Title: "State bucket", Message: m.Notice})
	}
	s.done(!opt.DryRun && (m.Copied > 0 || m.Created || m.Removed))
	return s.show(migratedJSON(m, opt.DryRun), migratedText(m, opt.DryRun))
}

// done says in the outputs that the command did what it was asked, or that
// there was nothing to do.
func (s *step) done(changed bool) {
	outcome := result.NoChange
	if changed {
		outcome = result.Success
	}
	s.set("outcome", string(outcome))
	s.set("changed", strconv.FormatBool(changed))
	s.set("exit-code", "0")
}

// show prints one of the two forms.
func (s *step) show(form any, text string) error {
	if s.in.JSON {
		return s.printJSON(form)
	}
	s.surface.Print(text)
	return nil
}

// regionJSON is null for a record of the oldest form that does not say.
func regionJSON(r state.Ref) any {
	if r.Region == "" {
		return nil
	}
	return r.Region
}

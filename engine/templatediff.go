package engine

import (
	"context"
	"time"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/revision"
)

// TemplateDiffOptions govern a diff of templates.
type TemplateDiffOptions struct {
	Selection
	Base string // the folder of the cloud assembly that is compared with
}

// DiffTemplates says in what the templates of the selected stacks differ from
// those of another assembly. It asks nothing of AWS, and so knows nothing of
// what is deployed; its plans say so. The result is never nil.
func (e *Engine) DiffTemplates(_ context.Context, opt TemplateDiffOptions) (*result.Run, error) {
	start := now()
	run := &result.Run{Command: "diff"}
	defer func() { run.Duration = time.Since(start) }()
	sel, err := e.selectStacks(opt.Selection, nil)
	if err != nil {
		return run, e.end(run, err)
	}
	base, err := assembly.Read(opt.Base)
	if err != nil {
		return run, e.end(run, err)
	}
	for _, t := range sel.targets {
		run.Add(e.revise(t, base.Stack(t.Name, t.Region, t.account)))
	}
	return run, e.end(run, nil)
}

// revise compares a stack with what it was, nil for one that is new.
func (e *Engine) revise(t target, base *assembly.Stack) *result.Stack {
	s := &result.Stack{Name: t.Name, Region: t.Region, DisplayName: t.DisplayName, Outcome: result.NoChange}
	var was *assembly.Nested
	if base != nil {
		was = &assembly.Nested{Template: base.Template, Nested: base.Nested}
	}
	p, notes, err := revision.Compare(t.Name, t.Region, was, &assembly.Nested{Template: t.Template, Nested: t.Nested})
	if err != nil {
		e.fault(s, err)
		return s
	}
	s.Plan, s.Warnings = p, notes
	if s.Changed = p.Changed() || len(notes) > 0; s.Changed {
		s.Outcome = result.Success
	}
	e.observe(Event{Kind: StackPlanned, Stack: t.Name, Region: t.Region, Plan: p})
	return s
}

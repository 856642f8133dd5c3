package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

// An ApprovalError says that somebody has to agree before a deploy is carried
// out. Nothing was changed.
type ApprovalError struct {
	What string
	Next string
}

func (e *ApprovalError) Error() string { return e.What }

// Remedy says what to do about it.
func (e *ApprovalError) Remedy() string { return e.Next }

// A PlanChangedError says that what would be done is not what was agreed to.
type PlanChangedError struct {
	What string
	Next string
}

func (e *PlanChangedError) Error() string { return e.What }

// Remedy says what to do about it.
func (e *PlanChangedError) Remedy() string { return e.Next }

// An agreement is what a stack's plan was when it was agreed to, and the record
// that it came from.
type agreement struct {
	plan *plan.Plan
	etag state.ETag
}

// agree plans all stacks without a lock, as a diff does, and has that approved
// before anything is locked or changed. The plans of a run that is not approved
// are in its result.
func (e *Engine) agree(ctx context.Context, sel *selected, opt *DeployOptions, run *result.Run) error {
	rehearsal := &result.Run{Command: run.Command, DryRun: true}
	agreed := map[string]*agreement{}
	for _, t := range sel.targets {
		agreed[t.key()] = &agreement{}
	}
	e.planAll(ctx, sel, opt.StackConcurrency, rehearsal, *opt, agreed)
	if rehearsal.Outcome.ExitCode() != 0 {
		run.Outcome, run.Reason, run.Stacks = rehearsal.Outcome, rehearsal.Reason, rehearsal.Stacks
		return errNotPlanned
	}
	err := opt.Approve(rehearsal)
	run.PlanDigest = rehearsal.PlanDigest
	if err != nil {
		run.Stacks = rehearsal.Stacks
		return err
	}
	opt.agreed = agreed
	return nil
}

// errNotPlanned says that a stack could not be planned. Why is in its result.
var errNotPlanned = fmt.Errorf("what would be done could not be told")

// planAll compares all stacks with what is recorded now, so that none waits for
// another.
func (e *Engine) planAll(ctx context.Context, sel *selected, limit int, run *result.Run, opt DeployOptions, agreed map[string]*agreement) {
	apart := *sel
	apart.after = nil
	opt.DryRun = true
	custodies := map[*portion]*custody{}
	for _, p := range sel.portions {
		custodies[p] = newCustody()
	}
	e.eachStack(&apart, limit, run, func(t target, _ func()) *result.Stack {
		p := sel.of(t)
		d := &deployment{
			e: p.e, t: t, store: p.store, place: p.store.Stack(t.Name, t.Region), run: p.selected, opt: opt, agreement: agreed[t.key()], custody: custodies[p],
			res: p.e.resultOf(t),
		}
		d.router = p.e.router(d)
		d.tolerant = func(err error) { d.warn("%v", err) }
		return d.finished(d.deploy(ctx))
	})
}

// stillAgreed makes sure, under the lock, that the stack's plan is the one that
// was agreed to. As long as the record is the same one, the plan differs only
// by what other stacks of the run have done since, which was agreed to with
// them; but what that would destroy nobody has seen.
func (d *deployment) stillAgreed(etag state.ETag) error {
	if d.opt.agreed == nil || d.t.parent != nil {
		return nil
	}
	a := d.opt.agreed[d.t.key()]
	if a.plan == nil || etag != a.etag {
		return &PlanChangedError{
			What: fmt.Sprintf("stack %s in %s was changed by another run since its plan was approved; nothing of it was touched", d.t.Name, d.t.Region),
			Next: "review what would be done now, and deploy again",
		}
	}
	if unseen := unseen(d.Plan, a.plan); len(unseen) > 0 {
		return &PlanChangedError{
			What: fmt.Sprintf("what other stacks of the run did would destroy resources of stack %s in %s that the approved plan keeps; nothing of it was touched: %s",
				d.t.Name, d.t.Region, strings.Join(unseen, ", ")),
			Next: "run diff, review what would be done now, and deploy again",
		}
	}
	return nil
}

// unseen names what a plan destroys and the one that was agreed to keeps.
func unseen(now, agreed *plan.Plan) (all []string) {
	for _, c := range now.Changes {
		var before *plan.Change
		if agreed != nil {
			before = agreed.Change(c.LogicalID)
		}
		if destroys(c.Action) && (before == nil || !destroys(before.Action) && !before.Untold) {
			all = append(all, fmt.Sprintf("%s (%s) of %s: %s", c.LogicalID, c.Type, now.Stack, c.Action))
		}
	}
	for _, child := range now.Children {
		var was *plan.Plan
		if agreed != nil {
			if i := slices.IndexFunc(agreed.Children, func(p *plan.Plan) bool { return p.Stack == child.Stack }); i >= 0 {
				was = agreed.Children[i]
			}
		}
		all = append(all, unseen(child, was)...)
	}
	return all
}

func destroys(a plan.Action) bool {
	return a == plan.Delete || a == plan.Replace || a == plan.MayReplace
}

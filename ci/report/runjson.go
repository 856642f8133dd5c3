package report

import (
	"fmt"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// JSON renders a run for programs. A diff is the list of its plans, as
// [DiffJSON] has it; other runs are one object, with what was done and why it
// failed. What is hidden is "(hidden)".
func JSON(run *result.Run) (string, error) {
	if run.Command == "diff" {
		return DiffJSON(run)
	}
	all := run
	run = shown(run)
	tree := tree{rulesOf(all, run)}
	stacks := []any{}
	for _, s := range run.Stacks {
		n, err := stackNode(s)
		if err != nil {
			return "", fmt.Errorf("render the result of %s: %w", s.Name, err)
		}
		if run.DryRun && s.Plan != nil {
			n.Set("plan", tree.node(s.Plan))
		}
		stacks = append(stacks, n)
	}
	o := value.NewObject("command", run.Command, "dryRun", run.DryRun, "outcome", string(run.Outcome))
	setText(o, "runId", run.RunID)
	setText(o, "failureReason", string(run.Reason))
	setText(o, "message", run.Message)
	setText(o, "remedy", run.Remedy)
	setText(o, "page", run.Page)
	o.Set("durationMs", value.Int(run.Duration.Milliseconds()))
	o.Set("stacks", stacks)
	b, err := value.MarshalIndent(shownJSON(o))
	return string(b) + "\n", err
}

func stackNode(s *result.Stack) (*value.Object, error) {
	o := value.NewObject("stack", s.Name, "region", s.Region, "outcome", string(s.Outcome))
	setText(o, "account", s.Account)
	setText(o, "failureReason", string(s.Reason))
	setText(o, "message", s.Message)
	setText(o, "remedy", s.Remedy)
	setText(o, "page", s.Page)
	setTrue(o, "rolledBack", s.RolledBack)
	setTrue(o, "rollbackIncomplete", s.RollbackIncomplete)
	o.Set("changed", s.Changed)
	c := s.Counts
	o.Set("counts", value.NewObject(
		"created", value.Int(c.Created), "updated", value.Int(c.Updated), "deleted", value.Int(c.Deleted),
		"skipped", value.Int(c.Skipped), "failed", value.Int(c.Failed), "unchanged", value.Int(c.Unchanged)))
	o.Set("outputs", s.Outputs)
	o.Set("failures", list(s.Failures, func(f result.Failure) *value.Object {
		n := value.NewObject("logicalId", f.LogicalID, "resourceType", f.Type, "action", string(f.Action))
		setText(n, "path", f.Path)
		setText(n, "physicalId", f.PhysicalID)
		n.Set("message", f.Message)
		setText(n, "remedy", f.Remedy)
		setText(n, "page", f.Page)
		return n
	}))
	unaddressed, err := value.From(append([]result.Unaddressed{}, s.Unaddressed...))
	if err != nil {
		return nil, err
	}
	o.Set("unaddressed", unaddressed)
	if len(s.Pending) > 0 {
		pending, err := value.From(s.Pending)
		if err != nil {
			return nil, err
		}
		o.Set("pending", pending)
	}
	if len(s.Unawaited) > 0 {
		unawaited, err := value.From(s.Unawaited)
		if err != nil {
			return nil, err
		}
		o.Set("unawaited", unawaited)
	}
	if s.Lock != nil {
		lock, err := value.From(s.Lock)
		if err != nil {
			return nil, err
		}
		o.Set("lock", lock)
	}
	o.Set("warnings", list(s.Warnings, func(w string) string { return w }))
	o.Set("durationMs", value.Int(s.Duration.Milliseconds()))
	return o, nil
}

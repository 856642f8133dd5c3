package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/value"
)

func (s *step) orphanPaths(ctx context.Context) error {
	sel, err := s.selectionAndState(ctx)
	if err != nil {
		return s.refuse(err)
	}
	opt := engine.OrphanPathOptions{
		Selection: sel, Paths: s.in.Stacks, Region: strings.ToLower(s.in.StackRegion), DryRun: s.in.DryRun, Force: s.in.Force,
	}
	if !s.in.Yes {
		opt.Consent = func(o *engine.OrphanedPaths) bool {
			s.surface.Print(orphanedText(o, "to forget"))
			return s.surface.Confirm(ctx, "Forget this, and leave the resources in AWS?", false)
		}
	}
	o, err := s.engine.OrphanPaths(ctx, opt)
	if err != nil {
		return s.refuse(err)
	}
	if o.Declined {
		s.surface.Print("declined: nothing was done")
		s.done(false)
		return nil
	}
	s.done(!s.in.DryRun)
	done := "forgotten"
	if s.in.DryRun {
		done = "to forget"
	}
	return s.show(orphanedJSON(o), orphanedText(o, done))
}

func orphanedText(o *engine.OrphanedPaths, done string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, and left in AWS: %s\n", refText(o.Ref), done, report.Line(strings.Join(o.Resources, ", ")))
	for _, r := range o.Rewritten {
		fmt.Fprintf(&b, "  %s %s: %s", report.Line(r.LogicalID), report.Line(r.Place), report.Line(r.Reference))
		switch {
		case r.Value != "":
			fmt.Fprintf(&b, " becomes %s\n", report.Line(r.Value))
		case r.Place == "dependencies":
			b.WriteString(" goes\n")
		default:
			b.WriteString(" stays\n")
		}
	}
	return b.String()
}

func orphanedJSON(o *engine.OrphanedPaths) *value.Object {
	resources, rewritten := []any{}, []any{}
	for _, id := range o.Resources {
		resources = append(resources, id)
	}
	for _, r := range o.Rewritten {
		e := value.NewObject("logicalId", r.LogicalID, "place", r.Place, "reference", r.Reference)
		if r.Value != "" {
			e.Set("value", r.Value)
		}
		rewritten = append(rewritten, e)
	}
	return value.NewObject("stackName", o.Stack, "region", regionJSON(o.Ref), "resources", resources, "rewritten", rewritten)
}

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/value"
)

func (s *step) export(ctx context.Context) error {
	router, err := s.routerOptions()
	if err != nil {
		return s.refuse(err)
	}
	if err := s.lasting(); err != nil {
		return s.refuse(err)
	}
	sel, err := s.selectionAndState(ctx)
	if err != nil {
		return s.refuse(err)
	}
	opt := engine.ExportOptions{
		Selection: sel, Parameters: s.in.Parameters, Router: router, NoMacros: !s.in.ExpandMacros,
		StackName: s.in.CFNStackName, ChildNames: s.in.CFNChildStackNames, StrictReferences: s.in.StrictCrossStack, IncludeNonImportable: s.in.IncludeNonImportable, DryRun: s.in.DryRun,
	}
	if !s.in.Yes {
		opt.Consent = func(x *engine.Exported) bool {
			s.surface.Print(exportedText(x))
			return s.surface.Confirm(ctx, "Hand this to CloudFormation, and forget the stack here?", false)
		}
	}
	x, err := s.engine.Export(ctx, opt)
	switch {
	case err != nil:
		return s.refuse(err)
	case x.Declined:
		s.surface.Print("declined: nothing was done")
	}
	s.done(x.Done)
	return s.show(exportedJSON(x), exportedText(x))
}

// lasting refuses to hand over a stack of which the template hangs on what only
// this step is given: whoever deploys it next would change it.
func (s *step) lasting() error {
	app, err := s.project.Resolve(s.in.App, s.surface.Getenv("CDKD_APP"))
	if err != nil || app.Assembly != "" || len(s.in.Context) == 0 || s.in.AcceptContext || s.in.DryRun {
		return nil // what is wrong with the app is said where it is run
	}
	var keys []string
	for _, c := range s.in.Context {
		key, _, _ := strings.Cut(c, "=")
		keys = append(keys, key)
	}
	return &engine.InputError{
		What: "the app is run with context that only this step gives it: " + strings.Join(keys, ", "),
		Next: "put it into cdk.json, where cdk deploy finds it too, or set accept-transient-context to true",
	}
}

// exportedText has a line for every resource.
func exportedText(x *engine.Exported) string {
	var b strings.Builder
	if x.Already {
		return fmt.Sprintf("%s: nothing is recorded under this name, and CloudFormation has stack %s: there is nothing to export\n", refText(x.Ref), report.Line(x.StackName))
	}
	imported := "would be imported"
	if x.Done {
		imported = "imported"
	}
	fmt.Fprintf(&b, "%s as CloudFormation stack %s: %d %s", refText(x.Ref), report.Line(x.StackName), x.Count(engine.ExportImported), imported)
	if n := x.Count(engine.ExportCreated); n > 0 {
		fmt.Fprintf(&b, ", %d made anew", n)
	}
	if x.Done {
		b.WriteString("; nothing is recorded of it any more")
	}
	b.WriteString("\n")
	writeExported(&b, x, "", !x.Done)
	return b.String()
}

func writeExported(b *strings.Builder, x *engine.Exported, below string, ahead bool) {
	for _, r := range x.Resources {
		outcome := string(r.Outcome)
		if ahead && r.Outcome != engine.ExportRefused {
			outcome = "would be " + outcome
		}
		fmt.Fprintf(b, "  %s%s (%s): %s", report.Line(below), report.Line(r.LogicalID), report.Line(r.Type), outcome)
		for _, key := range slices.Sorted(maps.Keys(r.Identifier)) {
			fmt.Fprintf(b, " %s=%s", report.Line(key), report.Line(r.Identifier[key]))
		}
		if r.Reason != "" {
			fmt.Fprintf(b, ": %s", report.Line(r.Reason))
		}
		b.WriteString("\n")
	}
	for _, n := range x.Nested {
		writeExported(b, n, n.Stack[strings.LastIndex(n.Stack, "~")+1:]+"/", ahead)
	}
}

func exportedJSON(x *engine.Exported) *value.Object {
	resources, nested := []any{}, []any{}
	for _, r := range x.Resources {
		o := value.NewObject("logicalId", r.LogicalID, "resourceType", r.Type, "outcome", string(r.Outcome))
		if r.PhysicalID != "" {
			o.Set("physicalId", r.PhysicalID)
		}
		if len(r.Identifier) > 0 {
			identifier := value.NewObject()
			for _, key := range slices.Sorted(maps.Keys(r.Identifier)) {
				identifier.Set(key, r.Identifier[key])
			}
			o.Set("identifier", identifier)
		}
		if r.Reason != "" {
			o.Set("reason", r.Reason)
		}
		resources = append(resources, o)
	}
	for _, n := range x.Nested {
		nested = append(nested, exportedJSON(n))
	}
	return value.NewObject("stackName", x.Stack, "region", regionJSON(x.Ref), "cloudFormationStack", x.StackName, "exported", x.Done, "alreadyThere", x.Already,
		"resources", resources, "nested", nested)
}

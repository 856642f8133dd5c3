package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/value"
)

func (s *step) importStack(ctx context.Context) error {
	mapping, err := s.mapping()
	if err != nil {
		return s.refuse(err)
	}
	router, err := s.routerOptions()
	if err != nil {
		return s.refuse(err)
	}
	sel, err := s.selectionAndState(ctx)
	if err != nil {
		return s.refuse(err)
	}
	opt := engine.ImportOptions{
		Selection: sel, Parameters: s.in.Parameters, Router: router, NoMacros: !s.in.ExpandMacros,
		Resources: mapping, Auto: s.in.Auto, Force: s.in.Force, DryRun: s.in.DryRun,
		FromCloudFormation: s.in.FromCloudFormation, StackName: s.in.CFNStackName,
		Found: s.recordMapping, Tagged: s.tagged(),
	}
	question := "Record these as the stack's own?"
	if s.in.FromCloudFormation {
		question = "Record these as the stack's own, and remove the stack from CloudFormation without them?"
	}
	if !s.in.Yes {
		opt.Consent = func(i *engine.Imported) bool {
			s.surface.Print(importedText(i, true))
			return s.surface.Confirm(ctx, question, false)
		}
	}
	i, err := s.engine.Import(ctx, opt)
	if err != nil && (i == nil || !i.Saved) {
		return s.refuse(err)
	}
	text := importedText(i, s.in.DryRun)
	s.check(s.surface.SetSummary(report.Block(text)))
	shown := s.show(importedJSON(i), text)
	switch {
	case err != nil:
		return s.refusal(err)
	case i.Declined:
		s.surface.Print("declined: nothing was done")
	}
	s.done(i.Saved)
	if failed := i.Count(engine.ImportFailed); failed > 0 {
		s.surface.Warning(ci.Annotation{Title: "Stack " + refText(i.Ref), Message: fmt.Sprintf("%s could not be imported; the log says why", amount.Of(failed, "resource"))})
	}
	return shown
}

// mapping is what was named, in whichever way; what stands in the inputs wins
// over the file.
func (s *step) mapping() (map[string]string, error) {
	mapping := map[string]string{}
	body, source := []byte(s.in.ResourceMappingInline), "resource-mapping-inline"
	if file := s.in.ResourceMapping; file != "" {
		var err error
		if body, err = os.ReadFile(s.path(file)); err != nil {
			return nil, &engine.InputError{What: fmt.Sprintf("resource-mapping: %v", err), Next: "name a file that is there"}
		}
		source = file
	}
	if s.in.ResourceMapping != "" || s.in.ResourceMappingInline != "" {
		// None at all means everything that can be found, which an empty file, of a
		// program that failed perhaps, must not.
		if len(bytes.TrimSpace(body)) == 0 {
			body = []byte("{}")
		}
		parsed, err := engine.ParseMapping(body)
		if err == nil && len(parsed) == 0 {
			return nil, &engine.InputError{What: source + ": it names no resource", Next: "name some, or leave the mapping away to import what can be found of the stack"}
		}
		if err != nil {
			return nil, &engine.InputError{What: fmt.Sprintf("%s: %v", source, err), Next: `give a JSON object such as {"Queue": "https://sqs.eu-west-1.amazonaws.com/111122223333/orders"}`}
		}
		mapping = parsed
	}
	named := map[string]bool{}
	for _, entry := range s.in.Resources {
		id, physical, _ := strings.Cut(entry, "=")
		if named[id] {
			return nil, &engine.InputError{What: fmt.Sprintf("resource: %s is given twice", id), Next: "give each logical id one physical id"}
		}
		named[id] = true
		mapping[id] = physical
	}
	return mapping, nil
}

// tagged are the tags by which resources are found, nil for none.
func (s *step) tagged() *engine.Tagged {
	if len(s.in.Tags) == 0 {
		return nil
	}
	t := &engine.Tagged{With: map[string]string{}, By: s.in.LogicalIDTag}
	for _, tag := range s.in.Tags {
		key, v, _ := strings.Cut(tag, "=")
		t.With[key] = v
	}
	return t
}

// path is relative to the app's directory.
func (s *step) path(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.in.WorkingDirectory, file)
}

// recordMapping writes what was found where somebody asked for it.
func (s *step) recordMapping(i *engine.Imported) error {
	if s.in.RecordResourceMapping == "" {
		return nil
	}
	o := value.NewObject()
	for _, r := range i.Resources {
		if id, ok := i.Mapping()[r.LogicalID]; ok {
			o.Set(r.LogicalID, id)
		}
	}
	b, err := value.MarshalIndent(o)
	if err != nil {
		return err
	}
	if err := s.write(s.path(s.in.RecordResourceMapping), append(b, '\n')); err != nil {
		return &engine.InputError{What: fmt.Sprintf("record-resource-mapping: %v", err), Next: "name a file that can be written"}
	}
	return nil
}

// importedText has a line for every resource that was asked for. ahead says that
// nothing of it was done yet.
func importedText(i *engine.Imported, ahead bool) string {
	switch {
	case i.AlreadyThere:
		return fmt.Sprintf("%s: recorded already, and CloudFormation has no stack %s any more: there is nothing to take over\n", refText(i.Ref), report.Line(i.CloudFormation))
	case i.Ending && i.Saved:
		return fmt.Sprintf("%s: what was begun is finished; CloudFormation has no stack %s any more\n", refText(i.Ref), report.Line(i.CloudFormation))
	case i.Ending:
		return fmt.Sprintf("%s: what was begun would be finished; CloudFormation has no stack %s any more\n", refText(i.Ref), report.Line(i.CloudFormation))
	}
	var b strings.Builder
	n := i.Count(engine.ImportDone)
	done := "imported"
	if ahead || !i.Saved && n > 0 {
		done = "would be imported"
	}
	fmt.Fprintf(&b, "%s: %d %s", refText(i.Ref), n, done)
	for _, o := range []engine.ImportOutcome{engine.SkippedNotFound, engine.SkippedNoImpl, engine.ImportFailed} {
		if n := i.Count(o); n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, o)
		}
	}
	switch {
	case i.Retired:
		fmt.Fprintf(&b, "; CloudFormation has no stack %s any more", report.Line(i.CloudFormation))
	case i.CloudFormation != "":
		fmt.Fprintf(&b, "; then CloudFormation stack %s is removed, without its resources", report.Line(i.CloudFormation))
	}
	b.WriteString("\n")
	writeImported(&b, i, "", ahead || !i.Saved)
	return b.String()
}

func writeImported(b *strings.Builder, i *engine.Imported, below string, ahead bool) {
	for _, r := range i.Resources {
		if r.Outcome == engine.SkippedOutOfScope {
			continue
		}
		outcome := string(r.Outcome)
		if ahead && r.Outcome == engine.ImportDone {
			outcome = "would be " + outcome
		}
		fmt.Fprintf(b, "  %s%s (%s): %s", report.Line(below), report.Line(r.LogicalID), report.Line(r.Type), outcome)
		if r.PhysicalID != "" {
			fmt.Fprintf(b, " %s", report.Line(r.PhysicalID))
		}
		if r.Reason != "" {
			fmt.Fprintf(b, ": %s", report.Line(r.Reason))
		}
		b.WriteString("\n")
	}
	dropped := "dropped"
	if ahead {
		dropped = "would be dropped"
	}
	for _, id := range i.Dropped {
		fmt.Fprintf(b, "  %s%s: %s from the record, and left in AWS\n", report.Line(below), report.Line(id), dropped)
	}
	for _, n := range i.Nested {
		writeImported(b, n, n.Stack[strings.LastIndex(n.Stack, "~")+1:]+"/", ahead)
	}
}

func importedJSON(i *engine.Imported) *value.Object {
	resources, nested, dropped := []any{}, []any{}, []any{}
	for _, r := range i.Resources {
		o := value.NewObject("logicalId", r.LogicalID, "resourceType", r.Type, "outcome", string(r.Outcome))
		if r.PhysicalID != "" {
			o.Set("physicalId", r.PhysicalID)
		}
		if r.Reason != "" {
			o.Set("reason", r.Reason)
		}
		resources = append(resources, o)
	}
	for _, n := range i.Nested {
		nested = append(nested, importedJSON(n))
	}
	for _, id := range i.Dropped {
		dropped = append(dropped, id)
	}
	o := value.NewObject("stackName", i.Stack, "region", regionJSON(i.Ref), "saved", i.Saved,
		"resources", resources, "dropped", dropped, "nested", nested)
	if i.CloudFormation != "" {
		o.Set("cloudFormationStack", i.CloudFormation)
		o.Set("retired", i.Retired)
		o.Set("alreadyThere", i.AlreadyThere)
	}
	return o
}

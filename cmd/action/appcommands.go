package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/value"
)

// synth makes the assembly and checks it. Of a single stack it prints the
// template, as people are used to.
func (s *step) synth(ctx context.Context) error {
	sel, err := s.selection(ctx)
	if err != nil {
		return s.refuse(err)
	}
	list, err := s.engine.Check(ctx, sel)
	if err != nil {
		return s.refuse(err)
	}
	s.done(false)
	s.set("assembly", sel.Assembly)
	s.setStacks(list)
	form := value.NewObject("assembly", sel.Assembly, "stacks", listJSON(list))
	if len(list) == 1 && !s.in.JSON {
		return s.printJSON(list[0].Template.Body)
	}
	return s.show(form, fmt.Sprintf("%s in %s\n%s", amount.Of(len(list), "stack"), report.Line(sel.Assembly), listText(list, s.in.Long, s.in.ShowDependencies)))
}

func (s *step) list(ctx context.Context) error {
	sel, err := s.selection(ctx)
	if err != nil {
		return s.refuse(err)
	}
	list, err := s.engine.List(ctx, sel)
	if err != nil {
		return s.refuse(err)
	}
	s.done(false)
	s.setStacks(list)
	return s.show(listJSON(list), listText(list, s.in.Long, s.in.ShowDependencies))
}

func (s *step) publish(ctx context.Context) error {
	sel, err := s.selection(ctx)
	if err != nil {
		return s.refuse(err)
	}
	published, err := s.engine.PublishAssets(ctx, sel)
	if err != nil {
		return s.refuse(err)
	}
	s.done(len(published) > 0)
	var b strings.Builder
	form := []any{}
	for _, p := range published {
		fmt.Fprintf(&b, "%s\n", report.Line(p.URL()))
		form = append(form, value.NewObject("stack", p.Stack, "asset", p.String(), "url", p.URL()))
	}
	fmt.Fprintf(&b, "%s %s in place", amount.Of(len(published), "asset"), amount.Form(len(published), "is", "are"))
	return s.show(form, b.String())
}

// setStacks sets the outputs that a matrix of jobs is made from.
func (s *step) setStacks(list []engine.Listed) {
	names, waves, legs := []any{}, []any{}, []any{}
	for _, l := range list {
		names = append(names, l.ID)
		for len(waves) <= l.Wave {
			waves = append(waves, []any{})
		}
		waves[l.Wave] = append(waves[l.Wave].([]any), l.ID)
		legs = append(legs, value.NewObject("stack", l.ID, "account", l.AccountID, "region", l.Region, "wave", value.Int(l.Wave)))
	}
	s.set("stacks", value.JSON(names))
	s.set("waves", value.JSON(waves))
	s.set("matrix", value.JSON(value.NewObject("include", legs)))
}

func listText(list []engine.Listed, long, dependencies bool) string {
	var b strings.Builder
	for _, l := range list {
		b.WriteString(report.Line(l.DisplayName))
		if l.Name != l.DisplayName {
			fmt.Fprintf(&b, " (%s)", report.Line(l.Name))
		}
		b.WriteByte('\n')
		if long {
			fmt.Fprintf(&b, "  account %s, region %s\n", report.Line(account(l)), report.Line(region(l)))
		}
		if dependencies && len(l.After) > 0 {
			fmt.Fprintf(&b, "  after %s\n", report.Line(strings.Join(l.After, ", ")))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func listJSON(list []engine.Listed) []any {
	all := []any{}
	for _, l := range list {
		after := []any{}
		for _, name := range l.After {
			after = append(after, name)
		}
		all = append(all, value.NewObject("id", l.DisplayName, "name", l.Name,
			"environment", value.NewObject("account", account(l), "region", region(l)),
			"dependencies", after, "wave", value.Int(l.Wave)))
	}
	return all
}

// A stack that can go anywhere says so in the words of the assembly.
func account(l engine.Listed) string { return cmp.Or(l.AccountID, "unknown-account") }
func region(l engine.Listed) string  { return cmp.Or(l.Region, "unknown-region") }

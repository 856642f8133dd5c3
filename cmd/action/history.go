package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

func (s *step) events(ctx context.Context) error {
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	stack, region := s.in.Stacks[0], strings.ToLower(s.in.StackRegion)
	if s.in.Run != "" {
		h, err := s.engine.RunEvents(ctx, stack, region, s.in.Run)
		if err != nil {
			return s.refuse(err)
		}
		events, err := value.From(append([]state.Event{}, h.Events...))
		if err != nil {
			return s.refuse(err)
		}
		return s.show(value.NewObject("stackName", h.Stack, "region", h.Region, "runId", h.RunID, "events", events), eventsText(h.Events))
	}
	h, err := s.engine.Events(ctx, stack, region)
	if err != nil {
		return s.refuse(err)
	}
	runs, err := value.From(append([]state.RunSummary{}, h.Runs...))
	if err != nil {
		return s.refuse(err)
	}
	return s.show(value.NewObject("stackName", h.Stack, "region", h.Region, "runs", runs), runsText(h.Runs))
}

func runsText(runs []state.RunSummary) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range runs {
		took := ""
		from, err := time.Parse(time.RFC3339, r.StartedAt)
		to, err2 := time.Parse(time.RFC3339, r.FinishedAt)
		if err == nil && err2 == nil {
			took = to.Sub(from).Round(time.Second).String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n",
			report.Line(r.RunID), report.Line(r.Command), report.Line(r.Result), took, amount.Of(r.Events, "event"), report.Line(r.Engine))
	}
	w.Flush() // into memory
	return b.String()
}

func eventsText(events []state.Event) string {
	var b strings.Builder
	for _, e := range events {
		words := []string{e.Timestamp, e.EventType}
		if e.Command != "" {
			words = append(words, e.Command+" of "+e.StackName+" in "+e.Region+" by "+e.EngineVersion)
		}
		if e.Operation != "" {
			words = append(words, e.Operation)
		}
		if e.LogicalID != "" {
			words = append(words, e.StackName+"/"+e.LogicalID, "("+e.ResourceType+")", e.PhysicalID)
		}
		if e.Result != "" {
			words = append(words, e.Result)
		}
		if c := e.Counts; c != nil {
			words = append(words, fmt.Sprintf("%d created, %d updated, %d deleted, %d failed, %d skipped", c.Created, c.Updated, c.Deleted, c.Failed, c.Skipped))
		}
		if e.DurationMS != nil {
			words = append(words, "in "+round(time.Duration(*e.DurationMS)*time.Millisecond).String())
		}
		line := strings.Join(words, " ")
		if e.Reason != "" {
			line += ": " + e.Reason
		}
		if f := e.Error; f != nil {
			line += ": " + f.Message
		}
		b.WriteString(report.Line(line) + "\n")
	}
	return b.String()
}

func (s *step) pruneEvents(ctx context.Context) error {
	opt := engine.PruneOptions{
		Region: strings.ToLower(s.in.StackRegion),
		Keep:   state.Retention{Nothing: s.in.All, Newest: s.in.Keep, OlderThan: s.in.OlderThan},
	}
	if !s.in.Yes {
		opt.Consent = func(p *engine.Pruned) bool {
			s.surface.Print(strings.Join(p.Deleted, "\n"))
			return s.surface.Confirm(ctx, fmt.Sprintf("Delete the histories of %s of %s (%s), and keep %d?", amount.Of(len(p.Deleted), "run"), p.Stack, p.Region, p.Kept), false)
		}
	}
	p, err := s.engine.PruneEvents(ctx, s.in.Stacks[0], opt)
	if err != nil {
		return s.refuse(err)
	}
	if p == nil {
		s.done(false)
		return s.show(nil, "declined: nothing was deleted")
	}
	s.done(len(p.Deleted) > 0)
	deleted := []any{}
	for _, id := range p.Deleted {
		deleted = append(deleted, id)
	}
	return s.show(
		value.NewObject("stackName", p.Stack, "region", p.Region, "deleted", deleted, "kept", value.Int(p.Kept)),
		fmt.Sprintf("%s (%s): deleted the histories of %s, kept %d", report.Line(p.Stack), report.Line(p.Region), amount.Of(len(p.Deleted), "run"), p.Kept))
}

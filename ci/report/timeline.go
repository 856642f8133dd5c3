package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/result"
)

// most bars of a timeline and nodes of a graph: Mermaid refuses more than 50,000
// characters, and nobody reads that many.
const (
	maxBars  = 60
	maxNodes = 40
)

// StepSummary renders a run for the summary of its step: [Markdown], and pictures
// of what ran when and of what a failure held up.
func StepSummary(run *result.Run) string {
	return body(run) + pictures(run) + footer(run)
}

func pictures(run *result.Run) string {
	p := &page{run: run}
	for _, s := range run.Stacks {
		if g := failureGraph(s); g != "" {
			p.line("**What the failure held up in " + code(s.Name) + "**")
			p.line(g)
		}
	}
	if g := gantt(run); g != "" {
		p.folded("What ran when, the critical path in red", true, func() { p.line(g) })
	}
	if p.b.Len() == 0 {
		return ""
	}
	return "\n" + p.b.String()
}

// gantt is a bar for each operation, the longest ones where there are many. It
// needs two of them to say anything.
func gantt(run *result.Run) string {
	var all []result.Span
	critical := map[*result.Stack][]bool{}
	for _, s := range run.Stacks {
		all = append(all, s.Timeline...)
		critical[s] = criticalPath(s)
	}
	if len(all) < 2 {
		return ""
	}
	start := slices.MinFunc(all, func(a, b result.Span) int { return a.Start.Compare(b.Start) }).Start
	shortest := time.Duration(0)
	if len(all) > maxBars {
		slices.SortFunc(all, func(a, b result.Span) int { return cmp.Compare(b.Took, a.Took) })
		shortest = all[maxBars-1].Took
	}
	var b strings.Builder
	b.WriteString("gantt\n    dateFormat x\n    axisFormat %s s\n")
	bars := 0
	for _, s := range run.Stacks {
		var lines []string
		for i, span := range s.Timeline {
			if span.Took < shortest && !critical[s][i] && !span.Failed || bars == 2*maxBars {
				continue
			}
			bars++
			name, tag := string(span.Action)+" "+caption(span.LogicalID), "done, "
			if critical[s][i] {
				tag = "crit, "
			}
			if span.Rollback {
				name = "undo " + name
			}
			if span.Failed {
				name = "✗ " + name
			}
			at := span.Start.Sub(start).Milliseconds()
			lines = append(lines, fmt.Sprintf("    %s (%s) :%s%d, %d\n", name, brief(span.Took), tag, at, at+max(span.Took.Milliseconds(), 1)))
		}
		if len(lines) > 0 {
			b.WriteString("    section " + caption(s.Name) + "\n" + strings.Join(lines, ""))
		}
	}
	text := fence("mermaid", b.String())
	if left := len(all) - bars; left > 0 {
		text += "\n" + amount.Of(left, "shorter operation") + " not shown\n"
	}
	return text
}

// criticalPath tells of each operation of a stack whether the stack would have
// been done earlier without it: from the last one to end back through what each
// waited for, or, where that is not known, what ended last before it.
func criticalPath(s *result.Stack) []bool {
	critical := make([]bool, len(s.Timeline))
	end := func(i int) time.Time { return s.Timeline[i].Start.Add(s.Timeline[i].Took) }
	latest := func(of func(i int) bool) int {
		found := -1
		for i := range s.Timeline {
			if of(i) && !critical[i] && (found < 0 || end(i).After(end(found))) {
				found = i
			}
		}
		return found
	}
	at := latest(func(int) bool { return true })
	for at >= 0 {
		critical[at] = true
		span := s.Timeline[at]
		before := func(i int) bool { return !end(i).After(span.Start) }
		next := latest(func(i int) bool {
			return before(i) && slices.Contains(s.After[span.LogicalID], s.Timeline[i].LogicalID)
		})
		if next < 0 && (span.Rollback || len(s.After[span.LogicalID]) == 0 && !first(s, span)) {
			next = latest(before)
		}
		at = next
	}
	return critical
}

// first tells whether a create or update that waits for nothing began with the
// stack's work, rather than when there was room for it.
func first(s *result.Stack, span result.Span) bool {
	begin := span.Start
	for _, other := range s.Timeline {
		if other.Start.Before(begin) {
			begin = other.Start
		}
	}
	return span.Start.Sub(begin) < 100*time.Millisecond
}

// failureGraph shows what failed, what that had waited for, and what therefore
// was not started.
func failureGraph(s *result.Stack) string {
	failed, done := map[string]bool{}, map[string]bool{}
	for _, f := range s.Failures {
		failed[f.LogicalID] = true
	}
	for _, span := range s.Timeline {
		done[span.LogicalID] = done[span.LogicalID] || !span.Failed && !span.Rollback
	}
	held := map[string]bool{}
	for grew := true; grew; {
		grew = false
		for id, producers := range s.After {
			if !held[id] && !failed[id] && !done[id] && slices.ContainsFunc(producers, func(p string) bool { return failed[p] || held[p] }) {
				held[id], grew = true, true
			}
		}
	}
	if len(failed) == 0 || len(held) == 0 {
		return ""
	}
	class := func(id string) string {
		switch {
		case failed[id]:
			return "failed"
		case held[id]:
			return "held"
		}
		return "done"
	}
	names := map[string]string{}
	var nodes, edges strings.Builder
	see := func(id string) string {
		if n, ok := names[id]; ok || len(names) == maxNodes {
			return n
		}
		names[id] = fmt.Sprint("n", len(names))
		fmt.Fprintf(&nodes, "    %s[\"%s\"]:::%s\n", names[id], caption(id), class(id))
		return names[id]
	}
	for _, id := range sorted(failed) {
		see(id)
	}
	for _, id := range append(sorted(failed), sorted(held)...) {
		for _, p := range s.After[id] {
			if a, b := see(p), see(id); a != "" && b != "" {
				fmt.Fprintf(&edges, "    %s --> %s\n", a, b)
			}
		}
	}
	return fence("mermaid", "flowchart LR\n"+nodes.String()+edges.String()+
		"    classDef failed fill:#ffebe9,stroke:#cf222e,color:#82071e\n"+
		"    classDef held fill:#f6f8fa,stroke:#8c959f,color:#57606a,stroke-dasharray:4\n"+
		"    classDef done fill:#dafbe1,stroke:#1a7f37,color:#116329\n")
}

func sorted(set map[string]bool) []string {
	var ids []string
	for id, in := range set {
		if in {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// caption is text from outside inside of a diagram: letters, digits and what cannot
// mean anything there.
func caption(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '/':
			return r
		}
		return '_'
	}, shorten(Clean(text), 80))
	return cmp.Or(text, "_")
}

// brief is a duration for people.
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
}

// chain says which resources, one after the other, take longest.
func (p *page) chain(s *result.Stack) {
	expected := chainTime(s)
	if len(s.Chain) == 0 || expected < worthSaying {
		return
	}
	const ends = 4
	var parts []string
	for i, l := range s.Chain {
		switch {
		case len(s.Chain) <= 2*ends || i < ends || i >= len(s.Chain)-ends:
			text := code(l.LogicalID)
			if l.Expected >= worthSaying {
				text += " (" + roughly(l.Expected) + ")"
			}
			parts = append(parts, text)
		case i == ends:
			parts = append(parts, fmt.Sprintf("%d more", len(s.Chain)-2*ends))
		}
	}
	p.line("Longest chain, about " + roughly(expected) + ": " + strings.Join(parts, " → "))
}

// roughly is a guess of a duration.
func roughly(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
}

// worthSaying is from when on an expected time is of interest.
const worthSaying = 30 * time.Second

func chainTime(s *result.Stack) time.Duration {
	var d time.Duration
	for _, l := range s.Chain {
		d += l.Expected
	}
	return d
}

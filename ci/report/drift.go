package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/drift"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// DriftTitle says in one line what a look for drift came to.
func DriftTitle(run *result.DriftRun) string { return driftTitle(run, oneLine) }

func driftTitle(run *result.DriftRun, name func(string) string) string {
	stacks := run.Stacks
	if run.Drifted() {
		stacks = slices.DeleteFunc(slices.Clone(stacks), func(s *result.DriftedStack) bool { return !s.Drifted() })
	}
	subject := amount.Of(len(stacks), "stack")
	if len(stacks) == 1 {
		subject = "stack " + name(stacks[0].Name)
	}
	found := run.Count(result.DriftFound, result.DriftDeleted)
	settled := 0
	for _, s := range run.Stacks {
		settled += s.Settled()
	}
	verb := map[result.DriftMode]string{result.DriftAccept: "accepted", result.DriftRevert: "reverted"}[run.Mode]
	rest := func(not string) string { // it stands for why the run failed, too
		if found == settled {
			return ""
		}
		return fmt.Sprintf(", and that of %d %s", found-settled, not)
	}
	switch {
	case run.Message != "" && run.Outcome == result.Cancelled:
		return "Looking for drift was cancelled"
	case run.Message != "":
		return "Looking for drift failed"
	case found == 0 && unread(run.Stacks):
		return strings.ToUpper(subject[:1]) + subject[1:] + " could not be compared"
	case found == 0 && run.Outcome == result.NoChange:
		return "No drift in " + subject
	case found == 0:
		return "No drift was found in " + subject + ", but not everything could be compared"
	case verb != "" && run.DryRun:
		return fmt.Sprintf("The drift of %d of %s would be %s in %s%s", settled, amount.Of(found, "resource"), verb, subject, rest("would not"))
	case verb != "":
		return fmt.Sprintf("The drift of %d of %s was %s in %s%s", settled, amount.Of(found, "resource"), verb, subject, rest("was not"))
	}
	return fmt.Sprintf("%s %s drifted in %s", amount.Of(found, "resource"), amount.Form(found, "has", "have"), subject)
}

// unread tells whether nothing at all was compared.
func unread(stacks []*result.DriftedStack) bool {
	return len(stacks) > 0 && !slices.ContainsFunc(stacks, func(s *result.DriftedStack) bool { return s.Message == "" || s.Resources != nil })
}

// driftCounts is what the title of a stack does not say.
func driftCounts(s *result.DriftedStack) string {
	var parts []string
	for _, c := range []struct {
		is   result.Drift
		text string
	}{
		{result.DriftFound, "changed"}, {result.DriftDeleted, "deleted"}, {result.InSync, "as recorded"},
		{result.DriftUnsupported, "that nothing can read"}, {result.DriftRefused, "that may not be compared"},
		{result.DriftOpen, "with an operation still open"}, {result.DriftFailed, "that could not be read"},
	} {
		if n := s.Count(c.is); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.text))
		}
	}
	if len(parts) == 0 {
		return "no resources"
	}
	return strings.Join(parts, " · ")
}

// A shownDifference has only values that may be shown, with marks.
type shownDifference struct {
	path             string
	expected, actual any
	hidden           bool
}

// differences are those of a resource as they may be shown.
func differences(run *result.DriftRun, r *result.DriftedResource) []shownDifference {
	var out []shownDifference
	for _, d := range r.Differences {
		s := shownDifference{path: oneLine(d.Path.String()), hidden: d.Hidden}
		if !d.Hidden {
			red, at := &redactor{permitted: permitted(run.ShowValues, r.LogicalID, r.Type)}, members(d.Path)
			s.expected = red.at(r.Type, at, d.Expected)
			s.actual = settle(s.expected, d.Expected != nil, red.at(r.Type, at, d.Actual))
		}
		out = append(out, s)
	}
	return out
}

// members are the names in a path, as the redactor wants them.
func members(p drift.Path) (names []string) {
	for _, step := range p {
		if name, ok := step.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// DriftText renders a look for drift for the end of a log.
func DriftText(run *result.DriftRun) string {
	var t lines
	for _, s := range run.Stacks {
		t.add("")
		t.driftedStack(run, s)
	}
	b := string(t)
	if text := messageText(run.Message, run.Remedy, "") + seeText(driftPages(run)); text != "" {
		b += "\n" + text
	}
	b += "\n" + DriftTitle(run)
	if run.Duration > 0 {
		b += fmt.Sprintf(" (%s)", run.Duration.Round(100*time.Millisecond))
	}
	return b + "\n"
}

// DriftedStackText renders one stack, for a person who is to agree.
func DriftedStackText(run *result.DriftRun, s *result.DriftedStack) string {
	var t lines
	t.driftedStack(run, s)
	return string(t)
}

func (t *lines) driftedStack(run *result.DriftRun, s *result.DriftedStack) {
	name := oneLine(s.Name) + " in " + oneLine(s.Place())
	if s.Message != "" {
		*t = append(*t, messageText(s.Message, s.Remedy, "Stack "+name+": ")...)
		if s.Resources == nil {
			return
		}
	}
	t.add("Stack %s: %s", name, driftCounts(s))
	for i := range s.Resources {
		t.driftedResource(run, &s.Resources[i])
	}
}

func (t *lines) driftedResource(run *result.DriftRun, r *result.DriftedResource) {
	what := fmt.Sprintf("%s (%s)", oneLine(r.LogicalID), oneLine(r.Type))
	switch r.Drift {
	case result.InSync:
		return
	case result.DriftDeleted:
		t.add("  [-] %s %s: it is gone", what, oneLine(r.PhysicalID))
	case result.DriftFound:
		t.add("  [~] %s %s", what, oneLine(r.PhysicalID))
	default:
		t.add("  [?] %s: %s", what, oneLine(r.Reason))
		return
	}
	for _, d := range differences(run, r) {
		if d.hidden {
			t.add("      - %s: %s", d.path, hiddenChanged)
			continue
		}
		t.add("      - %s:", d.path)
		t.add("          expected: %s", printed(d.expected, d.expected != nil, 14))
		t.add("          actual:   %s", printed(d.actual, d.actual != nil, 14))
	}
	for _, g := range r.Gaps {
		t.add("      - %s: not compared, as %s", oneLine(g.Path.String()), g.Why)
	}
	if text := fate(run, r); text != "" {
		t.add("      %s", oneLine(text))
	}
}

// fate is what became of a drifted resource, "" when nothing was to.
func fate(run *result.DriftRun, r *result.DriftedResource) string {
	if run.Mode == result.DriftDetect {
		return ""
	}
	verb := "reverted"
	if run.Mode == result.DriftAccept {
		verb = "accepted"
	}
	switch {
	case r.Settled && run.DryRun:
		return "would be " + verb
	case r.Settled:
		return verb
	case r.Left != "":
		return "not " + verb + ": " + r.Left
	}
	return ""
}

// DriftJSON renders a look for drift for programs.
func DriftJSON(run *result.DriftRun) (string, error) {
	o := value.NewObject("command", "drift", "outcome", string(run.Outcome), "drifted", run.Drifted())
	setText(o, "failureReason", string(run.Reason))
	setText(o, "message", run.Message)
	setText(o, "remedy", run.Remedy)
	setText(o, "page", run.Page)
	o.Set("stacks", list(run.Stacks, func(s *result.DriftedStack) *value.Object {
		n := value.NewObject("stackName", s.Name, "region", s.Region, "outcome", string(s.Outcome), "drifted", s.Drifted())
		setText(n, "account", s.Account)
		setText(n, "message", s.Message)
		setText(n, "remedy", s.Remedy)
		setText(n, "page", s.Page)
		setTrue(n, "declined", s.Declined)
		n.Set("resources", list(s.Resources, func(r result.DriftedResource) *value.Object { return driftedNode(run, r) }))
		return n
	}))
	b, err := value.MarshalIndent(shownJSON(o))
	return string(b) + "\n", err
}

func driftedNode(run *result.DriftRun, r result.DriftedResource) *value.Object {
	n := value.NewObject("logicalId", r.LogicalID, "resourceType", r.Type, "physicalId", r.PhysicalID, "status", string(r.Drift))
	setText(n, "reason", r.Reason)
	if r.Drift == result.InSync || r.Drift == result.DriftFound {
		baseline := "properties"
		if r.Observed {
			baseline = "observedProperties"
		}
		n.Set("baseline", baseline)
	}
	if r.Drift == result.DriftFound {
		n.Set("differences", list(differences(run, &r), func(d shownDifference) *value.Object {
			o := value.NewObject("path", d.path)
			if d.hidden {
				o.Set("hidden", true)
				return o
			}
			if d.expected != nil {
				o.Set("expected", d.expected)
			}
			if d.actual != nil {
				o.Set("actual", d.actual)
			}
			return o
		}))
	}
	if len(r.Gaps) > 0 {
		n.Set("notCompared", list(r.Gaps, func(g drift.Gap) *value.Object {
			return value.NewObject("path", g.Path.String(), "reason", string(g.Why))
		}))
	}
	setTrue(n, "settled", r.Settled)
	setText(n, "left", r.Left)
	return n
}

// DriftMarkdown renders a look for drift in full, for the step summary and a
// comment.
func DriftMarkdown(run *result.DriftRun) string {
	p := &page{}
	p.line("### " + sentence(driftTitle(run, code)))
	p.message(run.Message, run.Remedy)
	for _, s := range run.Stacks {
		if s.Drifted() || s.Incomparable() || len(run.Stacks) > 1 {
			p.line("#### " + code(s.Name) + " in " + code(s.Place()))
		}
		p.driftedStack(run, s)
	}
	p.see(driftPages(run))
	return p.b.String()
}

// DriftIssueTitle names the issue about a stack's drift.
func DriftIssueTitle(s *result.DriftedStack) string {
	return "Drift: " + oneLine(s.Name) + " in " + oneLine(s.Place()) + " is not as deployed"
}

// DriftIssue renders what an issue says about one stack, or, when it is as
// recorded, what the last word of the issue is. How to go on is part of it:
// whoever reads it did not start the run, whose page runURL is.
func DriftIssue(run *result.DriftRun, s *result.DriftedStack, runURL string) string {
	by := ""
	if runURL != "" {
		by = ", says [this run](" + runURL + ")"
	}
	if s.Outcome == result.NoChange || s.Outcome == result.Success {
		return "Stack " + code(s.Name) + " in " + code(s.Place()) + " is as recorded again" + by + ".\n"
	}
	p := &page{}
	one := &result.DriftRun{Mode: run.Mode, DryRun: run.DryRun, ShowValues: run.ShowValues, Outcome: s.Outcome, Stacks: []*result.DriftedStack{s}}
	p.line(sentence(driftTitle(one, code)) + " in " + code(s.Place()) + by + ".")
	p.driftedStack(one, s)
	p.line("**What to do:** run the command `drift` with `revert` to make it what was deployed, or with `accept` to record what is, " +
		"and change the app where that is to stay. This issue is kept up to date, and closed when the stack is as recorded again.")
	return p.b.String()
}

// NewDriftSection renders a look for drift as a section of a comment.
func NewDriftSection(run *result.DriftRun) Section {
	return Section{
		Title: sentence(driftTitle(run, code)), Outcome: run.Outcome, Changed: run.Drifted(),
		Stacks: len(run.Stacks), Body: DriftMarkdown(run),
	}
}

func (p *page) driftedStack(run *result.DriftRun, s *result.DriftedStack) {
	p.message(s.Message, s.Remedy)
	if s.Message == "" || s.Resources != nil {
		p.line(driftCounts(s))
	}
	var gone, found, other []*result.DriftedResource
	for i := range s.Resources {
		switch r := &s.Resources[i]; r.Drift {
		case result.InSync:
		case result.DriftDeleted:
			gone = append(gone, r)
		case result.DriftFound:
			found = append(found, r)
		default:
			other = append(other, r)
		}
	}
	if len(gone) > 0 {
		var rows [][]string
		for _, r := range gone {
			rows = append(rows, []string{code(r.LogicalID), code(r.Type), code(r.PhysicalID), prose(fate(run, r))})
		}
		p.alert("CAUTION", "Deleted by somebody else:\n\n"+table([]string{"Resource", "Type", "Was", ""}, rows))
	}
	if len(found) > 0 {
		p.line("Changed by somebody else, from what was recorded (−) to what is (+):")
	}
	for _, r := range found {
		p.line("**" + code(r.LogicalID) + "** (" + code(r.Type) + physical(r.PhysicalID) + ")")
		p.line(fence("diff", driftLines(run, r)))
		if text := fate(run, r); text != "" {
			p.line(prose(sentence(text)))
		}
	}
	if len(other) > 0 {
		p.folded(amount.Of(len(other), "resource")+" not compared", !slices.ContainsFunc(other, func(r *result.DriftedResource) bool { return r.Drift == result.DriftUnsupported }), func() {
			var rows [][]string
			for _, r := range other {
				rows = append(rows, []string{code(r.LogicalID), code(r.Type), prose(shorten(r.Reason, wide))})
			}
			p.line(table([]string{"Resource", "Type", "Why"}, rows))
		})
	}
}

// driftLines are the differences as the lines of a diff, from what was recorded
// to what is.
func driftLines(run *result.DriftRun, r *result.DriftedResource) string {
	var b strings.Builder
	for _, d := range differences(run, r) {
		switch {
		case d.hidden:
			fmt.Fprintf(&b, "! %s: %s\n", d.path, hiddenChanged)
			continue
		case d.expected == nil:
			leaf{'+', d.path, d.actual}.write(&b)
			continue
		case d.actual == nil:
			leaf{'-', d.path, d.expected}.write(&b)
			continue
		}
		for _, l := range compare(d.path, d.expected, d.actual) {
			l.write(&b)
		}
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&b, "# %s: not compared, as %s\n", oneLine(g.Path.String()), g.Why)
	}
	return b.String()
}

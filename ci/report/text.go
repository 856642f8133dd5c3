package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/result"
)

// Text renders a run for the end of a log: the plans of a diff or a dry run,
// and of other runs what came of them.
func Text(run *result.Run) string {
	all := run
	run = shown(run)
	var b strings.Builder
	if planned(run) {
		for i, s := range run.Stacks {
			if s.Plan != nil {
				b.WriteString(planText(s.Plan) + exposureText(all.Stacks[i].Plan))
			}
		}
	}
	if fromTemplates(run) {
		b.WriteString("\n" + onlyTemplates + "\n")
	}
	trouble := messageText(run.Message, run.Remedy, "")
	for _, s := range run.Stacks {
		trouble += stackText(s)
	}
	trouble += seeText(pagesOf(run))
	if trouble != "" {
		b.WriteString("\n" + trouble)
	}
	if planned(run) && trouble == "" {
		return b.String()
	}
	b.WriteString("\n" + Title(run))
	if run.Duration > 0 {
		fmt.Fprintf(&b, " (%s)", run.Duration.Round(100*time.Millisecond))
	}
	b.WriteByte('\n')
	return b.String()
}

func stackText(s *result.Stack) string {
	var b strings.Builder
	name := oneLine(s.Name) + " in " + oneLine(s.Place())
	b.WriteString(messageText(s.Message, s.Remedy, name+": "))
	for _, f := range s.FailuresBesideLeft() {
		fmt.Fprintf(&b, "%s: %s of %s (%s) failed\n", name, strings.ToLower(label(f.Action)), oneLine(f.LogicalID), oneLine(f.Type))
		b.WriteString(indented(messageText(f.Message, f.Remedy, "")))
	}
	for _, u := range s.Unaddressed {
		if u.LogicalID == "" { // the stack as a whole
			b.WriteString(messageText(u.Reason, u.Remedy, name+": "))
			continue
		}
		fmt.Fprintf(&b, "%s: left %s (%s) %s\n", name, oneLine(u.LogicalID), oneLine(u.Type), oneLine(u.PhysicalID))
		b.WriteString(indented(messageText(u.Reason, u.Remedy, "")))
	}
	for _, o := range s.Pending {
		fmt.Fprintf(&b, "%s: open: %s (%s): its %s is %s; the next run settles it\n",
			name, oneLine(o.LogicalID), oneLine(o.Type), oneLine(o.Change), oneLine(o.Stage))
	}
	for _, u := range s.Unawaited {
		fmt.Fprintf(&b, "%s: not waited for: %s (%s); see: %s\n", name, oneLine(u.LogicalID), oneLine(u.Type), oneLine(u.Command))
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(&b, "%s: warning: %s\n", name, oneLine(w))
	}
	if names := s.Outputs.Keys(); len(names) > 0 {
		fmt.Fprintf(&b, "%s: outputs\n", name)
		for _, n := range names {
			if madeByCDK(n) {
				continue
			}
			fmt.Fprintf(&b, "  %s = %s\n", oneLine(n), oneLine(shorten(outputValue(s.Outputs.Value(n)), most)))
		}
	}
	return b.String()
}

func messageText(message, remedy, prefix string) string {
	text := ""
	if message != "" {
		text = prefix + strings.TrimSpace(Clean(message)) + "\n"
	}
	if remedy != "" {
		text += "what to do: " + strings.TrimSpace(Clean(remedy)) + "\n"
	}
	return text
}

func indented(text string) string {
	lines := slices.Collect(strings.Lines(text))
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return strings.Join(lines, "")
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/exposure"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// Comment renders a run for a pull request: [Markdown] in what GitHub takes.
// rest is a sentence that says where a report that had to be cut goes on.
func Comment(run *result.Run, limit int, rest string) string {
	return Fit(Markdown(run), limit, rest)
}

// Markdown renders a run in full.
func Markdown(run *result.Run) string { return body(run) + footer(run) }

func footer(run *result.Run) string {
	var parts []string
	if run.RunID != "" {
		parts = append(parts, "run "+htmlCode(run.RunID))
	}
	if run.PlanDigest != "" {
		parts = append(parts, "plan "+htmlCode(run.PlanDigest))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\n<sub>" + strings.Join(parts, " · ") + "</sub>\n"
}

func body(run *result.Run) string {
	all := run
	run = shown(run)
	p := &page{run: run, listed: map[*plan.Change]bool{}, rules: rulesOf(all, run)}
	p.line("### " + title(run, code))
	if fromTemplates(run) {
		p.alert("IMPORTANT", onlyTemplates)
	}
	p.counts()
	p.message(run.Message, run.Remedy)
	for _, s := range run.Stacks {
		p.trouble(s)
	}
	p.see(pagesOf(run))
	if planned(run) {
		p.destructive()
		p.exposures()
		p.warnings(run.Stacks...)
	} else {
		p.kept()
		p.unawaited()
	}
	for _, s := range run.Stacks {
		p.stack(s)
	}
	p.outputs()
	return p.b.String()
}

// A page is Markdown under construction: blocks with a blank line between.
type page struct {
	run    *result.Run
	b      strings.Builder
	listed map[*plan.Change]bool // shown at the top already
	rules  map[*plan.Plan][]exposure.Rule
}

func (p *page) line(text string) {
	if p.b.Len() > 0 {
		p.b.WriteByte('\n')
	}
	p.b.WriteString(strings.TrimRight(text, "\n ") + "\n")
}

// alert is a block that GitHub puts into a coloured frame.
func (p *page) alert(kind, markdown string) {
	var b strings.Builder
	b.WriteString("> [!" + kind + "]\n")
	for line := range strings.Lines(markdown) {
		b.WriteString("> " + line)
	}
	p.line(b.String())
}

// table renders rows, without the columns that are empty in all of them.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	used := make([]bool, len(head))
	for i := range head {
		used[i] = slices.ContainsFunc(rows, func(r []string) bool { return r[i] != "" })
	}
	write := func(cells []string) {
		for i, c := range cells {
			if used[i] {
				b.WriteString("| " + c + " ")
			}
		}
		b.WriteString("|\n")
	}
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
	}
	write(head)
	write(rule)
	for _, r := range rows {
		write(r)
	}
	return b.String()
}

// wide is how much of a value stands in a table.
const wide = 300

// few is how many lines need no folding.
const few = 15

// folded renders what body writes, to be opened unless there is little of it.
func (p *page) folded(summary string, open bool, body func()) {
	tag := "<details>"
	if open {
		tag = "<details open>"
	}
	p.line(tag + "<summary>" + summary + "</summary>")
	body()
	p.line("</details>")
}

// counts says what the title has not.
func (p *page) counts() {
	var parts []string
	switch {
	case planned(p.run):
		parts = outputsToDo(p.run)
		if n := runCounts(p.run)[plan.NoChange]; n > 0 && p.run.Changed() {
			parts = append(parts, fmt.Sprintf("%d unchanged", n))
		}
		if idle := unchanged(p.run); len(idle) > 0 && p.run.Changed() {
			parts = append(parts, "nothing to do in "+idle)
		}
		longest := time.Duration(0)
		for _, s := range p.run.Stacks {
			longest = max(longest, chainTime(s))
		}
		if longest >= worthSaying {
			parts = append(parts, "takes about "+roughly(longest)+" at least")
		}
		if p.run.DryRun {
			parts = append(parts, "dry run: nothing was written")
		}
	case p.run.Outcome == result.NoChange:
	default:
		c := p.run.Counts()
		if p.run.Outcome == result.Success {
			c = result.Counts{Unchanged: c.Unchanged} // the title has the others
		}
		if text := done(c); text != "" {
			parts = append(parts, text)
		}
		if d := p.run.Duration.Round(100 * time.Millisecond); d > 0 {
			parts = append(parts, "took "+d.String())
		}
	}
	if len(parts) > 0 {
		p.line(strings.Join(parts, " · "))
	}
}

// unchanged names the stacks of a run that have nothing to do. Which they are is
// said, so that one that was not looked at is not taken for one of them.
func unchanged(run *result.Run) string {
	var names []string
	more := 0
	for _, s := range run.Stacks {
		switch {
		case s.Outcome != result.NoChange || s.Changed:
		case len(names) == few:
			more++
		default:
			names = append(names, code(s.Name))
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// message is what failed as a whole, and what to do about it.
func (p *page) message(message, remedy string) {
	if message != "" {
		p.line(fence("text", wrap(shorten(Clean(message), most), 100)))
	}
	if remedy != "" {
		p.line("**What to do:** " + prose(remedy))
	}
}

// trouble is everything about a stack that somebody has to look at.
func (p *page) trouble(s *result.Stack) {
	warned := len(s.Warnings) > 0 && !planned(p.run) // of a plan they come after what it destroys
	if s.Message == "" && s.Remedy == "" && s.Lock == nil && len(s.Failures) == 0 && len(s.Unaddressed) == 0 && len(s.Pending) == 0 && !warned {
		return
	}
	heading, message := "#### "+code(s.Name)+" in "+code(s.Place())+ended(s), s.Message
	switch short := message != "" && len(message) <= 120 && !strings.Contains(message, "\n"); {
	case short && len(s.Failures) > 0: // which say more
		p.line(heading + ": " + prose(message))
		message = ""
	case short:
		p.line(heading)
		p.line(sentence(prose(message)))
		message = ""
	default:
		p.line(heading)
	}
	p.message(message, s.Remedy)
	if l := s.Lock; l != nil {
		text := "The lock is held by " + code(l.Owner) + " for " + code(l.Operation)
		if l.ExpiresAt > 0 {
			text += ", until " + time.UnixMilli(l.ExpiresAt).UTC().Format("2006-01-02 15:04:05 UTC") + " unless it is renewed"
		}
		p.line(text + ".")
		if l.RunURL != "" {
			p.line("Its run: " + code(l.RunURL))
		}
	}
	for _, f := range s.FailuresBesideLeft() {
		p.line("**" + label(f.Action) + " failed:** " + code(f.LogicalID) + " (" + code(f.Type) + ")" + at(f.Path) + physical(f.PhysicalID))
		p.message(f.Message, f.Remedy)
	}
	if len(s.Unaddressed) > 0 {
		var b strings.Builder
		for _, u := range s.Unaddressed {
			if u.LogicalID == "" {
				b.WriteString("- The stack")
			} else {
				fmt.Fprintf(&b, "- %s (%s)%s", code(u.LogicalID), code(u.Type), physical(u.PhysicalID))
			}
			if u.Reason != "" {
				b.WriteString(": " + prose(u.Reason))
			}
			if u.Remedy != "" {
				b.WriteString(". **What to do:** " + prose(u.Remedy))
			}
			b.WriteByte('\n')
		}
		p.line("**Left to take care of**")
		p.line(b.String())
	}
	if len(s.Pending) > 0 {
		var b strings.Builder
		for _, o := range s.Pending {
			fmt.Fprintf(&b, "- %s (%s)%s: its %s is %s\n", code(o.LogicalID), code(o.Type), physical(o.PhysicalID), prose(o.Change), prose(o.Stage))
		}
		p.line("**Still open**, and settled by the next run")
		p.line(b.String())
	}
	if warned {
		p.warnings(s)
	}
}

// warnings are those of stacks. Of several, each says whose it is.
func (p *page) warnings(stacks ...*result.Stack) {
	var b strings.Builder
	for _, s := range stacks {
		for _, w := range s.Warnings {
			stack := ""
			if len(stacks) > 1 && !strings.Contains(w, s.Name) {
				stack = code(s.Name) + ": "
			}
			b.WriteString("- " + stack + prose(w) + "\n")
		}
	}
	if b.Len() > 0 {
		p.alert("WARNING", b.String())
	}
}

// kept lists what stacks that are done leave in AWS by its policy: it goes on
// costing money, and nothing looks after it any more.
func (p *page) kept() {
	var rows [][]string
	p.eachPlan(func(s *result.Stack, pl *plan.Plan) {
		for _, c := range pl.Changes {
			if s.Outcome == result.Success && c.Action == plan.Retain {
				rows = append(rows, []string{code(pl.Stack), code(c.LogicalID), code(c.Type), code(c.PhysicalID)})
			}
		}
	})
	if len(rows) > 0 {
		p.folded("<b>Left in AWS by the DeletionPolicy:</b> "+amount.Of(len(rows), "resource"), len(rows) <= few, func() {
			p.line(table([]string{"Stack", "Resource", "Type", "Id"}, rows))
		})
	}
}

// unawaited lists what may not be ready yet, and how to see.
func (p *page) unawaited() {
	var rows [][]string
	for _, s := range p.run.Stacks {
		for _, u := range s.Unawaited {
			rows = append(rows, []string{code(u.Stack), code(u.LogicalID), code(u.Type), code(u.Command)})
		}
	}
	if len(rows) > 0 {
		p.folded("<b>Not waited for</b>, and maybe not ready yet: "+amount.Of(len(rows), "resource"), len(rows) <= few, func() {
			p.line(table([]string{"Stack", "Resource", "Type", "How to see"}, rows))
		})
	}
}

func ended(s *result.Stack) string {
	switch s.Outcome {
	case result.Success, result.NoChange, "":
		return ""
	case result.Failed:
		switch {
		case s.RollbackIncomplete:
			return " failed, and its rollback is incomplete"
		case s.RolledBack:
			return " failed and was rolled back"
		}
		return " failed"
	case result.Cancelled:
		return " was cancelled"
	case result.Locked:
		return " is locked"
	case result.Partial:
		if refused(&result.Run{Stacks: []*result.Stack{s}}) {
			return " was refused"
		}
		return ": done in part"
	}
	return " (" + string(s.Outcome) + ")"
}

// sentence begins with a capital.
func sentence(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}

func at(path string) string {
	if path == "" {
		return ""
	}
	return " at " + code(path)
}

func physical(id string) string {
	if id == "" {
		return ""
	}
	return ", " + code(id)
}

func label(a plan.Action) string {
	return sentence(cmp.Or(labelsOf[a], "change"))
}

// outputs are what the stacks give away, shown at once after a change.
func (p *page) outputs() {
	if planned(p.run) {
		return
	}
	var rows [][]string
	made := 0
	for _, s := range p.run.Stacks {
		for name, v := range s.Outputs.All() {
			if madeByCDK(name) {
				made++
				continue
			}
			stack := ""
			if len(p.run.Stacks) > 1 {
				stack = code(s.Name)
			}
			rows = append(rows, []string{stack, code(name), code(shorten(outputValue(v), wide))})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.folded("Outputs", p.run.Changed() && len(rows) <= few, func() {
		p.line(table([]string{"Stack", "Output", "Value"}, rows))
		p.madeByCDK(made)
	})
}

// madeByCDK tells whether an output is one that the CDK adds by itself, for a
// stack that uses another's resource. There are many, and nobody wrote them.
func madeByCDK(name string) bool {
	if _, export, ok := strings.Cut(name, ":"); ok {
		name = export
	}
	return strings.HasPrefix(name, "ExportsOutput")
}

func (p *page) madeByCDK(n int) {
	if n > 0 {
		p.line("and " + amount.Of(n, "output") + " that the CDK made for other stacks of the app")
	}
}

func outputValue(v any) string {
	text, ok := value.Text(v)
	if !ok {
		text = value.JSON(v)
	}
	return unmark(text)
}

package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// hostile are texts that want to be more than text.
var hostile = []string{
	"@octocat please merge", "#1 and GH-2 and acme/shop#3", "<script>alert(1)</script>", "</details></summary><img src=x>",
	"[click](https://evil.example)", "![x](https://evil.example/x.png)", "https://evil.example www.evil.example",
	"``` fence ```", "a\n```\n@octocat\n```\nb", "`", "``", "a|b|c", "| x |\n| --- |", "# heading", "> quote", "- [x] task",
	"line\r\nbreak", "&#64;octocat &lt;b&gt;", "<!-- cdkd-action abc -->", "-->", "$(id) ${{ github.token }}", "\u202eevil\u202c", "a\x00b\x1b[31m", "*b* _i_ ~s~",
	"~~~\nx\n~~~", "1. one", "    indented", "[ref]: https://evil.example", "</code>@octocat", "\\`@octocat\\`", "",
}

// everywhere is a run that has the text in every place that takes text.
func everywhere(text string) *result.Run {
	p := plan.PropertyChange{Path: text, Old: text, New: value.NewObject(text, []any{text}), HasOld: true, HasNew: true, Replaces: true}
	policy := value.NewObject("Statement", []any{value.NewObject("Effect", "Allow", "Principal", value.NewObject("AWS", []any{text, "*"}), "Action", text, "Resource", []any{text},
		"Condition", value.NewObject(text, value.NewObject(text, text)))})
	r := &result.Run{Command: "diff", RunID: text, Message: text, Remedy: text}
	for _, action := range []plan.Action{plan.Create, plan.Update, plan.Delete} {
		r.Add(&result.Stack{Name: text, Region: text, DisplayName: text, Outcome: result.Success, Message: text, Remedy: text, Changed: true,
			Plan: &plan.Plan{Stack: text, Region: text,
				Changes: []*plan.Change{{LogicalID: text, Type: text, Path: text, Action: action, PhysicalID: text, Properties: []plan.PropertyChange{p},
					Desired:    value.NewObject(text, text, "PolicyDocument", policy, "SecurityGroupIngress", []any{value.NewObject("IpProtocol", text, "CidrIp", text)}),
					Attributes: []plan.AttributeChange{{Name: "DeletionPolicy", Old: text, New: text}}, Route: plan.Route{Unhandled: []string{text}}}},
				Outputs: []plan.OutputChange{{Name: text, Action: plan.Update, Old: text, New: text, HasOld: true, HasNew: true}}},
			Outputs:     value.NewObject(text, text),
			Failures:    []result.Failure{{LogicalID: text, Type: text, Path: text, Action: action, PhysicalID: text, Message: text, Remedy: text}},
			Unaddressed: []result.Unaddressed{{Stack: text, LogicalID: text, Type: text, PhysicalID: text, Reason: text, Remedy: text}},
			Pending:     []result.Pending{{Stack: text, LogicalID: text, Type: text, PhysicalID: text, Change: text, Stage: text}},
			Unawaited:   []result.Unawaited{{Stack: text, LogicalID: text, Type: text, PhysicalID: text, Command: text}},
			Warnings:    []string{text},
			After:       map[string][]string{text: {text + "x"}, text + "y": {text}},
			Chain:       []result.Link{{LogicalID: text, Expected: time.Hour}},
			Timeline:    []result.Span{{LogicalID: text, Action: action, Failed: true}, {LogicalID: text + "x", Action: action}},
			Lock:        &result.Lock{Owner: text, Operation: text, Stack: text, RunURL: text}})
	}
	return r
}

// What an import did is a text that is shown as it is.
func TestBlock(t *testing.T) {
	for _, text := range hostile {
		checkInert(t, Block("Shop: "+text+"\n  "+text+"\n  Queue: "+text+"\n"))
	}
	if got, want := Block("Shop: 1 imported\n  Queue (AWS::SQS::Queue): imported\n"), "### Shop\\: 1 imported\n\n```text\n  Queue (AWS::SQS::Queue): imported\n```\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// live returns what is left of Markdown when code spans, fences and escapes
// are taken out: everything that GitHub would act on.
func live(t *testing.T, markdown string) string {
	t.Helper()
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(markdown) {
		line = strings.TrimSuffix(line, "\n")
		if fence != "" {
			if strings.TrimRight(line, " ") == fence {
				fence = ""
			}
			continue
		}
		if f := fenceLine.FindString(line); f != "" {
			fence = f
			continue
		}
		for line != "" {
			i := strings.IndexAny(line, "`\\&<")
			if i < 0 {
				break
			}
			out.WriteString(line[:i])
			line = line[i:]
			switch {
			case line[0] == '\\' && len(line) > 1:
				_, n := utf8.DecodeRuneInString(line[1:])
				line = line[1+n:]
			case strings.HasPrefix(line, "<code>"):
				end := strings.Index(line, "</code>")
				if strings.Contains(line[6:end], "<") {
					t.Errorf("markup inside of a code element: %q", line)
				}
				line = line[end+7:]
			case line[0] == '`':
				ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
				rest := line[len(ticks):]
				end := closingRun(rest, len(ticks))
				if end < 0 {
					t.Fatalf("a code span does not end: %q", line)
				}
				if strings.Contains(strings.ReplaceAll(rest[:end], `\|`, ""), "|") {
					t.Errorf("a bar ends the cell inside of a code span: %q", rest[:end])
				}
				line = rest[end+len(ticks):]
			default:
				out.WriteByte(line[0])
				line = line[1:]
			}
		}
		out.WriteString(line + "\n")
	}
	if fence != "" {
		t.Error("a fence does not end")
	}
	return out.String()
}

func closingRun(text string, n int) int {
	for i := 0; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		j := i
		for j < len(text) && text[j] == '`' {
			j++
		}
		if j-i == n {
			return i
		}
		i = j
	}
	return -1
}

var (
	ownTags  = regexp.MustCompile(`</?(?:details|summary|sub|b)>|<details open>`)
	entities = regexp.MustCompile(`&(?:lt|amp);`)
)

func checkInert(t *testing.T, markdown string) {
	t.Helper()
	rest := entities.ReplaceAllString(ownTags.ReplaceAllString(live(t, markdown), ""), "")
	for _, bad := range []string{"@o", "#1", "#3", "GH-2", "<", "&", "](", "![", "https:", "www.", "*b*", "~s~", "[x]"} {
		if strings.Contains(rest, bad) {
			t.Errorf("%q is live in\n%s", bad, rest)
		}
	}
	if i := strings.IndexFunc(markdown, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' }); i >= 0 {
		t.Errorf("a control character at %d", i)
	}
}

// diagram are the lines that pictures are made of, with what may stand in names.
var diagram = regexp.MustCompile("^(?:\\*\\*What the failure.*|</?details.*|```.*|gantt|    (?:dateFormat x|axisFormat %s s|section [-\\w/]+)|" +
	"    (?:undo )?(?:✗ )?(?:create|update|delete) [-\\w/]+ \\([0-9a-zµ.]+\\) :(?:done|crit), \\d+, \\d+|" +
	"flowchart LR|    n\\d+\\[\"[-\\w/]+\"\\]:::\\w+|    n\\d+ --> n\\d+|    classDef .*|)\n$")

func TestTextFromOutsideIsNoMarkup(t *testing.T) {
	for _, text := range hostile {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			for _, command := range []string{"diff", "deploy"} {
				run := everywhere(text)
				run.Command = command
				checkInert(t, StepSummary(run))
				for line := range strings.Lines(pictures(run)) {
					if !diagram.MatchString(line) {
						t.Errorf("a line of a diagram has something from outside in it: %q", line)
					}
				}
				for limit := 200; limit < 2000; limit += 177 {
					if cut := Comment(run, limit, "See there."); len(cut) > limit {
						t.Errorf("limit %d: %d bytes", limit, len(cut))
					} else {
						live(t, cut)
					}
				}
			}
		})
	}
}

func FuzzTextFromOutside(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		run := everywhere(text)
		markdown := Markdown(run)
		live(t, markdown)
		if !utf8.ValidString(markdown) {
			t.Error("not UTF-8")
		}
		if cut := Comment(run, 3000, "See there."); len(cut) > 3000 {
			t.Errorf("%d bytes", len(cut))
		}
		for line := range strings.Lines(Text(run)) {
			if strings.ContainsAny(line, "\x1b\x00\r") {
				t.Errorf("control characters: %q", line)
			}
		}
		if _, err := DiffJSON(run); err != nil {
			t.Error(err)
		}
	})
}

// A secret that is planted wherever text can come from must not come out.
func TestNoSecretComesOut(t *testing.T) {
	for _, secret := range []string{
		"AKIAIOSFODNN7EXAMPLE", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----", "xoxb-123456789012-abcdefghijkl",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
	} {
		run := everywhere("before " + secret + " after")
		json, err := DiffJSON(run)
		if err != nil {
			t.Fatal(err)
		}
		run.Command = "deploy"
		done, err := JSON(run)
		if err != nil {
			t.Fatal(err)
		}
		section := NewSection(run)
		all := map[string]string{"summary": StepSummary(run), "section": section.Title + section.Body, "result": done, "markdown": Markdown(run), "text": Text(run), "json": json, "title": Title(run), "plan": PlanText(run.Stacks[0].Plan)}
		for sink, text := range all {
			for _, part := range strings.Split(secret, "\n") {
				if strings.Contains(text, part) {
					t.Errorf("%s has %q:\n%s", sink, part, text)
				}
			}
		}
	}
}

func TestFit(t *testing.T) {
	const note = "\n> **Truncated.** This report is longer than GitHub takes. See there.\n"
	page := "# a\n\n<details><summary>x</summary>\n\n````diff\n- 1\n```\n</details>\n+ 2\n````\n\n</details>\n\n" + strings.Repeat("end\n", 50)
	tests := []struct {
		name string
		// want is the longest answer for a limit of its own length and of two
		// bytes more.
		want string
	}{
		{"all of it", page},
		{"only the note", note},
		{"before the details", "# a\n\n" + note},
		{"in the details", "# a\n\n<details><summary>x</summary>\n\n\n</details>\n" + note},
		{"in the fence: it and the details are closed", "# a\n\n<details><summary>x</summary>\n\n````diff\n- 1\n````\n\n</details>\n" + note},
		{"what looks like an end inside of a fence is none", "# a\n\n<details><summary>x</summary>\n\n````diff\n- 1\n```\n</details>\n````\n\n</details>\n" + note},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for more := range 3 {
				if got := Fit(page, len(tt.want)+more, "See there."); got != tt.want {
					t.Errorf("%d bytes more: want %q, got %q", more, tt.want, got)
				}
			}
		})
	}
}

func TestHugePlanKeepsWhatMatters(t *testing.T) { // T-438
	run := diffRun()
	for i := range 5000 {
		run.Stacks[0].Plan.Changes = append([]*plan.Change{{LogicalID: fmt.Sprint("New", i), Type: "AWS::SQS::Queue", Action: plan.Create}}, run.Stacks[0].Plan.Changes...)
	}
	got := Comment(run, CommentLimit, "The rest is in the step summary.")
	if len(got) > CommentLimit || !strings.HasPrefix(got, "### This would delete 2 resources, ") || !strings.Contains(got, "`OldQueue`") ||
		!strings.HasSuffix(got, "The rest is in the step summary.\n") {
		t.Errorf("%d bytes (G-1.5)\n%.300s\n…\n%s", len(got), got, got[len(got)-200:])
	}
}

package report

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/ci/review"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// A Section is what one job says in a pull request's comment. The jobs of a
// matrix share the comment: each replaces its own section and keeps the others'.
type Section struct {
	Leg  string `json:"leg"`            // tells a comment's sections apart
	Name string `json:"name,omitempty"` // by which they are ordered
	Head string `json:"head,omitempty"` // the commit that it is about
	Run  string `json:"run,omitempty"`  // the workflow run, with its attempt, that wrote it

	Title   string         `json:"title"` // the body's first line, as Markdown
	Outcome result.Outcome `json:"outcome,omitempty"`
	Planned bool           `json:"planned,omitempty"` // it says what would be done
	Changed bool           `json:"changed,omitempty"`
	Counts  plan.Counts    `json:"counts,omitempty"`
	Stacks  int            `json:"stacks"`
	// Review is what a deploy can be held to: see package review.
	Review []review.Plan `json:"review,omitempty"`
	// Templates tells that it compares templates, which a deploy cannot be held to.
	Templates bool `json:"templates,omitempty"`
	// Truncated tells that the body is not all that there was to say.
	Truncated bool `json:"truncated,omitempty"`

	Body string `json:"-"` // Markdown
}

// NewSection renders a run as a section. What the renderer cannot know, which
// job of which commit it is, is for the caller to fill in.
func NewSection(run *result.Run) Section {
	seen := shown(run)
	return Section{
		Title: title(seen, code), Outcome: run.Outcome, Planned: planned(run), Changed: run.Changed(),
		Counts: runCounts(run), Stacks: len(run.Stacks), Templates: fromTemplates(run), Body: Markdown(run),
	}
}

// A section lies between two HTML comments. The first holds the fields, so that
// nothing in them can end it; the second names the body, so that no body can
// hold its own end, and one that somebody edited is known for it.
var sectionStart = regexp.MustCompile(`^<!-- section ([0-9A-Za-z_-]+) -->$`)

func sectionEnd(body string) string {
	sum := sha256.Sum256([]byte(body))
	return "<!-- end " + hex.EncodeToString(sum[:12]) + " -->"
}

func (s Section) start() string {
	fields, err := json.Marshal(s)
	if err != nil {
		panic(err) // of strings, numbers and booleans none fails
	}
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression) // fails only for a level that there is not
	w.Write(fields)
	w.Close()
	return "<!-- section " + base64.RawURLEncoding.EncodeToString(b.Bytes()) + " -->"
}

// most that the fields of a section may come to when they are unpacked.
const maxFields = 1 << 20

// Sections returns the sections of a comment that are as they were written.
func Sections(comment string) []Section {
	var out []Section
	rest := strings.ReplaceAll(comment, "\r\n", "\n") + "\n"
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		m := sectionStart.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var s Section
		packed, err := base64.RawURLEncoding.DecodeString(m[1])
		if err != nil {
			continue
		}
		fields, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxFields))
		if err != nil || json.Unmarshal(fields, &s) != nil {
			continue
		}
		// The body ends at the first end that is its own.
		for at := 0; ; {
			i := strings.Index(after[at:], "<!-- end ")
			if i < 0 {
				break
			}
			body := after[:at+i]
			if end := sectionEnd(body); strings.HasPrefix(after[at+i:], end) {
				s.Body = body
				out = append(out, s)
				rest = after[at+i+len(end):]
				break
			}
			at += i + 1
		}
	}
	return out
}

// With returns sections with own in the place of the one before it.
func With(sections []Section, own Section) []Section {
	out := slices.DeleteFunc(slices.Clone(sections), func(s Section) bool { return s.Leg == own.Leg })
	out = append(out, own)
	slices.SortStableFunc(out, func(a, b Section) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Leg, b.Leg)) })
	return out
}

// Compose renders a comment of at most limit bytes from its sections. head is
// the commit that it is about; a section that is about another one says so.
// What is too long is cut, the longest sections first; rest is a sentence that
// says where they go on.
func Compose(sections []Section, head string, limit int, rest string) string {
	text := compose(sections, head)
	if len(text) <= limit {
		return text
	}
	sections = slices.Clone(sections)
	overhead := len(text)
	for _, s := range sections {
		overhead -= len(s.Body)
	}
	overhead += 16 * len(sections) // that a section is cut makes its fields a little longer
	for i, most := range shares(sections, limit-overhead) {
		if s := &sections[i]; len(s.Body) > most {
			s.Body, s.Truncated = Fit(s.Body, most, rest), true
		}
	}
	return compose(sections, head)
}

// shares divides room among the bodies: each gets what it needs or, where that
// is more, as much as any other.
func shares(sections []Section, room int) []int {
	order := make([]int, len(sections))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(len(sections[a].Body), len(sections[b].Body)) })
	out := make([]int, len(sections))
	for n, i := range order {
		out[i] = min(len(sections[i].Body), max(room, 0)/(len(order)-n))
		room -= out[i]
	}
	return out
}

func compose(sections []Section, head string) string {
	var b strings.Builder
	alone, ruled := len(sections) == 1, false
	if !alone {
		b.WriteString("## " + headline(sections) + "\n\n")
		for _, s := range sections {
			b.WriteString("- " + s.Title)
			if s.brief() && s.Head != head {
				b.WriteString(" (of an earlier commit, " + code(shorten(s.Head, 12)) + ")")
			}
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	for _, s := range sections {
		switch {
		case s.brief() && alone:
			s.Body = s.heading()
		case s.brief(): // its line above is all that there is
			s.Body = ""
			b.WriteString(s.start() + "\n" + sectionEnd("") + "\n")
			continue
		}
		if ruled {
			b.WriteString("\n---\n\n")
		}
		if s.Head != head {
			b.WriteString("> [!NOTE]\n> This is about an earlier commit, " + code(shorten(s.Head, 12)) + ".\n\n")
		}
		b.WriteString(s.start() + "\n" + s.Body + sectionEnd(s.Body) + "\n")
		ruled = true
	}
	return b.String()
}

// brief tells whether a section has nothing to say but its title, as one about
// stacks that do not change.
func (s Section) brief() bool { return s.Body == "" || s.Body == s.heading() }

func (s Section) heading() string { return "### " + s.Title + "\n" }

// headline says in one line what several sections say.
func headline(sections []Section) string {
	n, stacks, failed, all := plan.Counts{}, 0, 0, true
	for _, s := range sections {
		n.Add(s.Counts)
		stacks += s.Stacks
		all = all && s.Planned
		if s.Outcome.ExitCode() != 0 {
			failed++
		}
	}
	switch {
	case failed > 0:
		return fmt.Sprintf("%d of %s ended with something to look at", failed, amount.Of(len(sections), "job"))
	case !all:
		return fmt.Sprintf("%s %s done", amount.Of(len(sections), "job"), amount.Form(len(sections), "is", "are"))
	}
	if text := wouldDo(n); text != "" {
		return "This would " + text + " in " + amount.Of(stacks, "stack")
	}
	return "No changes in " + amount.Of(stacks, "stack")
}

package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

func leg(name, body string) Section {
	return Section{Leg: name, Name: name, Head: "abc", Title: "title of " + name, Outcome: result.Success, Planned: true, Changed: true,
		Counts: plan.Counts{plan.Create: 2, plan.Delete: 1}, Stacks: 1, Body: body}
}

func TestSectionsAreReadBack(t *testing.T) {
	hostile := "a\n<!-- end 0123 -->\n<!-- section abc -->\n" + compose([]Section{leg("inner", "inner\n")}, "abc")
	want := []Section{leg("a", "one\n"), leg("b", hostile), leg("c", "three\n")}
	text := compose(want, "abc")
	if d := cmp.Diff(want, Sections(text)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, Sections(strings.ReplaceAll(text, "\n", "\r\n"))); d != "" {
		t.Errorf("GitHub's editor changes line ends (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]Section{want[1], want[2]}, Sections(strings.Replace(text, "one\n", "two\n", 1))); d != "" {
		t.Errorf("a section that somebody edited is none (-want +got):\n%s", d)
	}
	for i := range len(text) {
		Sections(text[:i]) // whatever is left of a comment
	}
}

func FuzzSections(f *testing.F) {
	f.Add("body", "<!-- section abc -->\n")
	f.Fuzz(func(t *testing.T, body, around string) {
		body = strings.ReplaceAll(body, "\r", "")
		if strings.Contains(around, "<!-- section") {
			Sections(around)
			return
		}
		s := leg("a", body)
		got := Sections(around + "\n" + compose([]Section{s}, "abc") + around)
		if len(got) != 1 || got[0].Body != body {
			t.Errorf("%q became %+v", body, got)
		}
	})
}

func TestComposeSaysWhatAllJobsSay(t *testing.T) {
	failed, done, none := leg("b", "x\n"), leg("c", "x\n"), leg("d", "x\n")
	failed.Outcome, done.Planned, none.Counts = result.Failed, false, nil
	tests := []struct {
		name     string
		sections []Section
		want     string // the first line
	}{
		{"one job needs no headline", []Section{leg("a", "x\n")}, ""},
		{"plans are added up", []Section{leg("a", "x\n"), leg("b", "x\n")}, "## This would delete 2 resources and create 4 in 2 stacks"},
		{"nothing changes", []Section{none, none}, "## No changes in 2 stacks"},
		{"one failed", []Section{leg("a", "x\n"), failed}, "## 1 of 2 jobs ended with something to look at"},
		{"they did something", []Section{leg("a", "x\n"), done}, "## 2 jobs are done"},
	}
	for _, tt := range tests {
		got, _, _ := strings.Cut(compose(tt.sections, "abc"), "\n")
		if tt.want == "" && strings.HasPrefix(got, "##") || tt.want != "" && got != tt.want {
			t.Errorf("%s: want %q, got %q", tt.name, tt.want, got)
		}
	}
	old := leg("b", "x\n")
	old.Head = "0123456789abcdef"
	if got := compose([]Section{leg("a", "x\n"), old}, "abc"); strings.Count(got, "earlier commit, `0123456789ab…") != 1 {
		t.Errorf("which commit a section is about is not said:\n%s", got)
	}
}

// A job that changes nothing is one line of the comment, whoever else has how much to
// say, and is again all of the comment when it is alone.
func TestSectionsWithoutChangesAreOneLine(t *testing.T) {
	none := Section{Leg: "n", Name: "n", Head: "abc", Title: "No changes in `N`", Planned: true, Stacks: 1, Body: "### No changes in `N`\n"}
	old := none
	old.Leg, old.Name, old.Head = "o", "o", "0123456789abcdef"
	text := Compose([]Section{leg("a", "### title of a\n\nall of it\n"), none, old}, "abc", CommentLimit, "")
	if strings.Contains(text, "### No changes") || strings.Contains(text, "---\n") || strings.Count(text, "- No changes in `N`") != 2 {
		t.Error(text)
	}
	if !strings.Contains(text, "- No changes in `N` (of an earlier commit, `0123456789ab…") || strings.Contains(text, "NOTE") {
		t.Errorf("which commit it is about is not said:\n%s", text)
	}
	sections := Sections(text)
	if len(sections) != 3 {
		t.Fatalf("%d sections are read back", len(sections))
	}
	if got := Compose(sections[1:2], "abc", CommentLimit, ""); !strings.Contains(got, "-->\n### No changes in `N`\n<!-- end") {
		t.Errorf("alone it says %q", got)
	}
}

// A comment that many jobs share stays within the limit; who says little is
// not cut for who says much.
func TestComposeDividesTheRoom(t *testing.T) {
	var sections []Section
	for i := range 40 {
		body := "### short\n"
		if i%2 == 1 {
			body = "### long\n\n" + strings.Repeat("a line of this section\n", 4000)
		}
		sections = append(sections, leg(fmt.Sprint(i), body))
	}
	text := Compose(sections, "abc", CommentLimit, "See there.")
	if len(text) > CommentLimit || len(text) < CommentLimit*9/10 {
		t.Errorf("%d bytes", len(text))
	}
	got := Sections(text)
	if len(got) != 40 {
		t.Fatalf("%d sections are left", len(got))
	}
	for i, s := range got {
		if long := strings.HasPrefix(s.Body, "### long"); s.Truncated != long || long != strings.Contains(s.Body, "See there.") {
			t.Errorf("section %d: truncated %v\n%.200s", i, s.Truncated, s.Body)
		}
	}
}

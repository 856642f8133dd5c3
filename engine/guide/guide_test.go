package guide_test

import (
	"cmp"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/guide/guidetest"
)

var update = flag.Bool("update", false, "write the index of the pages")

func TestURL(t *testing.T) {
	const pages = "https://github.com/org/cdkd-action/blob/"
	for _, tt := range []struct {
		page          guide.Page
		version, want string
	}{
		{guide.LockHeld, "dev", pages + "main/docs/errors/lock-held.md"},
		{guide.LockHeld, "", pages + "main/docs/errors/lock-held.md"},
		{guide.LockHeld, "1.2.3", pages + "v1.2.3/docs/errors/lock-held.md"},
		{guide.LockHeld, "cdkd-action/1.2.3", pages + "v1.2.3/docs/errors/lock-held.md"},
		{guide.LockHeld, "1.2.3-rc.1", pages + "main/docs/errors/lock-held.md"},
		{"", "1.2.3", ""},
	} {
		if got := tt.page.URL(tt.version); got != tt.want {
			t.Errorf("%s of %s: %s; want %s", tt.page, tt.version, got, tt.want)
		}
	}
}

// every is every page that the package has.
func every(t *testing.T) (groups []guidetest.Group, pages []guide.Page) {
	t.Helper()
	groups, err := guidetest.Groups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		pages = append(pages, g.Pages...)
	}
	return groups, pages
}

// Every name has a page and every page a name, none twice.
func TestEveryPageIsThere(t *testing.T) {
	_, pages := every(t)
	files, err := filepath.Glob(filepath.Join(guidetest.Docs(), "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var there []guide.Page
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".md"); name != "README" {
			there = append(there, guide.Page(name))
		}
	}
	slices.Sort(pages)
	for i, p := range pages {
		if i > 0 && pages[i-1] == p {
			t.Errorf("%s is there twice", p)
		}
		if !slices.Contains(there, p) {
			t.Errorf("%s has no page in docs/errors", p)
		}
	}
	for _, p := range there {
		if !slices.Contains(pages, p) {
			t.Errorf("docs/errors/%s.md is the page of nothing", p)
		}
	}
}

var heading = regexp.MustCompile(`(?m)^(#+ .*)$`)

// Whoever has read one page knows where to look in all others.
func TestPagesHaveTheirSections(t *testing.T) {
	_, pages := every(t)
	titles := map[string]guide.Page{}
	for _, p := range pages {
		text, err := guidetest.Read(p)
		if err != nil {
			t.Error(err)
			continue
		}
		outside := regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(text, "")
		found := heading.FindAllString(outside, -1)
		if len(found) == 0 || !slices.Equal(found[1:], []string{"## What it means", "## What to do", guidetest.Looks}) {
			t.Errorf("%s: its headings are %q", p, found)
			continue
		}
		if other, ok := titles[found[0]]; ok {
			t.Errorf("%s and %s have one title", p, other)
		}
		titles[found[0]] = p
		if looks, err := guidetest.Example(p); err != nil || strings.TrimSpace(looks) == "" {
			t.Errorf("%s: what it looks like is %q, %v", p, looks, err)
		}
		for _, section := range strings.Split(outside, "\n## ")[1:3] {
			if _, body, _ := strings.Cut(section, "\n"); len(strings.TrimSpace(body)) < 40 {
				t.Errorf("%s says next to nothing of %q", p, section)
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)

// anchors are the names that GitHub gives the headings of a document.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllString(text, -1) {
		name := strings.ToLower(strings.TrimLeft(h, "# "))
		name = regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(name, "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

func TestLinksLeadSomewhere(t *testing.T) {
	_, pages := every(t)
	for _, p := range append(pages, "README") {
		text, err := guidetest.Read(p)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path := filepath.Join(guidetest.Docs(), filepath.FromSlash(cmp.Or(m[1], string(p)+".md")))
			target, err := os.ReadFile(path)
			if err != nil || m[2] != "" && !anchors(string(target))[m[2]] {
				t.Errorf("%s: %s leads nowhere (%v)", p, m[0], err)
			}
		}
	}
}

// README.md is the index, made of the titles.
func TestIndex(t *testing.T) {
	groups, _ := every(t)
	var b strings.Builder
	b.WriteString(`<!-- Written by "go test ./engine/guide -update" from the titles of the pages. -->

# When it fails

Each kind of failure has a page: what it means, why nothing was done or what was, and what to do. The
message of the failure ends with the address of its page.

Commands are written as on a command line. In a workflow the same words are inputs: ` + "`cdkd-action\nstate orphan Shop --resource Orders --yes`" + ` is

` + "```yaml" + `
      - uses: org/cdkd-action@v1
        with:
          command: state orphan
          stacks: Shop
          resource: Orders
          yes: true
` + "```" + `

Where it is not clear what is wrong, ` + "`cdkd-action doctor`" + ` looks at all that a deploy needs and writes
nothing.
`)
	for _, g := range groups {
		b.WriteString("\n## " + strings.ToUpper(g.About[:1]) + g.About[1:] + "\n\n")
		for _, p := range g.Pages {
			text, err := guidetest.Read(p)
			if err != nil {
				t.Fatal(err)
			}
			title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
			b.WriteString("- [" + title + "](" + string(p) + ".md)\n")
		}
	}
	path := filepath.Join(guidetest.Docs(), "README.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Error("docs/errors/README.md is not made of the pages: go test ./engine/guide -update writes it")
	}
}

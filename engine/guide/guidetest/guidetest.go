// Package guidetest reads and writes the pages of docs/errors for tests.
package guidetest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/guide"
)

// folder returns a folder by its path from the one of this file.
func folder(path string) string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), filepath.FromSlash(path))
}

// Docs is the folder of the pages.
func Docs() string { return folder("../../../docs/errors") }

// A Group are pages that stand together.
type Group struct {
	About string
	Pages []guide.Page
}

// Groups are the pages that package guide has, as it has them.
func Groups() ([]Group, error) {
	f, err := parser.ParseFile(token.NewFileSet(), folder("../guide.go"), nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, d := range f.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		about, ok := strings.CutPrefix(strings.TrimSpace(block.Doc.Text()), "The pages about ")
		if !ok {
			return nil, fmt.Errorf("constants %q are not said to be pages about something", block.Doc.Text())
		}
		g := Group{About: strings.Join(strings.Fields(strings.TrimSuffix(about, ".")), " ")}
		for _, s := range block.Specs {
			for _, v := range s.(*ast.ValueSpec).Values {
				name, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					return nil, err
				}
				g.Pages = append(g.Pages, guide.Page(name))
			}
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// Read returns the text of a page.
func Read(page guide.Page) (string, error) {
	b, err := os.ReadFile(filepath.Join(Docs(), string(page)+".md"))
	return string(b), err
}

// Looks is the last section of a page: what the failure looks like.
const Looks = "## What it looks like"

var example = regexp.MustCompile("(?s)\n" + Looks + "\n\n```text\n(.*?)```\n$")

// Example is what a page says that the failure looks like.
func Example(page guide.Page) (string, error) {
	text, err := Read(page)
	if err != nil {
		return "", err
	}
	m := example.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s does not end with %q and a block of text", page, Looks)
	}
	return m[1], nil
}

// SetExample writes what a failure looks like into its page.
func SetExample(page guide.Page, looks string) error {
	old, err := Example(page)
	text, readErr := Read(page)
	if err = errors.Join(err, readErr); err != nil || old == looks {
		return err
	}
	text = strings.TrimSuffix(text, old+"```\n") + looks + "```\n"
	return os.WriteFile(filepath.Join(Docs(), string(page)+".md"), []byte(text), 0o644)
}

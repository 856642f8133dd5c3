package awssdk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A description is short: half of them have fewer than 60 lines, and none has
// more than 250.
func TestDescriptionsAreShort(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var lengths []int
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || returns(f) != "provider.Resource" {
				continue
			}
			n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1
			if n > 250 {
				t.Errorf("%s: %s has %d lines", name, f.Name.Name, n)
			}
			lengths = append(lengths, n)
		}
	}
	slices.Sort(lengths)
	if len(lengths) < 100 {
		t.Fatalf("found %d descriptions", len(lengths))
	}
	if median := lengths[len(lengths)/2]; median >= 60 {
		t.Errorf("the median description has %d lines", median)
	}
}

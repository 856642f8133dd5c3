package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// undecided are the types of errors that have no page as such, and why.
var undecided = map[string]string{
	"ResourcesError": "each resource has its own", "NestedError": "what failed in it has",
	"InterruptedError": "it is told before any other, as what stopped the run", "retry.InterruptedError": "so is it",
	"provider.PreflightError": "what it lists has", "provider.PartialError": "what failed afterwards has", "provider.SettlingError": "it is let go, and no failure",
	"cloudcontrol.FailedError": "it goes by AWS's code", "cloudcontrol.OpenError": "it is let go, and no failure", "customresource.OpenError": "so is it",
	"UnreadError": "it goes by AWS's code", "IllegibleError": "the record that it wraps has", "NotReadableError": "drift and refresh have a page of their own for what is not read",
	"value.SyntaxError": "whatever was read has", "child.ExitError": "whatever ran it has",
	"lookup.NotFoundError": "synth.LookupError has", "lookup.UnknownError": "synth.LookupError has",
	"template.ExportError": "it is a warning",
	"UnseenError":          "what it wraps has one",
}

// Whoever adds a type of error decides which page it has, or says why none.
func TestEveryErrorIsDecided(t *testing.T) {
	table, err := os.ReadFile("kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			method, ok := decl.(*ast.FuncDecl)
			if !ok || method.Recv == nil || method.Name.Name != "Error" {
				continue
			}
			pointer, ok := method.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			name := pointer.X.(*ast.Ident).Name
			if !ast.IsExported(name) {
				continue
			}
			if f.Name.Name != "engine" {
				name = f.Name.Name + "." + name
			}
			there[name] = true
			if decided := strings.Contains(string(table), "is[*"+name+"]") && !strings.Contains(string(table), `{"", result.ReasonTemplate, is[*`+name+`]}`) &&
				!strings.Contains(string(table), `{"", result.ReasonResource, is[*`+name+`]}`); decided == (undecided[name] != "") {
				t.Errorf("%s (%s): that it has a page of docs/errors is %t; give it one in kinds.go, or say here why not", name, path, decided)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range undecided {
		if !there[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

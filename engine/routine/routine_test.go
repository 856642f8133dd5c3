package routine

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTry(t *testing.T) {
	wrong := errors.New("wrong")
	for _, tt := range []struct {
		name string
		do   func() error
		want string
	}{
		{"nothing goes wrong", func() error { return nil }, ""},
		{"an error stays what it is", func() error { return wrong }, "wrong"},
		{"a panic is an error", func() error { panic("oh") }, "internal error: oh"},
		{"a fault of the runtime, too", func() error { var v any = 1; _ = v.(string); return nil }, "internal error: interface conversion: interface {} is int, not string"},
		{"what a group raises is told once", func() error {
			var g Group
			g.Go(func() { panic("oh") })
			g.Wait()
			return nil
		}, "internal error: oh"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Try(tt.do)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if p, ok := errors.AsType[*PanicError](err); ok && !strings.Contains(string(p.Stack), "routine_test.go") {
				t.Errorf("the stack does not say where it happened:\n%s", p.Stack)
			}
		})
	}
}

// All of a group end although one panics, and only one of those who wait is
// told.
func TestGroup(t *testing.T) {
	var g Group
	ended := make(chan struct{})
	g.Go(func() { panic("oh") })
	g.Go(func() { close(ended) })
	err := Try(func() error {
		g.Wait()
		return nil
	})
	<-ended
	if _, ok := errors.AsType[*PanicError](err); !ok {
		t.Errorf("Wait: %v", err)
	}
	g.Wait()
}

// Wherever a goroutine is started, a panic in it is an error: it is started with
// a Group, works within Try, or is one of the few that are named here, and why
// nothing in them can panic.
func TestGoroutinesAreGuarded(t *testing.T) {
	plain := map[string]string{
		"ci/confirm.go":            "reads a line",
		"ci/outlet.go":             "writes to the standard streams",
		"engine/child/child.go":    "waits for a child to end",
		"engine/state/patience.go": "waits for an answer",
		"signals/window.go":        "waits for signals",
	}
	guarded := map[string]string{
		"engine/graph/run.go":                              "each task within Try",
		"engine/lookup/lookup.go":                          "each answer within Try",
		"engine/provider/awssdk/awssdk.go":                 "each call within Try",
		"engine/provider/customresource/customresource.go": "what it tells within Try",
		"engine/locks.go":                                  "the group's Wait within Try",
		"engine/state/events.go":                           "each write within Try",
		"engine/state/renew.go":                            "each renewal within Try",
		"engine/state/saver.go":                            "each write within Try",
		"engine/state/series.go":                           "each write within Try",
		"ci/github/pullstates.go":                          "each request within Try",
		"engine/routine/routine.go":                        "the group's own",
	}
	named := map[string]bool{}
	var wrong []string
	root := filepath.Join("..", "..")
	for _, dir := range []string{"ci", "cmd", "engine", "signals"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if !startsGoroutines(t, path) {
				return nil
			}
			if plain[rel] == "" && guarded[rel] == "" {
				wrong = append(wrong, rel)
			}
			named[rel] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if wrong != nil {
		t.Errorf("these start goroutines without a routine.Group: %v", wrong)
	}
	want := map[string]bool{}
	for _, list := range []map[string]string{plain, guarded} {
		for path := range list {
			want[path] = true
		}
	}
	if diff := cmp.Diff(want, named); wrong == nil && diff != "" {
		t.Errorf("the lists name what starts none (-listed +found):\n%s", diff)
	}
}

// startsGoroutines tells whether a file has a go statement, or names one of the
// groups of goroutines whose panics end the process.
func startsGoroutines(t *testing.T, path string) (yes bool) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			yes = true
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			yes = yes || ok && (pkg.Name == "sync" && n.Sel.Name == "WaitGroup" || pkg.Name == "errgroup")
		}
		return true
	})
	return yes
}

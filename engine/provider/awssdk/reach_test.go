package awssdk

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A reach finds the operations that a type's code can come to: it follows every
// name of the package from the type's description. A branch that no test takes is
// followed like any other, so that no permission is found missing at night.
type reach struct {
	decls    map[string][]ast.Node           // functions, methods and variables by name
	services map[*ast.File]map[string]string // packages of services by their names in a file
	fileOf   map[ast.Node]*ast.File
}

func newReach(t *testing.T) *reach {
	t.Helper()
	r := &reach{decls: map[string][]ast.Node{}, services: map[*ast.File]map[string]string{}, fileOf: map[ast.Node]*ast.File{}}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		r.services[file] = map[string]string{}
		for _, i := range file.Imports {
			full, _ := strconv.Unquote(i.Path.Value)
			if dir, service := path.Split(full); dir == "github.com/aws/aws-sdk-go-v2/service/" {
				name := service
				if i.Name != nil {
					name = i.Name.Name
				}
				r.services[file][name] = service
			}
		}
		add := func(name string, n ast.Node) {
			r.decls[name] = append(r.decls[name], n)
			r.fileOf[n] = file
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				add(d.Name.Name, d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, name := range v.Names {
							add(name.Name, v)
						}
					}
				}
			}
		}
	}
	return r
}

// from adds the actions that are reached from a node of a file.
func (r *reach) from(file *ast.File, n ast.Node, local map[string][]ast.Node, seen map[ast.Node]bool, found map[string]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit: // its parameters are none of the names outside
			inner := maps.Clone(local)
			for _, p := range n.Type.Params.List {
				for _, name := range p.Names {
					delete(inner, name.Name)
				}
			}
			ast.Inspect(n.Body, func(n ast.Node) bool {
				if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
					for _, left := range a.Lhs {
						delete(inner, fmt.Sprint(left))
					}
				}
				return true
			})
			r.from(file, n.Body, inner, seen, found)
			return false
		case *ast.KeyValueExpr: // the key is a member's name
			r.from(file, n.Value, local, seen, found)
			return false
		case *ast.SelectorExpr:
			if pkg := client(n.X); r.services[file][pkg] != "" { // (*sqs.Client).CreateQueue
				r.operation(r.services[file][pkg], n.Sel.Name, found)
			}
			pkg, ok := n.X.(*ast.Ident)
			if operation, input := strings.CutSuffix(n.Sel.Name, "Input"); ok && input && r.services[file][pkg.Name] != "" {
				r.operation(r.services[file][pkg.Name], operation, found)
			}
			r.from(file, n.X, local, seen, found)
			for _, d := range r.decls[n.Sel.Name] {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && r.akin(file, r.fileOf[d]) {
					r.from(r.fileOf[d], d, nil, seen, found)
				}
			}
			return false
		case *ast.Ident:
			for _, d := range local[n.Name] {
				r.from(file, d, local, seen, found)
			}
			for _, d := range r.decls[n.Name] {
				if f, ok := d.(*ast.FuncDecl); !ok || f.Recv == nil && !describes(f) {
					r.from(r.fileOf[d], d, nil, seen, found)
				}
			}
		}
		return true
	})
}

// akin tells whether two files are about one service, or one of them about none: a
// method is followed by its name alone.
func (r *reach) akin(a, b *ast.File) bool {
	for name := range r.services[a] {
		if r.services[b][name] != "" {
			return true
		}
	}
	return len(r.services[a]) == 0 || len(r.services[b]) == 0
}

// client returns the package of a method expression's client, "" when it is none.
func client(n ast.Expr) string {
	paren, ok := n.(*ast.ParenExpr)
	if !ok {
		return ""
	}
	star, ok := paren.X.(*ast.StarExpr)
	if !ok {
		return ""
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	return fmt.Sprint(sel.X)
}

func (r *reach) operation(service, name string, found map[string]bool) {
	method := "POST"
	for prefix, m := range map[string]string{"Get": "GET", "Update": "PATCH", "Delete": "DELETE", "Untag": "DELETE", "Put": "PUT", "Reimport": "PUT"} {
		if strings.HasPrefix(name, prefix) {
			method = m
		}
	}
	if service == "apigateway" && name == "TagResource" {
		method = "PUT"
	}
	for _, action := range actionsOf(service, name, method) {
		found[action] = true
	}
}

// describes tells whether a function returns descriptions: they are roots, and
// nothing reaches one by naming it.
func describes(f *ast.FuncDecl) bool { return strings.Contains(returns(f), "Resource") }

func returns(f *ast.FuncDecl) string {
	if f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return ""
	}
	switch t := f.Type.Results.List[0].Type.(type) {
	case *ast.SelectorExpr:
		return fmt.Sprint(t.X, ".", t.Sel.Name)
	case *ast.ArrayType:
		if s, ok := t.Elt.(*ast.SelectorExpr); ok {
			return "[]" + s.Sel.Name
		}
	}
	return ""
}

// types finds the descriptions and what they reach.
func (r *reach) types() map[string]Actions {
	all := map[string]Actions{}
	for _, decls := range r.decls {
		for _, d := range decls {
			file := r.fileOf[d]
			local := map[string][]ast.Node{}
			assigned := map[string][]ast.Node{} // to members
			ast.Inspect(d, func(n ast.Node) bool {
				if _, inner := n.(*ast.FuncLit); inner {
					return false
				}
				if a, ok := n.(*ast.AssignStmt); ok {
					for i, left := range a.Lhs {
						right := a.Rhs[min(i, len(a.Rhs)-1)]
						switch left := left.(type) {
						case *ast.Ident:
							if lit, ok := right.(*ast.CompositeLit); ok && strings.Contains(fmt.Sprint(lit.Type), "Resource") {
								continue // the description itself
							}
							local[left.Name] = append(local[left.Name], right)
						case *ast.SelectorExpr:
							assigned[left.Sel.Name] = append(assigned[left.Sel.Name], right)
						}
					}
				}
				return true
			})
			found := map[string]map[string][]ast.Node{}    // type → member → values
			for name, arguments := range r.parameters(d) { // of a description that several types share
				found[name] = map[string][]ast.Node{"": arguments}
			}
			ast.Inspect(d, func(n ast.Node) bool {
				lit, ok := n.(*ast.CompositeLit)
				if !ok {
					return true
				}
				members := map[string][]ast.Node{}
				var names []ast.Node // a literal, or what a variable may be
				for _, e := range lit.Elts {
					kv, ok := e.(*ast.KeyValueExpr)
					if !ok {
						continue
					}
					key := fmt.Sprint(kv.Key)
					members[key] = append(members[key], kv.Value)
					if key != "Type" {
						continue
					}
					names = []ast.Node{kv.Value}
					if variable, ok := kv.Value.(*ast.Ident); ok {
						names = local[variable.Name]
						if f, ok := d.(*ast.FuncDecl); ok && names == nil {
							names = r.callers(f.Name.Name)
						}
					}
				}
				for _, n := range names {
					if text, ok := n.(*ast.BasicLit); ok {
						if name, _ := strconv.Unquote(text.Value); strings.HasPrefix(name, "AWS::") {
							found[name] = members
						}
					}
				}
				return true
			})
			for name, members := range found {
				if len(found) == 1 {
					for member, nodes := range assigned {
						members[member] = append(members[member], nodes...)
					}
				}
				a := all[name]
				for member, nodes := range members {
					reached := map[string]bool{}
					for _, n := range nodes {
						r.from(file, n, local, map[ast.Node]bool{}, reached)
					}
					actions := slices.Collect(maps.Keys(reached))
					a.Deploy = append(a.Deploy, actions...)
					switch member {
					case "Lookup", "Lookups":
						a.Plan = append(a.Plan, actions...)
					case "Delete", "DeleteWait", "Unprotect":
						a.Destroy = append(a.Destroy, actions...)
					}
				}
				all[name] = a
			}
		}
	}
	return all
}

// parameters are the types that a node describes by a call with their name, each
// with the call's arguments.
func (r *reach) parameters(n ast.Node) map[string][]ast.Node {
	found := map[string][]ast.Node{}
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		text, isText := call.Args[0].(*ast.BasicLit)
		callee, isName := call.Fun.(*ast.Ident)
		if !isText || !isName || !slices.ContainsFunc(r.decls[callee.Name], func(d ast.Node) bool { f, ok := d.(*ast.FuncDecl); return ok && describes(f) }) {
			return true
		}
		if name, _ := strconv.Unquote(text.Value); strings.HasPrefix(name, "AWS::") {
			for _, a := range call.Args[1:] {
				found[name] = append(found[name], a)
			}
		}
		return true
	})
	return found
}

// callers are the names that a description is called with.
func (r *reach) callers(function string) (names []ast.Node) {
	for _, decls := range r.decls {
		for _, d := range decls {
			ast.Inspect(d, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 && fmt.Sprint(call.Fun) == function {
					names = append(names, call.Args[0])
				}
				return true
			})
		}
	}
	return names
}

// The table of actions is what the code can ask for.
func TestActionsAreWhatTheCodeReaches(t *testing.T) {
	all := newReach(t).types()
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		line := []string{name}
		for _, list := range [][]string{all[name].Plan, all[name].Deploy, all[name].Destroy} {
			slices.Sort(list)
			line = append(line, strings.Join(slices.Compact(list), " "))
		}
		table.WriteString(strings.Join(line, "\t") + "\n")
	}
	for _, r := range Resources() {
		if _, ok := all[r.Type]; !ok {
			t.Errorf("the description of %s was not found", r.Type)
		}
	}
	if !t.Failed() {
		golden(t, "actions.tsv", table.String())
	}
}

// inTable holds what was seen to be asked for to the table.
func inTable(t *testing.T, typ string, seen Actions) {
	t.Helper()
	known, _ := ActionsOf(typ)
	for _, c := range []struct {
		what        string
		seen, known []string
	}{{"deploy", seen.Deploy, known.Deploy}, {"plan", seen.Plan, known.Plan}, {"destroy", seen.Destroy, known.Destroy}} {
		if more := less(c.seen, c.known); more != nil {
			t.Errorf("%s: the table of actions lacks %v", c.what, more)
		}
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/org/cdkd-action/internal/schemafile"
)

// The providers' tables are Python, but of one form: "AWS::SQS::Queue": "hash",
var tableEntry = regexp.MustCompile(`(?m)^\s+"(\w+::\w+::\w+)": "([0-9a-f]+)",?$`)

func readLint(folder string) (map[string]*schemafile.Registry, error) {
	tables, err := filepath.Glob(filepath.Join(folder, "providers", "*.py"))
	if err != nil {
		return nil, err
	}
	first := filepath.Join(folder, "providers", "us_east_1.py")
	if !slices.Contains(tables, first) {
		return nil, fmt.Errorf("%s is not there: want cfn-lint's data/schemas folder", first)
	}
	hashes := map[string]string{}
	for _, table := range append([]string{first}, tables...) {
		b, err := os.ReadFile(table)
		if err != nil {
			return nil, err
		}
		for _, m := range tableEntry.FindAllStringSubmatch(string(b), -1) {
			if _, ok := hashes[m[1]]; !ok {
				hashes[m[1]] = m[2]
			}
		}
	}
	types := map[string]*schemafile.Registry{}
	for name, hash := range hashes {
		b, err := os.ReadFile(filepath.Join(folder, "resources", hash+".json"))
		if err != nil {
			return nil, err
		}
		if types[name], err = schemafile.ParseRegistry(b); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return types, nil
}

// lintShape is the schema's type, with what cfn-lint changed for its own ends
// changed back: it lets a function's variables be of any type, because
// CloudFormation turns them into text. They are text.
func lintShape(name string, r *schemafile.Registry) *schemafile.Type {
	t := r.Type()
	if e := t.Shapes["Environment"]; name == "AWS::Lambda::Function" && e != nil && e.Properties["Variables"] != nil {
		e.Properties["Variables"].Values = &schemafile.Shape{Type: "string"}
	}
	return t
}

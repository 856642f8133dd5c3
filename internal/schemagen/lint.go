package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/internal/schemafile"
)

// A lintType is a resource schema as cfn-lint ships it.
type lintType struct {
	Properties            map[string]*node `json:"properties"`
	Definitions           map[string]*node `json:"definitions"`
	Required              []string         `json:"required"`
	PrimaryIdentifier     []string         `json:"primaryIdentifier"`
	CreateOnly            []string         `json:"createOnlyProperties"`
	ConditionalCreateOnly []string         `json:"conditionalCreateOnlyProperties"`
	ReadOnly              []string         `json:"readOnlyProperties"`
	WriteOnly             []string         `json:"writeOnlyProperties"`
	ReplacementStrategy   string           `json:"replacementStrategy"`
	SourceURL             string           `json:"sourceUrl"`
	Tagging               *struct {
		Taggable    *bool  `json:"taggable"`
		TagProperty string `json:"tagProperty"`
	} `json:"tagging"`
}

// The providers' tables are Python, but of one form: "AWS::SQS::Queue": "hash",
var tableEntry = regexp.MustCompile(`(?m)^\s+"(\w+::\w+::\w+)": "([0-9a-f]+)",?$`)

func readLint(folder string) (map[string]*lintType, error) {
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
	types := map[string]*lintType{}
	for name, hash := range hashes {
		b, err := os.ReadFile(filepath.Join(folder, "resources", hash+".json"))
		if err != nil {
			return nil, err
		}
		t := &lintType{}
		if err := json.Unmarshal(b, t); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", name, err)
		}
		types[name] = t
	}
	return types, nil
}

func (l *lintType) convert(name string) *schemafile.Type {
	c := &converter{schema: l, shapes: map[string]*schemafile.Shape{}}
	t := &schemafile.Type{
		Properties:            map[string]*schemafile.Shape{},
		Required:              sorted(l.Required),
		PrimaryIdentifier:     paths(l.PrimaryIdentifier), // in order: it is how composite ids are joined
		CreateOnly:            sorted(paths(l.CreateOnly)),
		ConditionalCreateOnly: sorted(paths(l.ConditionalCreateOnly)),
		ReadOnly:              sorted(paths(l.ReadOnly)),
		WriteOnly:             sorted(paths(l.WriteOnly)),
		DeleteFirst:           l.ReplacementStrategy == "delete_then_create",
	}
	for property, n := range l.Properties {
		t.Properties[property] = c.shape(n)
	}
	t.Shapes = c.shapes
	t.TagProperty = l.tagProperty()
	if e := c.shapes["Environment"]; name == "AWS::Lambda::Function" && e != nil && e.Properties["Variables"] != nil {
		// cfn-lint lets the variables be of any type, because CloudFormation turns
		// them into text; they are text.
		e.Properties["Variables"].Values = &schemafile.Shape{Type: "string"}
	}
	return t
}

func (l *lintType) tagProperty() string {
	if l.Tagging == nil || l.Tagging.Taggable != nil && !*l.Tagging.Taggable {
		return ""
	}
	name := "Tags"
	if l.Tagging.TagProperty != "" {
		name = path(l.Tagging.TagProperty)
	}
	if l.Properties[name] == nil {
		return ""
	}
	return name
}

func paths(pointers []string) []string {
	var out []string
	for _, p := range pointers {
		out = append(out, path(p))
	}
	return out
}

// path turns "/properties/A/items/properties/B" and "/properties/A/*/B" into
// "A/*/B".
func path(pointer string) string {
	p := strings.TrimPrefix(pointer, "/properties/")
	p = strings.ReplaceAll(p, "/items/properties/", "/*/")
	p = strings.ReplaceAll(p, "/items/", "/*/")
	return strings.ReplaceAll(p, "/properties/", "/")
}

func sorted(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

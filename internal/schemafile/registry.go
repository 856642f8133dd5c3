package schemafile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Registry is a resource schema in the form in which CloudFormation's
// registry has it, and DescribeType returns it. Properties and Definitions are
// JSON schemas.
type Registry struct {
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

// ParseRegistry reads a schema.
func ParseRegistry(body []byte) (*Registry, error) {
	r := &Registry{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, fmt.Errorf("read a resource schema: %w", err)
	}
	return r, nil
}

// Type returns what the engine uses of a schema.
func (r *Registry) Type() *Type {
	c := &converter{schema: r, shapes: map[string]*Shape{}}
	t := &Type{
		Properties:            map[string]*Shape{},
		Required:              Sorted(r.Required),
		PrimaryIdentifier:     paths(r.PrimaryIdentifier), // in order: it is how composite ids are joined
		CreateOnly:            Sorted(paths(r.CreateOnly)),
		ConditionalCreateOnly: Sorted(paths(r.ConditionalCreateOnly)),
		ReadOnly:              Sorted(paths(r.ReadOnly)),
		WriteOnly:             Sorted(paths(r.WriteOnly)),
		DeleteFirst:           r.ReplacementStrategy == "delete_then_create",
	}
	for property, n := range r.Properties {
		t.Properties[property] = c.shape(n)
	}
	t.Shapes = c.shapes
	t.TagProperty = r.tagProperty()
	return t
}

func (r *Registry) tagProperty() string {
	if r.Tagging == nil || r.Tagging.Taggable != nil && !*r.Tagging.Taggable {
		return ""
	}
	name := "Tags"
	if r.Tagging.TagProperty != "" {
		name = path(r.Tagging.TagProperty)
	}
	if r.Properties[name] == nil {
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

// Sorted returns the list without duplicates, in order; nil for an empty one.
func Sorted(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

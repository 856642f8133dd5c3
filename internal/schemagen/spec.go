package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/org/cdkd-action/internal/schemafile"
)

// A specType is a resource type of the service specification.
type specType struct {
	Name              string                   `json:"cloudFormationType"`
	PrimaryIdentifier []string                 `json:"primaryIdentifier"`
	RefIdentifier     []string                 `json:"cfnRefIdentifier"`
	Attributes        map[string]*specProperty `json:"attributes"`
	Properties        map[string]*specProperty `json:"properties"`
	MoreReplacement   [][]string               `json:"additionalReplacementProperties"`
	Tags              *struct {
		Property string `json:"tagPropertyName"`
	} `json:"tagInformation"`

	nested map[string]*specNested
}

type specNested struct {
	ID         string                   `json:"$id"`
	Name       string                   `json:"name"`
	Properties map[string]*specProperty `json:"properties"`
}

type specProperty struct {
	Type        specKind `json:"type"`
	Required    bool     `json:"required"`
	Replacement string   `json:"causesReplacement"` // yes, maybe, no, ""
}

type specKind struct {
	Kind      string     `json:"type"`
	Element   *specKind  `json:"element"` // of arrays and maps
	Types     []specKind `json:"types"`   // of unions
	Reference struct {
		ID string `json:"$ref"`
	} `json:"reference"`
}

func readSpec(file string) (map[string]*specType, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var db struct {
		Schema struct {
			Resource struct {
				Entities []*specType `json:"entities"`
			} `json:"resource"`
			TypeDefinition struct {
				Entities []*specNested `json:"entities"`
			} `json:"typeDefinition"`
		} `json:"schema"`
	}
	if err := json.NewDecoder(z).Decode(&db); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	nested := map[string]*specNested{}
	for _, n := range db.Schema.TypeDefinition.Entities {
		nested[n.ID] = n
	}
	types := map[string]*specType{}
	for _, t := range db.Schema.Resource.Entities {
		t.nested = nested
		types[t.Name] = t
	}
	if len(types) == 0 {
		return nil, fmt.Errorf("%s has no resource types: want the db.json.gz of @aws-cdk/aws-service-spec", file)
	}
	return types, nil
}

func (s *specType) convert() *schemafile.Type {
	t := &schemafile.Type{
		Properties:        map[string]*schemafile.Shape{},
		Shapes:            map[string]*schemafile.Shape{},
		PrimaryIdentifier: s.PrimaryIdentifier,
	}
	for name, p := range s.Properties {
		t.Properties[name] = s.shape(t.Shapes, p.Type)
		if p.Required {
			t.Required = append(t.Required, name)
		}
		switch p.Replacement {
		case "yes":
			t.CreateOnly = append(t.CreateOnly, name)
		case "maybe":
			t.ConditionalCreateOnly = append(t.ConditionalCreateOnly, name)
		}
	}
	for _, p := range s.MoreReplacement {
		if t.Properties[p[0]] != nil {
			t.CreateOnly = append(t.CreateOnly, strings.Join(p, "/"))
		}
	}
	for name, p := range s.Attributes {
		top, _, dotted := strings.Cut(name, ".")
		if t.Properties[top] == nil && !dotted {
			t.Properties[name] = s.shape(t.Shapes, p.Type)
		}
		t.ReadOnly = append(t.ReadOnly, strings.ReplaceAll(name, ".", "/"))
	}
	if s.Tags != nil && t.Properties[s.Tags.Property] != nil {
		t.TagProperty = s.Tags.Property
	}
	t.Required, t.CreateOnly = schemafile.Sorted(t.Required), schemafile.Sorted(t.CreateOnly)
	t.ConditionalCreateOnly, t.ReadOnly = schemafile.Sorted(t.ConditionalCreateOnly), schemafile.Sorted(t.ReadOnly)
	return t
}

func (s *specType) shape(shapes map[string]*schemafile.Shape, k specKind) *schemafile.Shape {
	switch k.Kind {
	case "string", "integer", "number", "boolean":
		return &schemafile.Shape{Type: k.Kind}
	case "date-time":
		return &schemafile.Shape{Type: "string"}
	case "json":
		return &schemafile.Shape{Type: "object"}
	case "tag":
		text := &schemafile.Shape{Type: "string"}
		return &schemafile.Shape{Type: "object", Properties: map[string]*schemafile.Shape{"Key": text, "Value": text}}
	case "array":
		return &schemafile.Shape{Type: "array", Items: s.shape(shapes, *k.Element)}
	case "map":
		return &schemafile.Shape{Type: "object", Values: s.shape(shapes, *k.Element)}
	case "ref":
		n := s.nested[k.Reference.ID]
		if n == nil {
			return &schemafile.Shape{}
		}
		if shapes[n.Name] == nil {
			d := &schemafile.Shape{Type: "object", Properties: map[string]*schemafile.Shape{}}
			shapes[n.Name] = d // before it is filled: it may refer to itself
			for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
				d.Properties[name] = s.shape(shapes, n.Properties[name].Type)
			}
		}
		return &schemafile.Shape{Use: n.Name}
	case "union":
		kinds := map[string]bool{}
		for _, t := range k.Types {
			kinds[t.Kind] = true
		}
		return &schemafile.Shape{JSON: kinds["json"] && kinds["string"]}
	}
	return &schemafile.Shape{}
}

package schemafile

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A node is a JSON schema, as far as shapes need it.
type node struct {
	Ref               string           `json:"$ref"`
	Type              oneOrMore        `json:"type"`
	Properties        map[string]*node `json:"properties"`
	PatternProperties map[string]*node `json:"patternProperties"`
	Additional        json.RawMessage  `json:"additionalProperties"` // a boolean or a schema
	Items             json.RawMessage  `json:"items"`
	InsertionOrder    *bool            `json:"insertionOrder"`
	AllOf             []*node          `json:"allOf"`
	AnyOf             []*node          `json:"anyOf"`
	OneOf             []*node          `json:"oneOf"`
}

type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*o = make([]string, 1)
		return json.Unmarshal(b, &(*o)[0])
	}
	return json.Unmarshal(b, (*[]string)(o))
}

// A converter turns the nodes of one schema into shapes. A definition becomes a
// shared shape of its name, which is how recursive ones stay finite.
type converter struct {
	schema *Registry
	shapes map[string]*Shape
	open   []string // references being followed into a merge
}

func (c *converter) shape(n *node) *Shape {
	if n == nil {
		return &Shape{} // null says nothing
	}
	if name, ok := strings.CutPrefix(n.Ref, "#/definitions/"); ok {
		if _, known := c.shapes[name]; !known {
			c.shapes[name] = &Shape{} // entered before it is filled: it may refer to itself
			if d := c.schema.Definitions[name]; d != nil {
				*c.shapes[name] = *c.shape(d)
			}
		}
		return &Shape{Use: name}
	}
	s := &Shape{}
	c.add(s, n)
	return s
}

// add merges what a node says into s. Alternatives are all let in: a shape says
// what a value may look like, not which combinations are valid.
func (c *converter) add(s *Shape, n *node) {
	if n == nil {
		return
	}
	if n.Ref != "" {
		if slices.Contains(c.open, n.Ref) {
			return
		}
		c.open = append(c.open, n.Ref)
		if d := c.target(n.Ref); d != nil {
			c.add(s, d)
		}
		c.open = c.open[:len(c.open)-1]
		return
	}
	switch {
	case len(n.Type) == 2 && slices.Contains(n.Type, "object") && slices.Contains(n.Type, "string"):
		s.JSON = true
	case len(n.Type) == 1 && !s.JSON && s.Type == "":
		s.Type = n.Type[0]
	case len(n.Type) == 0 && s.Type == "" && n.Properties != nil:
		s.Type = "object"
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if s.Properties == nil {
			s.Properties = map[string]*Shape{}
		}
		if s.Properties[name] == nil {
			s.Properties[name] = c.shape(n.Properties[name])
		}
	}
	if items := subschema(n.Items); items != nil && s.Items == nil {
		s.Items = c.shape(items)
	}
	if n.InsertionOrder != nil && !*n.InsertionOrder {
		s.Unordered = true
	}
	if s.Values == nil {
		if len(n.PatternProperties) > 0 {
			pattern := slices.Min(slices.Collect(maps.Keys(n.PatternProperties)))
			s.Values = c.shape(n.PatternProperties[pattern])
		} else if more := subschema(n.Additional); more != nil {
			s.Values = c.shape(more)
		}
	}
	c.alternatives(s, n)
}

func (c *converter) alternatives(s *Shape, n *node) {
	typed := s.Type != "" || s.JSON
	kinds := map[string]bool{}
	for _, branch := range slices.Concat(n.AllOf, n.AnyOf, n.OneOf) {
		var b Shape
		c.add(&b, branch)
		if b.Type != "" {
			kinds[b.Type] = true
		}
		if s.Items == nil {
			s.Items = b.Items
		}
		if s.Values == nil {
			s.Values = b.Values
		}
		s.Unordered = s.Unordered || b.Unordered
		for _, name := range slices.Sorted(maps.Keys(b.Properties)) {
			if s.Properties == nil {
				s.Properties = map[string]*Shape{}
			}
			// The node's own word on a property is the fuller one; a branch often
			// only says that it is required.
			if s.Properties[name] == nil {
				s.Properties[name] = b.Properties[name]
			}
		}
	}
	if !typed && len(kinds) > 0 {
		s.Type = "" // several, unless all agree
		if len(kinds) == 1 {
			s.Type = slices.Collect(maps.Keys(kinds))[0]
		}
		s.JSON = kinds["object"] && kinds["string"]
	}
}

func (c *converter) target(ref string) *node {
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return c.schema.Definitions[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/properties/"); ok {
		return c.schema.Properties[name]
	}
	return nil
}

// subschema returns the schema in a member that may also be a boolean or a list.
func subschema(raw json.RawMessage) *node {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	n := &node{}
	if json.Unmarshal(raw, n) != nil {
		return nil
	}
	return n
}

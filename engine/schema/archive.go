package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/internal/schemafile"
)

//go:embed schemas.zip
var archive []byte

// embedded opens the archive when it is first used. A damaged archive is a
// fault of the build, so reading one panics.
var embedded = sync.OnceValue(func() *catalogue {
	f, err := schemafile.Open(archive)
	if err != nil {
		panic(err)
	}
	return newCatalogue(f, decode)
})

// A catalogue decodes the types of an archive as they are asked for.
type catalogue struct {
	services map[string]func() map[string]func() *Type
}

func newCatalogue(f *schemafile.File, decode func(full string, body []byte) *Type) *catalogue {
	c := &catalogue{services: map[string]func() map[string]func() *Type{}}
	for _, service := range f.Services() {
		c.services[service] = sync.OnceValue(func() map[string]func() *Type {
			raw, err := f.Service(service)
			if err != nil {
				panic(err)
			}
			types := make(map[string]func() *Type, len(raw))
			for name, body := range raw {
				full := strings.Replace(service, ".", "::", 1) + "::" + name
				types[name] = sync.OnceValue(func() *Type { return decode(full, body) })
			}
			return types
		})
	}
	return c
}

func (c *catalogue) lookup(typeName string) (*Type, bool) {
	service, name, ok := schemafile.Split(typeName)
	if !ok || c.services[service] == nil {
		return nil, false
	}
	decoded, ok := c.services[service]()[name]
	if !ok {
		return nil, false
	}
	return decoded(), true
}

func (c *catalogue) names() []string {
	var names []string
	for service, types := range c.services {
		for name := range types() {
			names = append(names, strings.Replace(service, ".", "::", 1)+"::"+name)
		}
	}
	slices.Sort(names)
	return names
}

func decode(full string, body []byte) *Type {
	var f schemafile.Type
	if err := json.Unmarshal(body, &f); err != nil {
		panic(fmt.Errorf("schema of %s: %w", full, err))
	}
	return newType(full, &f)
}

func newType(full string, f *schemafile.Type) *Type {
	b := builder{shapes: f.Shapes, built: map[string]*Property{}}
	t := &Type{
		Name:                  full,
		Properties:            b.members(f.Properties),
		Required:              f.Required,
		PrimaryIdentifier:     f.PrimaryIdentifier,
		RefIdentifier:         f.Ref,
		CreateOnly:            f.CreateOnly,
		ConditionalCreateOnly: f.ConditionalCreateOnly,
		ReadOnly:              f.ReadOnly,
		WriteOnly:             f.WriteOnly,
		Attributes:            slices.Clone(f.Attributes),
		TagProperty:           f.TagProperty,
		DeleteFirst:           f.DeleteFirst,
		Provisionable:         !f.NotProvisionable,
	}
	if t.RefIdentifier == nil {
		t.RefIdentifier = t.PrimaryIdentifier
	}
	for _, p := range t.ReadOnly {
		t.Attributes = append(t.Attributes, strings.ReplaceAll(p, "/", "."))
	}
	slices.Sort(t.Attributes)
	return t
}

// A builder turns shapes into properties. A shared shape becomes one property
// however often it is used, which also closes the circle of a recursive one.
type builder struct {
	shapes map[string]*schemafile.Shape
	built  map[string]*Property
}

func (b *builder) property(s *schemafile.Shape) *Property {
	if s == nil {
		return nil
	}
	if s.Use == "" {
		p := &Property{}
		b.fill(p, s)
		return p
	}
	if p := b.built[s.Use]; p != nil {
		return p
	}
	p := &Property{}
	b.built[s.Use] = p
	// A shared shape may stand for another; the chain ends, or leaves p unknown.
	target := b.shapes[s.Use]
	for range len(b.shapes) {
		if target == nil || target.Use == "" {
			break
		}
		target = b.shapes[target.Use]
	}
	if target != nil && target.Use == "" {
		b.fill(p, target)
	}
	return p
}

func (b *builder) fill(p *Property, s *schemafile.Shape) {
	p.Type, p.Unordered, p.JSON = s.Type, s.Unordered, s.JSON
	p.Properties = b.members(s.Properties)
	p.Items = b.property(s.Items)
	p.Values = b.property(s.Values)
}

func (b *builder) members(shapes map[string]*schemafile.Shape) map[string]*Property {
	if shapes == nil {
		return nil
	}
	m := make(map[string]*Property, len(shapes))
	for name, s := range shapes {
		m[name] = b.property(s)
	}
	return m
}

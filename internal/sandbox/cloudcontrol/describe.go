package cloudcontrol

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
)

// SchemaText returns a type's schema as JSON, as far as it is known, in the
// form that the CloudFormation registry hands out.
func SchemaText(t *schema.Type) (string, error) {
	pointers := func(paths []string) []string {
		out := make([]string, len(paths))
		for i, p := range paths {
			out[i] = "/properties/" + p
		}
		return out
	}
	doc := map[string]any{
		"typeName":                        t.Name,
		"additionalProperties":            false,
		"properties":                      shapes(t.Properties),
		"primaryIdentifier":               pointers(t.PrimaryIdentifier),
		"required":                        append([]string{}, t.Required...),
		"createOnlyProperties":            pointers(t.CreateOnly),
		"conditionalCreateOnlyProperties": pointers(t.ConditionalCreateOnly),
		"readOnlyProperties":              pointers(t.ReadOnly),
		"writeOnlyProperties":             pointers(t.WriteOnly),
	}
	tagging := map[string]any{"taggable": t.TagProperty != ""}
	if t.TagProperty != "" {
		tagging["tagProperty"] = "/properties/" + t.TagProperty
	}
	doc["tagging"] = tagging
	if t.Provisionable {
		handlers := map[string]any{}
		for _, operation := range []string{"create", "read", "update", "delete", "list"} {
			handlers[operation] = map[string]any{"permissions": []string{handlerAction(t.Name, operation)}}
		}
		doc["handlers"] = handlers
	}
	text, err := json.Marshal(doc)
	return string(text), err
}

// handlerAction is what a handler asks its service for; real ones ask for more.
func handlerAction(typ, operation string) string {
	parts := strings.Split(typ, "::")
	return strings.ToLower(parts[1]) + ":" + strings.ToUpper(operation[:1]) + operation[1:] + parts[2]
}

func shapes(properties map[string]*schema.Property, above ...*schema.Property) map[string]any {
	out := map[string]any{}
	for name, p := range properties {
		out[name] = shape(p, above...)
	}
	return out
}

// shape writes one shape out. One that is inside itself is left open there.
func shape(p *schema.Property, above ...*schema.Property) map[string]any {
	out := map[string]any{}
	if p == nil {
		return out
	}
	if p.Type != "" {
		out["type"] = p.Type
	}
	if slices.Contains(above, p) {
		return out
	}
	above = append(above[:len(above):len(above)], p)
	if p.Properties != nil {
		out["properties"], out["additionalProperties"] = shapes(p.Properties, above...), false
	}
	if p.Values != nil {
		out["patternProperties"] = map[string]any{".*": shape(p.Values, above...)}
	}
	if p.Items != nil {
		out["items"], out["insertionOrder"] = shape(p.Items, above...), !p.Unordered
	}
	return out
}

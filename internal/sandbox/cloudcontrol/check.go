package cloudcontrol

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
)

// check returns what is wrong with a model by its schema, in the words of a
// JSON schema validator, or "".
func check(t *schema.Type, model map[string]any) string {
	for _, name := range t.Required {
		if _, ok := model[name]; !ok {
			return fmt.Sprintf("#: required key [%s] not found", name)
		}
	}
	return checkObject("#", t.Properties, model)
}

func checkObject(at string, properties map[string]*schema.Property, model map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(model)) {
		p, ok := properties[name]
		if !ok {
			return fmt.Sprintf("%s: extraneous key [%s] is not permitted", at, name)
		}
		if wrong := checkValue(at+"/"+name, p, model[name]); wrong != "" {
			return wrong
		}
	}
	return ""
}

func checkValue(at string, p *schema.Property, value any) string {
	if p == nil || p.Type == "" {
		return ""
	}
	got := typeOf(value)
	switch {
	case got == p.Type, p.Type == "number" && got == "integer":
	case p.JSON && got == "string":
		return ""
	default:
		return fmt.Sprintf("%s: expected type: %s, found: %s", at, p.Type, got)
	}
	switch v := value.(type) {
	case map[string]any:
		if p.Properties != nil {
			return checkObject(at, p.Properties, v)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if wrong := checkValue(at+"/"+name, p.Values, v[name]); wrong != "" {
				return wrong
			}
		}
	case []any:
		for i, e := range v {
			if wrong := checkValue(fmt.Sprintf("%s/%d", at, i), p.Items, e); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

func typeOf(value any) string {
	switch v := value.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "integer"
		}
		return "number"
	case int:
		return "integer"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	}
	return "null"
}

// readOnlyIn says which attribute a desired state sets, if any.
func readOnlyIn(t *schema.Type, model map[string]any) string {
	for _, path := range t.ReadOnly {
		if contains(model, strings.Split(path, "/")) {
			return fmt.Sprintf("#: Encountered unsupported property [%s]", path)
		}
	}
	return ""
}

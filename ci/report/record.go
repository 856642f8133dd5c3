package report

import (
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

// bags are the members of a recorded resource that hold its properties or what
// AWS says of it.
var bags = []string{"properties", "attributes", "observedProperties"}

// Record returns what was read from the state bucket as it may stand in a log:
// values that reports hide are hidden. The record itself has them as the template
// does.
func Record(v any) any { return record("", v) }

func record(resourceType string, v any) any {
	switch v := v.(type) {
	case *value.Object:
		if v == nil {
			return v
		}
		if t := v.String("resourceType"); t != "" {
			resourceType = t
		}
		out := value.NewObject()
		for name, member := range v.All() {
			bag, isBag := member.(*value.Object)
			if !isBag || !slices.Contains(bags, name) && name != "outputs" {
				out.Set(name, record(resourceType, member))
				continue
			}
			shown := value.NewObject()
			for property, m := range bag.All() {
				shown.Set(property, plainMarks((&redactor{}).property(resourceType, property, m, false)))
			}
			out.Set(name, shown)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = record(resourceType, member)
		}
		return out
	case string:
		return Discreet(v)
	}
	return v
}

// plainMarks writes the marks in a value as people read them.
func plainMarks(v any) any {
	switch v := v.(type) {
	case *value.Object:
		out := value.NewObject()
		for name, member := range v.All() {
			out.Set(unmark(name), plainMarks(member))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = plainMarks(member)
		}
		return out
	case string:
		return unmark(v)
	}
	return v
}

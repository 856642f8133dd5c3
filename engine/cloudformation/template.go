package cloudformation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// ForImport is a template as an import takes it: without the resources that are
// left out, without outputs, and with a DeletionPolicy on each resource. What
// refers to a resource that is left out becomes what resolve makes of it.
func ForImport(body *value.Object, left map[string]bool, resolve func(logicalID string, reference any) (any, error)) (*value.Object, error) {
	out := body.Clone()
	out.Delete("Outputs")
	resources := value.NewObject()
	for id, v := range body.Object("Resources").All() {
		r, ok := v.(*value.Object)
		if !ok || left[id] {
			continue
		}
		r = r.Clone()
		if on := remaining(r.Value("DependsOn"), left); on != nil {
			r.Set("DependsOn", on)
		} else {
			r.Delete("DependsOn")
		}
		if !r.Has("DeletionPolicy") {
			r.Set("DeletionPolicy", "Retain")
		}
		for _, member := range r.Keys() {
			v, err := without(r.Value(member), left, func(reference any) (any, error) { return resolve(id, reference) })
			if err != nil {
				return nil, err
			}
			r.Set(member, v)
		}
		resources.Set(id, r)
	}
	out.Set("Resources", resources)
	return out, nil
}

// remaining are the entries of a DependsOn that are there to depend on.
func remaining(v any, left map[string]bool) any {
	switch v := v.(type) {
	case string:
		if !left[v] {
			return v
		}
	case []any:
		v = slices.DeleteFunc(slices.Clone(v), func(m any) bool {
			id, _ := m.(string)
			return left[id]
		})
		if len(v) > 0 {
			return v
		}
	}
	return nil
}

// without replaces the functions in a value that refer to what is left out.
func without(v any, left map[string]bool, resolve func(any) (any, error)) (any, error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			var err error
			if out[i], err = without(m, left, resolve); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *value.Object:
		if refers(v, left) {
			return resolve(v)
		}
		out := value.NewObject()
		for name, m := range v.All() {
			n, err := without(m, left, resolve)
			if err != nil {
				return nil, err
			}
			out.Set(name, n)
		}
		return out, nil
	}
	return v, nil
}

// refers tells whether a function names what is left out.
func refers(o *value.Object, left map[string]bool) bool {
	function, arg, ok := o.Sole()
	if !ok {
		return false
	}
	list, _ := arg.([]any)
	text, _ := arg.(string)
	if text == "" && len(list) > 0 {
		text, _ = list[0].(string)
	}
	switch function {
	case "Ref":
		return left[text]
	case "Fn::GetAtt":
		id, _, _ := strings.Cut(text, ".")
		return left[id]
	case "Fn::Sub":
		for _, part := range strings.Split(text, "${")[1:] {
			name, _, _ := strings.Cut(part, "}")
			id, _, _ := strings.Cut(name, ".")
			if left[id] {
				return true
			}
		}
	}
	return false
}

// Retained is a template with the policy on each resource that leaves it alone,
// whatever becomes of the stack.
func Retained(body *value.Object) *value.Object {
	out := body.Clone()
	resources := out.Object("Resources")
	for _, id := range resources.Keys() {
		if r, ok := resources.Value(id).(*value.Object); ok {
			r.Set("DeletionPolicy", "Retain")
			r.Set("UpdateReplacePolicy", "Retain")
		}
	}
	return out
}

// CheckRetained names a resource that would go with its stack, as an error.
func CheckRetained(body *value.Object) error {
	for id, v := range body.Object("Resources").All() {
		r, _ := v.(*value.Object)
		if r.String("DeletionPolicy") != "Retain" {
			return fmt.Errorf("%s has the DeletionPolicy %q", id, r.String("DeletionPolicy"))
		}
	}
	return nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

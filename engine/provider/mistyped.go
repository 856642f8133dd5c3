package provider

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// A MistypedError is a resource with values that its properties cannot have: a
// list where one value belongs, words where a number does.
type MistypedError struct {
	LogicalID, Type string
	Faults          []Mistype
}

// A Mistype is one such value. The value itself may be a secret, and is not told.
type Mistype struct {
	Path      string // dotted, the indexes of lists included
	Want, Got string
}

func (e *MistypedError) Error() string {
	var all []string
	for _, f := range e.Faults {
		all = append(all, fmt.Sprintf("%s: want %s, got %s", f.Path, f.Want, f.Got))
	}
	return fmt.Sprintf("%s (%s): %s", e.LogicalID, e.Type, strings.Join(all, "; "))
}

// mistyped lists the values in properties that have not the kind that the type's
// schema gives them. It is as lenient as CloudFormation, which takes a number for
// text and text for a number, and passes over what only the deploy will know.
// What stands recorded as it is was taken once.
func mistyped(typ *schema.Type, properties, recorded *value.Object) (faults []Mistype) {
	for name, v := range properties.All() {
		if typ.Settable(name) && !(recorded.Has(name) && value.Equal(recorded.Value(name), v)) {
			faults = mistypes(faults, name, typ.Properties[name], v)
		}
	}
	return faults
}

func mistypes(faults []Mistype, path string, shape *schema.Property, v any) []Mistype {
	if shape == nil || absent(v) {
		return faults
	}
	if o, ok := v.(*value.Object); ok {
		if name, arg, ok := o.Sole(); ok && (name == "Ref" || strings.HasPrefix(name, "Fn::")) {
			if branches, _ := arg.([]any); name == "Fn::If" && len(branches) == 3 {
				faults = mistypes(mistypes(faults, path, shape, branches[1]), path, shape, branches[2])
			}
			return faults
		}
	}
	if want := wanted(shape, v); want != "" {
		return append(faults, Mistype{Path: path, Want: want, Got: value.Kind(v)})
	}
	switch v := v.(type) {
	case []any:
		for i, element := range v {
			faults = mistypes(faults, join(path, strconv.Itoa(i)), shape.Items, element)
		}
	case *value.Object:
		for name, member := range v.All() {
			faults = mistypes(faults, join(path, name), shape.Member(name), member)
		}
	}
	return faults
}

// wanted says what belongs in the place of v, and "" when v can stand there.
func wanted(shape *schema.Property, v any) string {
	s, scalar := value.Text(v)
	if strings.Contains(s, "{{resolve:") {
		return ""
	}
	_, isBool := v.(bool)
	_, isNumber := v.(json.Number)
	_, isList := v.([]any)
	_, isObject := v.(*value.Object)
	switch shape.Type {
	case "string":
		if !scalar && !shape.JSON {
			return "text"
		}
	case "integer", "number":
		if n, err := value.Parse([]byte(s)); isBool || err != nil || value.Kind(n) != "a number" {
			return "a number"
		}
	case "boolean":
		if isNumber || !strings.EqualFold(s, "true") && !strings.EqualFold(s, "false") {
			return "true or false"
		}
	case "array":
		if !isList {
			return "a list"
		}
	case "object":
		if !isObject && !(shape.JSON && scalar) {
			return "an object"
		}
	}
	return ""
}

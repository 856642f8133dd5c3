package plan

import (
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// Intrinsic tells whether v is a function call that was not evaluated.
func Intrinsic(v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return false
	}
	name, _, ok := o.Sole()
	return ok && (name == "Ref" || strings.HasPrefix(name, "Fn::"))
}

// Unresolved tells whether v is or holds such a call.
func Unresolved(v any) bool {
	return anywhere(v, Intrinsic)
}

// noValue tells whether v is AWS::NoValue, which is absence.
func noValue(v any) bool {
	o, ok := v.(*value.Object)
	return ok && o.Len() == 1 && o.String("Ref") == "AWS::NoValue"
}

// mentions tells whether v refers to a resource.
func mentions(v any, logicalID string) bool {
	return anywhere(v, func(v any) bool {
		o, ok := v.(*value.Object)
		if !ok {
			return false
		}
		name, arg, ok := o.Sole()
		if !ok {
			return false
		}
		switch name {
		case "Ref":
			return arg == logicalID
		case "Fn::GetAtt":
			if text, ok := arg.(string); ok {
				return strings.HasPrefix(text, logicalID+".")
			}
			list, _ := arg.([]any)
			return len(list) > 0 && list[0] == logicalID
		case "Fn::Sub":
			text, ok := arg.(string)
			if list, isList := arg.([]any); isList && len(list) > 0 {
				text, ok = list[0].(string)
			}
			return ok && (strings.Contains(text, "${"+logicalID+"}") || strings.Contains(text, "${"+logicalID+"."))
		}
		return false
	})
}

// anywhere tells whether is holds of v or of a value within it.
func anywhere(v any, is func(any) bool) bool {
	if is(v) {
		return true
	}
	switch v := v.(type) {
	case *value.Object:
		for _, m := range v.All() {
			if anywhere(m, is) {
				return true
			}
		}
	case []any:
		for _, m := range v {
			if anywhere(m, is) {
				return true
			}
		}
	}
	return false
}

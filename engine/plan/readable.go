package plan

import (
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// Readable is a value as people read it on one line: a text as it is, what a
// template joins like a text for Fn::Sub, anything else as JSON.
func Readable(v any) string {
	o, ok := v.(*value.Object)
	if !ok {
		if text, ok := value.Text(v); ok {
			return text
		}
		return value.JSON(v)
	}
	if text, ok := Joined(v, placeholder); ok {
		return text
	}
	if Intrinsic(o) {
		return placeholder(o)
	}
	return value.JSON(v)
}

// Joined returns the text of a Fn::Join whose separator is empty, with a
// stand-in for what is not literal.
func Joined(v any, standIn func(any) string) (text string, ok bool) {
	o, _ := v.(*value.Object)
	name, arg, _ := o.Sole()
	l, _ := arg.([]any)
	if name != "Fn::Join" || len(l) != 2 || l[0] != "" {
		return "", false
	}
	parts, ok := l[1].([]any)
	var b strings.Builder
	for _, p := range parts {
		if s, ok := p.(string); ok {
			b.WriteString(s)
		} else {
			b.WriteString(standIn(p))
		}
	}
	return b.String(), ok
}

// placeholder is a function call inside of a text: ${Queue}, ${Queue.Arn}.
func placeholder(v any) string {
	text := value.JSON(v)
	if o, ok := v.(*value.Object); ok {
		switch name, arg, _ := o.Sole(); name {
		case "Ref":
			text, _ = value.Text(arg)
		case "Fn::ImportValue":
			if export, ok := arg.(string); ok {
				text = name + " " + export
			}
		case "Fn::GetAtt":
			if l, ok := arg.([]any); ok && len(l) == 2 {
				id, _ := value.Text(l[0])
				attribute, _ := value.Text(l[1])
				text = id + "." + attribute
			}
		}
	}
	return "${" + text + "}"
}

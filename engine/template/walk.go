package template

import (
	"regexp"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// function tells whether v is a call of an intrinsic function: an object that
// has its name as the only member. Objects that merely hold such a name among
// others are the user's own.
func function(v any) (name string, arg any, ok bool) {
	o, isObject := v.(*value.Object)
	if !isObject {
		return "", nil, false
	}
	name, arg, ok = o.Sole()
	if !ok || name != "Ref" && !strings.HasPrefix(name, "Fn::") {
		return "", nil, false
	}
	return name, arg, true
}

// A name is what a Ref, Fn::GetAtt or Fn::Sub refers to.
type name struct {
	id        string
	attribute string // "" for Ref
	byGetAtt  bool
	at        *place
}

// names calls emit for everything that v refers to. taken decides for a
// condition's name which branches of an Fn::If count.
func names(v any, at *place, taken func(condition string) (yes, no bool), emit func(name)) {
	switch v := v.(type) {
	case []any:
		for i, member := range v {
			names(member, at.item(i), taken, emit)
		}
	case *value.Object:
		fn, arg, ok := function(v)
		if !ok {
			for k, member := range v.All() {
				names(member, at.at(k), taken, emit)
			}
			return
		}
		switch fn {
		case "Ref":
			if id, ok := arg.(string); ok {
				emit(name{id: id, at: at})
				return
			}
		case "Fn::GetAtt":
			if text, ok := arg.(string); ok {
				id, attribute, _ := strings.Cut(text, ".")
				emit(name{id, attribute, true, at})
				return
			}
			if list, ok := arg.([]any); ok && len(list) > 0 {
				if id, ok := list[0].(string); ok {
					attribute := ""
					if len(list) > 1 {
						attribute, _ = list[1].(string)
					}
					emit(name{id, attribute, true, at})
				}
				names(list, at, taken, emit)
			}
			return
		case "Fn::Sub":
			text, isText := arg.(string)
			variables := &value.Object{}
			if list, ok := arg.([]any); ok && len(list) > 0 {
				text, isText = list[0].(string)
				if len(list) > 1 {
					variables, _ = list[1].(*value.Object)
				}
			}
			if isText {
				for _, p := range placeholders(text) {
					if p.literal || variables.Has(p.name) {
						continue
					}
					id, attribute, dotted := strings.Cut(p.name, ".")
					emit(name{id, attribute, dotted, at})
				}
			}
			names(variables, at, taken, emit)
			return
		case "Fn::If":
			if list, ok := arg.([]any); ok && len(list) == 3 {
				condition, _ := list[0].(string)
				yes, no := taken(condition)
				if yes {
					names(list[1], at.at(fn).item(1), taken, emit)
				}
				if no {
					names(list[2], at.at(fn).item(2), taken, emit)
				}
				return
			}
		}
		names(arg, at.at(fn), taken, emit)
	}
}

func bothBranches(string) (yes, no bool) { return true, true }

// A placeholder is one ${…} of an Fn::Sub text.
type placeholder struct {
	start, end int // of the whole in the text
	name       string
	literal    bool // ${!name}, which stands for ${name}
}

var placeholderText = regexp.MustCompile(`\$\{(!?)([^}]*)\}`)

func placeholders(text string) []placeholder {
	var all []placeholder
	for _, m := range placeholderText.FindAllStringSubmatchIndex(text, -1) {
		p := placeholder{start: m[0], end: m[1], name: text[m[4]:m[5]], literal: m[3] > m[2]}
		if p.name != "" || p.literal {
			all = append(all, p)
		}
	}
	return all
}

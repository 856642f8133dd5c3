package template

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

func (e *evaluation) join(arg any, at *place) (any, error) {
	list, err := args(arg, 2, 2)
	if err != nil {
		return nil, err
	}
	delimiter, err := e.value(list[0], at.item(0))
	if err != nil {
		return nil, err
	}
	if delimiter, err = text(delimiter); err != nil {
		return nil, at.item(0).wrap(err)
	}
	elements, err := e.elements(list[1], at.item(1))
	if err != nil {
		return nil, err
	}
	var parts []any
	for i, element := range elements {
		part, err := text(element)
		if err != nil {
			return nil, at.item(1).item(i).wrap(err)
		}
		if i > 0 {
			parts = append(parts, delimiter)
		}
		parts = append(parts, part)
	}
	return e.concat(parts)
}

// elements evaluates what has to be a list.
func (e *evaluation) elements(v any, at *place) ([]any, error) {
	v, err := e.value(v, at)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, at.errorf("want a list, got %s", kind(v))
	}
	return list, nil
}

func (e *evaluation) sub(arg any, at *place) (any, error) {
	format, ok := arg.(string)
	variables := &value.Object{}
	if !ok {
		list, err := args(arg, 2, 2)
		if err != nil {
			return nil, err
		}
		if format, ok = list[0].(string); !ok {
			return nil, fmt.Errorf("want a text, got %s", value.Kind(list[0]))
		}
		given, ok := list[1].(*value.Object)
		if !ok {
			return nil, at.item(1).errorf("want an object of variables, got %s", value.Kind(list[1]))
		}
		for name, v := range given.All() { // not members: NoValue must not turn into a reference
			if v, err = e.value(v, at.item(1).at(name)); err != nil {
				return nil, err
			}
			variables.Set(name, v)
		}
	}
	var parts []any
	end := 0
	for _, p := range placeholders(format) {
		parts = append(parts, format[end:p.start])
		end = p.end
		if p.literal {
			parts = append(parts, "${"+p.name+"}")
			continue
		}
		v, given := variables.Get(p.name)
		if !given {
			var err error
			if id, attribute, dotted := strings.Cut(p.name, "."); dotted {
				v, err = e.attribute(id, attribute)
			} else {
				v, err = e.ref(p.name)
			}
			if err != nil {
				return nil, fmt.Errorf("${%s}: %w", p.name, err)
			}
		}
		part, err := text(v)
		if err != nil {
			return nil, fmt.Errorf("${%s}: %w", p.name, err)
		}
		parts = append(parts, part)
	}
	return e.concat(append(parts, format[end:]))
}

func (e *evaluation) choose(arg any, at *place) (any, error) {
	list, err := args(arg, 2, 2)
	if err != nil {
		return nil, err
	}
	index, err := e.integer(list[0], at.item(0))
	if err != nil {
		return nil, err
	}
	// Elements that turn out to be NoValue keep their place.
	from, ok := list[1].([]any)
	if !ok {
		if from, err = e.elements(list[1], at.item(1)); err != nil {
			return nil, err
		}
	}
	if index < 0 || index >= len(from) {
		return nil, fmt.Errorf("there is no element %d in a list of %d", index, len(from))
	}
	v := from[index]
	if ok {
		if v, err = e.value(v, at.item(1).item(index)); err != nil {
			return nil, err
		}
	}
	if v == nil || v == (noValue{}) {
		return nil, fmt.Errorf("element %d is %s", index, kind(v))
	}
	return v, nil
}

func (e *evaluation) integer(v any, at *place) (int, error) {
	v, err := e.value(v, at)
	if err != nil {
		return 0, err
	}
	s, _, err := plain(v)
	if err != nil {
		return 0, at.wrap(err)
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, at.errorf("want a whole number, got %s", kind(v))
	}
	return n, nil
}

func (e *evaluation) split(arg any, at *place) (any, error) {
	list, err := args(arg, 2, 2)
	if err != nil {
		return nil, err
	}
	delimiter, err := e.value(list[0], at.item(0))
	if err != nil {
		return nil, err
	}
	by, _, err := plain(delimiter)
	if err != nil {
		return nil, at.item(0).wrap(err)
	}
	if by == "" {
		return nil, at.item(0).errorf("the delimiter is empty")
	}
	v, err := e.value(list[1], at.item(1))
	if err != nil {
		return nil, err
	}
	if _, isList := v.([]any); isList {
		return nil, at.item(1).errorf("this is a list already; it needs no Fn::Split")
	}
	switch v.(type) {
	case string, marked, number:
	default:
		return nil, at.item(1).errorf("want a text, got %s", kind(v))
	}
	s, mark, err := plain(v)
	if err != nil {
		return nil, at.item(1).wrap(err)
	}
	var out []any
	for part := range strings.SplitSeq(s, by) {
		out = append(out, e.s.derive(part, mark))
	}
	return out, nil
}

func (e *evaluation) base64(arg any, at *place) (any, error) {
	v, err := e.value(arg, at)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case string, marked, number:
	default:
		return nil, fmt.Errorf("want a text, got %s", kind(v))
	}
	s, mark, err := plain(v)
	if err != nil {
		return nil, err
	}
	return e.s.derive(base64.StdEncoding.EncodeToString([]byte(s)), mark), nil
}

func (e *evaluation) findInMap(arg any, at *place) (any, error) {
	list, err := args(arg, 3, 4)
	if err != nil {
		return nil, err
	}
	var key [3]string
	for i := range key {
		v, err := e.value(list[i], at.item(i))
		if err != nil {
			return nil, err
		}
		if key[i], _, err = plain(v); err != nil {
			return nil, at.item(i).wrap(err)
		}
	}
	if len(list) == 4 && !e.s.t.extended() {
		return nil, fmt.Errorf("a DefaultValue needs \"Transform\": %q in the template", LanguageExtensions)
	}
	v, err := e.s.t.lookUp(key)
	if err == nil {
		return e.expressions(v, strings.Join(key[:], "."))
	}
	if len(list) == 3 {
		return nil, err
	}
	o, _ := list[3].(*value.Object)
	name, fallback, ok := o.Sole()
	if !ok || name != "DefaultValue" {
		return nil, at.item(3).errorf("want an object with a DefaultValue")
	}
	return e.value(fallback, at.item(3).at(name))
}

func (t *Template) lookUp(key [3]string) (any, error) {
	mapping, ok := t.Mappings.Get(key[0])
	if !ok {
		return nil, fmt.Errorf("there is no mapping %q", key[0])
	}
	first, _ := mapping.(*value.Object)
	second, ok := first.Get(key[1])
	if !ok {
		return nil, fmt.Errorf("mapping %s has no key %q", key[0], key[1])
	}
	members, _ := second.(*value.Object)
	v, ok := members.Get(key[2])
	if !ok {
		return nil, fmt.Errorf("mapping %s has no key %q in %q", key[0], key[2], key[1])
	}
	return v, nil
}

func (e *evaluation) length(arg any, at *place) (any, error) {
	list, err := e.elements(arg, at)
	if err != nil {
		return nil, err
	}
	return value.Int(len(list)), nil
}

func (e *evaluation) toJSON(arg any, at *place) (any, error) {
	v, err := e.value(arg, at)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case []any, *value.Object:
	default:
		return nil, fmt.Errorf("want a list or an object, got %s", kind(v))
	}
	if hides(v) {
		return nil, fmt.Errorf("a secret in it: %w", ErrUnknown)
	}
	r := resolve(v)
	clear, err := value.Marshal(r.Clear)
	if err != nil {
		return nil, err
	}
	if !special(v) {
		return string(clear), nil
	}
	stored, err := value.Marshal(r.Stored)
	if err != nil {
		return nil, err
	}
	if string(stored) == string(clear) {
		return string(clear), nil
	}
	return marked{clear: string(clear), stored: string(stored), noEcho: len(r.Masked) > 0}, nil
}

// hides tells whether v holds a secret that a preview did not ask for.
func hides(v any) bool {
	switch v := v.(type) {
	case marked:
		return v.hidden
	case []any:
		for _, member := range v {
			if hides(member) {
				return true
			}
		}
	case *value.Object:
		for _, member := range v.All() {
			if hides(member) {
				return true
			}
		}
	}
	return false
}

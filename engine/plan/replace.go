package plan

import (
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// A verdict is what a change of one property means for its resource.
type verdict int

const (
	inPlace verdict = iota
	mayReplace
	replaces
)

// A side is a property's value on one side of a comparison.
type side struct {
	v   any
	has bool
}

// judge gives the verdict on a property that differs. The rules of this package
// come first, since they know services better than their schemas do; what they
// do not name is decided by the schema's create-only paths.
func judge(typ string, shape *schema.Type, property string, old, new side) verdict {
	if custom(typ) {
		return inPlace // its handler decides, by answering with another id
	}
	r := rules[typ]
	switch {
	case r.replaces(property):
		return certain(new)
	case r.inPlace(property):
		return inPlace
	case r.when[property] != nil:
		if v := r.when[property](old, new); v != inPlace {
			return min(v, certain(new))
		}
		return inPlace
	}
	if shape == nil {
		return inPlace
	}
	return judgeBySchema(shape, property, old, new)
}

// certain is the verdict on a create-only value: one that cannot be told yet
// may turn out to be what it was.
func certain(new side) verdict {
	if new.has && Unresolved(new.v) {
		return mayReplace
	}
	return replaces
}

func judgeBySchema(t *schema.Type, property string, old, new side) verdict {
	worst := inPlace
	switch t.Replaces(property) {
	case schema.InPlace:
		return inPlace
	case schema.Replaces:
		return certain(new)
	case schema.ReplaceBelow:
		for _, p := range t.CreateOnlyBelow(property) {
			worst = max(worst, judgePath(t.Properties[property], strings.Split(p, "/"), old, new))
		}
	}
	for _, p := range t.ConditionalBelow(property) {
		if p == "" || judgePath(t.Properties[property], strings.Split(p, "/"), old, new) != inPlace {
			worst = max(worst, mayReplace)
		}
	}
	return worst
}

// judgePath compares what is at a create-only path. A path through a list
// counts as changed, because elements cannot be told apart.
func judgePath(shape *schema.Property, path []string, old, new side) verdict {
	if Intrinsic(old.v) || Intrinsic(new.v) {
		return mayReplace
	}
	if len(path) == 0 {
		if old.has == new.has && Equal(shape, old.v, new.v) {
			return inPlace
		}
		return certain(new)
	}
	_, oldList := old.v.([]any)
	_, newList := new.v.([]any)
	if path[0] == "*" || oldList || newList {
		return certain(new)
	}
	return judgePath(shape.Member(path[0]), path[1:], old.member(path[0]), new.member(path[0]))
}

func (s side) member(name string) side {
	o, _ := s.v.(*value.Object)
	return member(o, name)
}

func member(o *value.Object, name string) side {
	v, has := o.Get(name)
	if noValue(v) {
		return side{}
	}
	return side{v, has}
}

// judgeFed gives the verdict on a property whose value will follow that of
// another resource, written being how the template refers to it. By a rule of
// this package the replacement is taken for real; by the schema it may turn out
// not to be, when the value stays what it was.
func judgeFed(typ string, shape *schema.Type, property string, written any, producer string) verdict {
	if custom(typ) {
		return inPlace
	}
	r := rules[typ]
	switch {
	case r.replaces(property):
		return replaces
	case r.inPlace(property):
		return inPlace
	case r.when[property] != nil:
		return mayReplace
	case shape == nil:
		return inPlace
	}
	switch shape.Replaces(property) {
	case schema.InPlace:
		return inPlace
	case schema.ReplaceBelow:
		for _, p := range shape.CreateOnlyBelow(property) {
			if mentions(along(written, strings.Split(p, "/")), producer) {
				return mayReplace
			}
		}
		return inPlace
	}
	return mayReplace
}

// along follows a path as far as it can be told; a list or a function call on
// the way is returned whole.
func along(v any, path []string) any {
	for _, name := range path {
		o, ok := v.(*value.Object)
		if !ok || Intrinsic(v) || name == "*" {
			return v
		}
		v = o.Value(name)
	}
	return v
}

// custom tells whether a type is a custom resource.
func custom(typ string) bool {
	return strings.HasPrefix(typ, "Custom::") || typ == "AWS::CloudFormation::CustomResource"
}

package stateshape

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A shape checks one value; at says where it stands.
type shape func(c *checker, at string, v any)

// A member is a member of an object.
type member struct {
	shape
	optional bool
}

func opt(s shape) member { return member{s, true} }

func must(s shape) member { return member{s, false} }

// members is an object of these members. Another one is wrong unless the
// version before had it too.
func members(all map[string]member) shape {
	return func(c *checker, at string, v any) {
		o, ok := v.(*value.Object)
		if !ok {
			c.bad("%s is %s and must be an object", place(at), value.Kind(v))
			return
		}
		for name, m := range all {
			if !o.Has(name) && !m.optional {
				c.bad("%s lacks %s", place(at), name)
			}
		}
		for name, v := range o.All() {
			m, known := all[name]
			switch {
			case known:
				m.shape(c, under(at, name), v)
			case !strings.Contains(c.before, strconv.Quote(name)+":"):
				c.bad("%s has a member %s", place(at), name)
			}
		}
	}
}

// both checks a value twice.
func both(a, b shape) shape {
	return func(c *checker, at string, v any) {
		a(c, at, v)
		b(c, at, v)
	}
}

func place(at string) string {
	if at == "" {
		return "the object"
	}
	return at
}

func under(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// each is an object whose members, whatever they are called, are alike.
func each(s shape) shape {
	return func(c *checker, at string, v any) {
		o, ok := v.(*value.Object)
		if !ok {
			c.bad("%s is %s and must be an object", place(at), value.Kind(v))
			return
		}
		for name, v := range o.All() {
			s(c, under(at, name), v)
		}
	}
}

// list is a list of values that are alike.
func list(s shape) shape {
	return func(c *checker, at string, v any) {
		l, ok := v.([]any)
		if !ok {
			c.bad("%s is %s and must be a list", place(at), value.Kind(v))
			return
		}
		for i, v := range l {
			s(c, fmt.Sprintf("%s[%d]", at, i), v)
		}
	}
}

// some is a list that is left out when there is nothing in it.
func some(s shape) member {
	return opt(both(list(s), func(c *checker, at string, v any) {
		if l, ok := v.([]any); ok && len(l) == 0 {
			c.bad("%s is empty and must be left out", at)
		}
	}))
}

func anything(*checker, string, any) {}

func object(c *checker, at string, v any) { each(anything)(c, at, v) }

func boolean(c *checker, at string, v any) {
	if _, ok := v.(bool); !ok {
		c.bad("%s is %s and must be a boolean", at, value.Kind(v))
	}
}

func yes(c *checker, at string, v any) {
	if v != true {
		c.bad("%s must be true where it stands", at)
	}
}

func text(c *checker, at string, v any) {
	if _, ok := v.(string); !ok {
		c.bad("%s is %s and must be a string", at, value.Kind(v))
	}
}

func filled(c *checker, at string, v any) {
	if s, ok := v.(string); !ok || s == "" {
		c.bad("%s must be a string that is not empty", at)
	}
}

// matching is a string of a form.
func matching(form string) shape {
	re := regexp.MustCompile("^(?:" + form + ")$")
	return func(c *checker, at string, v any) {
		if s, ok := v.(string); !ok || !re.MatchString(s) {
			c.bad("%s is %s and must match %s", at, value.JSON(v), form)
		}
	}
}

// one is one of some strings.
func one(of ...string) shape {
	return func(c *checker, at string, v any) {
		if s, ok := v.(string); !ok || !slices.Contains(of, s) {
			c.bad("%s is %s and must be one of %s", at, value.JSON(v), strings.Join(of, ", "))
		}
	}
}

// whole is an integer within bounds, without an exponent.
func whole(least, most int64) shape {
	return func(c *checker, at string, v any) {
		n, _ := v.(json.Number)
		if i, err := strconv.ParseInt(string(n), 10, 64); err != nil || i < least || i > most {
			c.bad("%s is %s and must be an integer from %d to %d", at, value.JSON(v), least, most)
		}
	}
}

var (
	count  = whole(0, 1<<53)
	millis = whole(1, 1<<53)
	// saved is a time of this century, in milliseconds: one in seconds is not.
	saved = whole(946684800000, 4102444800000)
	iso   = matching(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z`)
	runID = matching(`\d{8}T\d{9}Z-[0-9a-f]{8}`)
)

func nullable(s shape) shape {
	return func(c *checker, at string, v any) {
		if v != nil {
			s(c, at, v)
		}
	}
}

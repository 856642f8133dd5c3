package engine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A severing turns the references of a record to resources that it is about to
// forget into values.
type severing struct {
	d         *deployment
	ctx       context.Context
	record    *state.Record
	gone      []string
	force     bool
	live      map[string]*value.Object // attributes as AWS tells them, by logical id
	rewritten []Rewrite
	failed    []string
}

// dropReferences rewrites the rows that stay. When a value cannot be told, all
// of those are in the *ReferencesError.
func (d *deployment) dropReferences(ctx context.Context, record *state.Record, gone []string, force bool) ([]Rewrite, error) {
	s := &severing{d: d, ctx: ctx, record: record, gone: gone, force: force, live: map[string]*value.Object{}}
	for _, id := range record.LogicalIDs() {
		if slices.Contains(gone, id) {
			continue
		}
		row := record.Row(id)
		for _, part := range []struct {
			name string
			o    **value.Object
		}{{"properties", &row.Properties}, {"attributes", &row.Attributes}} {
			if *part.o != nil {
				*part.o = s.value(id, part.name, *part.o).(*value.Object)
			}
		}
		row.Dependencies = slices.DeleteFunc(row.Dependencies, func(on string) bool {
			if !slices.Contains(gone, on) {
				return false
			}
			s.rewritten = append(s.rewritten, Rewrite{LogicalID: id, Place: "dependencies", Reference: on})
			return true
		})
	}
	if s.failed != nil {
		return nil, &ReferencesError{Stack: d.t.Name, Region: d.t.Region, References: s.failed}
	}
	return s.rewritten, nil
}

func (s *severing) value(id, place string, v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = s.value(id, fmt.Sprintf("%s[%d]", place, i), m)
		}
		return out
	case *value.Object:
		if name, arg, ok := v.Sole(); ok {
			switch name {
			case "Ref":
				if of, ok := arg.(string); ok && slices.Contains(s.gone, of) {
					return s.resolve(id, place, of, "", v)
				}
			case "Fn::GetAtt":
				if of, attribute, ok := getAtt(arg); ok && slices.Contains(s.gone, of) {
					return s.resolve(id, place, of, attribute, v)
				}
			case "Fn::Sub":
				return s.sub(id, place, arg, v)
			}
		}
		out := &value.Object{}
		for name, m := range v.All() {
			out.Set(name, s.value(id, place+"."+name, m))
		}
		return out
	}
	return v
}

func getAtt(arg any) (logicalID, attribute string, ok bool) {
	switch arg := arg.(type) {
	case string:
		return strings.Cut(arg, ".")
	case []any:
		if len(arg) != 2 {
			return "", "", false
		}
		logicalID, ok = arg[0].(string)
		attribute, isText := arg[1].(string)
		return logicalID, attribute, ok && isText
	}
	return "", "", false
}

var placeholder = regexp.MustCompile(`\$\{([A-Za-z0-9]+)(?:\.([A-Za-z0-9.]+))?\}`)

// sub fills the placeholders of an Fn::Sub in place. A text without any left is
// just that text.
func (s *severing) sub(id, place string, arg any, whole *value.Object) any {
	text, isText := arg.(string)
	list, _ := arg.([]any)
	var variables *value.Object
	if len(list) == 2 {
		text, _ = list[0].(string)
		variables, _ = s.value(id, place+".Fn::Sub", list[1]).(*value.Object)
	}
	filled := placeholder.ReplaceAllStringFunc(text, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		if !slices.Contains(s.gone, m[1]) || m[2] == "" && variables.Has(m[1]) {
			return p
		}
		if plain, ok := value.Text(s.resolve(id, place, m[1], m[2], p)); ok {
			return plain
		}
		return p
	})
	switch {
	case isText && filled != text && !strings.Contains(filled, "${"):
		return filled
	case isText:
		return value.NewObject("Fn::Sub", filled)
	case len(list) == 2:
		return value.NewObject("Fn::Sub", []any{filled, variables})
	}
	return whole
}

// resolve is the value of a reference to a row that goes; otherwise, which is the
// reference itself, when there is none.
func (s *severing) resolve(id, place, of, attribute string, otherwise any) any {
	row := s.record.Row(of)
	reference := "Ref " + of
	if attribute != "" {
		reference = "Fn::GetAtt " + of + "." + attribute
	}
	known := s.d.world.known(row)
	var v any
	ok := false
	if attribute == "" {
		v, ok = known.Ref(), true
	} else {
		v, ok = dotted(s.attributes(of, row), attribute)
		if !ok && s.force {
			v, ok = known.Get(attribute)
		}
	}
	if !ok || masked(v) {
		if s.force {
			s.rewritten = append(s.rewritten, Rewrite{LogicalID: id, Place: place, Reference: reference})
		} else {
			s.failed = append(s.failed, fmt.Sprintf("%s %s: %s", id, place, reference))
		}
		return otherwise
	}
	shown, isText := value.Text(v)
	if !isText {
		shown = value.JSON(v)
	}
	s.rewritten = append(s.rewritten, Rewrite{LogicalID: id, Place: place, Reference: reference, Value: s.d.e.config.Secrets.Mask(shown)})
	return v
}

// attributes asks AWS once for each row.
func (s *severing) attributes(id string, row *state.Resource) *value.Object {
	found, asked := s.live[id]
	if !asked {
		var err error
		if found, err = s.d.live(s.ctx, id, row); err != nil {
			s.d.warn("%s (%s) could not be read: %v", id, row.ResourceType, err)
		}
		s.live[id] = found
	}
	return found
}

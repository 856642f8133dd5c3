package engine

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// recordedReference is a dynamic reference that may be one of a secret.
var recordedReference = regexp.MustCompile(`\{\{resolve:(secretsmanager|ssm-secure|ssm):([^}]+)\}\}`)

func refersToSecret(text string) bool { return recordedReference.MatchString(text) }

// record takes the secrets out of a record, and notes where they were.
func (s *scrubbing) record(r *state.Record) {
	for _, id := range r.LogicalIDs() {
		s.row("resource "+id, r.Row(id), s.texts[id])
	}
	for i := range r.Orphans {
		o := &r.Orphans[i]
		s.row("orphan "+o.LogicalID, o.State, template.Resolved{})
	}
	r.Outputs, _ = s.clean("outputs", r.Outputs, nil)
	for _, i := range r.Imports {
		if s.d.e.config.Secrets.Contains(i.ExportName) {
			s.Keys = add(s.Keys, "an export imported from "+i.SourceStack)
		}
	}
}

// journal takes the secrets out of what a rollback goes by.
func (s *scrubbing) journal(j *state.Journal) {
	for _, g := range j.Segments {
		for _, op := range slices.Concat(g.Operations, g.Failed) {
			where := "journal " + op.LogicalID
			op.Properties, _ = s.clean(where+" properties", op.Properties, nil)
			s.row(where+" before", op.Previous, template.Resolved{})
		}
		g.PreviousOutputs, _ = s.clean("journal outputs", g.PreviousOutputs, nil)
	}
}

// open takes the secrets out of what earlier runs left open.
func (s *scrubbing) open(p *state.Pending) {
	for i := range p.Operations {
		op := &p.Operations[i]
		op.Properties, _ = s.clean("open "+op.LogicalID+" properties", op.Properties, nil)
		s.row("open "+op.LogicalID+" before", op.Previous, template.Resolved{})
	}
	for _, l := range p.Leftovers {
		s.row("open "+l.LogicalID+" before", l.Previous, template.Resolved{})
	}
}

func (s *scrubbing) row(where string, row *state.Resource, known template.Resolved) {
	if row == nil {
		return
	}
	var leaves []secret.Path
	row.Properties, leaves = s.clean(where+" properties", row.Properties, agreed(row.Properties, known.Clear, known.Stored))
	if len(leaves) > len(row.NoEchoLeaves) {
		row.NoEchoLeaves = nil
		for _, path := range leaves {
			row.NoEchoLeaves = append(row.NoEchoLeaves, recordedPath(path))
		}
	}
	row.Observed, _ = s.clean(where+" observedProperties", row.Observed, agreed(row.Observed, known.Clear, known.Stored))
	row.Attributes, _ = s.clean(where+" attributes", row.Attributes, nil)
	for name, v := range row.Attributes.All() {
		if masked(v) {
			row.NoEchoAttributes = add(row.NoEchoAttributes, name)
		}
	}
}

// clean is an object without secrets, and which of its leaves are masks.
func (s *scrubbing) clean(where string, o *value.Object, source any) (*value.Object, []secret.Path) {
	if o == nil {
		return nil, nil
	}
	v, leaves := s.d.e.config.Secrets.Redact(o, source)
	s.note(where, o, v)
	return v.(*value.Object), leaves
}

// note says where two values of one shape differ, and where the name of a member
// holds a secret.
func (s *scrubbing) note(where string, before, after any) {
	switch before := before.(type) {
	case *value.Object:
		o, _ := after.(*value.Object)
		for name, v := range before.All() {
			shown := name
			if s.d.e.config.Secrets.Contains(name) {
				shown = secret.Masked
				s.Keys = add(s.Keys, where+"."+shown)
			}
			s.note(where+"."+shown, v, o.Value(name))
		}
	case []any:
		l, _ := after.([]any)
		for i, v := range before {
			s.note(fmt.Sprintf("%s[%d]", where, i), v, l[i])
		}
	default:
		if !value.Equal(before, after) {
			s.Found = append(s.Found, where)
		}
	}
}

// agreed is what a template stores, in the places where a record has what the
// template resolves to. Elsewhere the record is of an earlier template, or of a
// secret that changed since; its references must not be put over that, since the
// next deploy would see nothing to change.
func agreed(recorded, clear, stored any) any {
	switch recorded := recorded.(type) {
	case *value.Object:
		c, _ := clear.(*value.Object)
		st, _ := stored.(*value.Object)
		out := &value.Object{}
		for name, v := range recorded.All() {
			if c.Has(name) && st.Has(name) {
				out.Set(name, agreed(v, c.Value(name), st.Value(name)))
			}
		}
		return out
	case []any:
		c, _ := clear.([]any)
		st, _ := stored.([]any)
		if len(c) != len(recorded) || len(st) != len(recorded) {
			return nil
		}
		out := make([]any, len(recorded))
		for i, v := range recorded {
			out[i] = agreed(v, c[i], st[i])
		}
		return out
	}
	if recorded == nil || !value.Equal(recorded, clear) {
		return nil
	}
	return stored
}

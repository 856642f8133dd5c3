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
		s.row("resource "+id, r.Row(id), s.texts[id], s.written[id])
	}
	for i := range r.Orphans {
		o := &r.Orphans[i]
		s.row("orphan "+o.LogicalID, o.State, template.Resolved{}, nil)
	}
	r.Outputs = s.clean("outputs", r.Outputs, nil, nil)
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
			op.Properties = s.clean(where+" properties", op.Properties, nil, nil)
			s.row(where+" before", op.Previous, template.Resolved{}, nil)
		}
		g.PreviousOutputs = s.clean("journal outputs", g.PreviousOutputs, nil, nil)
	}
}

// open takes the secrets out of what earlier runs left open.
func (s *scrubbing) open(p *state.Pending) {
	for i := range p.Operations {
		op := &p.Operations[i]
		op.Properties = s.clean("open "+op.LogicalID+" properties", op.Properties, nil, nil)
		s.row("open "+op.LogicalID+" before", op.Previous, template.Resolved{}, nil)
	}
	for _, l := range p.Leftovers {
		s.row("open "+l.LogicalID+" before", l.Previous, template.Resolved{}, nil)
	}
}

func (s *scrubbing) row(where string, row *state.Resource, known template.Resolved, written *value.Object) {
	if row == nil {
		return
	}
	row.Properties = s.clean(where+" properties", row.Properties, agreed(row.Properties, known.Clear, known.Stored), written)
	if leaves := maskedLeaves(row.Properties, nil); len(leaves) > len(row.NoEchoLeaves) {
		row.NoEchoLeaves = leaves
	}
	row.Observed = s.clean(where+" observedProperties", row.Observed, agreed(row.Observed, known.Clear, known.Stored), written)
	row.Attributes = s.clean(where+" attributes", row.Attributes, nil, nil)
	for name, v := range row.Attributes.All() {
		if masked(v) {
			row.NoEchoAttributes = add(row.NoEchoAttributes, name)
		}
	}
}

// clean is an object without secrets. What the template has written out at a
// place is none, whatever it looks like.
func (s *scrubbing) clean(where string, o *value.Object, source any, written *value.Object) *value.Object {
	if o == nil {
		return nil
	}
	v, _ := s.d.e.config.Secrets.Redact(o, source)
	v = writtenOut(o, v, written)
	s.note(where, o, v, written)
	return v.(*value.Object)
}

// writtenOut takes back what was done to texts that the template has written out.
func writtenOut(before, after, written any) any {
	switch before := before.(type) {
	case *value.Object:
		w, _ := written.(*value.Object)
		a, out := after.(*value.Object), &value.Object{}
		for name, v := range before.All() {
			out.Set(name, writtenOut(v, a.Value(name), w.Value(name)))
		}
		return out
	case []any:
		w, _ := written.([]any)
		if len(w) != len(before) {
			return after
		}
		a, out := after.([]any), make([]any, len(before))
		for i, v := range before {
			out[i] = writtenOut(v, a[i], w[i])
		}
		return out
	case string:
		if before == written && !refersToSecret(before) {
			return before
		}
	}
	return after
}

// note says where two values of one shape differ, and where the name of a member
// holds a secret that the template has not written there.
func (s *scrubbing) note(where string, before, after, written any) {
	switch before := before.(type) {
	case *value.Object:
		o, _ := after.(*value.Object)
		w, _ := written.(*value.Object)
		for name, v := range before.All() {
			shown := name
			if s.d.e.config.Secrets.Contains(name) && !w.Has(name) {
				shown = secret.Masked
				s.Keys = add(s.Keys, where+"."+shown)
			}
			s.note(where+"."+shown, v, o.Value(name), w.Value(name))
		}
	case []any:
		l, _ := after.([]any)
		w, _ := written.([]any)
		for i, v := range before {
			var under any
			if len(w) == len(before) {
				under = w[i]
			}
			s.note(fmt.Sprintf("%s[%d]", where, i), v, l[i], under)
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

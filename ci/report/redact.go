package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

// shown returns a copy of a run that has only values that may be shown. It is
// what every renderer works from.
func shown(run *result.Run) *result.Run {
	out := *run
	out.Stacks = make([]*result.Stack, len(run.Stacks))
	for i, s := range run.Stacks {
		c := *s
		c.Plan = shownPlan(s.Plan, run.ShowValues)
		c.Outputs = value.NewObject()
		for name, v := range s.Outputs.All() {
			c.Outputs.Set(name, (&redactor{permitted: permitted(run.ShowValues, "Outputs")}).property("", name, v, false))
		}
		out.Stacks[i] = &c
	}
	return &out
}

func shownPlan(p *plan.Plan, show []string) *plan.Plan {
	if p == nil {
		return nil
	}
	out := *p
	out.Changes = make([]*plan.Change, len(p.Changes))
	for i, c := range p.Changes {
		out.Changes[i] = shownChange(c, show)
	}
	out.Outputs = slices.Clone(p.Outputs)
	for i := range out.Outputs {
		o, r := &out.Outputs[i], &redactor{permitted: permitted(show, "Outputs")}
		if o.OldRedacted {
			o.Old = nil
		}
		o.Old = r.property("", o.Name, o.Old, o.Secret)
		o.New = r.property("", o.Name, o.New, o.Secret)
	}
	out.Children = make([]*plan.Plan, len(p.Children))
	for i, child := range p.Children {
		out.Children[i] = shownPlan(child, show)
	}
	return &out
}

func shownChange(c *plan.Change, show []string) *plan.Change {
	out := *c
	out.Desired = nil // nobody renders it as it is
	out.Properties = slices.Clone(c.Properties)
	for i := range out.Properties {
		p, r := &out.Properties[i], &redactor{permitted: permitted(show, c.LogicalID, c.Type)}
		p.Old = r.property(c.Type, p.Path, p.Old, p.Secret || p.NoEcho)
		p.New = r.property(c.Type, p.Path, p.New, p.Secret || p.NoEcho)
	}
	return &out
}

// A redactor replaces values that must not be shown by marks. Equal values get
// equal marks, so that values can be compared after they were hidden; a mark
// tells nothing of its value. One redactor serves one comparison.
type redactor struct {
	seen      map[string]int
	permitted [][]string // paths whose values are shown, sensitive or not
}

// Marks, which no text that was cleaned can hold, as it has no NUL.
const (
	hiddenMark  = "\x00hidden:"
	changedMark = "\x00changed:"
	markEnd     = "\x00"
)

func (r *redactor) hide(v any) string {
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	text := value.JSON(v)
	n, ok := r.seen[text]
	if !ok {
		n = len(r.seen)
		r.seen[text] = n
	}
	return hiddenMark + strconv.Itoa(n) + markEnd
}

// property returns the value of a top-level property, or of an output, with
// everything replaced that must not be shown. Of a secret that is known as one
// its expression may be.
func (r *redactor) property(resourceType, name string, v any, known bool) any {
	if text, _ := v.(string); known && v != nil && !secret.IsExpression(text) {
		return r.hide(v)
	}
	return r.at(resourceType, []string{name}, v)
}

func (r *redactor) at(resourceType string, path []string, v any) any {
	if sensitive(resourceType, path) && !shows(v) && !r.permits(path) {
		return r.hide(v)
	}
	switch v := v.(type) {
	case *value.Object:
		out := value.NewObject()
		for k, m := range v.All() {
			if k == "Value" && namesSecret(v) && !shows(m) && !r.permits(append(slices.Clone(path), k)) {
				out.Set(r.text(k), r.hide(m))
				continue
			}
			out.Set(r.text(k), r.at(resourceType, append(slices.Clone(path), k), m))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = r.at(resourceType, path, m) // a list's entries stand at the list's path
		}
		return out
	case string:
		return r.text(v)
	}
	return v
}

// text hides credentials inside of a text. What is hidden still counts in a
// comparison.
func (r *redactor) text(s string) string {
	c := Clean(s)
	if strings.Count(c, hidden) == strings.Count(s, hidden) {
		return c
	}
	return strings.Replace(c, hidden, r.hide(s), 1)
}

// shows tells whether a value at a sensitive path says only where the secret
// is, or is a switch.
func shows(v any) bool {
	switch v := v.(type) {
	case nil, bool:
		return true
	case string:
		switch strings.ToLower(v) {
		case "", "***", "true", "false":
			return true
		}
		return strings.HasPrefix(v, "arn:") || dynamicReference.MatchString(v)
	case *value.Object:
		if v.Len() == 0 {
			return true
		}
		name, arg, ok := v.Sole()
		if !ok {
			return false
		}
		switch name {
		case "Ref":
			_, isText := arg.(string)
			return isText
		case "Fn::GetAtt", "Fn::ImportValue":
			return true
		case "Fn::Join":
			text, ok := plan.Joined(v, func(any) string { return "X" })
			return ok && shows(text)
		}
	case []any:
		return len(v) == 0
	}
	return false
}

var dynamicReference = regexp.MustCompile(`^\{\{resolve:[a-z-]+:[^{}]*\}\}$`)

var hiddenMarks = regexp.MustCompile(hiddenMark + `\d+` + markEnd)

// settle says of every hidden value in new whether it differs from what stood
// in its place in old. Where nothing stood, it is just hidden.
func settle(old any, had bool, new any) any {
	if !had {
		return new
	}
	switch new := new.(type) {
	case string:
		was, _ := old.(string)
		return hiddenMarks.ReplaceAllStringFunc(new, func(mark string) string {
			if strings.Contains(was, mark) {
				return mark
			}
			return changedMark + strings.TrimPrefix(mark, hiddenMark)
		})
	case *value.Object:
		was, _ := old.(*value.Object)
		out := value.NewObject()
		for k, v := range new.All() {
			w, had := was.Get(k)
			out.Set(k, settle(w, had, v))
		}
		return out
	case []any:
		was, _ := old.([]any)
		out := make([]any, len(new))
		for i, v := range new {
			switch {
			case slices.ContainsFunc(was, func(w any) bool { return value.Equal(v, w) }):
				out[i] = v // at most it moved
			case i < len(was):
				out[i] = settle(was[i], true, v)
			default:
				out[i] = v
			}
		}
		return out
	}
	return new
}

// Marks as they are, in quotes of JSON, and in JSON.
var (
	markedHidden  = anyForm("hidden")
	markedChanged = anyForm("changed")
)

func anyForm(kind string) *regexp.Regexp {
	inJSON := `\\u0000` + kind + `:\d+\\u0000`
	return regexp.MustCompile(`"` + inJSON + `"|` + inJSON + `|\x00` + kind + `:\d+\x00`)
}

// unmark writes marks as people read them.
func unmark(text string) string {
	return markedChanged.ReplaceAllString(markedHidden.ReplaceAllString(text, hidden), hiddenChanged)
}

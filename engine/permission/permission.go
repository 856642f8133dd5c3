// Package permission makes IAM policies that allow what is needed and no more.
//
// A policy is collected statement by statement. Actions on the same resources
// come together, so that a policy is as short as it can be, and one that is
// longer than IAM takes is cut into several. What cannot be said soundly as an
// ARN is "*": a policy that is too narrow fails a deploy half-way.
//
// It is pure: values in, values out.
package permission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// maxDocument is how many characters a managed policy may have, not counting
// white space.
const maxDocument = 6144

// Anything stands for every resource.
const Anything = "*"

// A Statement allows actions on resources.
type Statement struct {
	Sid                string
	Actions, Resources []string // sorted
}

// A Policy collects what is to be allowed. Its zero value allows nothing.
type Policy struct {
	statements map[string]*Statement // by their resources
}

// Allow adds actions on resources. sid names the statement, unless an earlier one
// has the same resources.
func (p *Policy) Allow(sid string, actions []string, resources ...string) {
	if len(actions) == 0 || len(resources) == 0 {
		return
	}
	resources = slices.Compact(slices.Sorted(slices.Values(resources)))
	if slices.Contains(resources, Anything) {
		sid, resources = "Services", []string{Anything}
	}
	key := strings.Join(resources, " ")
	if p.statements == nil {
		p.statements = map[string]*Statement{}
	}
	s := p.statements[key]
	if s == nil {
		s = &Statement{Sid: sid, Resources: resources}
		p.statements[key] = s
	}
	s.Actions = slices.Compact(slices.Sorted(slices.Values(append(s.Actions, actions...))))
}

// Statements are those of the policy, by their names. What is allowed on
// everything is not allowed on some of it again.
func (p *Policy) Statements() []Statement {
	var everywhere []string
	if s := p.statements[Anything]; s != nil {
		everywhere = s.Actions
	}
	var all []Statement
	for _, key := range slices.Sorted(maps.Keys(p.statements)) {
		s := *p.statements[key]
		if key != Anything {
			s.Actions = slices.DeleteFunc(slices.Clone(s.Actions), func(a string) bool { return slices.Contains(everywhere, a) })
		}
		if len(s.Actions) > 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Statement) int { return cmp.Compare(a.Sid, b.Sid) })
	for i, n := 1, 2; i < len(all); i++ { // a Sid stands once in a policy
		if strings.TrimRight(all[i].Sid, "0123456789") == strings.TrimRight(all[i-1].Sid, "0123456789") {
			all[i].Sid = fmt.Sprintf("%s%d", strings.TrimRight(all[i].Sid, "0123456789"), n)
			n++
		} else {
			n = 2
		}
	}
	return all
}

// Documents are the policy as IAM takes it: one document, or more when one would
// be too long.
func (p *Policy) Documents() []*value.Object {
	var documents [][]Statement
	var last []Statement
	for _, s := range p.Statements() {
		for _, part := range s.parts() {
			if next := append(slices.Clip(last), part); size(next) <= maxDocument {
				last = next
				continue
			}
			documents, last = append(documents, last), []Statement{part}
		}
	}
	if last != nil {
		documents = append(documents, last)
	}
	var out []*value.Object
	for _, d := range documents {
		out = append(out, document(d))
	}
	return out
}

// parts cuts a statement that is too long for any document.
func (s Statement) parts() []Statement {
	if size([]Statement{s}) <= maxDocument || len(s.Actions) < 2 {
		return []Statement{s}
	}
	first, second := s, s
	half := len(s.Actions) / 2
	first.Actions, second.Actions = s.Actions[:half], s.Actions[half:]
	return append(first.parts(), second.parts()...)
}

// size is how many characters count: names hold no white space.
func size(statements []Statement) int { return len(value.JSON(document(statements))) }

func document(statements []Statement) *value.Object {
	list := []any{}
	for _, s := range statements {
		list = append(list, value.NewObject("Sid", s.Sid, "Effect", "Allow", "Action", texts(s.Actions), "Resource", texts(s.Resources)))
	}
	return value.NewObject("Version", "2012-10-17", "Statement", list)
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

package assembly

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A Selection says which stacks a command is about.
type Selection struct {
	// Patterns are names, with * for any run of characters. One that holds a /
	// is compared with the display name. One that is a stack's ID means no other.
	Patterns []string
	// All takes every stack.
	All bool
	// One says that the command takes one stack.
	One bool
	// Exclusively leaves out what the selected stacks depend on.
	Exclusively bool
}

// A SelectionError says that a selection cannot be made, and what there is.
type SelectionError struct {
	Reason    string
	Available []string
}

func (e *SelectionError) Error() string {
	if len(e.Available) == 0 {
		return e.Reason + "; the assembly has no stacks"
	}
	return e.Reason + "; there are: " + strings.Join(e.Available, ", ")
}

// Select returns the selected stacks and, unless told not to, those that they
// depend on, in the assembly's order.
func (a *Assembly) Select(sel Selection) ([]*Stack, error) {
	refuse := func(format string, args ...any) ([]*Stack, error) {
		e := &SelectionError{Reason: fmt.Sprintf(format, args...)}
		for _, s := range a.Stacks {
			e.Available = append(e.Available, s.String())
		}
		return nil, e
	}
	switch {
	case len(a.Stacks) == 0:
		return refuse("there is nothing to select")
	case sel.All:
		return slices.Clone(a.Stacks), nil
	case len(sel.Patterns) == 0:
		if len(a.Stacks) > 1 && sel.One {
			return refuse("name the stack")
		}
		if len(a.Stacks) > 1 {
			return refuse("name the stacks, or ask for all")
		}
		return slices.Clone(a.Stacks), nil
	}
	chosen := map[string]bool{}
	var unmatched []string
	for _, pattern := range sel.Patterns {
		match, found := a.matcher(pattern), false
		for _, s := range a.Stacks {
			if match(s) {
				chosen[s.ID], found = true, true
			}
		}
		if !found {
			unmatched = append(unmatched, pattern)
		}
	}
	if len(unmatched) > 0 {
		return refuse("no stack matches %s", strings.Join(unmatched, ", "))
	}
	if !sel.Exclusively {
		links := a.links()
		for grown := true; grown; {
			grown = false
			for _, s := range a.Stacks {
				for _, l := range links[s.ID] {
					if chosen[s.ID] && !l.weak && !chosen[l.stack] {
						chosen[l.stack], grown = true, true
					}
				}
			}
		}
	}
	return a.only(chosen), nil
}

func (a *Assembly) matcher(pattern string) func(*Stack) bool {
	if i := slices.IndexFunc(a.Stacks, func(s *Stack) bool { return s.ID == pattern }); i >= 0 {
		return func(s *Stack) bool { return s == a.Stacks[i] }
	}
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	re := regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`)
	return func(s *Stack) bool {
		if strings.Contains(pattern, "/") {
			return re.MatchString(s.DisplayName)
		}
		return re.MatchString(s.Name)
	}
}

func (a *Assembly) only(chosen map[string]bool) []*Stack {
	var all []*Stack
	for _, s := range a.Stacks {
		if chosen[s.ID] {
			all = append(all, s)
		}
	}
	return all
}

// A link is a stack that another has to come after. A weak one is only about
// the order of those that are deployed anyway.
type link struct {
	stack string
	weak  bool
}

// links finds what each stack has to come after: by the manifest, by an import
// of an export, and by reading an output. Names that are not written out make
// no link; neither does a name that no stack of the assembly has. Exports are those of
// a region and account: of stacks that export the same name, the one in the reader's
// counts, else the first.
func (a *Assembly) links() map[string][]link {
	exporters := map[string][]*Stack{}
	for _, s := range a.Stacks {
		for t := range s.templates() {
			for _, o := range t.Outputs {
				if name, ok := o.ExportName.(string); ok {
					exporters[name] = append(exporters[name], s)
				}
			}
		}
	}
	links := map[string][]link{}
	for _, s := range a.Stacks {
		add := func(stack string, weak bool) {
			if stack != s.ID && !slices.Contains(links[s.ID], link{stack, weak}) {
				links[s.ID] = append(links[s.ID], link{stack, weak})
			}
		}
		for _, d := range s.DependsOn {
			add(d, false)
		}
		for t := range s.templates() {
			crossings(t.Body, func(name string) {
				if of := exporters[name]; len(of) > 0 {
					add(cmp.Or(at(of, s.Region, s.AccountID), of[0]).ID, false)
				}
			}, func(stack, region string) {
				if read := a.Stack(stack, cmp.Or(region, s.Region), s.AccountID); read != nil {
					add(read.ID, true)
				}
			})
		}
	}
	return links
}

// templates yields the stack's template and those of its nested stacks.
func (s *Stack) templates() iter.Seq[*template.Template] {
	return func(yield func(*template.Template) bool) {
		var visit func(t *template.Template, nested map[string]*Nested) bool
		visit = func(t *template.Template, nested map[string]*Nested) bool {
			if t != nil && !yield(t) {
				return false
			}
			for _, id := range slices.Sorted(maps.Keys(nested)) {
				if !visit(nested[id].Template, nested[id].Nested) {
					return false
				}
			}
			return true
		}
		visit(s.Template, s.Nested)
	}
}

// crossings finds where a template names what another stack has.
func crossings(v any, imports func(export string), reads func(stack, region string)) {
	switch v := v.(type) {
	case []any:
		for _, member := range v {
			crossings(member, imports, reads)
		}
	case *value.Object:
		for name, member := range v.All() {
			switch name {
			case "Fn::ImportValue":
				if export, ok := member.(string); ok {
					imports(export)
				}
			case "Fn::GetStackOutput":
				// What a role reads is another account's, whatever its name.
				if o, ok := member.(*value.Object); ok && o.String("StackName") != "" && !o.Has("RoleArn") {
					reads(o.String("StackName"), o.String("Region"))
				}
			}
			crossings(member, imports, reads)
		}
	}
}

// Order tells, for each of the stacks by its ID, after which others of them it has
// to be deployed; destroying goes the other way round.
func (a *Assembly) Order(stacks []*Stack) (map[string][]string, error) {
	links := a.links()
	in := map[string]bool{}
	for _, s := range stacks {
		in[s.ID] = true
	}
	after := map[string][]string{}
	for _, s := range stacks {
		for _, l := range links[s.ID] {
			if in[l.stack] && !slices.Contains(after[s.ID], l.stack) {
				after[s.ID] = append(after[s.ID], l.stack)
			}
		}
	}
	if _, err := sorted(stacks, after); err != nil {
		return nil, err
	}
	return after, nil
}

// Sorted returns the stacks so that each comes after those that it depends on,
// else in their order.
func (a *Assembly) Sorted(stacks []*Stack) ([]*Stack, error) {
	after, err := a.Order(stacks)
	if err != nil {
		return nil, err
	}
	return sorted(stacks, after)
}

// A CycleError says that stacks need each other.
type CycleError struct{ Stacks []string } // the first is also the last

func (e *CycleError) Error() string {
	return "stacks depend on each other in a circle: " + strings.Join(e.Stacks, " -> ")
}

func sorted(stacks []*Stack, after map[string][]string) ([]*Stack, error) {
	byID := map[string]*Stack{}
	for _, s := range stacks {
		byID[s.ID] = s
	}
	var out []*Stack
	done := map[string]bool{}
	var path []string
	var visit func(id string) error
	visit = func(id string) error {
		if done[id] {
			return nil
		}
		if i := slices.Index(path, id); i >= 0 {
			return &CycleError{append(slices.Clone(path[i:]), id)}
		}
		path = append(path, id)
		for _, before := range after[id] {
			if err := visit(before); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		done[id] = true
		out = append(out, byID[id])
		return nil
	}
	for _, s := range stacks {
		if err := visit(s.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
)

// A NoEcho parameter that is not given takes its Default. Whether that is what
// was deployed nobody can tell, since only a mask is stored: sent along with some
// other change, it would take the place of the secret, and the plan would not
// show it. So nothing that hangs on such a parameter is changed without it. What
// does not change is left alone, and a first deploy takes the Default.

// A NotGivenError says that a resource hangs on NoEcho parameters that were
// deployed before and are not given now. Nothing was changed on it.
type NotGivenError struct {
	LogicalID, Type string
	Action          plan.Action
	Parameters      []string // of the top-level stack
}

func (e *NotGivenError) Error() string {
	return fmt.Sprintf("%s (%s) is not %s: %s", e.LogicalID, e.Type, e.done(), e.because())
}

func (e *NotGivenError) done() string {
	switch e.Action {
	case plan.Create:
		return "created"
	case plan.Delete, plan.Retain:
		return "taken out of the stack"
	}
	return "changed"
}

func (e *NotGivenError) because() string {
	return fmt.Sprintf("it hangs on the NoEcho %s, not given, and the Default need not be what was deployed, which is not stored", several("parameter", e.Parameters))
}

// Remedy says what to do about it.
func (e *NotGivenError) Remedy() string {
	return "give " + strings.Join(e.Parameters, " and ") + " with parameters, as deployed, or the Default where that is meant"
}

func several(what string, names []string) string {
	if len(names) > 1 {
		what += "s"
	}
	return what + " " + strings.Join(names, " and ")
}

// secretive tells whether a parameter's value is stored as a mask.
func (t target) secretive(p *template.Parameter) bool {
	return p.NoEcho || slices.Contains(t.Hidden, p.Name)
}

// notGiven are the stack's parameters whose values come from NoEcho parameters
// that this run was not given, with the names of those.
func (t target) notGiven() map[string][]string {
	if t.parent != nil {
		return t.withheld
	}
	all := map[string][]string{}
	for _, p := range t.Template.Parameters {
		if _, given := t.Parameters[p.Name]; !given && t.secretive(p) {
			all[p.Name] = []string{p.Name}
		}
	}
	return all
}

// handDown notes where the values come from that a nested stack is given. before
// are those that it was given last.
func (d *deployment) handDown(child *target, before map[string]string) {
	open := d.t.notGiven()
	child.withheld = map[string][]string{}
	for name, v := range d.scope.Resource(child.parentLogicalID).Properties.Object("Parameters").All() {
		if from := hangsOn(open, d.scope.Parameters(v)); from != nil {
			child.withheld[name] = from
			continue
		}
		// Of an attribute that is as it was, only the mask is known on both sides.
		same := child.Parameters[name] == secret.Masked && before[name] == secret.Masked && len(suppliedTo(v, d.t)) == 0
		if !same && (slices.Contains(child.Hidden, name) || before[name] != child.Parameters[name]) {
			child.renewed = append(child.renewed, name)
		}
	}
}

// hangsOn names what is not given of what parameters come from.
func hangsOn(open map[string][]string, parameters []string) (names []string) {
	for _, p := range parameters {
		for _, name := range open[p] {
			names = add(names, name)
		}
	}
	return names
}

// withheld finds what a plan must not do, since it hangs on NoEcho parameters
// that are not given and were deployed before.
func (p *planned) withheld(t target, record *state.Record) map[string]*NotGivenError {
	open := t.notGiven()
	if record == nil || len(open) == 0 {
		return nil
	}
	template := p.scope.Template()
	deployed := map[string][]string{}
	for id, row := range record.Resources {
		if !hasMasks(row) {
			continue
		}
		r := template.Resource(id)
		if r == nil { // of which parameter its masks are is not known any more
			deployed = open
			break
		}
		for _, name := range p.reads(r) {
			if from := open[name]; from != nil {
				deployed[name] = from
			}
		}
	}
	refused := map[string]*NotGivenError{}
	for _, c := range p.Changes {
		if names := hangsOn(deployed, p.sends(c, template.Resource(c.LogicalID), record.Row(c.LogicalID))); names != nil {
			refused[c.LogicalID] = &NotGivenError{LogicalID: c.LogicalID, Type: c.Type, Action: c.Action, Parameters: names}
		}
	}
	return refused
}

// reads names the parameters that a resource hangs on.
func (p *planned) reads(r *template.Resource) []string {
	return append(p.scope.Parameters(r.Properties), p.scope.ConditionParameters(r.Condition)...)
}

// sends names the parameters that decide what a change does.
func (p *planned) sends(c *plan.Change, r *template.Resource, row *state.Resource) (parameters []string) {
	switch {
	case r == nil, c.Action == plan.NoChange, c.MetadataOnly():
		return nil
	case c.Gone(): // left out by its condition, or another of the name
		if hasMasks(row) {
			return p.scope.ConditionParameters(r.Condition)
		}
		return nil
	}
	typ, known := schema.Lookup(c.Type)
	for name, v := range r.Properties.All() {
		if c.Action == plan.Update && known && typ.Replaces(name) == schema.Replaces {
			continue // an update cannot touch it
		}
		parameters = append(parameters, p.scope.Parameters(v)...)
	}
	return parameters
}

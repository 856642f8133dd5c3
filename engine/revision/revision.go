// Package revision compares two revisions of a stack's templates, for a run that
// may not ask AWS: one for a pull request from a fork has no credentials.
//
// What comes of it is a plan of template against template. Both sides are as
// they are written: a function call equals only the same call, conditions are
// not decided, and every resource of a template counts. So it says what a change
// does to the templates, and nothing about what is deployed, which may be of
// another revision. Such a plan is marked as one ([plan.Plan.FromTemplates]),
// so that nobody can approve it.
//
// It is pure: values in, values out.
package revision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// Compare says what is different in head, and what that would mean for the
// stack's resources. base is nil for a stack that it does not have. The notes
// name what else differs and cannot be told in terms of resources.
func Compare(stack, region string, base, head *assembly.Nested) (*plan.Plan, []string, error) {
	if base == nil {
		base = &assembly.Nested{Template: &template.Template{}}
	}
	p, err := plan.Compute(plan.Input{Stack: stack, Region: region, Current: record(stack, region, base.Template), Desired: desired(head.Template)})
	if err != nil {
		return nil, nil, err
	}
	p.FromTemplates = true
	p.Outputs = outputs(base.Template, head.Template)
	notes := elsewhere(stack, base.Template, head.Template)
	for _, r := range head.Template.Resources { // nested stacks, in the template's order
		nested := head.Nested[r.LogicalID]
		if nested == nil {
			continue
		}
		child, more, err := Compare(stack+"~"+r.LogicalID, region, base.Nested[r.LogicalID], nested)
		if err != nil {
			return nil, nil, err
		}
		p.AddChild(r.LogicalID, child)
		notes = append(notes, more...)
	}
	return p, notes, nil
}

// record takes a template for what is deployed.
func record(stack, region string, t *template.Template) *state.Record {
	r := state.NewRecord(stack, region)
	for _, res := range t.Resources {
		r.Set(res.LogicalID, &state.Resource{
			ResourceType: res.Type, Properties: res.Properties,
			DeletionPolicy: res.DeletionPolicy, UpdateReplacePolicy: res.UpdateReplacePolicy,
		})
	}
	return r
}

func desired(t *template.Template) []plan.Resource {
	var all []plan.Resource
	for _, res := range t.Resources {
		d := plan.Resource{
			LogicalID: res.LogicalID, Type: res.Type, Path: res.Metadata.String("aws:cdk:path"), Properties: res.Properties,
			References:     map[string][]plan.Reference{},
			DeletionPolicy: res.DeletionPolicy, UpdateReplacePolicy: res.UpdateReplacePolicy,
		}
		for _, ref := range t.References(res) {
			if ref.Property != "" {
				d.References[ref.Property] = append(d.References[ref.Property], plan.Reference{LogicalID: ref.LogicalID, Attribute: ref.Attribute})
			}
		}
		all = append(all, d)
	}
	return all
}

// outputs compares what is written of outputs, and then the names of exports.
func outputs(base, head *template.Template) []plan.OutputChange {
	was, is := map[string]*template.Output{}, map[string]*template.Output{}
	for _, o := range base.Outputs {
		was[o.Name] = o
	}
	for _, o := range head.Outputs {
		is[o.Name] = o
	}
	var values, exports []plan.OutputChange
	for _, o := range head.Outputs {
		old := was[o.Name]
		if old == nil {
			values = append(values, plan.OutputChange{Name: o.Name, Action: plan.Create, New: o.Value, HasNew: true})
			old = &template.Output{}
		} else if !value.Equal(old.Value, o.Value) {
			values = append(values, plan.OutputChange{Name: o.Name, Action: plan.Update, Old: old.Value, HasOld: true, New: o.Value, HasNew: true})
		}
		if !value.Equal(old.ExportName, o.ExportName) {
			exports = append(exports, exported(old, plan.Delete)...)
			exports = append(exports, exported(o, plan.Create)...)
		}
	}
	for _, o := range base.Outputs {
		if is[o.Name] == nil {
			values = append(values, plan.OutputChange{Name: o.Name, Action: plan.Delete, Old: o.Value, HasOld: true})
			exports = append(exports, exported(o, plan.Delete)...)
		}
	}
	return slices.Concat(values, exports)
}

func exported(o *template.Output, action plan.Action) []plan.OutputChange {
	if o.ExportName == nil {
		return nil
	}
	c := plan.OutputChange{Name: plan.Readable(o.ExportName), Action: action, Export: true}
	if action == plan.Delete {
		c.Old, c.HasOld = o.Value, true
	} else {
		c.New, c.HasNew = o.Value, true
	}
	return []plan.OutputChange{c}
}

// elsewhere names what differs outside of properties and outputs.
func elsewhere(stack string, base, head *template.Template) []string {
	if len(base.Resources) == 0 {
		return nil // all of it is new
	}
	var differs []string
	for _, section := range []string{"Parameters", "Conditions", "Mappings", "Rules"} {
		if names := differing(base.Body.Object(section), head.Body.Object(section), nil); len(names) > 0 {
			differs = append(differs, section+" ("+strings.Join(names, ", ")+")")
		}
	}
	if !value.Equal(base.Body.Value("Transform"), head.Body.Value("Transform")) {
		differs = append(differs, "Transform")
	}
	loop := func(name string) bool { return strings.HasPrefix(name, "Fn::ForEach") }
	for _, section := range []string{"Resources", "Outputs"} {
		if names := differing(base.Body.Object(section), head.Body.Object(section), loop); len(names) > 0 {
			differs = append(differs, "loops of the "+section+" ("+strings.Join(names, ", ")+")")
		}
	}
	var conditions []string
	for _, r := range head.Resources {
		if old := base.Resource(r.LogicalID); old != nil && old.Condition != r.Condition {
			conditions = append(conditions, r.LogicalID)
		}
	}
	for _, o := range head.Outputs {
		if i := slices.IndexFunc(base.Outputs, func(old *template.Output) bool { return old.Name == o.Name }); i >= 0 && base.Outputs[i].Condition != o.Condition {
			conditions = append(conditions, o.Name)
		}
	}
	if len(conditions) > 0 {
		differs = append(differs, "the Condition of "+strings.Join(conditions, ", "))
	}
	if differs == nil {
		return nil
	}
	return []string{fmt.Sprintf("the template of %s differs in more than is listed, and what that does to its resources was not worked out: %s", stack, strings.Join(differs, "; "))}
}

// differing names the members that are not the same, of those that are wanted.
func differing(a, b *value.Object, wanted func(name string) bool) []string {
	var names []string
	for _, name := range slices.Concat(a.Keys(), b.Keys()) {
		if (wanted == nil || wanted(name)) && !slices.Contains(names, name) && !value.Equal(a.Value(name), b.Value(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

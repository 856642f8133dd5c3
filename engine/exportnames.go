package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/template"
)

// An ExportTakenError says that a stack would export a name that another stack of
// the region exports. Whoever imports it would get the other value without a word.
type ExportTakenError struct {
	Stack, Region, Name string
	Holder              string
}

func (e *ExportTakenError) Error() string {
	return fmt.Sprintf("stack %s in %s would export %s, which stack %s exports already", e.Stack, e.Region, e.Name, e.Holder)
}

// Remedy says what to do about it.
func (e *ExportTakenError) Remedy() string {
	return "give the export another name, or take it out of the other stack first"
}

// exportsAreFree refuses a plan that brings the name of another stack's export.
// It asks only about names that are new: the index, and then the record of whom
// it names, since the index may be behind.
func (d *deployment) exportsAreFree(ctx context.Context) error {
	var names []string
	for _, o := range d.Plan.Outputs {
		if o.Export && o.Action == plan.Create {
			names = append(names, o.Name)
		}
	}
	if names == nil {
		return nil
	}
	taken, err := d.store.Exports(d.t.Region).Others(ctx, d.t.Name, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		other, ok := taken[name]
		if !ok {
			continue
		}
		record, _, err := d.store.Stack(other, d.t.Region).Read(ctx)
		if err != nil {
			return err
		}
		if record != nil && slices.Contains(record.Exports(), name) {
			return &ExportTakenError{Stack: d.t.Name, Region: d.t.Region, Name: name, Holder: other}
		}
	}
	return nil
}

// checkExportNames refuses stacks of one account, run and region, nested ones included, that
// would export the same name whatever their conditions.
func (s *selected) checkExportNames() error {
	var faults []error
	seen := map[[2]string]string{} // region and name: stack
	var look func(stack, region string, t *template.Template, nested map[string]*assembly.Nested)
	look = func(stack, region string, t *template.Template, nested map[string]*assembly.Nested) {
		for _, o := range t.Outputs {
			name, ok := o.ExportName.(string)
			if !ok || o.Condition != "" {
				continue
			}
			key := [2]string{region, name}
			if other, taken := seen[key]; taken && other != stack {
				faults = append(faults, &ExportTakenError{Stack: stack, Region: region, Name: name, Holder: other})
			}
			seen[key] = stack
		}
		for _, id := range sortedKeys(nested) {
			look(stack+"~"+id, region, nested[id].Template, nested[id].Nested)
		}
	}
	for _, t := range s.targets {
		look(t.Name, t.Region, t.Template, t.Nested)
	}
	return errors.Join(faults...)
}

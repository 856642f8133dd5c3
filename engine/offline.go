package engine

import (
	"context"
	"fmt"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/template"
)

// checkTemplates refuses what no deploy would take, in all stacks and in those
// nested in them, before any of them is begun. AWS is not asked.
func (s *selected) checkTemplates(ctx context.Context) error {
	var faults []error
	for _, t := range s.targets {
		faults = append(faults, checkTemplate(ctx, t.Name, t.Region, t.account, t.Template, t.Nested)...)
	}
	return joined(faults)
}

// checkTemplate checks the template of a stack and those nested in it. A region or
// account that the stack does not name is "".
func checkTemplate(ctx context.Context, stack, region, account string, t *template.Template, below map[string]*assembly.Nested) []error {
	if t == nil {
		return nil
	}
	var faults []error
	scope, err := t.Offline(ctx, stack, region, account)
	if err == nil && scope != nil {
		_, _, err = order(scope, false)
	}
	if err != nil {
		faults = append(faults, fmt.Errorf("stack %s: %w", stack, err))
	}
	for _, id := range sortedKeys(below) {
		faults = append(faults, checkTemplate(ctx, stack+"~"+id, region, account, below[id].Template, below[id].Nested)...)
	}
	return faults
}

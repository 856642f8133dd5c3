package engine

import (
	"context"
	"fmt"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/template"
)

// A FormedError says that CloudFormation has a stack of the name that a first
// deploy would make. Nothing was changed.
type FormedError struct{ Stack, Region, Status string }

func (e *FormedError) Error() string {
	return fmt.Sprintf("stack %s in %s is CloudFormation's (%s) and was not deployed: the app declares names, and their creates would be answered with CloudFormation's resources",
		e.Stack, e.Region, e.Status)
}

// Remedy says what to do about it.
func (e *FormedError) Remedy() string {
	return fmt.Sprintf("take it over first: cdkd-action import %s --migrate-from-cloudformation; in a workflow, command: import with migrate-from-cloudformation: true. "+
		"Or give the stack another name, and its resources other names", e.Stack)
}

// formed refuses the first deploy of a stack that CloudFormation has, where its
// creates could be answered with what is there: where names are declared. What
// CloudFormation cannot be asked is no reason to refuse.
func (d *deployment) formed(ctx context.Context) error {
	if d.t.parent != nil || !declaresNames(d.router, d.t) {
		return nil
	}
	status, err := d.e.cloudFormation(d).Status(ctx, d.t.Name)
	if err != nil {
		d.observe(Event{Kind: Detail, Text: fmt.Sprintf("whether CloudFormation has a stack of that name is not known: %v", err)})
		return nil
	}
	if status == "" {
		return nil
	}
	return &FormedError{Stack: d.t.Name, Region: d.t.Region, Status: status}
}

// declaresNames tells whether a stack, or one nested in it, declares a name whose
// create is answered with what has it.
func declaresNames(router *provider.Router, t target) bool {
	for _, r := range declared(t) {
		if driver := router.Driver(r.Type); driver != nil && driver.Resource().Lookup != nil && declaresName(r) {
			return true
		}
	}
	return false
}

// declaresName tells whether a template names a resource, if only under a
// condition.
func declaresName(r *template.Resource) bool {
	rule, ok := plan.NameRuleOf(r.Type)
	return ok && r.Properties.Has(rule.Property)
}

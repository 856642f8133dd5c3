package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
)

// A FormedError says that CloudFormation has a stack of the name that a first
// deploy would make. Nothing was changed.
type FormedError struct{ Stack, Region, Status string }

func (e *FormedError) Error() string {
	return fmt.Sprintf("stack %s in %s is CloudFormation's (%s) and was not deployed: the app declares names, and their creates would fail, or be answered with CloudFormation's resources",
		e.Stack, e.Region, e.Status)
}

// Remedy says what to do about it.
func (e *FormedError) Remedy() string {
	return fmt.Sprintf("take it over first: %s. Or give the stack another name, and its resources other names", migration(e.Stack, ""))
}

// migration is how to take a stack of CloudFormation's over: as a command, and as the
// inputs of a step. What it is called there is "" when that is the same.
func migration(stack, called string) string {
	flag, input := "", "migrate-from-cloudformation: true"
	if called != "" {
		flag, input = " --cfn-stack-name "+called, input+" and cfn-stack-name: "+called
	}
	return fmt.Sprintf("cdkd-action import %s --migrate-from-cloudformation%s; in a workflow, command: import with %s", stack, flag, input)
}

// formed refuses the first deploy of a stack that CloudFormation has, where its
// creates would meet what is there: where names are declared. What CloudFormation
// cannot be asked is no reason to refuse.
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

// declaresNames tells whether a stack, or one nested in it, declares a name that no
// two resources have: its create is refused for what has it, or answered with that.
func declaresNames(router *provider.Router, t target) bool {
	for _, r := range declared(t) {
		rule, named := plan.NameRuleOf(r.Type)
		switch driver := router.Driver(r.Type); {
		case slices.Contains(parts, r.Type), named && !r.Properties.Has(rule.Property):
		case !named:
			if _, literal := r.Properties.Value(identifier(r.Type)).(string); literal { // else it may name what this belongs to
				return true
			}
		case driver != nil && driver.Resource().Lookup != nil, slices.Contains(namedBesideID, r.Type), idIsName(r.Type, rule.Property):
			return true
		}
	}
	return false
}

// namedBesideID are types of which there is one of a name, with ids that are
// something else, and whose names are not looked up.
var namedBesideID = []string{
	"AWS::DocDB::DBCluster",
	"AWS::DocDB::DBInstance",
	"AWS::DocDB::DBSubnetGroup",
	"AWS::IAM::ManagedPolicy",
	"AWS::SecretsManager::Secret",
}

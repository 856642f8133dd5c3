package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
)

// Replacements are a person's word on resources that are made anew.
//
// Resources are named by their logical ids, those of nested stacks and those
// that only one of several stacks is meant for as Stack:LogicalID.
type Replacements struct {
	// DeleteFirst has the old resource deleted before the new one is made, where
	// both would have one name. Without it such a replacement is refused.
	DeleteFirst bool
	// LoseData are resources that hold data and may be replaced all the same; the
	// entry "true" is all of them.
	LoseData []string
	// Recreate are resources to delete and make again, whether or not they change;
	// the others only where they change, and through that layer.
	Recreate, ViaCloudControl, ViaSDK []string
}

const everyResource = "true"

// mayLoseData tells whether a resource that holds data may be replaced.
func (r Replacements) mayLoseData(t target, logicalID string) bool {
	return slices.Contains(r.LoseData, everyResource) || names(r.LoseData, t, logicalID)
}

// recreation is how a resource is to be made anew.
func (r Replacements) recreation(t target, logicalID string) plan.Recreation {
	switch {
	case names(r.ViaCloudControl, t, logicalID):
		return plan.RecreateViaCloudControl
	case names(r.ViaSDK, t, logicalID):
		return plan.RecreateViaSDK
	case names(r.Recreate, t, logicalID):
		return plan.Recreate
	}
	return ""
}

// layer is the one that a resource is made anew through, "" for the one that it
// goes through anyway.
func (r Replacements) layer(t target, logicalID string) string {
	switch r.recreation(t, logicalID) {
	case plan.RecreateViaCloudControl:
		return state.ByCloudControl
	case plan.RecreateViaSDK:
		return state.BySDK
	}
	return ""
}

func names(entries []string, t target, logicalID string) bool {
	return slices.Contains(entries, t.Name+":"+logicalID) || t.parent == nil && slices.Contains(entries, logicalID)
}

// check refuses what names no resource of the selected stacks, and a resource
// that is to go both ways.
func (r Replacements) check(sel *selected) error {
	known, loops := map[string]bool{}, false
	learn := func(prefix string, t *template.Template) {
		loops = loops || t.Loops()
		for _, r := range t.Resources {
			known[prefix+r.LogicalID] = true
		}
	}
	var learnNested func(stack string, nested map[string]*assembly.Nested)
	learnNested = func(stack string, nested map[string]*assembly.Nested) {
		for id, n := range nested {
			learn(stack+"~"+id+":", n.Template)
			learnNested(stack+"~"+id, n.Nested)
		}
	}
	for _, t := range sel.targets {
		learn("", t.Template)
		learn(t.Name+":", t.Template)
		learnNested(t.Name, t.Nested)
	}
	for _, input := range []struct {
		name    string
		entries []string
	}{
		{"force-stateful-recreation", r.LoseData}, {"recreate", r.Recreate},
		{"recreate-via-cc-api", r.ViaCloudControl}, {"recreate-via-sdk-provider", r.ViaSDK},
	} {
		for _, entry := range input.entries {
			if !known[entry] && !loops && (entry != everyResource || input.name != "force-stateful-recreation") {
				return &InputError{
					What: fmt.Sprintf("%s: no selected stack has a resource %q", input.name, entry),
					Next: "give the logical id in the template, or Stack:LogicalID, with Stack~Child as the stack for what is nested in it",
					Page: guide.UnknownResource,
				}
			}
		}
	}
	for _, entry := range r.ViaCloudControl {
		if slices.Contains(r.ViaSDK, entry) {
			return &InputError{What: entry + " is to be made anew through both layers", Next: "give one of recreate-via-cc-api and recreate-via-sdk-provider"}
		}
	}
	return nil
}

// recreations are how the stack's resources are to be made anew. What speaks
// against it is said of all at once, before anything is touched.
func (d *deployment) recreations(scope *template.Scope, record *state.Record) (map[string]plan.Recreation, error) {
	all := map[string]plan.Recreation{}
	var problems []string
	for _, r := range scope.Resources() {
		how := d.opt.recreation(d.t, r.LogicalID)
		row := record.Row(r.LogicalID)
		switch {
		case how == "":
		case row == nil:
			problems = append(problems, r.LogicalID+" is not deployed, so that there is nothing to make anew")
		case row.ResourceType == r.Type: // another type replaces it anyway
			if why := d.againstRecreating(r, row, how); why != "" {
				problems = append(problems, fmt.Sprintf("%s (%s) %s", r.LogicalID, r.Type, why))
			}
			all[r.LogicalID] = how
		}
	}
	if problems != nil {
		return nil, &InputError{
			What: fmt.Sprintf("stack %s in %s: not everything can be recreated as asked: %s", d.t.Name, d.t.Region, strings.Join(problems, "; ")),
			Next: "leave these out, or change what speaks against it",
			Page: guide.ReplacementRefused,
		}
	}
	return all, nil
}

// againstRecreating is why a resource cannot be made anew as asked, "" for
// nothing.
func (d *deployment) againstRecreating(r *template.Resource, row *state.Resource, how plan.Recreation) string {
	layer := d.opt.layer(d.t, r.LogicalID)
	onCloud := row.ProvisionedBy == state.ByCloudControl
	driver := d.router.Driver(r.Type)
	switch {
	case r.Type == nestedType:
		return "is a nested stack: name its resources, as " + d.t.Name + "~" + r.LogicalID + ":LogicalID"
	case r.Type == "AWS::DynamoDB::GlobalTable":
		return "has replicas in other regions, and is never recreated"
	case plan.Stateful(r.Type) && r.UpdateReplacePolicy != "Retain" && !d.opt.mayLoseData(d.t, r.LogicalID):
		return "holds data that would be lost, unless force-stateful-recreation names it"
	case layer == "":
		return ""
	case driver == nil && layer == state.BySDK:
		return "has no SDK provider"
	case (layer == state.ByCloudControl) == onCloud:
		return "is provisioned there already"
	case layer == state.ByCloudControl && isCustom(r.Type):
		return "is a custom resource, which only its handler provisions"
	case layer == state.ByCloudControl && driver != nil && driver.Resource().SDKOnly != "":
		return "cannot go through Cloud Control: " + driver.Resource().SDKOnly
	case layer == state.ByCloudControl && len(d.opt.Router.AllowProperties[r.Type]) > 0:
		return "is to keep off Cloud Control by allow-unsupported-properties"
	}
	decision, err := d.router.Route(provider.Want{
		LogicalID: r.LogicalID, Type: r.Type, Properties: r.Properties,
		Recorded: row.ProvisionedBy, Exists: true, Mutating: true, Layer: layer,
	})
	unroutable, cannot := errors.AsType[*provider.Unroutable](err)
	switch {
	case cannot:
		return "cannot go through Cloud Control: " + unroutable.Reason
	case err != nil:
		return err.Error()
	case decision.Route.ProvisionedBy != layer:
		return "uses properties that the SDK provider does not handle"
	}
	return ""
}

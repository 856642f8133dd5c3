package engine

import (
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/value"
)

// Creation and update policies are what CloudFormation does around a resource
// beside changing it. None of that is done here, and where it would be, the plan
// says so.

// What is missing when a member of a CreationPolicy is not followed.
var creationPolicies = map[string]string{
	"ResourceSignal": "signals are not waited for, so that what depends on it does not wait until it is ready, and it cannot fail the deploy",
	"StartFleet":     "the fleet is not started",
}

// What is missing when a member of an UpdatePolicy is not followed, and changes of
// which properties it is about; none are all.
var updatePolicies = map[string]struct {
	text       string
	properties []string
}{
	"AutoScalingReplacingUpdate":  {"the group is not replaced, and its instances stay as they are until they are replaced", groupOfInstances},
	"AutoScalingRollingUpdate":    {"its instances stay as they are until they are replaced: start an instance refresh", groupOfInstances},
	"CodeDeployLambdaAliasUpdate": {"CodeDeploy shifts no traffic: all of it goes to the other version at once", []string{"FunctionVersion"}},
	"EnableVersionUpgrade":        {"the change is asked for without it", []string{"EngineVersion", "ElasticsearchVersion"}},
	"UseOnlineResharding":         {"the change is asked for without it", []string{"NumNodeGroups", "NodeGroupConfiguration"}},
}

// groupOfInstances are the properties of an Auto Scaling group by which it makes
// instances.
var groupOfInstances = []string{"AvailabilityZones", "LaunchConfigurationName", "LaunchTemplate", "MixedInstancesPolicy", "PlacementGroup", "VPCZoneIdentifier"}

// notFollowed says which policies CloudFormation would follow where the plan makes
// or changes something.
func (p *planned) notFollowed() (texts []string) {
	for _, c := range p.Changes {
		r := p.scope.Resource(c.LogicalID)
		if r == nil {
			continue
		}
		say := func(attribute, member, text string) {
			texts = append(texts, fmt.Sprintf("%s (%s): %s of its %s is not followed: %s", c.LogicalID, c.Type, member, attribute, text))
		}
		made := c.Action == plan.Create || c.Action == plan.Replace || c.Action == plan.MayReplace
		if o, ok := r.CreationPolicy.(*value.Object); ok && made {
			for member, v := range o.All() {
				if text := creationPolicies[member]; text != "" && !off(v) {
					say("CreationPolicy", member, text)
				}
			}
		}
		if o, ok := r.UpdatePolicy.(*value.Object); ok && (c.Action == plan.Update || c.Action == plan.MayReplace) {
			for member, v := range o.All() {
				policy, known := updatePolicies[member]
				concerns := slices.ContainsFunc(c.Properties, func(p plan.PropertyChange) bool { return slices.Contains(policy.properties, p.Path) })
				if settings, ok := v.(*value.Object); ok && member == "AutoScalingReplacingUpdate" {
					v = settings.Value("WillReplace")
				}
				if known && concerns && !off(v) {
					say("UpdatePolicy", member, policy.text)
				}
			}
		}
	}
	return texts
}

func off(v any) bool { return v == false || v == "false" }

package graph

import (
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A Resource is what ordering needs to know of a declared resource.
type Resource struct {
	LogicalID, Type string
	DependsOn       []string      // as declared
	References      []string      // ids that its properties refer to
	Properties      *value.Object // as written, for the implicit edges
}

// Creation returns what each resource has to wait for when it is created or
// updated, and what is recorded as its dependencies. The two differ where a
// DependsOn that only orders the network holds up something that does not use
// it: such a wait is dropped, unless declared is set, but deletion keeps the order.
func Creation(resources []Resource, declared bool) (waits, recorded Edges, err error) {
	types := map[string]string{}
	for _, r := range resources {
		types[r.LogicalID] = r.Type
	}
	waits, recorded = Edges{}, Edges{}
	for _, r := range resources {
		for _, p := range r.References {
			if _, ok := types[p]; ok {
				recorded.Add(r.LogicalID, p)
				waits.Add(r.LogicalID, p)
			}
		}
		for _, p := range r.DependsOn {
			t, ok := types[p]
			if !ok {
				continue
			}
			recorded.Add(r.LogicalID, p)
			if declared || !(networkIndifferent[r.Type] && networkOnly[t]) {
				waits.Add(r.LogicalID, p)
			}
		}
	}
	addHandlerPolicies(resources, waits)
	if err := recorded.Check(); err != nil {
		return nil, nil, err
	}
	return waits, recorded, nil
}

// CDK makes everything in a VPC's scope depend on the whole VPC. Creating
// these types needs none of its routes.
var (
	networkIndifferent = map[string]bool{
		"AWS::IAM::Role": true, "AWS::IAM::Policy": true, "AWS::Lambda::Function": true,
		"AWS::Lambda::Url": true, "AWS::Lambda::EventSourceMapping": true,
	}
	networkOnly = map[string]bool{
		"AWS::EC2::Route": true, "AWS::EC2::SubnetRouteTableAssociation": true,
	}
)

// addHandlerPolicies makes a custom resource wait for the policies of the role
// of the function behind it, and of the functions that this one calls (the
// provider framework's onEvent and isComplete handlers), which a template
// often does not say: the function would run without its permissions.
func addHandlerPolicies(resources []Resource, waits Edges) {
	byID := map[string]*Resource{}
	policies := map[string][]string{} // by role
	for i := range resources {
		byID[resources[i].LogicalID] = &resources[i]
	}
	for _, r := range resources {
		switch r.Type {
		case "AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::ManagedPolicy":
			for _, member := range []string{"Roles", "RoleName"} {
				for _, role := range Mentioned(r.Properties.Value(member)) {
					policies[role] = append(policies[role], r.LogicalID)
				}
			}
		}
	}
	if len(policies) == 0 {
		return
	}
	for _, r := range resources {
		if !strings.HasPrefix(r.Type, "Custom::") && r.Type != "AWS::CloudFormation::CustomResource" {
			continue
		}
		seen := map[string]bool{r.LogicalID: true}
		next := Mentioned(r.Properties.Value("ServiceToken"))
		for range 4 { // token, function, its role's policies, what those allow to call
			var found []string
			for _, id := range next {
				p := byID[id]
				if p == nil || seen[id] {
					continue
				}
				seen[id] = true
				switch p.Type {
				case "AWS::Lambda::Function":
					for _, role := range Mentioned(p.Properties.Value("Role")) {
						found = append(found, policies[role]...)
						for _, policy := range policies[role] {
							if !reaches(waits, policy, r.LogicalID) {
								waits.Add(r.LogicalID, policy)
							}
						}
					}
					found = append(found, Mentioned(p.Properties.Value("Environment"))...)
				case "AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::ManagedPolicy":
					found = append(found, Mentioned(p.Properties.Value("PolicyDocument"))...)
				case "AWS::StepFunctions::StateMachine":
					found = append(found, Mentioned(p.Properties.Value("DefinitionString"))...)
				}
			}
			next = found
		}
	}
}

// reaches tells whether from waits, directly or not, for to.
func reaches(e Edges, from, to string) bool {
	seen := map[string]bool{}
	var visit func(id string) bool
	visit = func(id string) bool {
		if id == to {
			return true
		}
		if seen[id] {
			return false
		}
		seen[id] = true
		return slices.ContainsFunc(e[id], visit)
	}
	return visit(from)
}

// Mentioned lists the ids that Ref, Fn::GetAtt or Fn::Sub name anywhere in v.
func Mentioned(v any) []string {
	var ids []string
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			ids = append(ids, Mentioned(m)...)
		}
	case *value.Object:
		if name, arg, ok := v.Sole(); ok {
			switch name {
			case "Ref":
				if id, ok := arg.(string); ok {
					return []string{id}
				}
			case "Fn::GetAtt":
				if l, ok := arg.([]any); ok && len(l) > 0 {
					if id, ok := l[0].(string); ok {
						return []string{id}
					}
				}
				if s, ok := arg.(string); ok {
					id, _, _ := strings.Cut(s, ".")
					return []string{id}
				}
			case "Fn::Sub":
				text, _ := arg.(string)
				if l, ok := arg.([]any); ok && len(l) > 0 {
					text, _ = l[0].(string)
				}
				for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
					ids = append(ids, m[1])
				}
			}
		}
		for _, m := range v.All() {
			ids = append(ids, Mentioned(m)...)
		}
	}
	return ids
}

var placeholder = regexp.MustCompile(`\$\{([A-Za-z0-9]+)(?:\.[^}]*)?\}`)

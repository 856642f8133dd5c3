package template

import (
	"errors"
	"slices"
	"strings"
)

// keep filters resources and outputs by their conditions.
func (s *Scope) keep(e *evaluation, faults *Faults) {
	s.resources = map[string]*Resource{}
	for _, r := range s.t.Resources {
		if r.Type == MetadataType || r.Condition != "" && !s.conditions[r.Condition].value {
			continue
		}
		if r.deletionPolicy != nil || r.updateReplacePolicy != nil {
			r = s.withPolicies(e, r, faults)
		}
		for _, p := range [...]struct{ name, policy string }{{"DeletionPolicy", r.DeletionPolicy}, {"UpdateReplacePolicy", r.UpdateReplacePolicy}} {
			if p.policy == "Snapshot" && !slices.Contains(snapshots, r.Type) {
				faults.add(resourcePlace(r.LogicalID).at(p.name).String(), "a resource of type %s has no final snapshot: want Delete or Retain", r.Type)
			}
		}
		s.resources[r.LogicalID] = r
		s.kept = append(s.kept, r)
	}
	for _, o := range s.t.Outputs {
		if o.Condition == "" || s.conditions[o.Condition].value {
			s.outputs = append(s.outputs, o)
		}
	}
}

// snapshots are the types that CloudFormation takes a policy Snapshot for.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
var snapshots = []string{
	"AWS::DocDB::DBCluster", "AWS::EC2::Volume", "AWS::ElastiCache::CacheCluster", "AWS::ElastiCache::ReplicationGroup",
	"AWS::Neptune::DBCluster", "AWS::RDS::DBCluster", "AWS::RDS::DBInstance", "AWS::Redshift::Cluster",
}

func (s *Scope) withPolicies(e *evaluation, r *Resource, faults *Faults) *Resource {
	c := *r
	for _, p := range []struct {
		name    string
		written any
		text    *string
		allowed []string
	}{
		{"DeletionPolicy", r.deletionPolicy, &c.DeletionPolicy, []string{"Delete", "Retain", "RetainExceptOnCreate", "Snapshot"}},
		{"UpdateReplacePolicy", r.updateReplacePolicy, &c.UpdateReplacePolicy, []string{"Delete", "Retain", "Snapshot"}},
	} {
		if p.written == nil {
			continue
		}
		at := resourcePlace(r.LogicalID).at(p.name)
		v, err := e.value(p.written, at)
		if s.offline && errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			faults.addError(at.String(), err)
			continue
		}
		if v == (noValue{}) {
			continue
		}
		*p.text, _, err = plain(v)
		if err != nil || !slices.Contains(p.allowed, *p.text) {
			faults.add(at.String(), "want one of %s, got %s", strings.Join(p.allowed, ", "), kind(v))
		}
	}
	return &c
}

func resourcePlace(id string) *place { return (&place{name: "Resources"}).at(id) }

// checkNames finds, before anything runs, references that cannot be answered.
func (s *Scope) checkNames(has func(resourceType, attribute string) bool) []Fault {
	faults := &Faults{}
	taken := func(condition string) (yes, no bool) {
		d := s.conditions[condition]
		return d.value || s.undecided(condition), !d.value
	}
	check := func(self string, v any, at *place) {
		names(v, at, taken, func(n name) {
			declared := s.t.resources[n.id]
			switch {
			case declared == nil && n.byGetAtt:
				faults.add(n.at.String(), "there is no resource %q", n.id)
			case declared == nil:
				if _, err := s.pseudo(n.id); err != nil && !errors.Is(err, ErrUnknown) && s.parameters[n.id] == nil {
					faults.add(n.at.String(), "there is no resource, parameter or pseudo parameter %q", n.id)
				}
			case n.id == self:
				faults.add(n.at.String(), "the resource refers to itself")
			case s.resources[n.id] != nil:
				// What an output cannot tell is left out of it, with a warning.
				if self != "" && has != nil && n.attribute != "" && !has(declared.Type, n.attribute) {
					faults.add(n.at.String(), "%s (%s) has no attribute %s", n.id, declared.Type, n.attribute)
				}
			case declared.Type == MetadataType:
				faults.add(n.at.String(), "%s is CDK's usage marker, which is never made", n.id)
			case s.offline: // where it is referred to may be left out, too
			default:
				faults.add(n.at.String(), "refers to %s, which its condition %s leaves out", n.id, declared.Condition)
			}
		})
	}
	for _, r := range s.kept {
		at := resourcePlace(r.LogicalID)
		check(r.LogicalID, r.Properties, at.at("Properties"))
		check(r.LogicalID, r.CreationPolicy, at.at("CreationPolicy"))
		check(r.LogicalID, r.UpdatePolicy, at.at("UpdatePolicy"))
	}
	for _, o := range s.outputs {
		at := (&place{name: "Outputs"}).at(o.Name)
		check("", o.Value, at.at("Value"))
		check("", o.ExportName, at.at("Export").at("Name"))
	}
	return faults.List
}

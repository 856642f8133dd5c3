package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
)

// Tags of a stack are CloudFormation's to hand on: they stand in the manifest and
// not in the template. They are not put on anything here, as the cdkd command line
// does not either: what one of the two adds the other would take away.

// helper are resources that the CDK itself puts beside others, in a form which its
// Tags.of does not reach: nobody can give them tags.
var helper = regexp.MustCompile(`CustomResourceProvider(Role|Handler)[0-9A-F]{8}$`)

// untagged says which resources, those of nested stacks included, lack tags that
// CloudFormation would give them; "" when there are none.
func (p *planned) untagged(t target) string {
	lacking := map[string]bool{}
	resources := p.lackTags(sortedKeys(t.tags), "", lacking)
	if len(resources) == 0 {
		return ""
	}
	const most = 3
	if n := len(resources); n > most {
		resources = append(resources[:most-1:most-1], fmt.Sprintf("%d more", n-most+1))
	}
	if n := len(resources); n > 1 {
		resources = append(resources[:n-2:n-2], resources[n-2]+" and "+resources[n-1])
	}
	return fmt.Sprintf("%s %s of the stack %s not put on %s, as CloudFormation would: have the app give %s to the resources, with Tags.of(app).add",
		amount.Form(len(lacking), "tag", "tags"), strings.Join(sortedKeys(lacking), ", "), amount.Form(len(lacking), "is", "are"),
		strings.Join(resources, ", "), amount.Form(len(lacking), "it", "them"))
}

// lackTags returns the resources that lack one of the tags, and notes which.
func (p *planned) lackTags(keys []string, where string, lacking map[string]bool) (resources []string) {
	for _, r := range p.input.Desired {
		typ, known := schema.Lookup(r.Type)
		if !known || typ.TagProperty == "" {
			continue
		}
		tags, told := tagKeys(r.Properties.Value(typ.TagProperty))
		if !told || helper.MatchString(r.LogicalID) {
			continue
		}
		if r.Type == nestedType {
			// Its own tags are those of the stack nested in it, too.
			if below := p.nested(r.LogicalID); below != nil {
				resources = append(resources, below.lackTags(add(slices.Clip(keys), tags...), where+r.LogicalID+"/", lacking)...)
			}
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(tags, key) })
		for _, key := range missing {
			lacking[key] = true
		}
		if len(missing) > 0 {
			resources = append(resources, where+r.LogicalID)
		}
	}
	return resources
}

// nested is the plan of a stack nested in the one planned, nil when it has none.
func (p *planned) nested(logicalID string) *planned {
	for _, b := range p.below {
		if b.t.parentLogicalID == logicalID {
			return b.planned
		}
	}
	return nil
}

// tagKeys returns the keys of tags, and whether all of them are told.
func tagKeys(tags any) (keys []string, told bool) {
	all := provider.TagMap(tags)
	list, isList := tags.([]any)
	return sortedKeys(all), !plan.Intrinsic(tags) && (!isList || len(all) == len(list))
}

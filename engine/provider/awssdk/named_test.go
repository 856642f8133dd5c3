package awssdk

import (
	"slices"
	"testing"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/schema"
)

// Whatever a service wants a name for and CloudFormation does not, gets one of
// us: a direct call without it fails (T-506).
func TestOptionalNamesAreGenerated(t *testing.T) {
	for _, r := range Resources() {
		s, ok := schema.Lookup(r.Type)
		if _, ruled := plan.NameRuleOf(r.Type); r.Name == "" || ruled || !ok || slices.Contains(s.Required, r.Name) {
			continue
		}
		t.Errorf("%s: nobody makes up a %s", r.Type, r.Name)
	}
}

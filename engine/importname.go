package engine

import (
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// otherThanDeclared refuses what a person named when it is not what the template
// declares by name: recorded as it is, the next deploy would replace it.
func (i *importing) otherThanDeclared(r *template.Resource, req *provider.Request, found seen) error {
	name := plan.PhysicalName(i.t.Name, r.LogicalID, r.Type, req.Properties)
	var identifying []string
	if name.Property != "" && !name.Generated {
		identifying = append(identifying, name.Property)
	}
	if typ, ok := schema.Lookup(r.Type); ok {
		identifying = add(identifying, typ.PrimaryIdentifier...)
	}
	for _, property := range identifying {
		declared, _ := value.Text(req.Properties.Value(property))
		has, _ := value.Text(found.properties.Value(property))
		if has == "" && property == name.Property {
			has = state.NameIn(r.Type, found.id)
		}
		if declared == "" || has == "" || sameName(declared, has) || sameName(i.t.Name+"-"+declared, has) {
			continue
		}
		return fmt.Errorf("its %s is %s, and the template declares %s: name the one that the template means, or correct the template", property, has, declared)
	}
	return nil
}

// sameName tells whether two texts name the same: one may be an ARN or a composite
// identifier that ends in the other, and AWS does not always keep the case.
func sameName(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) < len(b) {
		a, b = b, a
	}
	before, ok := strings.CutSuffix(a, b)
	return ok && (before == "" || strings.ContainsAny(before[len(before)-1:], ":/|"))
}

package report

import (
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// DiffJSON renders the plans of a run for programs: a list with one node a
// stack, two spaces a level. Values are full; what is hidden is "(hidden)".
func DiffJSON(run *result.Run) (string, error) {
	nodes := []any{}
	for _, s := range run.Stacks {
		if s.Plan != nil {
			nodes = append(nodes, node(s.Plan))
		}
	}
	b, err := value.MarshalIndent(shownJSON(nodes))
	return string(b) + "\n", err
}

func node(p *plan.Plan) *value.Object {
	changes, outputs, children := []any{}, []any{}, []any{}
	for _, c := range p.Changes {
		if c.Action != plan.NoChange {
			changes = append(changes, changeNode(c))
		}
	}
	for _, o := range p.Outputs {
		outputs = append(outputs, outputNode(o))
	}
	for _, child := range p.Children {
		children = append(children, node(child))
	}
	return value.NewObject("stack", p.Stack, "region", p.Region,
		"changes", changes, "outputChanges", outputs, "children", children)
}

// kinds are the change types of the JSON form, which knows three.
var kinds = map[plan.Action]string{
	plan.Create: "CREATE", plan.Update: "UPDATE", plan.Replace: "UPDATE", plan.MayReplace: "UPDATE",
	plan.Delete: "DELETE", plan.Retain: "DELETE",
}

func changeNode(c *plan.Change) *value.Object {
	o := value.NewObject("logicalId", c.LogicalID, "changeType", kinds[c.Action], "resourceType", c.Type)
	if len(c.Properties) > 0 {
		l := []any{}
		for _, p := range c.Properties {
			l = append(l, propertyNode(c.Type, p))
		}
		o.Set("propertyChanges", l)
	}
	if len(c.Attributes) > 0 {
		l := []any{}
		for _, a := range c.Attributes {
			n := value.NewObject("attribute", a.Name)
			setText(n, "oldValue", a.Old)
			setText(n, "newValue", a.New)
			l = append(l, n)
		}
		o.Set("attributeChanges", l)
	}
	switch r := c.Route; {
	case annotation(c) == "":
	case len(r.Unhandled) > 0:
		l := []any{}
		for _, name := range r.Unhandled {
			l = append(l, name)
		}
		o.Set("ccApi", l)
	case r.Returning:
		o.Set("returningToSdk", true)
	default:
		o.Set("ccApi", []any{"sticky"})
	}
	if c.Action == plan.MayReplace {
		o.Set("mayReplace", true)
	}
	return o
}

func propertyNode(resourceType string, p plan.PropertyChange) *value.Object {
	r := &redactor{}
	o := value.NewObject("path", p.Path)
	if p.HasOld {
		o.Set("oldValue", r.property(resourceType, p.Path, p.Old, p.Secret))
	}
	if p.HasNew {
		o.Set("newValue", r.property(resourceType, p.Path, p.New, p.Secret))
	}
	o.Set("requiresReplacement", p.Replaces)
	setTrue(o, "mayReplace", p.MayReplace)
	setTrue(o, "replacementPropagated", p.Propagated)
	setTrue(o, "unresolved", p.Unresolved)
	return o
}

func outputNode(c plan.OutputChange) *value.Object {
	r := &redactor{}
	kind := map[plan.Action]string{plan.Create: "ADD", plan.Update: "MODIFY", plan.Delete: "REMOVE"}[c.Action]
	o := value.NewObject("name", c.Name, "changeType", kind)
	switch {
	case c.OldRedacted:
		o.Set("oldValueRedacted", true)
	case c.HasOld:
		o.Set("oldValue", r.output(c.Name, c.Old, c.Secret))
	}
	if c.HasNew && !c.Unresolved {
		o.Set("newValue", r.output(c.Name, c.New, c.Secret))
	}
	o.Set("export", c.Export)
	setTrue(o, "unresolved", c.Unresolved)
	return o
}

func setText(o *value.Object, name, text string) {
	if text != "" {
		o.Set(name, text)
	}
}

func setTrue(o *value.Object, name string, is bool) {
	if is {
		o.Set(name, true)
	}
}

// shownJSON writes marks as people read them, and cleans every text.
func shownJSON(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(unmark(v, false))
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = shownJSON(m)
		}
		return out
	case *value.Object:
		out := value.NewObject()
		for k, m := range v.All() {
			out.Set(Clean(unmark(k, false)), shownJSON(m))
		}
		return out
	}
	return v
}

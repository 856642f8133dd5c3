package report

import (
	"github.com/org/cdkd-action/engine/exposure"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// DiffJSON renders the plans of a run for programs: a list with one node a
// stack, two spaces a level. Values are full;
// what is hidden is "(hidden)", or "(hidden, changed)".
func DiffJSON(run *result.Run) (string, error) {
	nodes, visible := []any{}, shown(run)
	tree := tree{rulesOf(run, visible)}
	for _, s := range visible.Stacks {
		if s.Plan != nil {
			nodes = append(nodes, tree.node(s.Plan))
		}
	}
	b, err := value.MarshalIndent(shownJSON(nodes))
	return string(b) + "\n", err
}

// A tree renders plans and those of nested stacks below them.
type tree struct {
	rules map[*plan.Plan][]exposure.Rule
}

// node is a plan as a JSON object: rows that change, values in full, absent
// ones left out.
func (t tree) node(p *plan.Plan) *value.Object {
	o := value.NewObject("stack", p.Stack, "region", p.Region,
		"changes", list(changing(p), changeNode), "outputChanges", list(p.Outputs, outputNode), "children", list(p.Children, t.node))
	setTrue(o, "fromTemplates", p.FromTemplates)
	if rules := t.rules[p]; len(rules) > 0 {
		o.Set("securityChanges", list(rules, ruleNode))
	}
	return o
}

func ruleNode(r exposure.Rule) *value.Object {
	o := value.NewObject("logicalId", r.Change.LogicalID, "kind", string(r.Kind),
		"changeType", map[bool]string{true: "ADD", false: "REMOVE"}[r.Added],
		"effect", map[bool]string{true: "Deny", false: "Allow"}[r.Deny], "who", r.Who, "what", r.What)
	setText(o, "on", r.On)
	setText(o, "if", r.Conditions)
	setTrue(o, "public", r.Public())
	setTrue(o, "broadens", r.Broadens())
	return o
}

func list[E, N any](in []E, node func(E) N) []any {
	out := make([]any, len(in))
	for i, e := range in {
		out[i] = node(e)
	}
	return out
}

// kind names an action in the JSON form, which knows three.
func kind(a plan.Action) string {
	switch a {
	case plan.Create:
		return "CREATE"
	case plan.Delete, plan.Retain:
		return "DELETE"
	}
	return "UPDATE"
}

func changeNode(c *plan.Change) *value.Object {
	o := value.NewObject("logicalId", c.LogicalID, "changeType", kind(c.Action), "resourceType", c.Type)
	if len(c.Properties) > 0 {
		o.Set("propertyChanges", list(c.Properties, propertyNode))
	}
	if len(c.Attributes) > 0 {
		o.Set("attributeChanges", list(c.Attributes, attributeNode))
	}
	setTrue(o, "mayReplace", c.Action == plan.MayReplace)
	setTrue(o, "retained", c.Action == plan.Retain)
	setText(o, "recreate", string(c.Recreate))
	setTrue(o, "untold", c.Untold)
	setText(o, "refused", c.Refused)
	setText(o, "pending", c.Pending)
	switch r := c.Route; {
	case c.Gone():
	case len(r.Unhandled) > 0:
		o.Set("ccApi", list(r.Unhandled, func(name string) string { return name }))
	case r.Returning:
		o.Set("returningToSdk", true)
	case r.Sticky:
		o.Set("ccApi", []any{"sticky"})
	}
	return o
}

func attributeNode(a plan.AttributeChange) *value.Object {
	o := value.NewObject("attribute", a.Name)
	setText(o, "oldValue", a.Old)
	setText(o, "newValue", a.New)
	return o
}

func propertyNode(p plan.PropertyChange) *value.Object {
	old, new := sides(p, p.Old, p.New)
	o := value.NewObject("path", p.Path)
	if p.HasOld {
		o.Set("oldValue", old)
	}
	if p.HasNew {
		o.Set("newValue", new)
	}
	o.Set("requiresReplacement", p.Replaces)
	setTrue(o, "replacementPropagated", p.Propagated)
	setTrue(o, "mayReplace", p.MayReplace)
	setTrue(o, "unresolved", p.Unresolved)
	setTrue(o, "noEcho", p.NoEcho)
	setTrue(o, "outcomeUnknown", p.Uncertain)
	return o
}

func outputNode(c plan.OutputChange) *value.Object {
	kind := map[plan.Action]string{plan.Create: "ADD", plan.Update: "MODIFY", plan.Delete: "REMOVE"}[c.Action]
	o := value.NewObject("name", c.Name, "changeType", kind)
	switch {
	case c.OldRedacted:
		o.Set("oldValueRedacted", true)
	case c.HasOld:
		o.Set("oldValue", c.Old)
	}
	if c.HasNew && !c.Unresolved {
		o.Set("newValue", settle(c.Old, c.HasOld, c.New))
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
		return Clean(unmark(v))
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = shownJSON(m)
		}
		return out
	case *value.Object:
		out := value.NewObject()
		for k, m := range v.All() {
			out.Set(Clean(unmark(k)), shownJSON(m))
		}
		return out
	}
	return v
}

package plan

import (
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// JSON is the plans as one list of nodes, the form of diff --json.
func JSON(plans []*Plan) ([]byte, error) {
	nodes := make([]any, len(plans))
	for i, p := range plans {
		nodes[i] = p.Node()
	}
	return value.MarshalIndent(nodes)
}

// Node is the plan as a JSON object: rows that change, values in full, absent
// ones left out.
func (p *Plan) Node() *value.Object {
	changes, outputs, children := []any{}, []any{}, []any{}
	for _, c := range p.Changes {
		if c.Action != NoChange {
			changes = append(changes, c.node())
		}
	}
	for _, o := range p.Outputs {
		outputs = append(outputs, o.node())
	}
	for _, child := range p.Children {
		children = append(children, child.Node())
	}
	return value.NewObject(
		"stack", p.Stack, "region", p.Region,
		"changes", changes, "outputChanges", outputs, "children", children,
	)
}

func (c *Change) node() *value.Object {
	n := value.NewObject("logicalId", c.LogicalID, "changeType", c.Action.kind(), "resourceType", c.Type)
	if len(c.Properties) > 0 {
		list := make([]any, len(c.Properties))
		for i, p := range c.Properties {
			list[i] = p.node()
		}
		n.Set("propertyChanges", list)
	}
	if len(c.Attributes) > 0 {
		list := make([]any, len(c.Attributes))
		for i, a := range c.Attributes {
			o := value.NewObject("attribute", a.Name)
			setText(o, "oldValue", a.Old)
			setText(o, "newValue", a.New)
			list[i] = o
		}
		n.Set("attributeChanges", list)
	}
	setFlag(n, "mayReplace", c.Action == MayReplace)
	setFlag(n, "retained", c.Action == Retain)
	if c.Gone() {
		return n
	}
	switch {
	case len(c.Route.Unhandled) > 0:
		list := make([]any, len(c.Route.Unhandled))
		for i, p := range c.Route.Unhandled {
			list[i] = p
		}
		n.Set("ccApi", list)
	case c.Route.Returning:
		n.Set("returningToSdk", true)
	case c.Route.Sticky && c.Route.ProvisionedBy == state.ByCloudControl:
		n.Set("ccApi", []any{"sticky"})
	}
	return n
}

// kind names an action in JSON, where a replacement is an update of which a
// property says more.
func (a Action) kind() string {
	switch a {
	case Create:
		return "CREATE"
	case Delete, Retain:
		return "DELETE"
	}
	return "UPDATE"
}

func (p PropertyChange) node() *value.Object {
	n := value.NewObject("path", p.Path)
	if p.HasOld {
		n.Set("oldValue", p.shownOld())
	}
	if p.HasNew {
		n.Set("newValue", p.shownNew())
	}
	n.Set("requiresReplacement", p.Replaces)
	setFlag(n, "replacementPropagated", p.Propagated)
	setFlag(n, "mayReplace", p.MayReplace)
	setFlag(n, "unresolved", p.Unresolved)
	setFlag(n, "noEcho", p.NoEcho)
	setFlag(n, "outcomeUnknown", p.Uncertain)
	return n
}

func (o OutputChange) node() *value.Object {
	kind := map[Action]string{Create: "ADD", Update: "MODIFY", Delete: "REMOVE"}[o.Action]
	n := value.NewObject("name", o.Name, "changeType", kind)
	switch {
	case o.OldRedacted:
		n.Set("oldValueRedacted", true)
	case o.HasOld:
		n.Set("oldValue", o.shownOld())
	}
	if o.HasNew && !o.Unresolved {
		n.Set("newValue", o.shownNew())
	}
	n.Set("export", o.Export)
	setFlag(n, "unresolved", o.Unresolved)
	return n
}

func setFlag(o *value.Object, name string, set bool) {
	if set {
		o.Set(name, true)
	}
}

func setText(o *value.Object, name, text string) {
	if text != "" {
		o.Set(name, text)
	}
}

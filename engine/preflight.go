package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/awssdk"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// preflight refuses types that nothing can provision, in all stacks of a run
// and in those nested in them, before any of them is begun.
//
// AWS is asked only about types that the embedded schemas do not have: younger ones,
// and those that are not of AWS.
func (e *Engine) preflight(ctx context.Context, sel *selected, options provider.RouterOptions) error {
	var faults []error
	router := provider.NewRouter(options, nil, nil, map[string]provider.Provider{nestedType: &nested{}}, awssdk.Resources())
	sel.described = e.describeTypes(ctx, sel, router)
	for _, t := range sel.targets {
		router.Described = sel.described[t.Region]
		for where, r := range declared(t) {
			if r.Condition != "" {
				continue // the plan knows whether it counts
			}
			if _, err := router.Route(provider.Want{LogicalID: where + r.LogicalID, Type: r.Type}); err != nil {
				faults = append(faults, fmt.Errorf("stack %s: %w", t.Name, err))
			}
		}
	}
	if faults != nil {
		return &provider.PreflightError{Faults: faults}
	}
	return nil
}

// checkAssets refuses assets whose source the assembly does not have.
func (s *selected) checkAssets() error {
	var faults []error
	checked := map[*assembly.AssetManifest]bool{}
	for _, t := range s.targets {
		if t.Assets != nil && !checked[t.Assets] {
			checked[t.Assets] = true
			faults = append(faults, asset.Check(t.Assets, t.Name)...)
		}
	}
	if faults == nil {
		return nil
	}
	return &asset.SourcesError{Faults: faults}
}

// declared yields the resources of a stack and of those nested in it, each
// with the path of the nested stack that it is in.
func declared(t target) func(yield func(string, *template.Resource) bool) {
	return func(yield func(string, *template.Resource) bool) {
		var walk func(where string, t *template.Template, below map[string]*assembly.Nested) bool
		walk = func(where string, t *template.Template, below map[string]*assembly.Nested) bool {
			if t == nil {
				return true
			}
			for _, r := range t.Resources {
				if !yield(where, r) {
					return false
				}
			}
			for _, id := range sortedKeys(below) {
				if !walk(where+id+"/", below[id].Template, below[id].Nested) {
					return false
				}
			}
			return true
		}
		walk("", t.Template, t.Nested)
	}
}

// exports tells whether a stack of the run, or one nested in it, exports a name
// or may do so: a name that is not literal is told only by its deploy. The
// stack that asks does not count.
func (s *selected) exports(name, asking string) bool {
	if s == nil {
		return false
	}
	var in func(t *template.Template, below map[string]*assembly.Nested, stack string) bool
	in = func(t *template.Template, below map[string]*assembly.Nested, stack string) bool {
		if t != nil && stack != asking {
			for _, o := range t.Outputs {
				if o.ExportName != nil && mayBe(o.ExportName, name) {
					return true
				}
			}
		}
		for id, n := range below {
			if in(n.Template, n.Nested, stack+"~"+id) {
				return true
			}
		}
		return false
	}
	for _, t := range s.targets {
		if in(t.Template, t.Nested, t.Name) {
			return true
		}
	}
	return false
}

// mayBe tells whether what is written may come to be the text.
func mayBe(written any, text string) bool {
	literal, ok := written.(string)
	return !ok || literal == text || strings.Contains(literal, "{{resolve:")
}

// nestedImports refuses what a nested stack that is about to be deployed
// imports and nobody exports, as far as its template alone tells: names that
// are literal, in resources and values that do not depend on a condition.
func (d *deployment) nestedImports(ctx context.Context) error {
	if d.t.parent != nil {
		return nil // who is above has looked
	}
	var faults []error
	for _, c := range d.Changes {
		if c.Type != nestedType || c.Action == plan.NoChange || c.Gone() || d.t.Nested[c.LogicalID] == nil {
			continue
		}
		n := d.t.Nested[c.LogicalID]
		name := d.t.Name + "~" + c.LogicalID
		for where, r := range declared(target{Name: name, Template: n.Template, Nested: n.Nested}) {
			if r.Condition != "" {
				continue
			}
			asking := d.newWorld(nil)
			asking.t.Name = name
			for _, export := range literalImports(r.Properties) {
				if _, err := asking.Import(ctx, export); err != nil && !errors.Is(err, template.ErrUnknown) {
					faults = append(faults, fmt.Errorf("nested stack %s: %s%s: %w", c.LogicalID, where, r.LogicalID, err))
				}
			}
		}
	}
	return joined(faults)
}

// literalImports lists the names that are imported whatever the conditions.
func literalImports(v any) (names []string) {
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			names = add(names, literalImports(m)...)
		}
	case *value.Object:
		function, arg, _ := v.Sole()
		if name, ok := arg.(string); ok && function == "Fn::ImportValue" && !strings.Contains(name, "{{resolve:") {
			return []string{name}
		}
		if function == "Fn::If" {
			return nil
		}
		for _, m := range v.All() {
			names = add(names, literalImports(m)...)
		}
	}
	return names
}

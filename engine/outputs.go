package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// An OutputsError says that outputs could not be resolved where that is not
// tolerated. The resources are deployed and recorded.
type OutputsError struct {
	Stack string
	Errs  []error
}

func (e *OutputsError) Error() string {
	return fmt.Sprintf("the resources of stack %s are deployed, but its outputs are not complete: %v", e.Stack, errors.Join(e.Errs...))
}

func (e *OutputsError) Unwrap() []error { return e.Errs }

// Remedy says what to do about it.
func (e *OutputsError) Remedy() string {
	return "mend the outputs and deploy again; without strict-getatt they are left out with a warning"
}

// resolveOutputs evaluates the stack's outputs into the record. One that
// cannot be told keeps what is recorded of it, if anything.
func (d *deployment) resolveOutputs(ctx context.Context) error {
	d.world.mu.Lock()
	old := d.world.record.Outputs
	oldExports := d.world.record.Exports()
	d.world.mu.Unlock()

	d.world.masks = true // an output of a secret is its mask, in the run that knows the secret too

	bag, exports := &value.Object{}, &value.Object{} // the exports come after all outputs
	shown := &value.Object{}
	var faults []error
	for _, o := range d.scope.Outputs() {
		v, export, exported, err := d.output(ctx, o.Name)
		var notExported *template.ExportError
		switch {
		case errors.As(err, &notExported):
			d.warn("%v", err)
		case err != nil:
			faults = append(faults, fmt.Errorf("output %s: %w", o.Name, err))
			kept, ok := old.Get(o.Name)
			if !ok {
				d.warn("output %s is left out: %v", o.Name, err)
				continue
			}
			d.warn("output %s keeps its stored value: %v", o.Name, err)
			v = kept
			exported = exported && slices.Contains(oldExports, export)
		}
		bag.Set(o.Name, v)
		if shows(v) {
			shown.Set(o.Name, v)
		}
		if exported {
			exports.Set(export, v)
		}
	}
	d.mu.Lock()
	d.res.Outputs = shown
	d.mu.Unlock()
	if len(faults) > 0 && d.opt.StrictGetAtt {
		return &OutputsError{Stack: d.t.Name, Errs: faults}
	}
	for name, v := range exports.All() {
		bag.Set(name, v)
	}
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	d.world.record.Outputs, d.world.record.ExportNames = bag, append([]string{}, exports.Keys()...)
	return nil
}

// checkOutputs evaluates the outputs as long as nothing was deleted, where one
// that cannot be told fails the deploy.
func (d *deployment) checkOutputs(ctx context.Context) error {
	if !d.opt.StrictGetAtt {
		return nil
	}
	d.world.masks = true
	defer func() { d.world.masks = false }()
	var faults []error
	for _, o := range d.scope.Outputs() {
		if _, _, _, err := d.output(ctx, o.Name); err != nil && !is[*template.ExportError](err) {
			faults = append(faults, fmt.Errorf("output %s: %w", o.Name, err))
		}
	}
	if faults == nil {
		return nil
	}
	return &OutputsError{Stack: d.t.Name, Errs: faults}
}

// shows tells whether an output may be shown: nothing in it stands for a
// secret.
func shows(v any) bool {
	switch v := v.(type) {
	case string:
		return v != secret.Masked && !strings.Contains(v, "{{resolve:")
	case []any:
		return !slices.ContainsFunc(v, func(m any) bool { return !shows(m) })
	case *value.Object:
		for _, m := range v.All() {
			if !shows(m) {
				return false
			}
		}
	}
	return true
}

// references puts the stacks that were read into the record. While a deploy is
// under way none is dropped: what was there before may still be needed.
func (d *deployment) references(r *state.Record, final bool) {
	if final {
		// In an order of their own: resources are resolved side by side.
		r.Imports = slices.SortedFunc(slices.Values(d.world.imports), func(a, b state.Import) int {
			return cmp.Or(cmp.Compare(a.SourceStack, b.SourceStack), cmp.Compare(a.SourceRegion, b.SourceRegion), cmp.Compare(a.ExportName, b.ExportName))
		})
		r.OutputReads = slices.SortedFunc(slices.Values(d.world.reads), func(a, b state.OutputRead) int {
			return cmp.Or(cmp.Compare(a.SourceStack, b.SourceStack), cmp.Compare(a.SourceRegion, b.SourceRegion), cmp.Compare(a.OutputName, b.OutputName))
		})
		return
	}
	r.Imports = add(r.Imports, d.world.imports...)
	r.OutputReads = add(r.OutputReads, d.world.reads...)
}

// outputsDiffer tells whether what is recorded beside the resources changed.
func outputsDiffer(before, after *state.Record) bool {
	return !value.Equal(orEmpty(before.Outputs), orEmpty(after.Outputs)) ||
		!slices.Equal(before.ExportNames, after.ExportNames) ||
		!slices.Equal(before.Imports, after.Imports) || !slices.Equal(before.OutputReads, after.OutputReads)
}

func orEmpty(o *value.Object) *value.Object {
	if o == nil {
		return &value.Object{}
	}
	return o
}

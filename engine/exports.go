package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// An ExportInUseError says that exports which other stacks import would be
// taken away or changed.
type ExportInUseError struct {
	Stack, Region string
	Gone, Changed []string
	Consumers     []state.Consumer // with those of the exports that they import

	Late bool // found when resources were changed already, and no old copy was deleted
}

func (e *ExportInUseError) Error() string {
	text := fmt.Sprintf("stack %s in %s has to keep what other stacks import: %s", e.Stack, e.Region, e.uses())
	if e.Late {
		text += "; this could only be told when its resources were done, and what they replace was not deleted"
	}
	return text
}

// uses says what would become of each export, and who imports it.
func (e *ExportInUseError) uses() string {
	var parts []string
	for _, part := range []struct {
		names []string
		what  string
	}{{e.Gone, "taken away"}, {e.Changed, "changed"}} {
		for _, name := range part.names {
			var users []string
			for _, c := range e.Consumers {
				if slices.Contains(c.Exports, name) {
					users = append(users, fmt.Sprintf("%s in %s", c.Stack, c.Region))
				}
			}
			parts = append(parts, fmt.Sprintf("%s would be %s, and %s imports it", name, part.what, strings.Join(users, ", ")))
		}
	}
	return strings.Join(parts, "; ")
}

// Remedy says what to do about it.
func (e *ExportInUseError) Remedy() string {
	return "deploy the stacks that import it without the import first, in a run of their own, or destroy them; " +
		"in the CDK, exportValue keeps an export meanwhile. For another value, export it under another name beside the old one"
}

// errPutOff says that a stack has to wait for others of the run, which still
// import what it no longer exports.
var errPutOff = errors.New("put off until the stacks of this run that still import from it are done")

// keepExports refuses a plan that takes away or changes what other stacks
// import. It asks who they are only when there is something to lose. Importers
// that are stacks of the same run and do not depend on this one may be about to
// drop the import: they go first.
func (d *deployment) keepExports(ctx context.Context, record *state.Record) error {
	gone, changed := d.exportsAtRisk(record)
	inUse, err := d.inUse(ctx, gone, changed)
	if inUse == nil || err != nil {
		return err
	}
	kept := inUse.Consumers[:0]
	for _, c := range inUse.Consumers {
		if !d.goesFirst(c) {
			kept = append(kept, c)
		}
	}
	if len(kept) > 0 {
		inUse.narrow(kept)
		return d.overruled(inUse)
	}
	if d.opt.DryRun {
		return nil
	}
	return errPutOff
}

// exportsAtRisk says which of the recorded exports a plan takes away, and which
// it gives another value.
func (d *deployment) exportsAtRisk(record *state.Record) (gone, changed []string) {
	exports := record.Exports()
	for _, o := range d.Plan.Outputs {
		switch {
		case !o.HasOld || !slices.Contains(exports, o.Name):
		case o.Action == plan.Delete:
			gone = append(gone, o.Name)
		case o.OldRedacted: // the same, in the form in which it is stored now
		case !o.Unresolved, slices.ContainsFunc(d.feeds[o.Name], func(id string) bool {
			c := d.Plan.Change(id)
			return c != nil && c.Action == plan.Replace
		}):
			changed = append(changed, o.Name)
		}
	}
	return gone, changed
}

// inUse asks who imports exports that are at risk; nil when nobody does.
func (d *deployment) inUse(ctx context.Context, gone, changed []string) (*ExportInUseError, error) {
	if len(gone)+len(changed) == 0 {
		return nil, nil
	}
	if err := d.announceWithdrawal(ctx); err != nil {
		return nil, err
	}
	all, err := d.store.Consumers(ctx, d.t.Name, d.t.Region)
	if err != nil {
		return nil, err
	}
	e := &ExportInUseError{Stack: d.t.Name, Region: d.t.Region, Gone: gone, Changed: changed}
	e.narrow(all)
	if len(e.Consumers) == 0 {
		return nil, nil
	}
	return e, nil
}

// announceWithdrawal has the lock say that exports are at risk, before it is asked
// who imports them: who begins to import after that finds it said.
func (d *deployment) announceWithdrawal(ctx context.Context) error {
	holder := d.holdsLock()
	if d.opt.DryRun || holder.lock == nil || holder.announced {
		return nil
	}
	if err := holder.lock.Announce(ctx, state.Withdrawing); err != nil {
		return fmt.Errorf("say in the lock of stack %s in %s that exports are taken away or changed: %w", holder.t.Name, holder.t.Region, err)
	}
	holder.announced = true
	return nil
}

// holdsLock is the deployment whose lock this one is under: its own, or that of the
// stack that it is nested in and planned with.
func (d *deployment) holdsLock() *deployment {
	for d.lock == nil && d.t.parent != nil {
		d = d.t.parent
	}
	return d
}

// narrow leaves in the error only what the consumers import.
func (e *ExportInUseError) narrow(consumers []state.Consumer) {
	var left []state.Consumer
	used := map[string]bool{}
	for _, c := range consumers {
		c.Exports = slices.DeleteFunc(slices.Clone(c.Exports), func(name string) bool {
			return !slices.Contains(e.Gone, name) && !slices.Contains(e.Changed, name)
		})
		for _, name := range c.Exports {
			used[name] = true
		}
		if len(c.Exports) > 0 {
			left = append(left, c)
		}
	}
	unused := func(name string) bool { return !used[name] }
	e.Consumers, e.Gone, e.Changed = left, slices.DeleteFunc(e.Gone, unused), slices.DeleteFunc(e.Changed, unused)
}

// goesFirst tells whether a consumer is deployed by this run before the stack,
// and may import nothing of it any more then.
func (d *deployment) goesFirst(c state.Consumer) bool {
	if d.run == nil || d.last || d.t.parent != nil {
		return false
	}
	for _, t := range d.run.targets {
		rest, ok := strings.CutPrefix(c.Stack+"~", t.Name+"~")
		if !ok || t.Region != c.Region || t.key() == d.t.key() || d.run.waitsFor(t.key(), d.t.key()) {
			continue
		}
		body, nested := t.Template, t.Nested
		for _, id := range strings.Split(strings.TrimSuffix(rest, "~"), "~") {
			if id == "" {
				break
			}
			n := nested[id]
			if n == nil {
				return true // the run takes it down
			}
			body, nested = n.Template, n.Nested
		}
		return !slices.ContainsFunc(importsOf(body), func(name string) bool { return slices.Contains(c.Exports, name) })
	}
	return false
}

// importsOf lists what a template imports whatever its conditions.
func importsOf(t *template.Template) (names []string) {
	if t == nil {
		return nil
	}
	for _, r := range t.Resources {
		if r.Condition == "" {
			names = add(names, literalImports(r.Properties)...)
		}
	}
	for _, o := range t.Outputs {
		if o.Condition == "" {
			names = add(names, literalImports(o.Value)...)
		}
	}
	return names
}

// waitsFor tells whether a stack is done only after another.
func (s *selected) waitsFor(stack, other string) bool {
	seen := map[string]bool{}
	var visit func(string) bool
	visit = func(key string) bool {
		if key == other {
			return true
		}
		if seen[key] {
			return false
		}
		seen[key] = true
		return slices.ContainsFunc(s.depends[key], visit)
	}
	return visit(stack)
}

// holdExports is keepExports for what a plan could not tell. It comes when all
// resources are as they are to be and nothing was deleted yet, so that a
// rollback loses nothing.
func (d *deployment) holdExports(ctx context.Context) error {
	d.world.mu.Lock()
	exports, old := d.world.record.Exports(), d.world.record.Outputs
	legacy := d.world.record.ExportNames == nil // does not tell outputs from exports
	d.world.mu.Unlock()
	if len(exports) == 0 {
		return nil
	}
	d.world.masks = true
	defer func() { d.world.masks = false }()
	var gone, changed []string
	there := map[string]bool{}
	for _, o := range d.scope.Outputs() {
		if o.ExportName == nil {
			continue
		}
		v, name, exported, err := d.output(ctx, o.Name)
		if err != nil && !errors.As(err, new(*template.ExportError)) {
			return nil // what cannot be told keeps its stored value
		}
		if !exported {
			continue
		}
		there[name] = true
		if was, ok := old.Get(name); ok && slices.Contains(exports, name) && !value.Equal(was, v) && shows(was) && shows(v) {
			changed = append(changed, name)
		}
	}
	for _, name := range exports {
		if !there[name] && !legacy {
			gone = append(gone, name)
		}
	}
	inUse, err := d.inUse(ctx, gone, changed)
	if inUse == nil || err != nil {
		return err
	}
	inUse.Late = d.changing()
	return d.overruled(inUse)
}

// overruled makes a warning of the refusal where somebody has decided so.
func (d *deployment) overruled(inUse *ExportInUseError) error {
	if !d.opt.GiveUpExports {
		return inUse
	}
	text := "what other stacks import is not kept, as exports-in-use says: " + inUse.uses() + "; deploy them next"
	if !slices.Contains(d.res.Warnings, text) { // the plan may have told it
		d.warn("%s", text)
	}
	return nil
}

// An evaluated output is what one came to be.
type evaluated struct {
	v        any
	export   string
	exported bool
	err      error
}

// output evaluates an output, once: what is deleted at the end changes none.
func (d *deployment) output(ctx context.Context, name string) (v any, export string, exported bool, err error) {
	e, ok := d.told[name]
	if !ok {
		e.v, e.export, e.exported, e.err = d.scope.Output(ctx, name)
		if d.told == nil {
			d.told = map[string]evaluated{}
		}
		d.told[name] = e
	}
	return e.v, e.export, e.exported, e.err
}

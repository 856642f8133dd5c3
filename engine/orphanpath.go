package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
)

// OrphanPathOptions say which constructs of an app are to be forgotten.
type OrphanPathOptions struct {
	Selection          // of which only the assembly is used
	Paths     []string // of constructs of one stack
	Region    string   // of the stack's record; "": the stack's own
	DryRun    bool     // say what would be forgotten, and write nothing

	// Force keeps going where a value that refers to what is forgotten cannot be
	// read: the recorded one is used, or else the reference stays.
	Force bool
	// Consent, when set, is asked with what would be done, under the lock.
	Consent func(*OrphanedPaths) bool
}

// OrphanedPaths are the resources of constructs that were dropped from a
// record. They stay in AWS.
type OrphanedPaths struct {
	state.Ref
	Resources []string // by logical id
	Rewritten []Rewrite
	Declined  bool // nothing was done
}

// A Rewrite is a reference to a forgotten resource that became a value.
type Rewrite struct {
	LogicalID string // whose row it stands in
	Place     string // in the row
	Reference string // such as Ref Orders
	Value     string // "" for a dependency, which goes, and for a reference that stays
}

// An ReferencesError lists references to resources that cannot become values.
type ReferencesError struct {
	Stack, Region string
	References    []string
}

func (e *ReferencesError) Error() string {
	return fmt.Sprintf("stack %s in %s refers to what is to be forgotten, and the values cannot be read: %s", e.Stack, e.Region, strings.Join(e.References, "; "))
}

// Remedy says what to do about it.
func (e *ReferencesError) Remedy() string {
	return "find out why they cannot be read; with force the recorded values are used, and a reference without one stays as it is"
}

// OrphanPaths forgets the resources of constructs, by their paths in the app.
// What else in the record refers to them becomes a value. The result is never
// nil without an error.
func (e *Engine) OrphanPaths(ctx context.Context, opt OrphanPathOptions) (*OrphanedPaths, error) {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	opt.Selection.Selection = assembly.Selection{All: true}
	sel, err := e.selectStacks(opt.Selection, nil)
	if err != nil {
		return nil, err
	}
	t, ids, err := constructs(sel.targets, opt.Paths)
	if err != nil {
		return nil, err
	}
	own := sel.of(t)
	own.targets = []target{t}
	if err := e.checkAccounts(ctx, &selected{portions: []*portion{own}}); err != nil {
		return nil, err
	}
	e = own.e
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	if opt.Region != "" {
		t.Region = opt.Region
	}
	d := e.recordedDeployment(store, state.Ref{Stack: t.Name, Region: t.Region})
	done := &OrphanedPaths{Ref: state.Ref{Stack: t.Name, Region: t.Region}}
	settling := e.recordedDeployment(store, done.Ref)
	edit := func(record *state.Record) (bool, error) {
		if record == nil {
			return false, notRecorded(t.Name, store)
		}
		for _, id := range ids {
			if record.Row(id) != nil {
				done.Resources = append(done.Resources, id)
			}
		}
		if done.Resources == nil {
			return false, rowsThere(d.place, record, ids)
		}
		for _, id := range done.Resources {
			if settling.stillOpen()[id] {
				return false, &InputError{
					What: fmt.Sprintf("an operation of an earlier run on %s of stack %s in %s is still open", id, t.Name, t.Region),
					Next: "deploy, which settles it; or look what it did and have it forgotten: " + forgetCommand(t.Name, id),
					Page: guide.OperationOpen,
				}
			}
		}
		if err := d.knowRecord(ctx, record); err != nil {
			return false, err
		}
		var err error
		if done.Rewritten, err = d.dropReferences(ctx, record, done.Resources, opt.Force); err != nil {
			return false, err
		}
		for _, id := range done.Resources {
			record.Remove(id)
		}
		record.Drop("skippedOutputs")
		if !opt.DryRun && opt.Consent != nil && !opt.Consent(done) {
			done.Declined = true
			return false, nil
		}
		return true, ctx.Err()
	}
	if opt.DryRun {
		record, _, err := d.place.Read(ctx)
		if err == nil {
			_, err = edit(record)
		}
		return done, err
	}
	err = e.amend(ctx, d.place, state.LockOptions{Operation: "orphan", FailFast: true},
		settling, edit,
		func(ctx context.Context, record *state.Record) { e.renewTokens(ctx, d.place, record, done.Resources) })
	if err != nil {
		return nil, err
	}
	return done, nil
}

// constructs finds the stack that the paths are in, and the resources at and
// below them.
func constructs(targets []target, paths []string) (target, []string, error) {
	type found struct {
		t   target
		ids []string
	}
	var stacks []*found
	var all, pathless []string
	missing := slices.Clone(paths)
	var look func(t target)
	look = func(t target) {
		f := &found{t: t}
		for _, r := range t.Template.Resources {
			path := r.Metadata.String("aws:cdk:path")
			if r.Type == template.MetadataType {
				continue
			}
			if path == "" {
				pathless = append(pathless, r.LogicalID+" of "+t.Name)
				continue
			}
			all = append(all, path)
			for _, p := range paths {
				if p = strings.Trim(p, "/"); path == p || strings.HasPrefix(path, p+"/") {
					f.ids = add(f.ids, r.LogicalID)
					missing = slices.DeleteFunc(missing, func(m string) bool { return strings.Trim(m, "/") == p })
				}
			}
			if n := t.Nested[r.LogicalID]; n != nil {
				look(target{Name: t.Name + "~" + r.LogicalID, Region: t.Region, account: t.account, Template: n.Template, Nested: n.Nested})
			}
		}
		if f.ids != nil {
			stacks = append(stacks, f)
		}
	}
	for _, t := range targets {
		look(t)
	}
	slices.Sort(all)
	switch {
	case all == nil:
		return target{}, nil, &InputError{
			What: "no resource of the app tells of which construct it is",
			Next: "synthesize with path metadata, which --no-path-metadata and the context aws:cdk:enable-path-metadata switch off; or have resources forgotten by logical id: " +
				"cdkd-action state orphan STACK --resource LOGICAL-ID; the resources are " + strings.Join(pathless, ", "),
			Page: guide.UnknownResource,
		}
	case len(missing) > 0:
		return target{}, nil, &InputError{
			What: "the app has no resource at " + strings.Join(missing, ", "),
			Next: "the paths it has are " + strings.Join(all, ", "),
			Page: guide.UnknownResource,
		}
	case len(stacks) > 1:
		var names []string
		for _, f := range stacks {
			names = append(names, f.t.Name)
		}
		return target{}, nil, &InputError{
			What: "the paths are in several stacks: " + strings.Join(names, ", "),
			Next: "name constructs of one stack at a time; a nested stack is one of its own",
			Page: guide.StackSelection,
		}
	}
	return stacks[0].t, stacks[0].ids, nil
}

package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
)

// childPatience is how long an export waits for the lock of a nested stack.
const childPatience = 30 * time.Second

// look takes the stack's lock, unless nothing is to be done, and finds out what
// an export would do. It changes nothing.
func (x *exporting) look(ctx context.Context) (err error) {
	if x.there, err = x.cfn.Settled(ctx, x.out.StackName); err != nil {
		return err
	}
	if err := x.read(ctx); err != nil {
		return err
	}
	if x.before.record == nil {
		return x.notRecorded()
	}
	if err := x.registry.Check(ctx); err != nil {
		return err
	}
	if err := x.secretsGiven(); err != nil {
		return err
	}
	if err := x.identify(ctx, x.before.record); err != nil {
		return err
	}
	if x.planned, err = x.plan(ctx, x.before.record.Clone()); err != nil {
		return err
	}
	if err := x.deployed(); err != nil {
		return err
	}
	if err := x.importsThere(ctx); err != nil {
		return err
	}
	if err := x.consumed(ctx); err != nil {
		return err
	}
	if err := x.sortOut(ctx); err != nil {
		return err
	}
	return x.mayTake()
}

// notRecorded tells what an earlier run was done with from what was never deployed.
func (x *exporting) notRecorded() error {
	switch {
	case x.t.parent != nil && x.there != nil:
		x.forgotten = true
	case x.t.parent == nil && x.handover.Current() != nil && x.handover.Current().Step == state.Forgetting:
		x.forgotten = true
	case x.t.parent == nil && x.there != nil && len(x.there.Resources) > 0:
		x.out.Already = true
	default:
		return notRecorded(x.t.Name, x.store)
	}
	return nil
}

func (x *exporting) read(ctx context.Context) (err error) {
	name, _, _ := strings.Cut(x.t.Name, "~")
	x.registry = x.store.Stack(name, x.t.Region).Registry()
	if x.opt.DryRun {
		if lock, err := x.place.Peek(ctx); err == nil && lock != nil && !lock.Expired(now()) {
			x.observe(Event{Kind: Notice, Text: x.place.Held(*lock).Error()})
		}
		if x.before.presence, err = x.place.Presence(ctx); err != nil {
			return err
		}
	} else {
		opt := state.LockOptions{Operation: "export", Subject: x.subject(), FailFast: x.t.parent == nil}
		if x.t.parent != nil {
			opt.Wait = childPatience
		}
		if x.before, err = x.acquire(ctx, opt); err != nil {
			return err
		}
		if x.handover != nil {
			if err := x.handover.Confirm(ctx); err != nil {
				return err
			}
		}
	}
	if x.before.record, x.before.etag, err = x.place.Read(ctx); err != nil || x.before.record == nil {
		return err
	}
	if err := x.place.Own(x.before.record); err != nil {
		return err
	}
	if !x.opt.DryRun {
		if x.before, err = x.settleOpen(ctx, x.before, false); err != nil {
			return err
		}
	}
	if open := sortedKeys(x.stillOpen()); len(open) > 0 {
		return &InputError{
			What: fmt.Sprintf("operations of an earlier run on %s of stack %s in %s are still open", strings.Join(open, ", "), x.t.Name, x.t.Region),
			Next: "deploy, which settles them, and export then",
			Page: guide.OperationOpen,
		}
	}
	journal, err := x.place.ReadJournal(ctx)
	if err == nil && journal != nil && len(journal.Segments) > 0 {
		x.warn("what earlier deploys left to roll back is forgotten with the record: roll back or deploy first if it matters")
	}
	return nil
}

// secretsGiven refuses to make up the value of a NoEcho parameter: only its mask
// is recorded.
func (x *exporting) secretsGiven() error {
	var missing []string
	for _, p := range x.t.Template.Parameters {
		if _, given := x.t.Parameters[p.Name]; p.NoEcho && !given && (x.there == nil || x.there.Parameters[p.Name] == "") {
			missing = append(missing, p.Name)
		}
	}
	if missing == nil {
		return nil
	}
	return &InputError{
		What: fmt.Sprintf("stack %s has NoEcho parameters, whose values CloudFormation has to be told: %s", x.t.Name, strings.Join(missing, ", ")),
		Next: "give them with parameters, as they were deployed",
		Page: guide.NoEchoNotGiven,
	}
}

// deployed refuses a stack that is not what the app says: CloudFormation compares
// nothing when it imports, and would take the template's word.
func (x *exporting) deployed() error {
	var changed []string
	for _, c := range x.Plan.Changes {
		told := c.Action == plan.Update && len(c.Properties) > 0 && !slices.ContainsFunc(c.Properties, func(p plan.PropertyChange) bool { return !p.NoEcho })
		if c.Action != plan.NoChange && !c.MetadataOnly() && !told {
			changed = append(changed, c.LogicalID)
		}
	}
	if changed == nil {
		return nil
	}
	return &InputError{
		What: fmt.Sprintf("stack %s in %s is not what the app says: %s", x.t.Name, x.t.Region, strings.Join(changed, ", ")),
		Next: "deploy it first, or export it from the revision of the app that was deployed; diff shows the differences",
		Page: guide.AppDiffers,
	}
}

// importsThere refuses a stack that imports what CloudFormation does not have.
func (x *exporting) importsThere(ctx context.Context) error {
	if len(x.before.record.Imports) == 0 {
		return nil
	}
	exports, err := x.cfn.Exports(ctx)
	if err != nil {
		return err
	}
	for _, i := range x.before.record.Imports {
		if _, ok := exports[i.ExportName]; !ok {
			return &InputError{
				What: fmt.Sprintf("stack %s imports %s, which no CloudFormation stack exports", x.t.Name, i.ExportName),
				Next: fmt.Sprintf("export stack %s first", i.SourceStack),
				Page: guide.ImportMissing,
			}
		}
	}
	return nil
}

// sortOut tells of each resource whether CloudFormation can import it.
func (x *exporting) sortOut(ctx context.Context) error {
	var typs []string
	for _, r := range x.scope.Resources() {
		typs = add(typs, r.Type)
	}
	keys, err := x.cfn.Identifiers(ctx, typs)
	if err != nil {
		return err
	}
	for _, r := range x.t.Template.Resources {
		if r.Type == template.MetadataType {
			x.left[r.LogicalID] = true // nothing in AWS
		}
	}
	for _, r := range x.scope.Resources() {
		row := x.before.record.Row(r.LogicalID)
		found := ExportedResource{LogicalID: r.LogicalID, Type: r.Type, PhysicalID: row.PhysicalID, Outcome: ExportImported}
		switch {
		case r.Type == nestedType:
			found.PhysicalID = ""
			if err := x.lookNested(ctx, r); err != nil {
				return err
			}
		case keys[r.Type] != nil:
			if found.Identifier = x.identifierOf(r, row, keys[r.Type]); found.Identifier == nil {
				found.Outcome, found.Reason = ExportRefused, "its record does not tell "+strings.Join(keys[r.Type], " and ")+", by which CloudFormation imports it"
			}
			x.identifier[r.LogicalID] = found.Identifier
		case !x.opt.IncludeNonImportable:
			found.Outcome, found.Reason = ExportRefused, "CloudFormation cannot import it"
		case isCustom(r.Type):
			found.Outcome, found.Reason = ExportCreated, "its handler is told to create it once more, and never to delete what it made before"
		default:
			found.Outcome, found.Reason = ExportCreated, "CloudFormation makes it anew; what exists is left in AWS, and may stand in its way"
		}
		x.left[r.LogicalID] = found.Outcome == ExportCreated
		x.out.Resources = append(x.out.Resources, found)
	}
	return nil
}

// identifierOf is what CloudFormation knows a resource by, nil when the record
// does not tell all of it.
func (x *exporting) identifierOf(r *template.Resource, row *state.Resource, keys []string) map[string]string {
	req := x.request(r.LogicalID, r.Type)
	req.PhysicalID, req.Properties, req.Attributes = row.PhysicalID, row.Properties, row.Attributes
	id := cloudcontrol.Identifier(req)
	names := keys
	if typ, ok := schema.Lookup(r.Type); ok && len(typ.PrimaryIdentifier) > 0 {
		names = typ.PrimaryIdentifier
	}
	parts := []string{id}
	if len(names) > 1 {
		parts = strings.Split(id, "|")
	}
	identifier := map[string]string{}
	for n, name := range names {
		if n < len(parts) && parts[n] != "" && slices.Contains(keys, name) {
			identifier[name] = parts[n]
		}
	}
	if len(identifier) != len(keys) || len(parts) != len(names) || masked(id) {
		return nil
	}
	return identifier
}

func (x *exporting) lookNested(ctx context.Context, r *template.Resource) error {
	n := x.t.Nested[r.LogicalID]
	if n == nil {
		return fmt.Errorf("the assembly has no template for nested stack %s of %s", r.LogicalID, x.t.Name)
	}
	resolved, err := x.scope.ResolvedProperties(ctx, r.LogicalID)
	if err != nil {
		return err
	}
	t, err := x.childTarget(r.LogicalID, n, resolved)
	if err != nil {
		return err
	}
	child := x.e.exporting(x.store, t, x.opt, x.childName(r.LogicalID))
	child.above = x
	x.children[r.LogicalID] = child
	x.out.Nested = append(x.out.Nested, child.out)
	return child.look(ctx)
}

// mayTake refuses to touch a CloudFormation stack of the name that is not the one
// an earlier run began.
func (x *exporting) mayTake() error {
	if x.there == nil {
		return nil
	}
	for _, have := range x.there.Resources {
		if !x.same(have) {
			return &InputError{
				What: fmt.Sprintf("CloudFormation has a stack %s in %s with other resources already, such as %s", x.there.Name, x.t.Region, have.LogicalID),
				Next: "name another one with cfn-stack-name",
				Page: guide.CloudFormationRefused,
			}
		}
	}
	return nil
}

// same tells whether a resource of a CloudFormation stack is the one that is
// exported.
func (x *exporting) same(have cloudformation.Resource) bool {
	r := x.t.Template.Resource(have.LogicalID)
	if r == nil || r.Type != have.Type {
		return false
	}
	if child := x.children[have.LogicalID]; child != nil {
		return child.there != nil && child.there.ID == have.PhysicalID
	}
	identifier := x.identifier[have.LogicalID]
	if identifier == nil {
		return true // CloudFormation made it
	}
	if row := x.before.record.Row(have.LogicalID); row.PhysicalID == have.PhysicalID {
		return true
	}
	var parts []string
	for _, part := range identifier {
		if part == have.PhysicalID {
			return true
		}
		parts = append(parts, part)
	}
	of := strings.Split(have.PhysicalID, "|")
	slices.Sort(parts)
	slices.Sort(of)
	return slices.Equal(parts, of)
}

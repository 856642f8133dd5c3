package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/attribute"
	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// bind makes the template known to the import, on top of a record that is
// completed row by row.
func (i *importing) bind(ctx context.Context, record *state.Record) error {
	if err := i.identify(ctx, record); err != nil {
		return err
	}
	i.planned = &planned{world: i.newWorld(record)}
	var err error
	i.scope, err = i.t.Template.Bind(ctx, i.environment(), i.t.Parameters, i.world, template.Secrets(i.e.config.Secrets), template.Hidden(i.t.Hidden...))
	if err != nil {
		return err
	}
	return i.order(false)
}

// findAll looks for the resources, each after those that its properties refer
// to, and puts what was found into the record that is to be.
func (i *importing) findAll(ctx context.Context) error {
	var tasks []graph.Task
	for _, r := range i.scope.Resources() {
		if _, named := i.given[r.LogicalID]; !i.whole && !named {
			i.found[r.LogicalID] = ImportedResource{LogicalID: r.LogicalID, Type: r.Type, Outcome: SkippedOutOfScope}
			continue
		}
		tasks = append(tasks, graph.Task{ID: r.LogicalID, Run: func(ctx context.Context) error { return i.find(ctx, r) }})
	}
	limit := readsAtOnce
	if i.hasNested() {
		limit = 0 // one that waits for what is nested in it must not keep that from starting
	}
	outcomes := graph.Run(ctx, tasks, i.waits, graph.Options{Limit: limit, KeepGoing: true, Stop: i.e.config.Window.Draining()})
	if i.e.config.Window.Interrupted() {
		return errInterrupted
	}
	var faults []error
	for _, id := range sortedKeys(outcomes) {
		if o := outcomes[id]; o.Err != nil {
			i.e.explain(o.Err)
			faults = append(faults, o.Err)
		}
	}
	for _, r := range i.scope.Resources() {
		if f, ok := i.found[r.LogicalID]; ok {
			i.out.Resources = append(i.out.Resources, f)
		}
		if child := i.children[r.LogicalID]; child != nil {
			i.out.Nested = append(i.out.Nested, child.out)
		}
	}
	return joined(faults)
}

func (i *importing) hasNested() bool { return len(i.t.Nested) > 0 }

// find looks for one resource. Its error ends the import; what only concerns the
// resource is in what was found.
func (i *importing) find(ctx context.Context, r *template.Resource) error {
	if r.Type == nestedType {
		return i.findNested(ctx, r)
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	row, reason, err := i.existing(ctx, r)
	found := ImportedResource{LogicalID: r.LogicalID, Type: r.Type, PhysicalID: i.given[r.LogicalID], Outcome: ImportDone, Reason: reason}
	switch {
	case errors.Is(err, provider.ErrNotFound):
		found.Outcome = SkippedNotFound
	case is[*NotReadableError](err), is[*provider.Unroutable](err):
		found.Outcome = SkippedNoImpl
	case err != nil:
		found.Outcome = ImportFailed
	default:
		found.PhysicalID = row.PhysicalID
	}
	if err != nil {
		found.Reason = i.e.config.Secrets.Mask(err.Error())
	}
	i.mu.Lock()
	i.found[r.LogicalID] = found
	i.mu.Unlock()
	if err == nil {
		i.world.mu.Lock()
		i.world.record.Set(r.LogicalID, row)
		i.world.mu.Unlock()
	}
	return nil
}

// existing finds the resource in AWS, makes sure that it is this stack's to
// record, and returns its row. note says what of the row could not be told.
func (i *importing) existing(ctx context.Context, r *template.Resource) (row *state.Resource, note string, err error) {
	decision, err := i.router.Route(provider.Want{LogicalID: r.LogicalID, Type: r.Type, Properties: r.Properties, Mutating: true})
	if err != nil {
		return nil, "", err
	}
	resolved, clear, unresolved, err := i.properties(ctx, r)
	if err != nil {
		return nil, "", err
	}
	if len(decision.Dropped) > 0 {
		resolved = sent(resolved, decision)
	}
	req := i.request(r.LogicalID, r.Type)
	req.Properties = clear
	seen, err := i.locate(ctx, r, req, decision)
	if err != nil {
		return nil, "", err
	}
	if err := i.ours(r, seen.id); err != nil {
		return nil, "", err
	}
	if _, named := i.given[r.LogicalID]; named && i.live == nil {
		if err := i.otherThanDeclared(r, req, seen); err != nil {
			return nil, "", err
		}
	}
	properties := resolved.Stored.(*value.Object)
	row = &state.Resource{
		PhysicalID: seen.id, ResourceType: r.Type, Properties: properties, Attributes: i.redact(seen.attributes),
		Dependencies: i.recorded[r.LogicalID], ProvisionedBy: decision.Route.ProvisionedBy,
		DeletionPolicy: r.DeletionPolicy, UpdateReplacePolicy: r.UpdateReplacePolicy,
	}
	for _, path := range resolved.Masked {
		row.NoEchoLeaves = append(row.NoEchoLeaves, recordedPath(path))
	}
	for name, v := range row.Attributes.All() {
		if masked(v) {
			row.NoEchoAttributes = append(row.NoEchoAttributes, name)
		}
	}
	if seen.properties != nil && len(unresolved) == 0 {
		row.Observed = i.storable(seen.properties, properties)
	}
	if len(unresolved) == 0 {
		return row, "", nil
	}
	// What the template says of these cannot be told before what they refer to is
	// recorded. What AWS has is taken for it, and nothing for a baseline.
	row.BaselineRefused, row.BaselineRefusalReason = true, "incomplete-resolution"
	row.Properties = properties.Clone()
	for _, name := range unresolved {
		row.Properties.Delete(name)
		if v, ok := seen.properties.Get(name); ok {
			row.Properties.Set(name, i.redact(value.NewObject(name, v)).Value(name))
		}
	}
	return row, "what it refers to is not recorded, so of " + strings.Join(unresolved, ", ") + " it is recorded what AWS has, if anything", nil
}

// properties are what the template says, resolved as far as what they refer to
// is known, and which are not.
func (i *importing) properties(ctx context.Context, r *template.Resource) (resolved template.Resolved, clear *value.Object, unresolved []string, err error) {
	resolved, err = i.scope.ResolvedProperties(ctx, r.LogicalID)
	if err == nil {
		return resolved, resolved.Clear.(*value.Object), nil, nil
	}
	stored, unresolved, previewErr := i.scope.Preview(ctx, r.LogicalID)
	if previewErr != nil || len(unresolved) == 0 {
		return resolved, nil, nil, err
	}
	known := provider.Without(stored, unresolved)
	return template.Resolved{Clear: known, Stored: stored}, known, unresolved, nil
}

// A seen resource is one that was read.
type seen struct {
	id         string
	attributes *value.Object
	properties *value.Object // nil when the type's existence was asked only
}

// locate finds a resource by what a person says of it, by its name, or by a key
// that only it can have.
func (i *importing) locate(ctx context.Context, r *template.Resource, req *provider.Request, decision provider.Decision) (seen, error) {
	given, named := i.given[r.LogicalID]
	if decision.Direct && i.live != nil { // CloudFormation knows it
		return seen{id: given}, nil
	}
	if decision.Direct {
		return seen{}, &NotReadableError{r.LogicalID, r.Type, "nothing in AWS is known by it that could be asked for"}
	}
	driver, _ := decision.Provider.(*provider.Driver)
	if arns := i.tagged[r.LogicalID]; arns != nil {
		return i.seeTagged(ctx, req, driver, arns)
	}
	if named {
		s, err := i.see(ctx, req, driver, given)
		if driver == nil || !errors.Is(err, provider.ErrNotFound) {
			return s, err
		}
		id, findErr := driver.Find(ctx, req)
		if findErr != nil || id == "" || !slices.Contains(strings.Split(id, "|"), given) {
			return s, err
		}
		return i.see(ctx, req, driver, id)
	}
	faults := fmt.Errorf("%w: nothing in AWS has its name or its key", provider.ErrNotFound)
	for _, id := range i.candidates(r, req) {
		s, err := i.see(ctx, req, driver, id)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, provider.ErrNotFound) {
			return s, err
		}
		faults = err
	}
	if driver != nil {
		id, err := driver.Find(ctx, req)
		if err != nil && !errors.Is(err, provider.ErrUntagged) {
			return seen{}, err
		}
		if id != "" {
			return i.see(ctx, req, driver, id)
		}
	}
	return seen{}, faults
}

// candidates are the ids that a resource may have that nobody named: the one on
// record, and those that its name gives.
func (i *importing) candidates(r *template.Resource, req *provider.Request) (ids []string) {
	if row := i.before.record.Row(r.LogicalID); row != nil && row.ResourceType == r.Type {
		ids = append(ids, row.PhysicalID)
	}
	if name := plan.PhysicalName(i.t.Name, r.LogicalID, r.Type, req.Properties); name.Value != "" {
		ids = add(ids, idsByName(req, name.Value)...)
	}
	if typ, ok := schema.Lookup(r.Type); ok {
		var parts []string
		for _, p := range typ.PrimaryIdentifier {
			if text, ok := value.Text(req.Properties.Value(p)); ok && text != "" {
				parts = append(parts, text)
			}
		}
		if len(parts) > 0 && len(parts) == len(typ.PrimaryIdentifier) {
			ids = add(ids, strings.Join(parts, "|"))
		}
	}
	return ids
}

// idsByName are the ids that a resource of a name may have: where the type is
// known by its ARN that, and the name.
func idsByName(req *provider.Request, name string) (ids []string) {
	row := attribute.Row{Type: req.Type, PhysicalID: name, Properties: req.Properties, AccountID: req.Stack.AccountID, Region: req.Stack.Region}
	arn := func(service, resource string) string {
		return strings.Join([]string{"arn", req.Stack.Partition, service, req.Stack.Region, req.Stack.AccountID, resource + name}, ":")
	}
	switch req.Type {
	case "AWS::SNS::Topic":
		return []string{arn("sns", "")}
	case "AWS::StepFunctions::StateMachine":
		return []string{arn("states", "stateMachine:")}
	case "AWS::IAM::ManagedPolicy":
		path, _ := value.Text(req.Properties.Value("Path"))
		if path == "" {
			path = "/"
		}
		return []string{"arn:" + req.Stack.Partition + ":iam::" + req.Stack.AccountID + ":policy" + path + name}
	case "AWS::SQS::Queue":
		return []string{queueURL(req.Stack.Partition, req.Stack.Region, req.Stack.AccountID, name)}
	case "AWS::Events::Rule":
		if v, ok := row.Get("Arn"); ok {
			return []string{v.(string)}
		}
	}
	return []string{name}
}

// see reads the resource of an id. One that is not there is
// provider.ErrNotFound.
func (i *importing) see(ctx context.Context, req *provider.Request, driver *provider.Driver, id string) (seen, error) {
	if err := i.belongs(req.Type, id); err != nil {
		return seen{}, err
	}
	req.PhysicalID = id
	if driver == nil {
		found, made, err := i.cloudControl.Existing(ctx, req)
		return seen{ownID(req.Type, made.PhysicalID, found), made.Attributes, found}, i.gone(req, err)
	}
	own, err := driver.Adopt(ctx, req)
	if err != nil {
		return seen{}, i.gone(req, err)
	}
	if own == "" {
		return seen{}, fmt.Errorf("%w: its id cannot be told", provider.ErrNotFound)
	}
	req.PhysicalID = own
	i.name(req)
	s := seen{id: own}
	res := driver.Resource()
	switch {
	case res.Read == nil && res.Lookup != nil:
		req.Name, req.NameProperty = state.NameIn(req.Type, own), res.Name
		held, err := driver.Lookup(ctx, req)
		if err == nil && (held == nil || !state.SameResource(req.Type, held.PhysicalID, own)) {
			err = provider.ErrNotFound
		}
		if err != nil {
			return s, i.gone(req, err)
		}
		s.id = held.PhysicalID
		req.PhysicalID = s.id
	case res.Read == nil && res.Attributes != nil:
	default:
		if s.properties, err = driver.Read(ctx, req); err != nil {
			return s, i.gone(req, err)
		}
	}
	if s.attributes, err = driver.Existing(ctx, req); err != nil {
		return s, i.gone(req, err)
	}
	if s.properties == nil {
		// It is there. Where its properties cannot be had, drift is told by what is
		// declared.
		s.properties, _ = driver.Read(ctx, req)
	}
	s.id = ownID(req.Type, s.id, s.properties)
	return s, nil
}

// gone says of a resource that is not there which one it is.
func (i *importing) gone(req *provider.Request, err error) error {
	if errors.Is(err, provider.ErrNotFound) {
		return fmt.Errorf("%w: %s in %s", provider.ErrNotFound, req.PhysicalID, i.t.Region)
	}
	return err
}

// belongs makes sure that a resource is of the stack's account and region, as
// far as its id tells.
func (i *importing) belongs(typ, id string) error {
	parts := strings.SplitN(id, ":", 6)
	if len(parts) == 6 && parts[0] == "arn" {
		if region := parts[3]; region != "" && region != i.t.Region {
			return fmt.Errorf("it is in %s, and the stack in %s", region, i.t.Region)
		}
		if account := parts[4]; account != "" && account != i.account && account != "aws" && account != "cloudfront" {
			return fmt.Errorf("it belongs to account %s, and the stack to %s", account, i.account)
		}
	}
	if path := strings.Split(id, "/"); typ == "AWS::SQS::Queue" && len(path) == 5 && path[3] != i.account {
		return fmt.Errorf("it belongs to account %s, and the stack to %s", path[3], i.account)
	}
	return nil
}

// ours makes sure that nothing else names a resource.
func (i *importing) ours(r *template.Resource, id string) error {
	if other := i.namedBy(i.elsewhere, r.Type, id); other != "" {
		return fmt.Errorf("the record of stack %s names it, or cannot be read", other)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	key := r.Type + " " + id
	if other, ok := i.taken[key]; ok && other != r.LogicalID {
		return fmt.Errorf("it is %s already", other)
	}
	i.taken[key] = r.LogicalID
	return nil
}

// findNested imports what is nested in the stack.
func (i *importing) findNested(ctx context.Context, r *template.Resource) error {
	if i.live != nil && i.live.Nested[r.LogicalID] == nil {
		return i.retiredBefore(r)
	}
	n := i.t.Nested[r.LogicalID]
	if n == nil {
		return fmt.Errorf("the assembly has no template for nested stack %s of %s", r.LogicalID, i.t.Name)
	}
	resolved, _, unresolved, err := i.properties(ctx, r)
	if err != nil {
		return err
	}
	t, err := i.childTarget(r.LogicalID, n, resolved)
	if err != nil {
		return err
	}
	child := i.e.importing(i.store, t, i.opt)
	child.whole, child.elsewhere = true, i.elsewhere
	if i.live != nil {
		child.from(i.live.Nested[r.LogicalID])
	}
	i.mu.Lock()
	i.children[r.LogicalID] = child
	i.mu.Unlock()
	if err := child.look(ctx); err != nil {
		return err
	}
	found := ImportedResource{LogicalID: r.LogicalID, Type: r.Type, Outcome: SkippedNotFound, Reason: "nothing of it was found"}
	if child.out.Count(ImportDone) > 0 || len(child.out.Resources) == 0 {
		row := &state.Resource{
			PhysicalID: nestedID(i.t.Region, i.account, i.t.Name, r.LogicalID), ResourceType: r.Type, Properties: provider.Without(resolved.Stored.(*value.Object), unresolved),
			Attributes: outputAttributes(child.next), Dependencies: i.recorded[r.LogicalID], ProvisionedBy: state.BySDK,
			DeletionPolicy: r.DeletionPolicy, UpdateReplacePolicy: r.UpdateReplacePolicy,
		}
		for _, path := range resolved.Masked {
			row.NoEchoLeaves = append(row.NoEchoLeaves, recordedPath(path))
		}
		found.PhysicalID, found.Outcome, found.Reason = row.PhysicalID, ImportDone, ""
		i.world.mu.Lock()
		i.world.record.Set(r.LogicalID, row)
		i.world.mu.Unlock()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.found[r.LogicalID] = found
	return nil
}

// childTarget makes a target of a nested stack, with the parameters that its row
// would hand to it.
func (d *deployment) childTarget(logicalID string, n *assembly.Nested, resolved template.Resolved) (target, error) {
	parameters, hidden, err := (&nested{d}).parameters(&provider.Request{LogicalID: logicalID, Properties: resolved.Clear.(*value.Object), Masked: resolved.Masked})
	if err != nil {
		return target{}, err
	}
	return d.t.child(d, logicalID, n, parameters, hidden), nil
}

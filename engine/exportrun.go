package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/value"
)

// carryOut has CloudFormation take the stack, after those nested in it. It begins
// with what an earlier run did not get to.
func (x *exporting) carryOut(ctx context.Context) error {
	if x.forgotten {
		return nil
	}
	// Where a template cannot be put, nothing has begun that would have to be finished.
	for _, id := range sortedKeys(x.children) {
		if err := x.publishTemplate(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range sortedKeys(x.children) {
		if err := x.children[id].carryOut(ctx); err != nil {
			return err
		}
	}
	if err := x.lock.Assure(ctx); err != nil {
		return errors.Join(errLost, err)
	}
	parameters := x.parameters()
	if missing := x.missing(); len(missing) > 0 {
		template, err := cloudformation.ForImport(x.t.Template.Body, x.left, func(id string, v any) (any, error) { return x.literal(ctx, id, v) })
		if err != nil {
			return err
		}
		x.observe(Event{Kind: Notice, Text: fmt.Sprintf("CloudFormation imports %s into stack %s", amount.Of(len(missing), "resource"), x.out.StackName)})
		if err := x.cfn.Import(ctx, x.out.StackName, template, parameters, missing, x.begin); err != nil {
			return err
		}
	}
	var err error
	if x.there, err = x.cfn.Settled(ctx, x.out.StackName); err != nil {
		return err
	}
	if x.there == nil {
		return fmt.Errorf("CloudFormation stack %s is gone", x.out.StackName)
	}
	if err := x.begin(ctx); err != nil {
		return err
	}
	// The rest: outputs, what cannot be imported, and the policies of the app.
	if err := x.cfn.Update(ctx, x.there, x.t.Template.Body, parameters); err != nil {
		return err
	}
	return x.confirmed(ctx)
}

// missing are the resources that CloudFormation is still to import.
func (x *exporting) missing() (all []cloudformation.Import) {
	for _, r := range x.out.Resources {
		if r.Outcome != ExportImported || x.there != nil && x.there.Resource(r.LogicalID) != nil {
			continue
		}
		identifier := r.Identifier
		if child := x.children[r.LogicalID]; child != nil {
			identifier = map[string]string{"StackId": child.there.ID}
		}
		all = append(all, cloudformation.Import{LogicalID: r.LogicalID, Type: r.Type, Identifier: identifier})
	}
	return all
}

// parameters are those that CloudFormation has to be told.
func (x *exporting) parameters() map[string]string {
	all := map[string]string{}
	for _, p := range x.t.Template.Parameters {
		if v, ok := x.t.Parameters[p.Name]; ok {
			all[p.Name] = v
		}
	}
	return all
}

// literal is what a reference says to a resource that CloudFormation has not made
// yet.
func (x *exporting) literal(ctx context.Context, logicalID string, reference any) (any, error) {
	resolved, err := x.scope.ResolveBoth(ctx, reference)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", logicalID, err)
	}
	if len(resolved.Masked) > 0 || masked(resolved.Stored) {
		return nil, fmt.Errorf("%s refers to a secret of a resource that CloudFormation cannot import, and it would be written into the template: %s", logicalID, value.JSON(reference))
	}
	return resolved.Stored, nil
}

// confirmed reads back that CloudFormation has everything.
func (x *exporting) confirmed(ctx context.Context) error {
	s, err := x.cfn.Settled(ctx, x.out.StackName)
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("CloudFormation stack %s is gone", x.out.StackName)
	}
	x.there = s
	for _, r := range x.out.Resources {
		have := s.Resource(r.LogicalID)
		if have == nil {
			return fmt.Errorf("CloudFormation stack %s does not have %s", s.Name, r.LogicalID)
		}
		if !x.same(*have) {
			return fmt.Errorf("CloudFormation stack %s has %s for %s", s.Name, have.PhysicalID, r.LogicalID)
		}
	}
	return nil
}

// forget removes the records of what CloudFormation has, those of nested stacks
// first. Once begun it is not called off.
func (x *exporting) forget() error {
	if x.forgotten && x.above != nil {
		x.out.Done = true
		return nil
	}
	for _, id := range sortedKeys(x.children) {
		if err := x.children[id].forget(); err != nil {
			return err
		}
	}
	ctx, cancel := x.e.config.Window.Cleanup(2 * journalLimit)
	defer cancel()
	if err := x.lock.Assure(ctx); err != nil {
		return errors.Join(errLost, err)
	}
	if err := x.place.Forget(ctx, x.before.etag); err != nil {
		return err
	}
	x.e.handOver(ctx, x.store, x.place)
	x.out.Done = true
	return nil
}

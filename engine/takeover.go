package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A RetireError says that a stack is recorded, and that CloudFormation still has
// it too.
type RetireError struct {
	Stack, Region  string
	CloudFormation string
	Err            error
}

func (e *RetireError) Error() string {
	return fmt.Sprintf("stack %s in %s is recorded, and CloudFormation still has %s: %v", e.Stack, e.Region, e.CloudFormation, e.Err)
}

func (e *RetireError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *RetireError) Remedy() string {
	return "run the same command again, which goes on from here; until it is through, deploy the stack with neither"
}

// takeOver records a stack of CloudFormation's, with those nested in it, as it was
// deployed there, and then removes it there. Nothing is touched before everything
// was found, and nothing is removed before it is recorded, so that at each moment
// the resources are CloudFormation's, or recorded.
func (e *Engine) takeOver(ctx context.Context, store *state.Store, t target, opt ImportOptions) (*Imported, error) {
	i := e.importing(store, t, opt)
	i.out.CloudFormation = cmp.Or(opt.StackName, t.Name)
	i.whole = true
	defer i.release()
	cfn := e.cloudFormation(i.deployment)
	live, err := cfn.Live(ctx, i.out.CloudFormation)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return i.out, i.notThere(ctx)
	}
	if err := cfn.Retirable(ctx, live); err != nil {
		return nil, err
	}
	i.from(live)
	if err := i.deployedFrom(live); err != nil {
		return nil, err
	}
	if err := i.look(ctx); err != nil {
		return nil, err
	}
	if err := i.carryOut(ctx); err != nil || !i.out.Saved || i.out.Declined {
		return i.out, err
	}
	if err := i.lock.Assure(ctx); err != nil {
		return i.out, errors.Join(errLost, err)
	}
	i.observe(Event{Kind: Notice, Text: fmt.Sprintf("everything is recorded; CloudFormation stack %s is removed without its resources", live.Name)})
	if err := cfn.Retire(ctx, live); err != nil {
		return i.out, &RetireError{Stack: t.Name, Region: t.Region, CloudFormation: live.Name, Err: err}
	}
	i.out.Retired = true
	return i.out, nil
}

// notThere tells a stack that was taken over already from one that never was
// there.
func (i *importing) notThere(ctx context.Context) error {
	record, _, err := i.place.Read(ctx)
	if err != nil {
		return err
	}
	if record == nil {
		return &InputError{
			What: fmt.Sprintf("CloudFormation has no stack %s in %s", i.out.CloudFormation, i.t.Region),
			Next: "name the stack with cfn-stack-name, or its region with region",
		}
	}
	i.out.Saved, i.out.Retired = true, true
	return nil
}

// from makes the import one of what CloudFormation has.
func (i *importing) from(live *cloudformation.Live) {
	i.live, i.given = live, map[string]string{}
	for _, r := range live.Resources {
		if r.Type != nestedType && r.Type != template.MetadataType {
			i.given[r.LogicalID] = r.PhysicalID
		}
	}
}

// deployedFrom makes the target what the stack was deployed from: what the app
// says by now shows in the next diff.
func (i *importing) deployedFrom(live *cloudformation.Live) error {
	n, err := nestedOf(live)
	if err != nil {
		return err
	}
	given := i.t.Parameters
	i.t.Template, i.t.Nested, i.t.Parameters = n.Template, n.Nested, map[string]string{}
	var missing []string
	for _, p := range i.t.Template.Parameters {
		v, ok := live.Parameters[p.Name]
		if p.NoEcho {
			if v, ok = given[p.Name]; !ok {
				missing = append(missing, p.Name)
			}
		}
		if ok {
			i.t.Parameters[p.Name] = v
		}
	}
	if missing == nil {
		return nil
	}
	return &InputError{
		What: fmt.Sprintf("CloudFormation does not show the values of NoEcho parameters of stack %s: %s", live.Name, strings.Join(missing, ", ")),
		Next: "give them with parameters, as they were deployed",
	}
}

// nestedOf is what an assembly would have of a stack.
func nestedOf(live *cloudformation.Live) (*assembly.Nested, error) {
	body, err := value.Marshal(live.Template)
	if err != nil {
		return nil, err
	}
	n := &assembly.Nested{Nested: map[string]*assembly.Nested{}}
	if n.Template, err = template.Parse(live.Name, body); err != nil {
		return nil, fmt.Errorf("the template of CloudFormation stack %s: %w", live.Name, err)
	}
	for id, child := range live.Nested {
		if child == nil {
			continue
		}
		if n.Nested[id], err = nestedOf(child); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// retiredBefore takes the row of a nested stack that an earlier run recorded and
// removed from CloudFormation.
func (i *importing) retiredBefore(r *template.Resource) error {
	found := ImportedResource{LogicalID: r.LogicalID, Type: r.Type, Outcome: SkippedNotFound, Reason: "CloudFormation has it no more, and nothing is recorded of it"}
	if row := i.before.record.Row(r.LogicalID); row != nil {
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

// recordedBefore tells whether what was found is on record already: an earlier run
// came that far. Anything else needs force.
func (i *importing) recordedBefore() error {
	for _, r := range i.scope.Resources() {
		row, found := i.before.record.Row(r.LogicalID), i.next.Row(r.LogicalID)
		if row == nil || found == nil || row.ResourceType != found.ResourceType || !state.SameResource(row.ResourceType, row.PhysicalID, found.PhysicalID) {
			return i.mayRecord()
		}
	}
	i.already, i.out.Dropped = true, nil
	return nil
}

package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/guide"
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
	i.whole, i.hands = true, true
	defer i.release()
	var err error
	if i.handover, err = i.place.OpenHandover(ctx); err != nil {
		return nil, err
	}
	name, begun := i.out.CloudFormation, i.handover.Current()
	if begun != nil {
		if opt.StackName != "" && !begun.Is(opt.StackName) {
			return nil, handedOver(i.place, begun)
		}
		i.out.CloudFormation, name = begun.Stack, begun.Ident()
	}
	cfn := e.cloudFormation(i.deployment)
	live, err := cfn.Live(ctx, name)
	if err != nil {
		return nil, err
	}
	if live == nil || begun != nil && len(live.Resources) == 0 {
		return i.out, i.notThere(ctx, cfn)
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
	if err := i.retire(ctx, cfn); err != nil {
		return i.out, &RetireError{Stack: t.Name, Region: t.Region, CloudFormation: live.Name, Err: err}
	}
	return i.out, nil
}

// retire has CloudFormation give up what is recorded now.
func (i *importing) retire(ctx context.Context, cfn *cloudformation.Client) error {
	i.observe(Event{Kind: Notice, Text: fmt.Sprintf("everything is recorded; CloudFormation stack %s is removed without its resources", i.live.Name)})
	if err := i.come(ctx, state.Retaining); err != nil {
		return err
	}
	if err := cfn.Retire(ctx, i.live, func(ctx context.Context) error { return i.come(ctx, state.Retiring) }); err != nil {
		return err
	}
	return i.end(ctx, cfn)
}

// come writes down a step of the way from CloudFormation, before it begins. Of one
// whose stacks are being removed there is no way back.
func (i *importing) come(ctx context.Context, step state.HandoverStep) error {
	h := state.Handover{Direction: state.FromCloudFormation, Step: step, Stack: i.live.Name, StackID: i.live.ID}
	if begun := i.handover.Current(); begun != nil {
		if begun.Step == state.Retiring || begun.Step == step {
			return nil
		}
		h.Stacks = begun.Stacks
	}
	return i.handOn(ctx, h)
}

// end ends the handover of a stack of which CloudFormation has nothing any more, but
// what an export left there.
func (i *importing) end(ctx context.Context, cfn *cloudformation.Client) error {
	if begun := i.handover.Current(); begun != nil {
		if err := i.takeBack(ctx, cfn, begun.Stacks); err != nil {
			return err
		}
	}
	if err := i.handed(); err != nil {
		return err
	}
	i.out.Saved, i.out.Retired = true, true
	return nil
}

// notThere tells a stack that was taken over, or has come back, from one that never
// was there.
func (i *importing) notThere(ctx context.Context, cfn *cloudformation.Client) error {
	if err := i.read(ctx); err != nil {
		return err
	}
	begun := i.handover.Current()
	missing := &InputError{
		What: fmt.Sprintf("CloudFormation has no stack %s in %s", i.out.CloudFormation, i.t.Region),
		Next: "name the stack with cfn-stack-name, or its region with region",
		Page: guide.CloudFormationRefused,
	}
	switch {
	case i.before.record == nil && begun != nil:
		missing.Next = fmt.Sprintf("nothing is recorded of it either: find out who deleted it; to begin anew: cdkd-action state orphan %s --stack-region %s", i.t.Name, i.t.Region)
		return missing
	case i.before.record == nil:
		return missing
	case begun == nil:
		was, err := cfn.Deleted(ctx, i.out.CloudFormation)
		if err != nil || !was {
			missing.What += fmt.Sprintf(", and stack %s is recorded already", i.t.Name)
			return missing
		}
		i.out.Retired, i.out.AlreadyThere = true, true
		return nil
	}
	i.out.Ending = true
	if i.opt.DryRun {
		return nil
	}
	if i.opt.Consent != nil && !i.opt.Consent(i.out) {
		i.out.Declined = true
		return nil
	}
	if begun.Direction == state.FromCloudFormation && begun.Step != state.Retiring {
		i.warn("CloudFormation stack %s was deleted by somebody else: drift shows which resources are left", begun.Stack)
	}
	if err := i.end(ctx, cfn); err != nil {
		return &RetireError{Stack: i.t.Name, Region: i.t.Region, CloudFormation: begun.Stack, Err: err}
	}
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
		if stored, had := live.Stored[p.Name]; had && !p.NoEcho {
			// What its name leads to by now, the resources do not have.
			v, *p = stored, p.Plain()
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
		Page: guide.NoEchoNotGiven,
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

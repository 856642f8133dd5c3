package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/state"
)

// A HandoverError says that a stack is on its way from CloudFormation, or to it:
// a run that began it did not come to its end, and until one does, the resources
// may be the other's.
type HandoverError struct {
	Stack, Region string
	state.Handover
}

func (e *HandoverError) Error() string {
	way := fmt.Sprintf("is being taken over from CloudFormation stack %s", e.Handover.Stack)
	if e.Direction == state.ToCloudFormation {
		way = fmt.Sprintf("is being exported to CloudFormation stack %s", e.Handover.Stack)
	}
	return fmt.Sprintf("stack %s in %s %s since %s, and that did not come to its end (it is %s)",
		e.Stack, e.Region, way, time.UnixMilli(e.Since).UTC().Format(time.RFC3339), e.Step)
}

// Remedy says what to do about it.
func (e *HandoverError) Remedy() string {
	take := fmt.Sprintf("cdkd-action import %s --migrate-from-cloudformation --cfn-stack-name %s", e.Stack, e.Handover.Stack)
	if e.Direction == state.ToCloudFormation {
		return fmt.Sprintf("finish it: cdkd-action export %s --cfn-stack-name %s; or take back what CloudFormation has of it: %s", e.Stack, e.Handover.Stack, take)
	}
	if !e.Abandonable() {
		return "finish it: " + take
	}
	unchanged := "CloudFormation was not changed"
	if e.Step == state.Retaining {
		unchanged = "CloudFormation still has all of the stack"
	}
	return fmt.Sprintf("finish it: %s; or, since %s, give it up: cdkd-action state orphan %s --stack-region %s", take, unchanged, e.Stack, e.Region)
}

// notHandedOver refuses a stack that is on its way from CloudFormation or to it.
func notHandedOver(ctx context.Context, place *state.Stack) error {
	h, err := place.ReadHandover(ctx)
	if err != nil || h == nil {
		return err
	}
	return handedOver(place, h)
}

// told is an error with what to do about it, for a line of its own.
func told(err error) string {
	if next := Remedy(err); next != "" {
		return fmt.Sprintf("%v; %s", err, next)
	}
	return err.Error()
}

func handedOver(place *state.Stack, h *state.Handover) error {
	return &HandoverError{Stack: place.Top(), Region: place.Region, Handover: *h}
}

// mine refuses a stack that is being handed over, unless this is what goes on
// with that. A nested stack's parent was asked already.
func (d *deployment) mine(ctx context.Context, present state.Presence) error {
	nested := d.place.Top() != d.place.Name
	if d.hands || d.t.parent != nil || !nested && !present.Handover {
		return nil
	}
	return notHandedOver(ctx, d.place)
}

// handOn writes down how far a handover has come, while the stack is still this
// run's to hand over.
func (d *deployment) handOn(ctx context.Context, h state.Handover) error {
	if err := d.lock.Assure(ctx); err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	h.Since, h.Owner = now().UnixMilli(), d.e.config.Owner
	return d.handover.Write(ctx, h)
}

// handed removes what was written down: the handover has ended.
func (d *deployment) handed() error {
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	return d.handover.Remove(ctx)
}

// formed are the names of the stacks that an export makes, nested ones first.
func (x *exporting) formed() (names []string) {
	for _, id := range sortedKeys(x.children) {
		names = append(names, x.children[id].formed()...)
	}
	return append(names, x.out.StackName)
}

// begin writes down that CloudFormation may have of the stack from now on.
func (x *exporting) begin(ctx context.Context) error { return x.come(ctx, state.Importing) }

// come writes down a step of the way to CloudFormation, before it begins.
func (x *exporting) come(ctx context.Context, step state.HandoverStep) error {
	if x.above != nil {
		return x.above.come(ctx, step)
	}
	h := state.Handover{Direction: state.ToCloudFormation, Step: step, Stack: x.out.StackName, Stacks: x.formed()}
	if begun := x.handover.Current(); begun != nil {
		if begun.Step == state.Forgetting || begun.Step == step {
			return nil
		}
		h.Stacks = begun.Stacks
	}
	return x.handOn(ctx, h)
}

// takeBack ends an export that somebody does not want any more, once what
// CloudFormation had of it was taken over: what is left there are stacks that
// were not nested in another yet, or that have nothing.
func (i *importing) takeBack(ctx context.Context, cfn *cloudformation.Client, stacks []string) error {
	for _, name := range slices.Backward(stacks) {
		live, err := cfn.Settled(ctx, name)
		switch {
		case err != nil:
			return err
		case live == nil || live.ParentID != "":
			continue
		case len(live.Resources) == 0:
			err = cfn.Discard(ctx, live)
		default:
			var all *cloudformation.Live
			if all, err = cfn.Live(ctx, live.ID); err == nil {
				err = cfn.Retire(ctx, all, func(context.Context) error { return nil })
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

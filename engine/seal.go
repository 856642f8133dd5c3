package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A flight is an operation under way, as it is to be written down if the run
// has to let it go.
type flight struct {
	op    state.OpenOperation
	req   *provider.Request
	sent  []customresource.Sent
	noted bool // written down already
}

func flightKey(logicalID, changeType string) string { return changeType + " " + logicalID }

// depart notes that an operation begins.
func (d *deployment) depart(req *provider.Request, op state.OpenOperation) *flight {
	op.LogicalID, op.ResourceType, op.Stage = req.LogicalID, req.Type, state.StageSent
	op.StartedAt, op.RoleARN = now().UnixMilli(), d.e.config.RoleARN
	f := &flight{op: op, req: req}
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	if d.pending.flights == nil {
		d.pending.flights = map[string]*flight{}
	}
	d.pending.flights[flightKey(req.LogicalID, op.ChangeType)] = f
	return f
}

// arrive notes how an operation ended, or that it did not.
func (d *deployment) arrive(f *flight, err error) {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	delete(d.pending.flights, flightKey(f.op.LogicalID, f.op.ChangeType))
	switch {
	case d.letGoOf(&f.op, err):
		d.pending.let = append(d.pending.let, f.op)
	case f.noted:
		d.pending.closing = append(d.pending.closing, f)
	}
}

// letGoOf tells whether an operation has no outcome yet, and how far it came.
func (d *deployment) letGoOf(op *state.OpenOperation, err error) bool {
	interrupted := d.e.config.Window.Interrupted()
	cloud, inCloud := errors.AsType[*cloudcontrol.OpenError](err)
	custom, inHandler := errors.AsType[*customresource.OpenError](err)
	switch {
	case op.ResourceType == nestedType: // also one that is done but for an old copy
		op.Stage = state.StageAccepted
		return d.pending.children[op.LogicalID]
	case err == nil, errors.Is(err, errNotBegun):
		return false
	case inCloud:
		op.Stage, op.RequestToken, op.ClientToken = state.StageAccepted, cloud.RequestToken, cloud.ClientToken
		if op.PhysicalID == "" {
			op.PhysicalID = cloud.Identifier
		}
	case inHandler:
		op.Stage, op.RequestID, op.ResponseKey, op.AnswerBy = state.StageAccepted, custom.RequestID, custom.ResponseKey, custom.AnswerBy.UnixMilli()
	case is[*provider.SettlingError](err):
		op.Stage = state.StageSettling
		if made, ok := errors.AsType[*provider.PartialError](err); ok {
			op.PhysicalID = made.Made.PhysicalID
		}
	case !interrupted || is[*provider.PartialError](err):
		return false
	case errors.Is(err, provider.ErrDraining) && !is[*retry.InterruptedError](err):
		if op.ChangeType == state.OpDelete {
			op.Stage = state.StageAccepted
		}
	case !provider.Ambiguous(err):
		return false
	}
	return true
}

// creating is what is written down of a create that is let go.
func (d *deployment) creating(c *plan.Change, req *provider.Request, resolved template.Resolved, old *state.Resource) state.OpenOperation {
	op := state.OpenOperation{
		ChangeType: state.OpCreate, ProvisionedBy: d.decisions[c.LogicalID].Route.ProvisionedBy,
		Replacing: old != nil, Previous: old, ClientToken: req.Token, Name: req.Name,
		Properties: resolved.Stored.(*value.Object), Dependencies: d.recorded[c.LogicalID],
	}
	if req.Name != "" {
		op.NameOrigin = "declared"
		if plan.PhysicalName(d.t.Name, c.LogicalID, c.Type, resolved.Clear.(*value.Object)).Generated {
			op.NameOrigin = "generated"
		}
	}
	op.DeletionPolicy, op.UpdateReplacePolicy = d.policies(c.LogicalID)
	return op
}

// sending writes down that a custom resource's handler is about to be invoked:
// from then on only its answer tells what it did.
func (d *deployment) sending(ctx context.Context, r *provider.Request, requestType string, s customresource.Sent) error {
	changeType := strings.ToUpper(requestType)
	d.pending.mu.Lock()
	f := d.pending.flights[flightKey(r.LogicalID, changeType)]
	if f == nil { // a Delete of what a failed Create gave
		f = &flight{req: r, op: state.OpenOperation{
			LogicalID: r.LogicalID, ResourceType: r.Type, ChangeType: changeType, PhysicalID: r.PhysicalID,
			ProvisionedBy: state.BySDK, Stage: state.StageSent, StartedAt: now().UnixMilli(),
		}, noted: true}
		d.pending.closing = append(d.pending.closing, f)
	}
	f.op.RequestID, f.op.ResponseKey, f.op.AnswerBy = s.RequestID, s.ResponseKey, s.AnswerBy.UnixMilli()
	f.sent, f.noted, d.pending.noted = append(f.sent, s), true, true
	op := f.op
	d.pending.mu.Unlock()
	return d.changePending(ctx, func(p *state.Pending) { p.Enter(op) })
}

// undelivered notes that a request came to no handler.
func (d *deployment) undelivered(s customresource.Sent) {
	d.pending.mu.Lock()
	defer d.pending.mu.Unlock()
	for _, f := range d.pending.flights {
		f.sent = slices.DeleteFunc(f.sent, func(o customresource.Sent) bool { return o == s })
	}
}

// seal brings what is written down to what is so at the end of the run: what
// was let go is entered, what is over goes. It does not wait for the record;
// what that does not say yet stays.
func (d *deployment) seal() {
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	d.pending.mu.Lock()
	let, closing, half := d.pending.let, d.pending.closing, maps.Clone(d.pending.half)
	touched := d.pending.noted || d.pending.file != nil && len(d.pending.earlier) > 0 || len(d.pending.gone)+len(d.pending.done)+len(let)+len(half) > 0
	d.pending.mu.Unlock()
	over := d.recordedFlights(closing)
	if !touched && len(over) == 0 {
		return
	}
	err := d.changePending(ctx, func(p *state.Pending) {
		d.dropDone(p, over)
		for _, op := range let {
			p.Enter(op)
		}
		for _, id := range sortedKeys(half) {
			p.Enter(half[id])
		}
		d.tidyLeftovers(p)
		d.dropOutdated(p, closing)
		if d.e.config.Window.Interrupted() {
			p.SealedAt = now().UnixMilli()
		}
	})
	d.tell(let, err)
	if err != nil {
		return
	}
	d.pending.mu.Lock()
	d.pending.noted, d.pending.gone, d.pending.done, d.pending.let, d.pending.half = false, nil, nil, nil, nil
	d.pending.closing = slices.DeleteFunc(d.pending.closing, func(f *flight) bool { return slices.Contains(over, f) })
	d.pending.mu.Unlock()
	d.discardResponses(ctx, over)
}

// recordedFlights are those of which the record in the bucket says what came of
// them.
func (d *deployment) recordedFlights(closing []*flight) []*flight {
	if d.saver == nil || len(closing) == 0 {
		return closing
	}
	unwritten := d.unwritten()
	return slices.DeleteFunc(slices.Clone(closing), func(f *flight) bool {
		_, not := unwritten[f.op.LogicalID]
		return not
	})
}

func (d *deployment) discardResponses(ctx context.Context, over []*flight) {
	for _, f := range over {
		for _, s := range f.sent {
			d.custom.Discard(ctx, f.req, s)
		}
	}
}

// tell says what was let go and what the next run does about it. What could not
// be written down is printed, so that a person can.
func (d *deployment) tell(let []state.OpenOperation, err error) {
	if err != nil {
		d.warn("%v", err)
	}
	for _, op := range let {
		if err != nil {
			for _, line := range (&state.Pending{Operations: []state.OpenOperation{op}}).Lines() {
				d.observe(Event{Kind: Warning, LogicalID: op.LogicalID, Type: op.ResourceType, Text: "open: " + line})
			}
			continue
		}
		d.observe(Event{Kind: Notice, LogicalID: op.LogicalID, Type: op.ResourceType, PhysicalID: op.PhysicalID, Text: letGoText(op)})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, op := range let {
		d.res.Pending = append(d.res.Pending, pendingResult(d.t.Name, op))
	}
}

func letGoText(op state.OpenOperation) string {
	verb := strings.ToLower(op.ChangeType)
	switch {
	case op.Stage == state.StageSettling:
		return "made and recorded; the next run waits for it to be ready"
	case op.ResponseKey != "":
		return fmt.Sprintf("its %s was sent to its handler; the next run takes the answer", verb)
	case op.ResourceType == nestedType:
		return "something in it was let go; the next run goes on with it"
	case op.Stage == state.StageAccepted:
		return fmt.Sprintf("its %s goes on in AWS; the next run waits for it", verb)
	}
	return fmt.Sprintf("its %s was sent and not answered; the next run looks what became of it", verb)
}

func pendingResult(stack string, op state.OpenOperation) result.Pending {
	return result.Pending{
		Stack: stack, LogicalID: op.LogicalID, Type: op.ResourceType, PhysicalID: op.PhysicalID,
		Change: strings.ToLower(op.ChangeType), Stage: op.Stage, StartedAt: op.StartedAt,
	}
}

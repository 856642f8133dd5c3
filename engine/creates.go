package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// Creates that may take over a resource of the same name, or that may not be
// sent twice blindly, are accounted for: their names are looked up when the
// plan is known, and those of a type are written down before the first of them
// is sent. So nothing is taken that this stack cannot account for, and a later
// run knows what a run that was killed may have made. Each type waits for its
// own look-ups only.
type creates struct {
	opened   chan struct{} // closes when the next three are known
	ledger   *state.Ledger
	evidence *state.Evidence
	open     map[string]state.Entry // of earlier runs

	names   map[string]*nameCheck     // by logical id, of those that are looked up
	looking map[string]*routine.Group // by type
	entries map[string]*entering      // by type
	writing routine.Group

	mu      sync.Mutex
	tickets map[string]state.Ticket
	fates   map[string]state.Fate
}

// An entering is the creates of one type being written down.
type entering struct {
	done chan struct{}
	err  error
}

// wait returns when nothing is looked up or written down any more.
func (c *creates) wait() {
	if c == nil {
		return
	}
	for _, looking := range c.looking {
		looking.Wait()
	}
	c.writing.Wait()
}

func newCreates() *creates {
	return &creates{
		opened: make(chan struct{}),
		names:  map[string]*nameCheck{}, looking: map[string]*routine.Group{}, entries: map[string]*entering{},
		tickets: map[string]state.Ticket{}, fates: map[string]state.Fate{},
	}
}

// openLedger opens the ledger. Nothing is read that is not there.
func (d *deployment) openLedger(ctx context.Context, before reading) {
	ledger := d.newLedger(ctx, before.presence.Ledger, before.record)
	d.creates.ledger, d.creates.evidence, d.creates.open = ledger, d.place.Evidence(before.record, ledger), ledger.Open()
	close(d.creates.opened)
}

func (d *deployment) newLedger(ctx context.Context, there bool, record *state.Record) *state.Ledger {
	ledger := d.place.OpenLedger(ctx, there, record)
	if d.e.config.NoOwnerTag {
		ledger.Untag()
	}
	return ledger
}

// intend begins to write the creates of the plan down: those of a type when all
// of its names are looked up. Types that are ready together share a write.
func (d *deployment) intend(ctx context.Context) {
	byType := map[string][]*plan.Change{}
	for _, c := range d.Changes {
		if d.isNew(c) {
			byType[c.Type] = append(byType[c.Type], c)
		}
	}
	for typ, changes := range byType {
		e := &entering{done: make(chan struct{})}
		d.creates.entries[typ] = e
		d.creates.writing.Go(func() {
			defer close(e.done)
			if looking := d.creates.looking[typ]; looking != nil {
				looking.Wait()
			}
			var intents []state.Intent
			for _, c := range changes {
				if n := d.creates.names[c.LogicalID]; n != nil && n.refusal != nil && !n.late && !reappears(typ) {
					continue // it will not be sent
				}
				intents = append(intents, d.intent(c))
			}
			e.err = d.enter(ctx, intents)
		})
	}
}

// isNew tells whether a change may make a resource that is to be accounted for.
func (d *deployment) isNew(c *plan.Change) bool {
	isNew := c.Action == plan.Create || c.Action == plan.Replace || c.Action == plan.MayReplace
	return isNew && !d.decisions[c.LogicalID].Direct
}

func (d *deployment) intent(c *plan.Change) state.Intent {
	i := d.making(c)
	if n := d.creates.names[c.LogicalID]; n != nil {
		i.Keep = n.taken
	} else {
		// The same token again, so that what an earlier run may have made is found.
		i.Keep = d.creates.open[c.LogicalID].Type() == c.Type
	}
	return i
}

// making is the create that a change comes to.
func (d *deployment) making(c *plan.Change) state.Intent {
	i := state.Intent{LogicalID: c.LogicalID, Type: c.Type}
	if n := d.creates.names[c.LogicalID]; n != nil {
		i.Name = n.request.Name
		return i
	}
	if row := d.world.row(c.LogicalID); row != nil && c.Action != plan.Create && !d.oldGoesFirst(c, row) {
		i.Replaces = row.PhysicalID
	}
	i.Called = d.called(c)
	return i
}

// called is the name that the plan has for a new resource, "" while it is not known.
// One that holds a secret is not told either.
func (d *deployment) called(c *plan.Change) string {
	name := plan.PhysicalName(d.t.Name, c.LogicalID, c.Type, c.Desired)
	if name.Value == "" || plan.Unresolved(c.Desired.Value(name.Property)) || masked(name.Value) ||
		strings.Contains(name.Value, "{{resolve:") || d.e.config.Secrets.Mask(name.Value) != name.Value {
		return ""
	}
	return name.Value
}

func (d *deployment) enter(ctx context.Context, intents []state.Intent) error {
	if len(intents) == 0 {
		return nil
	}
	tickets, err := d.creates.ledger.Intend(ctx, intents...)
	if err != nil {
		return err
	}
	d.creates.mu.Lock()
	defer d.creates.mu.Unlock()
	for i, intent := range intents {
		if intent.Name != "" {
			tickets[i].Token = newToken() // the ticket's is the name
		}
		d.creates.tickets[intent.LogicalID] = tickets[i]
		d.creates.fates[intent.LogicalID] = state.FateNothing // until it is sent
	}
	return nil
}

// admit returns when a create may be sent, with what it is sent with.
func (d *deployment) admit(ctx context.Context, c *plan.Change, req *provider.Request) error {
	if d.decisions[c.LogicalID].Direct {
		req.Token = newToken()
		return nil
	}
	if e := d.creates.entries[c.Type]; e != nil {
		if <-e.done; e.err != nil {
			return e.err
		}
	}
	if n := d.creates.names[c.LogicalID]; n != nil {
		if n.late {
			n.request.Properties = req.Properties
			d.lookUp(ctx, []*nameCheck{n})
		}
		if err := d.awaitName(ctx, n); err != nil {
			return err
		}
		req.Held = n.taken
	}
	d.creates.mu.Lock()
	ticket, ok := d.creates.tickets[c.LogicalID]
	d.creates.mu.Unlock()
	if !ok {
		if err := d.enter(ctx, []state.Intent{d.intent(c)}); err != nil {
			return err
		}
		d.creates.mu.Lock()
		ticket = d.creates.tickets[c.LogicalID]
		d.creates.mu.Unlock()
	}
	req.Token, req.OwnerTag = ticket.Token, ticket.OwnerTag
	d.creates.mu.Lock()
	d.creates.fates[c.LogicalID] = state.FateUnknown // until it is answered
	d.creates.mu.Unlock()
	return nil
}

// intendAnother writes down a create that no plan has, in the place of the one
// that it replaces, and sets what it is sent with. again tells that an earlier run
// wrote the same down, and may have sent it.
func (d *deployment) intendAnother(ctx context.Context, req *provider.Request, replaces string) (again bool, err error) {
	ledger := d.ledger(ctx)
	intent := state.Intent{LogicalID: req.LogicalID, Type: req.Type, Replaces: replaces, Keep: true}
	before, open := ledger.Open()[req.LogicalID]
	tickets, err := ledger.Intend(ctx, intent)
	if err != nil {
		return false, err
	}
	req.Token, req.OwnerTag = tickets[0].Token, tickets[0].OwnerTag
	if d.creates != nil {
		d.creates.mu.Lock()
		defer d.creates.mu.Unlock()
		d.creates.fates[req.LogicalID] = state.FateUnknown
	}
	return open && before.Answers(intent), nil
}

// over notes what became of a create.
func (d *deployment) over(logicalID, typ, physicalID string, err error) {
	if physicalID != "" {
		d.creates.evidence.Made(typ, physicalID)
	}
	fate := state.FateOf(err)
	switch {
	case physicalID != "":
		fate = state.FateOver
	case madeNothing(err):
		fate = state.FateNothing
	case errors.Is(err, errNotBegun):
		fate = state.FateNothing
	case err != nil && d.e.config.Window.Interrupted() && provider.Ambiguous(err), is[*cloudcontrol.OpenError](err):
		fate = state.FateOpen
	}
	d.creates.mu.Lock()
	defer d.creates.mu.Unlock()
	d.creates.fates[logicalID] = fate
}

// madeNothing tells whether Cloud Control or a handler said that a create failed.
// What it left all the same is in the journal.
func madeNothing(err error) bool {
	return is[*cloudcontrol.FailedError](err) || is[*cloudcontrol.CancelledError](err) || is[*customresource.FailedError](err)
}

// settleLedger ends the ledger's part of this run.
func (d *deployment) settleLedger(ctx context.Context) {
	defer d.renewLedger(ctx)
	if d.creates == nil {
		return
	}
	if err := d.creates.ledger.Settle(ctx, d.settlement()); err != nil {
		d.warn("%v", err)
	}
}

func (d *deployment) settlement() state.Settlement { return d.settlementOf(d.whole) }

// settlementOf is settlement of a deploy that is done, or is not yet.
func (d *deployment) settlementOf(whole bool) state.Settlement {
	s := state.Settlement{Record: d.saver.Written()}
	if d.creates != nil {
		s.Fates = d.unrecordedFates()
	}
	if !whole {
		s.Keep = func(logicalID string, row *state.Resource) bool {
			return d.onTrial(row) && !d.wasRemade(logicalID)
		}
	}
	if d.e.config.Window.Interrupted() {
		s.Sealed = now()
	}
	return s
}

// renewLedger gives the ledger another nonce once this run let go of what a token
// made: a create to come must not repeat the token, or it is answered with that.
// What is still open is proved by the nonce, and follows it. A run that has
// little time left keeps the nonce: that proof matters more.
func (d *deployment) renewLedger(ctx context.Context) {
	d.mu.Lock()
	ids := d.released
	d.released = nil
	d.mu.Unlock()
	if ids == nil || d.creates == nil && !d.presence.Ledger || d.e.config.Window.Interrupted() {
		return
	}
	err := d.ledger(ctx).Renew(ctx, ids...)
	if err == nil {
		d.pending.mu.Lock()
		file := d.pending.file
		d.pending.mu.Unlock()
		if file != nil && !file.Current().Empty() {
			err = d.changePending(ctx, func(*state.Pending) {})
		}
	}
	if err != nil {
		d.warn("%v", err)
	}
}

// destructive tells whether carrying the plan out can delete something, or
// visits a nested stack, which can.
func (p *planned) destructive() bool {
	return p.Plan.Destructive() || slices.ContainsFunc(p.Changes, func(c *plan.Change) bool {
		return c.Type == nestedType && c.Action != plan.NoChange
	})
}

// keeps remembers what the stack lets go of while it goes on to exist.
func (d *deployment) keeps(logicalID string, row *state.Resource) {
	driver := d.router.Driver(row.ResourceType)
	byName := driver != nil && driver.Resource().Lookup != nil
	d.mu.Lock()
	defer d.mu.Unlock()
	if !byName {
		d.released = append(d.released, logicalID)
	}
	if !byName || row.PhysicalID == "" || d.declared(logicalID, row) {
		return
	}
	d.kept = append(d.kept, state.Kept{LogicalID: logicalID, ResourceType: row.ResourceType, PhysicalID: row.PhysicalID})
}

// declared tells whether the template gave the resource its name.
func (d *deployment) declared(logicalID string, row *state.Resource) bool {
	return !plan.PhysicalName(d.t.Name, logicalID, row.ResourceType, row.Properties).Generated
}

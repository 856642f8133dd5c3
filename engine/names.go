package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/awssdk"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A nameCheck is the look-up of the name that a create would take.
type nameCheck struct {
	request *provider.Request
	driver  *provider.Driver
	refusal error // why the create is not sent; nil when it may be
	late    bool  // to be looked up only when the create's turn comes
	taken   bool  // held by what is this stack's own
}

// named are the creates whose names are to be looked up.
func (d *deployment) named() *creates {
	all := newCreates()
	for _, c := range d.Changes {
		if c.Action != plan.Create {
			continue
		}
		driver := d.router.Driver(c.Type)
		name := plan.PhysicalName(d.t.Name, c.LogicalID, c.Type, c.Desired)
		if driver == nil || driver.Resource().Lookup == nil || !name.Generated || d.decisions[c.LogicalID].Route.ProvisionedBy != state.BySDK {
			continue
		}
		req := d.request(c.LogicalID, c.Type)
		req.Properties, req.Name, req.NameProperty = c.Desired, name.Value, name.Property
		// A rule's name counts on its own bus, which may still have to be made.
		_, late := c.Desired.Value("EventBusName").(*value.Object)
		all.names[c.LogicalID] = &nameCheck{request: req, driver: driver, late: late}
	}
	return all
}

// lookUpNames begins to ask who has the names, all at once within a limit for
// each API.
func (d *deployment) lookUpNames(ctx context.Context) {
	looking := d.creates.looking
	for _, n := range d.creates.names {
		if looking[n.request.Type] == nil {
			looking[n.request.Type] = &routine.Group{}
		}
	}
	byType := map[string][]*nameCheck{}
	for _, id := range slices.Sorted(maps.Keys(d.creates.names)) {
		if n := d.creates.names[id]; !n.late {
			byType[n.request.Type] = append(byType[n.request.Type], n)
		}
	}
	for typ, all := range byType {
		slot := d.e.lookUps(typ)
		for batch := range slices.Chunk(all, max(all[0].driver.Resource().Batch, 1)) {
			looking[typ].Go(func() {
				slot <- struct{}{}
				defer func() { <-slot }()
				d.lookUp(ctx, batch)
			})
		}
	}
}

// lookUps are the places of those that look names of a type up at the same time,
// for all stacks of the run.
func (e *Engine) lookUps(typ string) chan struct{} {
	const each, topics = 10, 4
	limit := each
	if typ == "AWS::SNS::Topic" {
		limit = topics
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.looking[typ] == nil {
		e.looking[typ] = make(chan struct{}, limit)
	}
	return e.looking[typ]
}

// lookUp decides whether creates of one type may take their names.
func (d *deployment) lookUp(ctx context.Context, batch []*nameCheck) {
	driver, typ := batch[0].driver, batch[0].request.Type
	var requests []*provider.Request
	for _, n := range batch {
		requests = append(requests, n.request)
	}
	holders, err := driver.Lookups(ctx, requests)
	unchecked := err != nil && provider.AccessDenied(err)
	if unchecked {
		d.unchecked(typ, err)
	}
	for i, n := range batch {
		n.refusal, n.taken = nil, false
		switch {
		case unchecked:
		case err != nil:
			n.refusal = err
		case holders[i] != nil:
			d.judge(ctx, n, holders[i])
		}
	}
}

// unchecked says that names of a type could not be looked up.
func (d *deployment) unchecked(typ string, err error) {
	needed, _ := awssdk.ActionsOf(typ)
	d.warnOnce("look up "+typ, "who holds the names of new resources of type %s could not be looked up, so that is not checked; it takes %s: %v",
		typ, strings.Join(needed.Plan, ", "), err)
}

// judge decides whether a create may take a name that is held.
func (d *deployment) judge(ctx context.Context, n *nameCheck, held *provider.Holder) {
	holder := state.Holder{
		LogicalID: n.request.LogicalID, Type: n.request.Type, Name: n.request.Name,
		PhysicalID: held.PhysicalID, Created: held.Created, OwnerTag: held.Tags[provider.OwnerTagKey],
	}
	<-d.creates.opened
	verdict := d.creates.evidence.License(ctx, holder)
	if verdict.Proof != "" {
		n.taken = true
		return
	}
	n.refusal = d.creates.evidence.Refusal(holder, verdict)
}

// reappears tells whether a name may look held for a while after its holder was
// deleted.
func reappears(typ string) bool { return typ == "AWS::SQS::Queue" || typ == "AWS::S3::Bucket" }

// awaitName refuses a create whose name is held, after looking again for a
// while where a deleted holder is seen for that long.
func (d *deployment) awaitName(ctx context.Context, n *nameCheck) error {
	const again, limit = 10 * time.Second, 65 * time.Second
	start := time.Now()
	for said := false; n.refusal != nil; said = true {
		var held *state.NameHeldError
		if !errors.As(n.refusal, &held) || !reappears(n.request.Type) || time.Since(start) >= limit {
			return n.refusal
		}
		if !said {
			d.observe(Event{Kind: Notice, LogicalID: n.request.LogicalID, Type: n.request.Type, Text: fmt.Sprintf(
				"its name is held by %s, which may have been deleted and still show; looking again every %s, for %s at most", held.Holder.PhysicalID, again, limit)})
		}
		if provider.Sleep(ctx, d.e.config.Window.Draining(), again) != nil {
			return n.refusal
		}
		d.lookUp(ctx, []*nameCheck{n})
	}
	return nil
}

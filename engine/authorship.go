package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/authorship"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// A create that may be answered with what somebody else made is on trial until
// its deploy has succeeded: the ledger keeps it so long, and who undoes it
// before asks first whether it made what it was answered with.

// onTrial tells whether the create of a row may have been answered with what was
// there: it is an upsert. That its name was looked up before, and was free, says
// nothing of who made it since.
func (d *deployment) onTrial(row *state.Resource) bool {
	driver := d.router.Driver(row.ResourceType)
	return driver != nil && row.ProvisionedBy != state.ByCloudControl &&
		(driver.Resource().Lookup != nil || driver.Resource().PutOn != nil)
}

// sentCreate is what the ledger says of a create of a row that is on trial.
func (d *deployment) sentCreate(ctx context.Context, logicalID string, row *state.Resource) (authorship.Create, bool) {
	if !d.onTrial(row) {
		return authorship.Create{}, false
	}
	entry, tag := d.ledger(ctx).Sent(logicalID)
	if entry.Type() != row.ResourceType {
		return authorship.Create{}, false
	}
	return authorship.Create{Sent: time.UnixMilli(entry.FirstSentAt), Tag: tag, Untagged: d.e.config.NoOwnerTag || tag == ""}, true
}

// createOf is what is known of the create of a row: what the ledger says, or that
// it was sent after the run that did so began.
func (d *deployment) createOf(ctx context.Context, logicalID string, row *state.Resource, began time.Time) authorship.Create {
	if create, ok := d.sentCreate(ctx, logicalID, row); ok {
		return create
	}
	return authorship.Create{Sent: began}
}

// doubt says why a row that a create made is not to be deleted with it, "" when
// it may be. began is when the run that sent the create began.
func (d *deployment) doubt(ctx context.Context, logicalID string, row *state.Resource, began time.Time) (string, error) {
	if !d.onTrial(row) {
		return "", nil
	}
	return d.doubtOf(ctx, logicalID, row, d.createOf(ctx, logicalID, row, began))
}

// tried is doubtOf for a row that goes whole, of which who may not look never
// knows. The ledger does not have to say it again once it is proved that the create
// made the row: from then on that is the stack's own.
func (d *deployment) tried(ctx context.Context, logicalID string, row *state.Resource, create authorship.Create) (string, error) {
	doubt, err := d.doubtOf(ctx, logicalID, row, create)
	if unseen, ok := errors.AsType[*UnseenError](err); ok {
		return unseen.Error(), nil
	}
	if doubt == "" && err == nil {
		if err := d.ledger(ctx).Drop(ctx, logicalID); err != nil {
			d.observe(Event{Kind: Detail, LogicalID: logicalID, Type: row.ResourceType, Text: err.Error()}) // the next run asks again
		}
	}
	return doubt, err
}

// An UnseenError says that whose a resource is could not be looked at, by who may
// look the next time.
type UnseenError struct{ Err error }

func (e *UnseenError) Error() string {
	return fmt.Sprintf("nothing proves that this stack made it: who made it could not be looked up: %v", e.Err)
}

func (e *UnseenError) Unwrap() error { return e.Err }

// doubtOf is doubt by what is known of the create. An error leaves it open.
func (d *deployment) doubtOf(ctx context.Context, logicalID string, row *state.Resource, create authorship.Create) (string, error) {
	driver := d.router.Driver(row.ResourceType)
	if driver.Resource().Lookup == nil {
		for _, property := range driver.Resource().Leads {
			if owns, err := d.ownsPlace(ctx, row.Properties.String(property)); owns || err != nil {
				return "", err
			}
		}
		return d.doubtOfPart(ctx, row, driver.Resource().PutOn)
	}
	held, err := d.holder(ctx, logicalID, row)
	switch {
	case provider.AccessDenied(err):
		return "", &UnseenError{err}
	case err != nil:
		return "", fmt.Errorf("look whether its create made it: %w", err)
	case held == nil, !state.SameResource(row.ResourceType, held.PhysicalID, row.PhysicalID):
		return "", nil // it is gone
	}
	doubt := authorship.Doubt(create, held)
	if proof := d.ledger(ctx).Err(); doubt != "" && create.Tag == "" && proof != nil {
		return "", &UnseenError{proof}
	}
	if doubt != "" && held.Unread != nil && held.Created.IsZero() {
		return "", &UnseenError{held.Unread}
	}
	return doubt, nil
}

// holder looks up what has the name of a row's resource, once if there is
// something.
func (d *deployment) holder(ctx context.Context, logicalID string, row *state.Resource) (*provider.Holder, error) {
	d.mu.Lock()
	held := d.holders[thingOf(row)]
	d.mu.Unlock()
	if held != nil {
		return held, nil
	}
	held, err := d.router.Driver(row.ResourceType).Lookup(ctx, d.nameOf(logicalID, row))
	d.holds(row, held)
	return held, err
}

func (d *deployment) nameOf(logicalID string, row *state.Resource) *provider.Request {
	req := d.request(logicalID, row.ResourceType)
	req.Properties, req.Name = row.Properties, state.NameIn(row.ResourceType, row.PhysicalID)
	return req
}

func (d *deployment) holds(row *state.Resource, held *provider.Holder) {
	if held == nil {
		return // it may be there the next time
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holders == nil {
		d.holders = map[thing]*provider.Holder{}
	}
	d.holders[thingOf(row)] = held
}

func thingOf(row *state.Resource) thing { return thing{typ: row.ResourceType, name: row.PhysicalID} }

// lookOver is holder for all rows of a service that takes several names, at once.
// What it cannot tell is asked again, one by one.
func (d *deployment) lookOver(ctx context.Context, rows map[string]*state.Resource) {
	byType := map[string][]string{}
	for _, id := range sortedKeys(rows) {
		if row := rows[id]; d.onTrial(row) && d.router.Driver(row.ResourceType).Resource().Lookups != nil {
			byType[row.ResourceType] = append(byType[row.ResourceType], id)
		}
	}
	var wg routine.Group
	for typ, all := range byType {
		driver := d.router.Driver(typ)
		for ids := range slices.Chunk(all, max(driver.Resource().Batch, 1)) {
			wg.Go(func() {
				var requests []*provider.Request
				for _, id := range ids {
					requests = append(requests, d.nameOf(id, rows[id]))
				}
				found, err := driver.Lookups(ctx, requests)
				if err != nil {
					return
				}
				for i, id := range ids {
					d.holds(rows[id], found[i])
				}
			})
		}
	}
	wg.Wait()
}

// doubtOfPart is doubtOf for what is put on other resources. It is this stack's
// where those are; on somebody else's it may have been there before.
func (d *deployment) doubtOfPart(ctx context.Context, row *state.Resource, properties []string) (string, error) {
	sure := false
	for _, property := range properties {
		var on []any
		switch v := row.Properties.Value(property).(type) {
		case nil:
			continue
		case []any:
			on = v
		default:
			on = []any{v}
		}
		for _, v := range on {
			text, _ := v.(string)
			owns, err := d.ownsPlace(ctx, text)
			if err != nil {
				return "", err
			}
			if !owns {
				return "nothing proves that this stack made it: what its " + property + " names is not this stack's own, and such a create overwrites what is there", nil
			}
			sure = true
		}
	}
	if sure {
		return "", nil
	}
	return "nothing proves that this stack made it: such a create overwrites what is there", nil
}

// ownsPlace tells whether the stack, or one that it is nested in, has a resource
// of its own of that id, ARN or name.
func (d *deployment) ownsPlace(ctx context.Context, place string) (bool, error) {
	if place == "" {
		return false, nil
	}
	for at := d; at != nil; at = at.t.parent {
		if at.planned == nil {
			continue
		}
		at.world.mu.Lock()
		var id string
		var found *state.Resource
		for other, row := range at.world.record.Resources {
			if !d.isPlace(row) {
				continue
			}
			if row.PhysicalID == place || state.NameIn(row.ResourceType, row.PhysicalID) == place || row.Attributes.Value("Arn") == place {
				id, found = other, row
			}
		}
		at.world.mu.Unlock()
		if found == nil {
			continue
		}
		create, tried := at.sentCreate(ctx, id, found)
		if !tried {
			return true, nil
		}
		doubt, err := at.doubtOf(ctx, id, found, create)
		return doubt == "" && err == nil, err
	}
	return false, nil
}

// isPlace tells whether something can be put on a row's resource. What is put on
// one itself may be known by the other's id, and a handler's ids say nothing.
func (d *deployment) isPlace(row *state.Resource) bool {
	if isCustom(row.ResourceType) || row.ResourceType == nestedType {
		return false
	}
	driver := d.router.Driver(row.ResourceType)
	return driver == nil || driver.Resource().PutOn == nil
}

// leave takes a resource off the record that may be somebody else's, and says so.
func (d *deployment) leave(logicalID string, row *state.Resource, doubt string, event, operation string) {
	reason, remedy := d.leftText(logicalID, row, doubt)
	d.change(func(r *state.Record) { r.Remove(logicalID) })
	if d.creates != nil {
		d.forgetStray(logicalID)
	}
	d.mu.Lock()
	d.others++
	d.mu.Unlock()
	d.left(logicalID, row.ResourceType, row.PhysicalID, reason, remedy)
	d.emit(state.Event{EventType: event, Operation: operation, LogicalID: logicalID,
		ResourceType: row.ResourceType, PhysicalID: row.PhysicalID, Reason: d.e.config.Secrets.Mask(reason)})
}

// leftText says why a resource is left, and what to do about it.
func (d *deployment) leftText(logicalID string, row *state.Resource, doubt string) (reason, remedy string) {
	another := "deploy the stack from one place only, since another state bucket or another tool seems to have it too"
	if d.declared(logicalID, row) {
		another = "give the resource another name in the app, which takes it over again otherwise"
	}
	return "it was kept, and is not on record any more: " + doubt + "; what the deploy changed of it cannot be put back",
		"look at it: if it is somebody else's, put right what the deploy changed, and " + another + "; " +
			"if it is left of this deploy, delete it by hand; if it is to be this stack's, " + state.ImportAdvice(d.t.Name, logicalID, row.PhysicalID, "")
}

// forgetCreates takes creates off the ledger that were undone, and those of old
// copies that were made again.
func (u *undoing) forgetCreates(ctx context.Context, operations []*state.Operation) {
	d := u.deployment
	var ids []string
	for _, op := range operations {
		if op.ChangeType == state.OpCreate && d.world.row(op.LogicalID) == nil || d.wasRemade(op.LogicalID) {
			ids = append(ids, op.LogicalID)
		}
	}
	ledger := d.ledger(ctx)
	ids = slices.DeleteFunc(ids, func(id string) bool { e, _ := ledger.Sent(id); return e.Base == "" })
	if ids == nil {
		return
	}
	if err := ledger.Drop(ctx, ids...); err != nil {
		d.warn("%v", err)
	}
}

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// RefreshOptions govern a refresh of what was observed.
type RefreshOptions struct {
	RecordSelection
	DryRun bool // say what differs, and write nothing
}

// A Refresh is what became of one resource's baseline.
type Refresh string

// What a refresh can come to.
const (
	Refreshed      Refresh = "refreshed"  // what is recorded as observed is now what was read
	RefreshSame    Refresh = "unchanged"  // it was that before
	RefreshRefused Refresh = "refused"    // the record forbids a baseline
	RefreshOpen    Refresh = "open"       // an earlier run's operation on it is not over
	Unreadable     Refresh = "unreadable" // nothing can read the type
	RefreshFailed  Refresh = "failed"     // it could not be read, or is gone
)

// A RefreshedStack is a stack whose resources were read back.
type RefreshedStack struct {
	state.Ref
	Resources []RefreshedResource
	Err       error // why nothing of it was done
}

// A RefreshedResource is one of a RefreshedStack.
type RefreshedResource struct {
	LogicalID, Type string
	Refresh         Refresh
	Reason          string // "" unless it was not read
}

// RefreshObserved reads the resources of recorded stacks back from AWS and
// records that as what was observed of them, for drift to be told by. Nothing
// is made up: what cannot be read keeps what is recorded, and is counted apart.
// What keeps one stack from being read does not keep the others.
func (e *Engine) RefreshObserved(ctx context.Context, opt RefreshOptions) ([]RefreshedStack, error) {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	refs, err := e.recordedRefs(ctx, store, opt.RecordSelection)
	if err != nil {
		return nil, err
	}
	var all []RefreshedStack
	for _, ref := range refs {
		if e.config.Window.Interrupted() {
			return all, errInterrupted
		}
		s := RefreshedStack{Ref: ref}
		s.Resources, s.Err = e.refresh(ctx, store, ref, opt.DryRun)
		if e.config.Window.Interrupted() && letGo(s.Err) {
			return all, errInterrupted
		}
		all = append(all, s)
	}
	return all, nil
}

func (e *Engine) refresh(ctx context.Context, store *state.Store, ref state.Ref, dryRun bool) (all []RefreshedResource, err error) {
	if ref.Region == "" { // of the oldest form
		ref.Region = e.defaultRegion()
	}
	d, settling := e.recordedDeployment(store, ref), e.recordedDeployment(store, ref)
	read := func(record *state.Record) (changed bool, err error) {
		if record == nil {
			return false, notRecorded(ref.Stack, store)
		}
		if err := d.knowRecord(ctx, record); err != nil {
			return false, err
		}
		all = d.readBack(ctx, record, settling.stillOpen())
		for _, r := range all {
			changed = changed || r.Refresh == Refreshed
		}
		if changed {
			record.Drop("skippedOutputs")
		}
		return changed, ctx.Err()
	}
	if !dryRun {
		err = e.amend(ctx, d.place, state.LockOptions{Operation: "state-refresh-observed", FailFast: true}, settling, read, nil)
		return all, err
	}
	record, _, err := d.place.Read(ctx)
	if err == nil {
		err = d.place.Own(record)
	}
	if err == nil {
		_, err = read(record)
	}
	return all, err
}

// recordedDeployment is a stack without its app, for what goes by the record.
func (e *Engine) recordedDeployment(store *state.Store, ref state.Ref) *deployment {
	d := &deployment{
		e: e, t: target{Name: ref.Stack, Region: ref.Region, DisplayName: ref.Stack}, store: store,
		place: store.Stack(ref.Stack, ref.Region), res: e.resultOf(target{Name: ref.Stack, Region: ref.Region, DisplayName: ref.Stack}),
	}
	d.router = e.router(d)
	return d
}

// The reads of a refresh: how many at once, and how long one may take.
const (
	readsAtOnce = 8
	readLimit   = time.Minute
)

// readBack reads what every row of a record is like in AWS, and puts it there,
// but for those of which something is open.
func (d *deployment) readBack(ctx context.Context, record *state.Record, open map[string]bool) []RefreshedResource {
	ids := record.LogicalIDs()
	all, found := make([]RefreshedResource, len(ids)), make([]*value.Object, len(ids))
	eachRow(ctx, record, readsAtOnce, func(ctx context.Context, i int, id string, row *state.Resource) {
		if open[id] {
			all[i] = RefreshedResource{LogicalID: id, Type: row.ResourceType, Refresh: RefreshOpen, Reason: stillOpenText}
			return
		}
		all[i], found[i] = d.lookAgain(ctx, id, row)
	})
	for i, id := range ids {
		if all[i].Refresh == Refreshed {
			record.Row(id).Observed = found[i]
		}
	}
	return all
}

// stillOpenText is why a resource is not read back that an earlier run left open.
const stillOpenText = "an earlier run's operation on it is not over; a deploy settles it"

// eachRow looks at every row of a record, several at once, and gives each a
// limited time.
func eachRow(ctx context.Context, record *state.Record, atOnce int, look func(ctx context.Context, i int, logicalID string, row *state.Resource)) {
	slots := make(chan struct{}, atOnce)
	var wg routine.Group
	for i, id := range record.LogicalIDs() {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, readLimit)
			defer cancel()
			look(ctx, i, id, record.Row(id))
		})
	}
	wg.Wait()
}

func (d *deployment) lookAgain(ctx context.Context, logicalID string, row *state.Resource) (RefreshedResource, *value.Object) {
	r := RefreshedResource{LogicalID: logicalID, Type: row.ResourceType}
	if row.BaselineRefused {
		r.Refresh, r.Reason = RefreshRefused, "the record forbids a baseline: "+row.BaselineRefusalReason
		return r, nil
	}
	found, err := d.observed(ctx, logicalID, row)
	switch {
	case errors.As(err, new(*NotReadableError)):
		r.Refresh = Unreadable
	case errors.Is(err, provider.ErrNotFound):
		r.Refresh = RefreshFailed
		r.Reason = "there is no such resource any more: " + row.PhysicalID
		return r, nil
	case err != nil:
		r.Refresh = RefreshFailed
	case row.Observed != nil && value.Equal(row.Observed, found):
		r.Refresh = RefreshSame
	default:
		r.Refresh = Refreshed
	}
	if err != nil {
		r.Reason = d.e.config.Secrets.Mask(err.Error())
	}
	return r, found
}

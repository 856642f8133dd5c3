package awssdk

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/org/cdkd-action/engine/provider"
)

// recordChanges sends the changes of a session's records. An account may send
// five a second, and a zone takes one at a time: what comes while one is on
// its way is gathered, by zone, and goes as the next.
type recordChanges struct {
	send  func(ctx context.Context, zone string, changes []types.Change) error
	zones sync.Map // id → *zoneChanges
}

type zoneChanges struct {
	turn    chan struct{} // holds one: the sender
	mu      sync.Mutex
	waiting []*recordChange
}

type recordChange struct {
	changes []types.Change
	done    chan error
}

// changesAtOnce bounds a batch: Route 53 takes a thousand values.
const changesAtOnce = 100

func newRecordChanges(cfg aws.Config, _ ...func(*struct{})) *recordChanges {
	c := route53.NewFromConfig(cfg)
	return &recordChanges{send: func(ctx context.Context, zone string, changes []types.Change) error {
		_, err := c.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
			HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Changes: changes},
		})
		return err
	}}
}

// change sends changes that belong together, alone or with others.
func (q *recordChanges) change(ctx context.Context, zone string, changes ...types.Change) error {
	known, _ := q.zones.LoadOrStore(zone, &zoneChanges{turn: make(chan struct{}, 1)})
	z := known.(*zoneChanges)
	own := &recordChange{changes, make(chan error, 1)}
	z.mu.Lock()
	z.waiting = append(z.waiting, own)
	z.mu.Unlock()
	select {
	case err := <-own.done:
		return err
	case z.turn <- struct{}{}:
		defer func() { <-z.turn }()
		if batch := z.take(own); len(batch) > 0 {
			q.sendAll(ctx, zone, batch)
		}
	case <-ctx.Done():
		if z.withdraw(own) {
			return context.Cause(ctx)
		}
	}
	return <-own.done // sent, by us or by another
}

// take returns what is waiting, own first, up to a batch; nothing when own was
// sent already.
func (z *zoneChanges) take(own *recordChange) []*recordChange {
	if !z.withdraw(own) {
		return nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	n := min(len(z.waiting), changesAtOnce-1)
	batch := append([]*recordChange{own}, z.waiting[:n]...)
	z.waiting = slices.Clone(z.waiting[n:])
	return batch
}

func (z *zoneChanges) withdraw(own *recordChange) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	i := slices.Index(z.waiting, own)
	if i < 0 {
		return false
	}
	z.waiting = slices.Delete(z.waiting, i, i+1)
	return true
}

// sendAll sends a batch. One that is refused was not made in part: then each
// change is sent alone, so that none fails for another.
func (q *recordChanges) sendAll(ctx context.Context, zone string, batch []*recordChange) {
	// The others' changes must not end with the one that happens to send them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	var all []types.Change
	for _, b := range batch {
		all = append(all, b.changes...)
	}
	err := q.send(ctx, zone, all)
	alone := len(batch) > 1 && provider.HasCode(err, "InvalidChangeBatch", "InvalidInput")
	for _, b := range batch {
		if alone {
			err = q.send(ctx, zone, b.changes)
		}
		b.done <- err
	}
}

package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Unsettled operation is one of which no end is recorded: it was let go of,
// or the run that sent it was killed.
type Unsettled struct {
	LogicalID, Type string
	ChangeType      string // OpCreate, OpUpdate or OpDelete
	PhysicalID      string // "" when none is known
	Stage           string // how far it came: StageSent and so on
	Since           time.Time
}

// Unsettled returns what is unsettled of a stack on which nobody works: the
// pending operations, and creates that were about to be sent and are not on
// record. It only reads.
func (k *Stack) Unsettled(ctx context.Context) ([]Unsettled, error) {
	fail := func(err error) ([]Unsettled, error) {
		return nil, fmt.Errorf("look what is unsettled of stack %s in %s: %w", k.Name, k.Region, err)
	}
	pending, err := k.ReadPending(ctx)
	if err != nil {
		return fail(err)
	}
	var open []Unsettled
	if pending != nil {
		for _, op := range pending.Operations {
			open = append(open, Unsettled{op.LogicalID, op.ResourceType, op.ChangeType, op.PhysicalID, op.Stage, time.UnixMilli(op.StartedAt)})
		}
	}
	ledger, _, err := k.readLedger(ctx)
	if err != nil {
		return fail(err)
	}
	if ledger == nil {
		return open, nil
	}
	record, _, err := k.Read(ctx)
	if err != nil {
		return fail(err)
	}
	for id, e := range ledger.sent {
		known := slices.ContainsFunc(open, func(u Unsettled) bool { return u.LogicalID == id && u.ChangeType == OpCreate })
		if !known && !e.done(record.Row(id)) {
			open = append(open, Unsettled{LogicalID: id, Type: e.Type(), ChangeType: OpCreate, Stage: StageSent, Since: time.UnixMilli(e.FirstSentAt)})
		}
	}
	slices.SortStableFunc(open, func(a, b Unsettled) int { return strings.Compare(a.LogicalID, b.LogicalID) })
	return open, nil
}

package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Destroying is the operation of a lock under which all of a stack is deleted.
// That is all that a destroy writes down before its deletes: who removes such a
// lock for a run that did not give it back, or takes it over, writes down first
// what that run may have deleted. The next run then looks at each resource, and
// does not take for unchanged what is gone. A destroy that ends by itself pays
// nothing for it.
const Destroying = "destroy"

// noteDestroy enters, as sent and not answered, the deletes of a destroy that was
// broken off, by the record that it left. Nested stacks are named as well, so that
// they are visited: their locks say the same of them. Custom resources are not:
// that their handlers are asked is written down when they are.
func (k *Stack) noteDestroy(ctx context.Context, lock LockRecord) error {
	if lock.Operation != Destroying {
		return nil
	}
	err := k.enterDeletes(ctx, lock)
	if err != nil {
		return fmt.Errorf("write down what a destroy of stack %s in %s, which was broken off, may have deleted: %w; "+
			"its record may name what is gone: destroy it again before anything is deployed", k.Name, k.Region, err)
	}
	return nil
}

func (k *Stack) enterDeletes(ctx context.Context, lock LockRecord) error {
	record, _, err := k.Read(ctx)
	if err != nil || record == nil {
		return err
	}
	file, err := k.OpenPending(ctx, true)
	if err != nil {
		return err
	}
	nonce := ""
	if ledger, _, err := k.readLedger(ctx); err == nil && ledger != nil {
		nonce = ledger.nonce
	} // else the record proves whose the entries are
	open := file.Current()
	if !open.Live(nonce, record) {
		open.Avoid()
	}
	var deletes []OpenOperation
	for _, id := range record.LogicalIDs() {
		row := record.Row(id)
		custom := strings.HasPrefix(row.ResourceType, "Custom::") || row.ResourceType == "AWS::CloudFormation::CustomResource"
		if row.DeletionPolicy == "Retain" || custom || open.deletes(id) {
			continue
		}
		deletes = append(deletes, OpenOperation{
			LogicalID: id, ResourceType: row.ResourceType, ChangeType: OpDelete, PhysicalID: row.PhysicalID,
			ProvisionedBy: cmp.Or(row.ProvisionedBy, BySDK), Stage: StageSent, StartedAt: lock.began().UnixMilli(),
		})
	}
	if deletes == nil {
		return nil
	}
	defer file.End(ctx)
	return file.Change(ctx, func(p *Pending) {
		p.Operations, p.Leftovers = open.Operations, open.Leftovers
		for _, op := range deletes {
			p.Enter(op)
		}
		p.Owner = cmp.Or(lock.Owner, p.Owner)
		p.LedgerNonce, p.RecordModified, p.WrittenAt = nonce, record.LastModified, time.Now().UnixMilli()
	})
}

// deletes tells whether the delete of a resource is entered, and not void.
func (p *Pending) deletes(logicalID string) bool {
	return slices.ContainsFunc(p.Operations, func(op OpenOperation) bool {
		return op.LogicalID == logicalID && op.ChangeType == OpDelete && op.Malformed == "" && !op.Void
	})
}

// began is when the lock was taken, as far as it says.
func (r LockRecord) began() time.Time {
	if r.Acquired.UnixMilli() <= 0 {
		return time.Now()
	}
	return r.Acquired
}

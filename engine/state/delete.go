package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

// Own refuses a record that says it is another stack's than its key.
func (k *Stack) Own(r *Record) error {
	if r == nil || r.StackName == "" || r.StackName == k.Name {
		return k.Deletable(r)
	}
	return k.misplaced(k.key(recordName), r)
}

// OwnLegacy is Own for a record read at the key without a region, which under a
// longer prefix is the key of another stack's record. err is that of the
// reading: what cannot be understood is only its own when it says so.
func (k *Stack) OwnLegacy(r *Record, err error) error {
	switch {
	case r != nil && r.StackName == k.Name, r != nil && r.StackName == "" && err == nil:
		return nil
	case r != nil && r.StackName != "":
		return k.misplaced(k.legacyKey(recordName), r)
	}
	return err
}

func (k *Stack) misplaced(key string, r *Record) error {
	return &MalformedError{
		Key:      key,
		Problems: []string{fmt.Sprintf("its stack is %s and its key is of %s", printable(r.StackName), printable(k.Name))},
		Hint:     "find out whose resources these are, and move the record to that stack's key",
	}
}

// Deletable refuses a record of resources that says it is of another region
// than its key: deleting would reach for the wrong ones.
func (k *Stack) Deletable(r *Record) error {
	if r == nil || r.Region == "" || r.Region == k.Region || len(r.Resources) == 0 {
		return nil
	}
	return &MalformedError{
		Key:      k.key(recordName),
		Problems: []string{fmt.Sprintf("its region is %s and its key is of %s", printable(r.Region), k.Region)},
		Hint:     "find out in which region the resources are, and move the record to that region's key",
	}
}

// Remains is what there is of a stack beside its record that goes with it.
type Remains struct {
	Journal, Ledger, Pending bool

	old error // of reading the record's older copy; nil when there is one
}

// Remains looks for what goes with the record. The stack's lock is held: nobody
// but this run adds to it.
func (k *Stack) Remains(ctx context.Context) (r Remains, err error) {
	var wg routine.Group
	wg.Go(func() {
		var body []byte
		if body, r.old = k.legacyBody(ctx); r.old != nil {
			return
		}
		if o, err := value.ParseObject(body); err == nil && k.OwnLegacy(&Record{StackName: o.String("stackName")}, nil) != nil {
			r.old = errAbsent // it is another's
		}
	})
	found, err := k.Presence(ctx)
	wg.Wait()
	r.Journal, r.Ledger, r.Pending = found.Journal, found.Ledger, found.Pending
	return r, err
}

// Delete removes the record and what belongs to it: the ledger first, because
// what vouches for creates must not outlive the record; then the record, if it
// is the version read (Absent: there was none); its older copy; the journal;
// the pending operations. A failure leaves what comes after it untouched. A
// journal that cannot be understood stays: what it names may still exist.
func (k *Stack) Delete(ctx context.Context, read ETag) error {
	r, err := k.Remains(ctx)
	if err != nil {
		return k.deleting(err)
	}
	return k.DeleteWith(ctx, read, r)
}

// DeleteWith is Delete for who has looked what there is.
func (k *Stack) DeleteWith(ctx context.Context, read ETag, r Remains) error {
	return k.deleting(k.delete(ctx, read, r, false))
}

// Forget is Delete for a stack that is given up, with whatever its journal is.
func (k *Stack) Forget(ctx context.Context, read ETag) error {
	r, err := k.Remains(ctx)
	if err == nil {
		err = k.delete(ctx, read, r, true)
	}
	return k.deleting(err)
}

func (k *Stack) deleting(err error) error {
	if err != nil {
		return fmt.Errorf("delete the record of stack %s in %s: %w", k.Name, k.Region, err)
	}
	return nil
}

func (k *Stack) delete(ctx context.Context, read ETag, found Remains, unread bool) (err error) {
	if found.Ledger {
		if err := k.store.remove(ctx, k.key(ledgerName)); err != nil {
			return err
		}
	}
	if read != Absent && read != Legacy { // then there is none to delete
		err = k.store.removeIf(ctx, k.key(recordName), read)
	}
	if errors.Is(err, errUnsupported) {
		err = k.store.remove(ctx, k.key(recordName)) // the lock alone guards it
	}
	if err != nil && !errors.Is(err, errAbsent) {
		return err
	}
	old := found.old
	if old == nil {
		old = k.store.remove(ctx, k.legacyKey(recordName))
	}
	if old != nil && !errors.Is(old, errAbsent) {
		return old
	}
	if found.Journal {
		var err error
		if !unread {
			_, err = k.ReadJournal(ctx)
		}
		if !is[*MalformedError](err) && !is[*VersionError](err) {
			if err == nil {
				err = k.DeleteJournal(ctx)
			}
			if err != nil {
				return err
			}
		}
	}
	if !found.Pending {
		return nil
	}
	pending := k.key(pendingName)
	if err := k.store.remove(ctx, pending); err != nil {
		return err
	}
	k.store.purgeOrWarn(ctx, pending)
	return nil
}

// Vacate ends what Delete began, with the lock still held: it writes down what
// was kept, or that nothing was, and gives the stack's name back. Neither can
// be made up for by another try of the command, so the second is done whatever
// became of the first. An error is for a person to read.
func (k *Stack) Vacate(ctx context.Context, kept []Kept, g *Registry) error {
	return errors.Join(k.RetainLast(ctx, kept), g.Release(ctx))
}

// HandOver is Vacate for a record whose resources somebody else takes over:
// nothing is left that this stack could take back.
func (k *Stack) HandOver(ctx context.Context, g *Registry) error {
	return errors.Join(k.RetainNothing(ctx), g.Release(ctx))
}

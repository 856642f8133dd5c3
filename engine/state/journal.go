package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/value"
)

const journalVersion = 1

// A Journal is what failed and interrupted deploys did and what a rollback can
// undo: rollback-journal.json. The stack's lock guards it.
type Journal struct {
	StackName, Region string
	Segments          []*Segment // oldest first

	read *value.Object
}

// A Segment is one run's part of the journal.
type Segment struct {
	RunID         string
	Timestamp     int64 // Unix milliseconds
	Reason        Reason
	InitialDeploy bool
	RoleARN       string // the one the run used
	EngineVersion string

	Operations []*Operation // in order of completion
	Failed     []*Operation

	// For PendingParent: what a child's record held before.
	PreviousOutputs, PreviousReads *value.Object

	Superseded []string // logical ids

	read *value.Object
}

// A Reason says why a segment was written.
type Reason string

// The reasons.
const (
	NoRollback      Reason = "no-rollback-failure"
	Interrupted     Reason = "interrupted"
	RollbackStarted Reason = "auto-rollback-started"
	RollbackClean   Reason = "auto-rollback-clean"
	PendingParent   Reason = "nested-pending-parent"
)

// The kinds of change of an Operation.
const (
	OpCreate = "CREATE"
	OpUpdate = "UPDATE"
	OpDelete = "DELETE"
)

// An Operation is one change of one resource, completed or failed.
type Operation struct {
	LogicalID, ResourceType string
	ChangeType              string // OpCreate, OpUpdate or OpDelete
	PhysicalID              string // "" when it was not known
	ProvisionedBy           string
	Properties              *value.Object // applied, or attempted by a failed one; secrets as expressions
	Previous                *Resource     // the row before an update or a delete

	// Of a completed replacement.
	OldRetained     bool  // the old resource still exists
	OldDeletedFirst bool  // it was deleted before the new one was made
	WasReplaced     *bool // false: another physical id does not mean a replacement
	PreviousType    string

	// Of a failed operation.
	IDFromError         bool // the physical id was found in the error
	DeletionPolicy      string
	ReplacedID          string
	ReplacedType        string
	ReplacedDeleted     bool
	ReplacementOrphaned string // create-first or delete-first

	read *value.Object
}

// Put adds a segment as the newest, or in place of the one of the same run.
func (j *Journal) Put(g *Segment) {
	if i := j.find(g.RunID); i >= 0 {
		j.Segments[i] = g
		return
	}
	j.Segments = append(j.Segments, g)
}

// Pop removes the segment of a run, and tells whether it was there.
func (j *Journal) Pop(runID string) bool {
	i := j.find(runID)
	if i < 0 {
		return false
	}
	j.Segments = slices.Delete(j.Segments, i, i+1)
	return true
}

// Remove takes a segment out.
func (j *Journal) Remove(g *Segment) {
	j.Segments = slices.DeleteFunc(j.Segments, func(o *Segment) bool { return o == g })
}

func (j *Journal) find(runID string) int {
	if runID == "" {
		return -1
	}
	return slices.IndexFunc(j.Segments, func(g *Segment) bool { return g.RunID == runID })
}

// ReadJournal returns the journal, nil when there is none.
func (k *Stack) ReadJournal(ctx context.Context) (*Journal, error) {
	key := k.key(journalName)
	body, _, err := k.store.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	var j *Journal
	if err == nil {
		j, err = ParseJournal(key, body)
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of stack %s in %s: %w", k.Name, k.Region, err)
	}
	return j, nil
}

// WriteJournal writes the journal, or deletes it when no segment is left. The
// lock must be held. Without the journal nothing can be rolled back, so it
// tries harder than the SDK.
func (k *Stack) WriteJournal(ctx context.Context, j *Journal) error {
	if len(j.Segments) == 0 {
		return k.DeleteJournal(ctx)
	}
	j.StackName, j.Region = k.Name, k.Region
	body, err := j.Marshal()
	if err != nil {
		return k.journaling("write", err)
	}
	for tries := 0; ; tries++ {
		_, err := k.store.put(ctx, k.key(journalName), body, typeJSON, always)
		if err == nil {
			return nil
		}
		if tries == 2 || !passing(err) || pause(ctx, 500*time.Millisecond) != nil {
			return k.journaling("write", err)
		}
	}
}

// AppendSegment adds a run's segment to the journal, or replaces it when it
// was written before. A segment without operations is not written, unless the
// stack is nested and may have changed in its outputs only. A journal that
// cannot be read is never overwritten.
func (k *Stack) AppendSegment(ctx context.Context, g *Segment) error {
	if len(g.Operations) == 0 && len(g.Failed) == 0 && g.Reason != PendingParent {
		return nil
	}
	return k.changeJournal(ctx, func(j *Journal) bool { j.Put(g); return true })
}

// PopSegment removes a run's segment from the journal.
func (k *Stack) PopSegment(ctx context.Context, runID string) error {
	return k.changeJournal(ctx, func(j *Journal) bool { return j.Pop(runID) })
}

func (k *Stack) changeJournal(ctx context.Context, change func(*Journal) bool) error {
	j, err := k.ReadJournal(ctx)
	if err != nil {
		return err
	}
	if j == nil {
		j = &Journal{}
	}
	if !change(j) {
		return nil
	}
	return k.WriteJournal(ctx, j)
}

// DeleteJournal removes the journal and its earlier versions.
func (k *Stack) DeleteJournal(ctx context.Context) error {
	key := k.key(journalName)
	if err := k.store.remove(ctx, key); err != nil {
		return k.journaling("delete", err)
	}
	k.store.purgeOrWarn(ctx, key)
	return nil
}

func (k *Stack) journaling(what string, err error) error {
	return fmt.Errorf("%s the journal of stack %s in %s: %w", what, k.Name, k.Region, err)
}

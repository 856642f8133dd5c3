package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

// RollbackOptions govern a rollback.
type RollbackOptions struct {
	Stack  string // "": the only one that has a journal
	Region string // "": the one it is recorded in

	// RevertFailed also reverts the operations that failed: what they left is
	// unknown, and this brings it back to what it was.
	RevertFailed bool
	// Orphan names resources that are to stay in AWS as they are; those of a
	// nested stack by path, Nested/Resource.
	Orphan []string
	// DropFailed names failed operations to take off the newest segment, which
	// is then all that is done.
	DropFailed []string
	// SkipFinalSnapshot deletes without the snapshot that a policy asks for.
	SkipFinalSnapshot bool
	// Consent, when set, is asked with what would be undone.
	Consent func(stack string, p *plan.Plan) bool

	LockWait        time.Duration
	ResourceTimeout time.Duration
	TypeTimeouts    map[string]time.Duration // as in DeployOptions
	Concurrency     int
}

// Rollback undoes what failed and interrupted deploys of a stack did, newest
// first, back to the last one that succeeded. The result is never nil.
func (e *Engine) Rollback(ctx context.Context, opt RollbackOptions) (*result.Run, error) {
	start := now()
	run := &result.Run{Command: "rollback", RunID: state.NewRunID(start)}
	defer func() { run.Duration = time.Since(start) }()
	e.observe(Event{Kind: RunStarted, Text: run.RunID})

	work, cancel := e.config.Window.Context(ctx)
	defer cancel()
	store, err := e.open(work)
	if err != nil {
		return run, e.end(run, err)
	}
	ref, err := rollbackTarget(work, store, opt)
	if err != nil || ref == nil {
		if err == nil {
			e.observe(Event{Kind: Notice, Text: "no stack has anything to roll back"})
		}
		return run, e.end(run, err)
	}
	if err := e.CheckNames(ref.Stack); err != nil {
		return run, e.end(run, err)
	}
	t := target{Name: ref.Stack, Region: ref.Region, DisplayName: ref.Stack}
	d := &deployment{
		e: e, t: t, store: store, runID: run.RunID, place: store.Stack(t.Name, t.Region),
		opt: DeployOptions{SkipFinalSnapshot: opt.SkipFinalSnapshot, LockWait: opt.LockWait, ResourceTimeout: opt.ResourceTimeout, TypeTimeouts: opt.TypeTimeouts, Concurrency: opt.Concurrency},
		res: e.resultOf(t),
	}
	d.router = e.router(d)
	run.Add(d.finished(d.rollBack(work, opt)))
	e.config.Window.Seal()
	return run, e.end(run, nil)
}

// rollbackTarget finds the stack to roll back, nil when there is none.
func rollbackTarget(ctx context.Context, store *state.Store, opt RollbackOptions) (*state.Ref, error) {
	if opt.Stack != "" && opt.Region != "" {
		return &state.Ref{Stack: opt.Stack, Region: opt.Region}, nil
	}
	refs, err := store.Journals(ctx)
	if err != nil {
		return nil, err
	}
	if opt.Stack != "" {
		refs = slices.DeleteFunc(refs, func(r state.Ref) bool { return r.Stack != opt.Stack })
	} else {
		// A nested stack goes with the one that it is nested in.
		all := slices.Clone(refs)
		refs = slices.DeleteFunc(refs, func(r state.Ref) bool {
			root, _, nested := strings.Cut(r.Stack, "~")
			return nested && slices.Contains(all, state.Ref{Stack: root, Region: r.Region})
		})
	}
	var names []string
	for _, r := range refs {
		names = append(names, fmt.Sprintf("%s (%s)", r.Stack, r.Region))
	}
	switch {
	case len(refs) == 1:
		return &refs[0], nil
	case len(refs) == 0 && opt.Stack == "":
		return nil, nil
	case len(refs) == 0:
		return nil, noJournal(ctx, store, opt.Stack)
	}
	return nil, &InputError{
		What: fmt.Sprintf("several stacks have something to roll back: %s", strings.Join(names, ", ")),
		Next: "name one, and its region with stack-region",
		Page: guide.StackSelection,
	}
}

// noJournal says why there is nothing to roll back of a stack.
func noJournal(ctx context.Context, store *state.Store, stack string) error {
	recorded, err := regionsOf(ctx, store, stack)
	if err != nil {
		return err
	}
	regions, err := store.Regions(ctx, stack)
	if err != nil {
		return err
	}
	for _, region := range regions {
		place := store.Stack(stack, region)
		present, err := place.Presence(ctx)
		if err != nil {
			return err
		}
		if present.Lock || unfinished(present) {
			return killed(place)
		}
	}
	if len(recorded) == 0 {
		return notRecorded(stack, store)
	}
	return &InputError{
		What: fmt.Sprintf("stack %s has no journal: no deploy of it failed or was interrupted since the last that succeeded", stack),
		Next: "deploy the version of the app that you want",
		Page: guide.NothingToRollBack,
	}
}

// unfinished tells whether a run left creates or other operations open.
func unfinished(p state.Presence) bool { return p.OpenCreates || p.Listed && p.Pending }

func killed(place *state.Stack) error {
	return &InputError{
		What: fmt.Sprintf("stack %s in %s has no journal, but a run of it is not over: it is still at work or was killed, and one that was killed leaves nothing to roll back", place.Name, place.Region),
		Next: "if nobody is at work on it, deploy, which goes on where that run stopped",
		Page: guide.NothingToRollBack,
	}
}

func (d *deployment) rollBack(ctx context.Context, opt RollbackOptions) (err error) {
	start := now()
	defer func() { d.res.Duration = time.Since(start) }()
	d.observe(Event{Kind: StackStarted})
	reads, cancel := d.e.config.Window.Interruptible(ctx)
	defer cancel()
	defer d.release()
	r, err := d.acquire(reads, state.LockOptions{
		Operation: "rollback", Wait: opt.LockWait,
		Waiting: func(held *state.HeldError) { d.observe(Event{Kind: LockWaiting, Text: held.Error()}) },
	})
	if err != nil {
		return err
	}
	d.registry = d.place.Registry()
	if err := d.registry.Check(reads); err != nil {
		return err
	}
	// What is undone goes by what is recorded now that the lock is held.
	if r.record, r.etag, err = d.place.Read(reads); err != nil {
		return err
	}
	journal, err := d.place.ReadJournal(reads)
	if err != nil {
		return err
	}
	if journal == nil && (d.lock.TookOver != nil || unfinished(r.presence)) {
		return killed(d.place)
	}
	if err := d.rollable(r.record, journal); err != nil {
		return err
	}
	if r, err = d.settleOpen(reads, r, false); err != nil {
		return err
	}
	if d.pending.file != nil { // what was settled is in it
		if journal, err = d.place.ReadJournal(reads); err != nil {
			return err
		}
		if journal == nil {
			journal = &state.Journal{}
		}
	}
	d.leaveUnresolved()
	if err := d.undoneWithParent(reads, journal); err != nil {
		return err
	}
	if r.record == nil {
		r.record = state.NewRecord(d.t.Name, d.t.Region)
	}
	if err := d.knowRecord(reads, r.record); err != nil {
		return err
	}
	d.enroll()
	if err := known(journal, opt.Orphan); err != nil {
		return err
	}
	if len(opt.DropFailed) > 0 {
		return d.dropFailed(journal, opt.DropFailed)
	}
	if d.Plan, err = d.undoPlan(reads, r.record, journal, opt.RevertFailed); err != nil {
		return err
	}
	d.res.Plan, d.res.Changed = d.Plan, true
	d.observe(Event{Kind: StackPlanned, Plan: d.Plan})
	for _, g := range journal.Segments {
		if g.RoleARN != "" && g.RoleARN != d.e.config.RoleARN {
			d.warn("the deploy that is rolled back used the role %s, this run does not", g.RoleARN)
		}
	}
	if opt.Consent != nil && !opt.Consent(d.t.Name, d.Plan) {
		d.observe(Event{Kind: Notice, Text: "not rolled back: declined"})
		d.res.Changed = false
		return nil
	}
	d.history = d.place.StartRun(ctx, state.RunOptions{ID: d.runID, Command: "rollback", Engine: d.e.config.Version, Start: start})
	d.saveFrom(ctx, r.etag, r.record, nil)
	d.emitSettled()
	err = d.undoJournal(ctx, journal, opt)
	d.seal()
	d.finishHistory(err)
	return err
}

// rollable refuses what cannot be rolled back.
func (d *deployment) rollable(record *state.Record, journal *state.Journal) error {
	if journal == nil && record == nil {
		return notRecorded(d.t.Name, d.store)
	}
	if journal == nil || len(journal.Segments) == 0 {
		return &InputError{What: fmt.Sprintf("stack %s in %s has no journal: there is nothing to roll back", d.t.Name, d.t.Region), Page: guide.NothingToRollBack}
	}
	if record == nil && !undone(journal) {
		return &InputError{
			What: fmt.Sprintf("stack %s in %s has a journal and no record at %s", d.t.Name, d.t.Region, d.place.RecordKey()),
			Next: "restore an earlier version of the record from the bucket's history, or remove the journal to give up the rollback",
			Page: guide.NothingToRollBack,
		}
	}
	return d.place.Own(record)
}

// undone tells whether a rollback of a first deploy ended when only its journal
// was left to remove.
func undone(journal *state.Journal) bool {
	return !slices.ContainsFunc(journal.Segments, func(g *state.Segment) bool {
		return !g.InitialDeploy || len(g.Operations)+len(g.Failed) > 0
	})
}

// known refuses logical ids that the journal does not name. Those of a nested
// stack are told when that is looked at.
func known(journal *state.Journal, ids []string) error {
	var faults []error
	for _, id := range ids {
		first, _, _ := strings.Cut(id, "/")
		named := func(op *state.Operation) bool { return op.LogicalID == first }
		if !slices.ContainsFunc(journal.Segments, func(g *state.Segment) bool {
			return slices.ContainsFunc(g.Operations, named) || slices.ContainsFunc(g.Failed, named)
		}) {
			faults = append(faults, &InputError{
				What: fmt.Sprintf("orphan: the journal has nothing of a resource %s", id),
				Next: "name resources that the rollback would change, by their logical ids",
				Page: guide.NothingToRollBack,
			})
		}
	}
	return joined(faults)
}

// dropFailed takes failed operations off the newest segment.
func (d *deployment) dropFailed(journal *state.Journal, ids []string) error {
	g := &state.Segment{}
	if n := len(journal.Segments); n > 0 {
		g = journal.Segments[n-1]
	}
	var faults []error
	for _, id := range ids {
		if !slices.ContainsFunc(g.Failed, func(op *state.Operation) bool { return op.LogicalID == id }) {
			faults = append(faults, &InputError{
				What: fmt.Sprintf("drop-failed: no operation on %s is among those that failed in run %s, the latest in the journal of stack %s", id, g.RunID, d.t.Name),
				Next: "look at rollback-journal.json beside the stack's record",
				Page: guide.NothingToRollBack,
			})
		}
	}
	if faults != nil {
		return joined(faults)
	}
	g.Failed = slices.DeleteFunc(g.Failed, func(op *state.Operation) bool { return slices.Contains(ids, op.LogicalID) })
	if len(g.Operations) == 0 && len(g.Failed) == 0 {
		journal.Remove(g)
	}
	if err := d.writeJournal(journal); err != nil {
		return err
	}
	d.observe(Event{Kind: Notice, Text: fmt.Sprintf("taken off the journal, with nothing done in AWS: %s", strings.Join(ids, ", "))})
	return nil
}

// undoneWithParent refuses a nested stack while the one that it is nested in has
// a part of the same run in its journal: that rollback covers both.
func (d *deployment) undoneWithParent(ctx context.Context, journal *state.Journal) error {
	i := strings.LastIndex(d.t.Name, "~")
	if i < 0 {
		return nil
	}
	parent, err := d.store.Stack(d.t.Name[:i], d.t.Region).ReadJournal(ctx)
	if err != nil || parent == nil {
		return err
	}
	for _, g := range parent.Segments {
		if g.RunID != "" && slices.ContainsFunc(journal.Segments, func(o *state.Segment) bool { return o.RunID == g.RunID }) {
			root, _, _ := strings.Cut(d.t.Name, "~")
			return &InputError{
				What: fmt.Sprintf("nested stack %s has its part in run %s of stack %s, and is rolled back with it", d.t.Name, g.RunID, root),
				Next: fmt.Sprintf("roll back %s", root),
				Page: guide.NothingToRollBack,
			}
		}
	}
	return nil
}

// undoJournal undoes the segments, newest first. One that is not undone whole
// stays, and so do the older ones.
func (d *deployment) undoJournal(ctx context.Context, journal *state.Journal, opt RollbackOptions) error {
	defer d.begin()()
	d.unmaking = true
	for len(journal.Segments) > 0 {
		g := journal.Segments[len(journal.Segments)-1]
		u := &undoing{deployment: d, run: g.RunID, orphan: opt.Orphan, alsoFailed: opt.RevertFailed}
		err := u.undoSegment(ctx, journal, g)
		if is[*state.ConflictError](err) {
			d.unaddressed("", "", "", err.Error(), "find out who changes the stack, then roll back again: the journal is kept")
			d.res.Page = d.e.page(err)
			return nil
		}
		if err != nil || u.failed > 0 {
			return err // nil: the journal keeps what could not be undone
		}
	}
	return nil
}

// undoSegment undoes one run's part of the journal and takes it out. One that
// is not undone whole stays.
func (u *undoing) undoSegment(ctx context.Context, journal *state.Journal, g *state.Segment) error {
	initial := journal.Segments[0].InitialDeploy
	g.Failed = u.revertFailed(ctx, g.Failed)
	left := u.operations(ctx, g.Operations)
	u.change(func(r *state.Record) {
		r.Drop("skippedOutputs") // what it says is of outputs that are undone
		if u.failed == 0 {
			g.Restore(r)
		}
	})
	if err := u.saved(); err != nil {
		u.tellUnrecorded()
		return cmp.Or(u.stopCause(), error(&RecordError{err}))
	}
	if u.failed > 0 {
		g.Operations = left
		if err := u.writeJournal(journal); err != nil {
			u.warn("%v", err)
		}
		return u.stopCause()
	}
	if g.PreviousOutputs != nil {
		u.publish()
	}
	u.forgetCreates(ctx, g.Operations)
	u.seal() // before the journal: a run that is killed in between does this part again
	if len(journal.Segments) == 1 {
		if gone, err := u.dropEmpty(g, initial, journal); gone || err != nil {
			return err
		}
	}
	journal.Remove(g)
	return u.writeJournal(journal)
}

// publish makes the exports index say what the record says.
func (d *deployment) publish() {
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	if err := d.store.Exports(d.t.Region).Update(ctx, d.t.Name, d.saver.Written()); err != nil {
		d.warn("%v", err)
	}
}

func (d *deployment) writeJournal(journal *state.Journal) error {
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	return d.place.WriteJournal(ctx, journal)
}

// dropEmpty removes the record when the rollback of a first deploy left nothing
// in it, and with it the journal, of which the last segment is undone. The journal
// goes after the record, so that a rollback which is killed in between can be run
// again.
func (d *deployment) dropEmpty(last *state.Segment, initial bool, journal *state.Journal) (gone bool, err error) {
	ctx, cancel := d.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	if !d.vacant(ctx, initial) {
		return false, nil
	}
	last.Operations, last.Failed = nil, nil
	if err := d.writeJournal(journal); err != nil {
		return false, err
	}
	journal.Remove(last)
	return true, d.removeRecord(ctx, nil)
}

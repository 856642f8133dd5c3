package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// What an earlier run let go is settled before anything is planned: what it
// made is recorded, what it did not make is forgotten, and what cannot be told
// keeps the resource from being touched. Nothing is taken or deleted that this
// stack cannot prove to be its own, and no create is sent again while the first
// may still have worked.

// A verdict is what became of an operation that an earlier run let go.
type verdict struct {
	op       state.OpenOperation
	text     string               // for the log
	edit     func(*state.Record)  // what the record is to say; nil: what it says
	leftover *state.Leftover      // what is to be deleted
	gone     *state.Leftover      // what is deleted now
	made     *state.Operation     // what the journal is to say was done
	nothing  bool                 // it had no effect
	later    string               // a stage that it stays open at
	failed   bool                 // the operation, for the history
	warn     bool                 // what the text says is not as it should be
	sent     *customresource.Sent // an answer that was taken
	open     *UnresolvedError     // nobody can tell
}

// An UnresolvedError says that nobody can tell what became of an operation that
// an earlier run let go.
type UnresolvedError struct {
	Stack, LogicalID, Type string
	Change                 string // create, update or delete
	At                     time.Time
	Because                string
	Void                   bool   // the record was removed or handed over since
	Found                  string // the id of what it made, "" when that is not known
	Recorded               string // the id of what it was to replace, "" for nothing
}

func (e *UnresolvedError) Error() string {
	s := fmt.Sprintf("%s (%s): an earlier run sent its %s at %s and ended before the answer", e.LogicalID, e.Type, e.Change, e.At.UTC().Format(time.RFC3339))
	switch {
	case e.LogicalID == "":
		s = "an earlier run left something open, about what is not said"
	case e.At.UnixMilli() <= 0:
		s = fmt.Sprintf("%s: an earlier run left something open about it", e.LogicalID)
	}
	if e.Void {
		s += ", and the stack's record was removed or handed over since"
	}
	return s + ": " + e.Because
}

// Remedy says what to do about it.
func (e *UnresolvedError) Remedy() string {
	forget := forgetCommand(e.Stack, cmp.Or(e.LogicalID, AllPending))
	if e.Change != "create" {
		return "look whether it exists, and delete it by hand if it does; then have the operation forgotten: " + forget
	}
	return fmt.Sprintf("look whether it exists. If it does, %s\nOr delete it by hand, and have the operation forgotten: %s", state.ImportAdvice(e.Stack, e.LogicalID, e.Found, e.Recorded), forget)
}

// A settler settles what an earlier run left.
type settler struct {
	*deployment
	found    *state.Pending
	void     bool                             // nothing that was found is proved to be the stack's any more
	declared func(logicalID, typ string) bool // the template still has it
	cancel   bool                             // creates that go on are ended
	once     bool                             // nothing is waited for, sent or invoked
	slots    chan struct{}
}

// errOpen says that an operation stays open where nothing is waited for.
var errOpen = errors.New("a deploy settles it")

// request is one whose waits are abandoned where nothing is waited for.
func (s *settler) request(logicalID, typ string) *provider.Request {
	req := s.deployment.request(logicalID, typ)
	if s.once {
		lookOnce(req)
	}
	return req
}

// lookOnce has a request give up its waits when it has looked once.
func lookOnce(req *provider.Request) {
	ended := make(chan struct{})
	close(ended)
	req.Draining = ended
}

// settleOpen settles what earlier runs let go, with the lock held, and returns
// the reading as it is then. Where nothing was let go it does nothing.
func (d *deployment) settleOpen(ctx context.Context, r reading, cancel bool) (reading, error) {
	if !r.presence.Pending {
		return r, nil
	}
	r, err := d.reread(ctx, r)
	if err != nil {
		return r, err
	}
	d.registry = d.place.Registry()
	if r.record == nil && !cancel {
		err = d.registry.Claim(ctx)
	} else {
		err = d.registry.Check(ctx)
	}
	if err != nil {
		return r, err
	}
	return d.settleFound(ctx, r, cancel, false)
}

// settleOnce is settleOpen for commands that do not wait: they look once, and
// leave alone what is still open.
func (d *deployment) settleOnce(ctx context.Context, r reading) (reading, error) {
	if !r.presence.Pending {
		return r, nil
	}
	d.know(r)
	if err := d.place.Registry().Check(ctx); err != nil {
		return r, err
	}
	return d.settleFound(ctx, r, false, true)
}

// settleFound settles what is written down.
func (d *deployment) settleFound(ctx context.Context, r reading, cancel, once bool) (reading, error) {
	file, err := d.openPending(ctx)
	if err != nil {
		return r, err
	}
	found := file.Found()
	if found == nil {
		return r, nil
	}
	record := r.record
	if record == nil {
		record = state.NewRecord(d.t.Name, d.t.Region)
	}
	if err := d.knowRecord(ctx, record); err != nil {
		return r, err
	}
	d.saveFrom(ctx, r.etag, r.record, nil)
	defer func() { d.saver = nil }()
	s := &settler{deployment: d, found: found, cancel: cancel, once: once, slots: make(chan struct{}, 10)}
	s.declared = func(logicalID, typ string) bool {
		if d.t.Template == nil || cancel {
			return false
		}
		r := d.t.Template.Resource(logicalID)
		return r != nil && r.Type == typ
	}
	if s.void = !found.Live(d.ledger(ctx).Nonce(), r.record); s.void {
		found.Avoid()
	}
	if err := s.settleAll(ctx); err != nil {
		return r, err
	}
	r.etag, r.presence.Ledger = d.saver.ETag(), d.presence.Ledger || d.ledger(ctx).Nonce() != ""
	if r.record != nil || len(d.world.record.Resources) > 0 {
		r.record = d.world.record.Clone()
		r.record.LastModified = d.saver.Written().LastModified
	}
	d.know(r)
	return r, nil
}

// reread makes sure that the record is what is recorded now that the lock is
// held.
func (d *deployment) reread(ctx context.Context, r reading) (reading, error) {
	err := d.place.Confirm(ctx, r.etag)
	if errors.As(err, new(*state.ConflictError)) {
		if r.record, r.etag, err = d.place.Read(ctx); err == nil {
			r.presence, err = d.place.Presence(ctx)
		}
		d.know(r)
	}
	if err != nil {
		return r, err
	}
	return r, d.place.Own(r.record)
}

// settleAll asks about all entries at once, then writes down what was learned.
// A signal leaves what is not decided as it was.
func (s *settler) settleAll(ctx context.Context) error {
	ops := s.found.Operations
	if n := len(ops); n > 0 {
		when := ""
		if s.found.SealedAt > 0 {
			when = ", cancelled at " + time.UnixMilli(s.found.SealedAt).UTC().Format(time.RFC3339)
		}
		s.observe(Event{Kind: Notice, Text: fmt.Sprintf("settling %s left open by %s%s", amount.Of(n, "operation"), s.found.By(), when)})
	}
	verdicts, errs := make([]verdict, len(ops)), make([]error, len(ops))
	var wg routine.Group
	for i, op := range ops {
		wg.Go(func() {
			s.slots <- struct{}{}
			defer func() { <-s.slots }()
			beat := heartbeat(func(elapsed time.Duration) {
				s.observe(Event{Kind: ResourceWaiting, LogicalID: op.LogicalID, Type: op.ResourceType, PhysicalID: op.PhysicalID, Elapsed: elapsed, Action: action(op)})
			})
			defer beat()
			verdicts[i], errs[i] = s.settleOne(ctx, op)
		})
	}
	wg.Wait()
	decided := slices.Clone(verdicts[:0])
	for i, v := range verdicts {
		switch {
		case errs[i] == nil:
			v.op = ops[i]
			decided = append(decided, v)
		case s.once && !s.e.config.Window.Interrupted() && (letGo(errs[i]) || errors.Is(errs[i], errOpen)):
			errs[i] = nil
			s.warn("%s (%s): an earlier run's %s is still open, and is left alone; the next deploy settles it", ops[i].LogicalID, ops[i].ResourceType, lower(ops[i].ChangeType))
		}
	}
	if err := s.conclude(ctx, decided, s.goneLeftovers(ctx)); err != nil {
		return err
	}
	return joined(nonNil(errs...))
}

func action(op state.OpenOperation) plan.Action {
	switch op.ChangeType {
	case state.OpCreate:
		return plan.Create
	case state.OpDelete:
		return plan.Delete
	}
	return plan.Update
}

// settleOne finds out what became of one operation. An error leaves it as it is.
func (s *settler) settleOne(ctx context.Context, op state.OpenOperation) (verdict, error) {
	if op.Malformed != "" {
		return s.unresolvedBy(op, "its entry cannot be understood: "+op.Malformed), nil
	}
	row := s.world.row(op.LogicalID)
	same := row != nil && row.ResourceType == op.ResourceType && state.SameResource(op.ResourceType, row.PhysicalID, op.PhysicalID)
	switch {
	case op.ResourceType == nestedType:
		if row == nil {
			return verdict{text: "it is not recorded any more"}, nil
		}
		return verdict{later: op.Stage}, nil // it is visited, and settles by itself
	case op.Stage == state.StageSettling && !same:
		return verdict{text: "the record does not name it any more"}, nil
	case op.Void && (op.ChangeType != state.OpCreate || op.Stage == state.StageSettling):
		return verdict{text: "it is not gone on with: the stack's record was removed or handed over since", sent: sentOf(op)}, nil
	case op.Stage == state.StageSettling:
		return verdict{later: state.StageSettling}, nil
	case op.ChangeType == state.OpCreate && same:
		return verdict{text: "it is recorded", sent: sentOf(op)}, nil
	case op.Void:
		return s.settleVoid(ctx, op, row)
	case op.ChangeType == state.OpCreate:
		return s.settleCreate(ctx, op, row)
	case op.ChangeType == state.OpUpdate && !same:
		return verdict{text: "the record does not name it any more", sent: sentOf(op)}, nil
	case op.ChangeType == state.OpUpdate:
		return s.settleUpdate(ctx, op, row)
	case !same:
		return s.settleOldDelete(ctx, op)
	}
	return s.settleDelete(ctx, op, row)
}

func (s *settler) unresolvedBy(op state.OpenOperation, because string) verdict {
	e := &UnresolvedError{
		Stack: s.t.Name, LogicalID: op.LogicalID, Type: op.ResourceType, Change: lower(op.ChangeType),
		At: time.UnixMilli(op.StartedAt), Because: because, Void: op.Void,
	}
	if op.Replacing && op.Previous != nil {
		e.Recorded = op.Previous.PhysicalID
	}
	return verdict{op: op, open: e}
}

// leaveUnresolved says what a command leaves alone that nobody can tell the state
// of.
func (d *deployment) leaveUnresolved() {
	for _, id := range sortedKeys(d.pending.unresolved) {
		u := d.pending.unresolved[id]
		d.unaddressed(id, u.Type, "", u.Error(), u.Remedy())
	}
}

// refuseUnresolved fails a deploy whose plan would touch what nobody can tell
// the state of.
func (d *deployment) refuseUnresolved() error {
	var first error
	for _, c := range d.Changes {
		u := d.pending.unresolved[c.LogicalID]
		if u == nil || c.Action == plan.NoChange || u.Void && (c.Action != plan.Create || u.Type != c.Type) {
			continue
		}
		d.res.Failures = append(d.res.Failures, result.Failure{
			LogicalID: c.LogicalID, Type: c.Type, Path: c.Path, Action: c.Action, PhysicalID: c.PhysicalID,
			Message: d.e.config.Secrets.Mask(u.Error()), Remedy: u.Remedy(), Page: d.e.page(u),
		})
		d.res.Counts.Failed++
		if first == nil {
			first = u
		}
	}
	if first == nil {
		return nil
	}
	return &ResourcesError{Stack: d.t.Name, Region: d.t.Region, Failed: len(d.res.Failures), First: first}
}

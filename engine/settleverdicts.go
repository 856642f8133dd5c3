package engine

import (
	"context"
	"slices"

	"github.com/org/cdkd-action/engine/state"
)

// What was learned of open operations is written down and said.

// conclude writes down what was learned: the record first, then the journal,
// then what is open, without the leftovers that are gone, and last the answers of
// handlers go. Whatever ends the run in between is decided the same way again.
func (s *settler) conclude(ctx context.Context, verdicts []verdict, gone []state.Leftover) error {
	s.remember(verdicts)
	edited := false
	for _, v := range verdicts {
		if v.edit != nil {
			s.change(v.edit)
			edited = true
		}
	}
	if edited {
		if err := s.flush(); err != nil {
			return err
		}
	}
	writes, cancel := s.e.config.Window.Cleanup(journalLimit)
	defer cancel()
	if err := s.amendJournal(writes, verdicts); err != nil {
		s.warn("%v", err)
	}
	s.dropIntents(writes, verdicts)
	err := s.changePending(writes, func(p *state.Pending) {
		if s.void {
			p.Avoid()
		}
		for _, v := range verdicts {
			v.amend(p)
		}
		p.Leftovers = slices.DeleteFunc(p.Leftovers, func(l state.Leftover) bool { return among(gone, l) })
		s.tidyLeftovers(p)
		s.pending.earlier = slices.DeleteFunc(slices.Clone(p.Leftovers), func(l state.Leftover) bool { return l.Malformed != "" || l.Void })
	})
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		s.say(v)
		if v.sent != nil && v.open == nil && v.later == "" {
			s.custom.Discard(writes, s.request(v.op.LogicalID, v.op.ResourceType), *v.sent)
		}
	}
	for _, l := range s.found.Leftovers {
		if l.Void && !among(gone, l) {
			s.warn("%s (%s) %s: an earlier run left it to be deleted; it was not, because the stack's record was removed or handed over since: delete it by hand unless it is in use, then: %s",
				l.LogicalID, l.ResourceType, l.PhysicalID, forgetCommand(s.t.Name, l.LogicalID))
		}
	}
	return nil
}

// among tells whether a leftover is one of several.
func among(some []state.Leftover, l state.Leftover) bool {
	return slices.ContainsFunc(some, func(o state.Leftover) bool {
		return o.Malformed == "" && l.Malformed == "" && o.ResourceType == l.ResourceType && o.PhysicalID == l.PhysicalID
	})
}

// amend brings what is written down to what was learned.
func (v *verdict) amend(p *state.Pending) {
	if v.leftover != nil {
		p.Leave(*v.leftover)
	}
	if v.gone != nil {
		p.Leftovers = slices.DeleteFunc(p.Leftovers, func(l state.Leftover) bool { return among([]state.Leftover{*v.gone}, l) })
	}
	if v.open != nil {
		return
	}
	i := slices.IndexFunc(p.Operations, func(op state.OpenOperation) bool {
		return op.LogicalID == v.op.LogicalID && op.ChangeType == v.op.ChangeType && op.StartedAt == v.op.StartedAt
	})
	switch {
	case i < 0:
	case v.later == "":
		p.Operations = slices.Delete(p.Operations, i, i+1)
	case v.later != p.Operations[i].Stage || v.text != "":
		// What was asked for by is of no use any more.
		op := &p.Operations[i]
		op.Stage, op.RequestToken, op.ResponseKey, op.RequestID, op.AnswerBy = v.later, "", "", "", 0
		if v.made != nil {
			op.PhysicalID = v.made.PhysicalID
		}
	}
}

// remember keeps what this run has to go on with.
func (s *settler) remember(verdicts []verdict) {
	s.pending.unresolved, s.pending.settling = map[string]*UnresolvedError{}, map[string]*state.OpenOperation{}
	s.pending.uncertain = map[string]*state.OpenOperation{}
	for _, v := range verdicts {
		if v.made != nil {
			v.op.PhysicalID = v.made.PhysicalID
		}
		switch {
		case v.open != nil:
			s.pending.unresolved[v.op.LogicalID] = v.open
		case v.later == state.StageSettling:
			s.pending.settling[v.op.LogicalID] = &v.op
		case v.later != "":
			s.pending.uncertain[v.op.LogicalID] = &v.op
		}
	}
}

// say tells the verdict to the log and the history.
func (s *settler) say(v verdict) {
	ev := state.Event{LogicalID: v.op.LogicalID, ResourceType: v.op.ResourceType, PhysicalID: v.op.PhysicalID, Operation: v.op.ChangeType, ProvisionedBy: v.op.ProvisionedBy}
	switch {
	case v.open != nil:
		s.warn("%v; %s", v.open, v.open.Remedy())
		if v.op.Malformed != "" {
			return // nothing else is known of it
		}
		s.mu.Lock()
		s.res.Pending = append(s.res.Pending, pendingResult(s.t.Name, v.op))
		s.mu.Unlock()
		return
	case v.later != "" && v.text == "":
		return
	case v.warn:
		s.warn("%s (%s): %s", v.op.LogicalID, v.op.ResourceType, v.text)
	default:
		s.observe(Event{Kind: Notice, LogicalID: v.op.LogicalID, Type: v.op.ResourceType, PhysicalID: v.op.PhysicalID, Text: "settled: " + v.text})
	}
	ev.EventType = state.ResourceSucceeded
	if v.failed {
		ev.EventType, ev.Error = state.ResourceFailed, &state.EventError{Name: "Settled", Message: s.e.config.Secrets.Mask(v.text)}
	}
	if v.made != nil {
		ev.PhysicalID = v.made.PhysicalID
	}
	s.pending.settled = append(s.pending.settled, ev)
}

// emitSettled tells the history what was settled before it was begun.
func (d *deployment) emitSettled() {
	for _, ev := range d.pending.settled {
		d.emit(ev)
	}
	d.pending.settled = nil
}

// dropIntents takes the creates that are over out of the ledger.
func (s *settler) dropIntents(ctx context.Context, verdicts []verdict) {
	var over []string
	for _, v := range verdicts {
		if v.op.ChangeType == state.OpCreate && v.open == nil && (v.made != nil || v.nothing && v.later == "") {
			over = append(over, v.op.LogicalID)
		}
	}
	if over == nil || !s.presence.Ledger {
		return
	}
	if err := s.ledger(ctx).Drop(ctx, over...); err != nil {
		s.warn("%v", err)
	}
}

// amendJournal moves what turned out to be done to the operations of the run
// that began it, so that a rollback undoes it, and forgets what was not.
func (s *settler) amendJournal(ctx context.Context, verdicts []verdict) error {
	if !s.presence.Journal {
		return nil
	}
	journal, err := s.place.ReadJournal(ctx)
	if err != nil || journal == nil {
		return err
	}
	changed := false
	for _, g := range journal.Segments {
		if g.RunID != s.found.RunID {
			continue
		}
		for _, v := range verdicts {
			if v.made == nil && !v.nothing {
				continue
			}
			g.Failed = slices.DeleteFunc(g.Failed, func(op *state.Operation) bool {
				return op.LogicalID == v.op.LogicalID && op.ChangeType == v.op.ChangeType
			})
			if v.made != nil && !undoneCreate(g, v.made) {
				g.Operations = append(g.Operations, v.made)
			}
			changed = true
		}
	}
	if !changed {
		return nil
	}
	journal.Segments = slices.DeleteFunc(journal.Segments, func(g *state.Segment) bool { return len(g.Operations)+len(g.Failed) == 0 })
	return s.place.WriteJournal(ctx, journal)
}

// undoneCreate tells whether a delete is that of what the same run made.
func undoneCreate(g *state.Segment, op *state.Operation) bool {
	return op.ChangeType == state.OpDelete && slices.ContainsFunc(g.Operations, func(o *state.Operation) bool {
		return o.LogicalID == op.LogicalID && o.PhysicalID == op.PhysicalID
	})
}

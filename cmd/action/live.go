package main

import (
	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/progress"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
)

// showsTable tells whether the run is one of those that take long, and that
// somebody follows. What Progress means where nobody looks is the surface's
// business.
func (s *step) showsTable() bool {
	return s.in.Progress == ci.ProgressAuto && !s.in.JSON && !s.in.DryRun
}

// follow keeps the table of what is under way up to date.
func (s *step) follow(ev engine.Event) {
	t, k := s.table, key(ev)
	stack := progress.Key{Stack: ev.Stack, Region: ev.Region, Account: ev.Account}
	switch ev.Kind {
	case engine.StackStarted:
		t.Begin(stack, "", "plan", ev.Time)
	case engine.LockWaiting:
		t.Note(stack, ev.Text)
	case engine.StackPlanned:
		t.Expect(stack, begins(ev.Plan))
	case engine.ResourceStarted:
		t.Begin(k, ev.Type, verb(ev), ev.Time)
	case engine.ResourceAwaits:
		if ev.Action != "" {
			t.Begin(k, ev.Type, verb(ev), ev.Time)
		}
		t.Note(k, ev.Text)
	case engine.ResourceSucceeded, engine.ResourceRetained:
		t.End(k, false)
	case engine.ResourceFailed:
		t.End(k, true)
	case engine.ResourceSkipped, engine.ResourceLetGo, engine.ResourceOver:
		t.Leave(k)
	case engine.RollbackStarted, engine.StackFinished:
		t.Close(stack)
	}
}

func key(ev engine.Event) progress.Key {
	return progress.Key{Stack: ev.Stack, Region: ev.Region, Account: ev.Account, LogicalID: ev.LogicalID}
}

// begins are the resources of a plan on which something is going to begin.
func begins(p *plan.Plan) (ids []string) {
	for _, c := range p.Changes {
		if c.Action != plan.NoChange {
			ids = append(ids, c.LogicalID)
		}
	}
	return ids
}

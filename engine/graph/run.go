package graph

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/routine"
)

// A Task is something to be done to one resource.
type Task struct {
	ID   string
	API  string        // what it calls, for a Share
	Cost time.Duration // how long it is expected to take; decides who goes first
	Run  func(context.Context) error
}

// A Status says what became of a task.
type Status int

// The statuses.
const (
	NotStarted Status = iota // the run was stopped before its turn came
	Succeeded
	Failed
	Skipped // something it waits for failed or was skipped
)

// An Outcome is a task's status, and the error of one that failed.
type Outcome struct {
	Status Status
	Err    error
}

// Options govern a run.
type Options struct {
	Limit int             // tasks at once; 0: as many as are ready
	Share *Share          // with other runs; nil: none
	Stop  <-chan struct{} // closing it lets nothing new start
	// KeepGoing lets tasks that do not depend on a failed one start all the
	// same. Without it the first failure stops new work.
	KeepGoing bool
}

// Run runs the tasks in an order that respects after and returns when all that
// were started have ended. Among ready tasks the one at the head of the
// longest chain starts first. Edges to ids that are not tasks are ignored, and
// tasks on a cycle are never started.
func Run(ctx context.Context, tasks []Task, after Edges, opt Options) map[string]Outcome {
	s := newSchedule(tasks, after)
	results := make(chan ended)
	running, stopped := 0, false
	stop := opt.Stop
	for {
		if !stopped {
			select {
			case <-stop:
				stopped = true
			default:
			}
		}
		freed := opt.Share.changed()
		for !stopped && (opt.Limit <= 0 || running < opt.Limit) {
			t, ok := s.next(opt.Share)
			if !ok {
				break
			}
			running++
			// One resource's fault must not keep the others from being recorded.
			go func() { results <- ended{t.ID, routine.Try(func() error { return t.Run(ctx) })} }()
		}
		if running == 0 && (stopped || len(s.ready) == 0 || opt.Share == nil) {
			return s.outcomes
		}
		select {
		case <-freed:
		case e := <-results:
			running--
			opt.Share.give(s.tasks[e.id])
			s.end(e)
			if e.err != nil && !opt.KeepGoing {
				stopped = true
			}
		case <-stop:
			stop, stopped = nil, true
		}
	}
}

// Longest returns the chain of tasks, each waiting for the one before it, whose
// costs come to most, and what they come to.
func Longest(tasks []Task, after Edges) (ids []string, cost time.Duration) {
	s := newSchedule(tasks, after)
	next := s.ready
	for len(next) > 0 {
		id := slices.MaxFunc(next, func(a, b string) int {
			return cmp.Or(cmp.Compare(s.chain[a], s.chain[b]), cmp.Compare(s.position[b], s.position[a]))
		})
		ids = append(ids, id)
		cost += s.tasks[id].Cost
		next = s.dependents[id]
	}
	return ids, cost
}

type ended struct {
	id  string
	err error
}

// A schedule is owned by the goroutine that calls Run.
type schedule struct {
	tasks      map[string]Task
	position   map[string]int
	dependents map[string][]string
	missing    map[string]int // producers that are not done yet
	chain      map[string]time.Duration
	ready      []string // longest chain first
	outcomes   map[string]Outcome
}

func newSchedule(tasks []Task, after Edges) *schedule {
	s := &schedule{
		tasks: map[string]Task{}, position: map[string]int{}, dependents: map[string][]string{},
		missing: map[string]int{}, chain: map[string]time.Duration{}, outcomes: map[string]Outcome{},
	}
	for i, t := range tasks {
		s.tasks[t.ID], s.position[t.ID] = t, i
		s.outcomes[t.ID] = Outcome{}
	}
	for _, t := range tasks {
		for _, p := range after[t.ID] {
			if _, ok := s.tasks[p]; ok {
				s.dependents[p] = append(s.dependents[p], t.ID)
				s.missing[t.ID]++
			}
		}
	}
	for _, t := range tasks {
		s.measure(t.ID)
		if s.missing[t.ID] == 0 {
			s.ready = append(s.ready, t.ID)
		}
	}
	s.sort()
	return s
}

// measure is how long it takes from the task's start until the last of those
// that wait for it is done. Every task counts for something, so that of tasks
// without an estimate the one with the longer chain goes first.
func (s *schedule) measure(id string) time.Duration {
	if d, ok := s.chain[id]; ok {
		return d
	}
	s.chain[id] = 0 // a circle is measured once round
	var rest time.Duration
	for _, d := range s.dependents[id] {
		rest = max(rest, s.measure(d))
	}
	s.chain[id] = max(s.tasks[id].Cost, time.Millisecond) + rest
	return s.chain[id]
}

func (s *schedule) sort() {
	slices.SortFunc(s.ready, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.chain[b], s.chain[a]), cmp.Compare(s.position[a], s.position[b]))
	})
}

// next takes the first ready task that may start.
func (s *schedule) next(share *Share) (t Task, ok bool) {
	i := slices.IndexFunc(s.ready, func(id string) bool { return share.take(s.tasks[id]) })
	if i < 0 {
		return Task{}, false
	}
	t = s.tasks[s.ready[i]]
	s.ready = slices.Delete(s.ready, i, i+1)
	return t, true
}

func (s *schedule) end(e ended) {
	if e.err != nil {
		s.outcomes[e.id] = Outcome{Status: Failed, Err: e.err}
		s.skip(e.id)
		return
	}
	s.outcomes[e.id] = Outcome{Status: Succeeded}
	for _, d := range s.dependents[e.id] {
		if s.missing[d]--; s.missing[d] == 0 && s.outcomes[d].Status == NotStarted {
			s.ready = append(s.ready, d)
		}
	}
	s.sort()
}

// skip marks whatever waits for a task that will never be done.
func (s *schedule) skip(id string) {
	for _, d := range s.dependents[id] {
		if s.outcomes[d].Status == NotStarted {
			s.outcomes[d] = Outcome{Status: Skipped}
			s.skip(d)
		}
	}
}

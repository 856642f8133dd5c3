package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/signals/container"
)

// The names under which a step keeps for its post step what that has to know.
// Each is kept before what it is about begins: who is killed keeps nothing.
const (
	keptOwner       = "owner"       // of its locks
	keptContainer   = "container"   // in which it runs
	keptRun         = "run"         // the run's id
	keptBucket      = "bucket"      // with the state
	keptStacks      = "stacks"      // of which it asks for the lock
	keptInterrupted = "interrupted" // when the first signal came, in Unix milliseconds
	keptReported    = "reported"    // everybody was told how it ended
	keptDeployment  = "deployment"  // of GitHub, whose end is not said yet
	keptEnded       = "ended"       // it ended by itself
)

// A memory is what a step keeps for its post step. On a terminal nothing is
// kept, and nothing has to be.
type memory struct {
	surface *ci.Surface
	check   func(error)

	mu     sync.Mutex
	stacks []engine.Locked
}

func (m *memory) keep(name, value string) { m.check(m.surface.SaveState(name, value)) }

// begin keeps who this process is.
func (m *memory) begin(owner string) {
	m.keep(keptOwner, owner)
	m.keep(keptContainer, container.ID())
}

func (m *memory) ended() { m.keep(keptEnded, "true") }

func (m *memory) interrupted(at time.Time) {
	m.keep(keptInterrupted, strconv.FormatInt(at.UnixMilli(), 10))
}

// observe keeps what events tell.
func (m *memory) observe(ev engine.Event, e *engine.Engine) {
	switch ev.Kind {
	case engine.RunStarted:
		m.keep(keptRun, ev.Text)
	case engine.LockRequested:
		m.mu.Lock()
		defer m.mu.Unlock()
		ref := engine.Locked{Ref: state.Ref{Stack: ev.Stack, Region: ev.Region}, Account: ev.Account}
		if slices.Contains(m.stacks, ref) {
			return
		}
		if ev.Account == "" && !slices.ContainsFunc(m.stacks, func(s engine.Locked) bool { return s.Account == "" }) {
			m.keep(keptBucket, e.StateBucket(""))
		}
		m.stacks = append(m.stacks, ref)
		text, err := json.Marshal(m.stacks)
		m.check(err)
		m.keep(keptStacks, string(text))
	}
}

// A memento is what the post step finds kept.
type memento struct {
	owner, container, run, bucket string
	stacks                        []engine.Locked
	interrupted                   time.Time // zero: it was not, as far as is known
	reported, ended               bool
	deployment                    int64 // 0: none is open
}

func recall(getenv func(string) string) (memento, error) {
	get := func(name string) string { return getenv("STATE_" + name) }
	m := memento{
		owner: get(keptOwner), container: get(keptContainer), run: get(keptRun), bucket: get(keptBucket),
		reported: get(keptReported) == "true", ended: get(keptEnded) == "true",
	}
	if ms, err := strconv.ParseInt(get(keptInterrupted), 10, 64); err == nil {
		m.interrupted = time.UnixMilli(ms)
	}
	m.deployment, _ = strconv.ParseInt(get(keptDeployment), 10, 64)
	var err error
	if stacks := get(keptStacks); stacks != "" {
		err = json.Unmarshal([]byte(stacks), &m.stacks)
	}
	// The file it was kept in can be written to by whatever runs in the step.
	switch {
	case !state.OwnerOf(m.owner, getenv):
		return memento{}, fmt.Errorf("%q is no owner of this run's locks; nothing is touched", m.owner)
	case m.container != "" && !container.IsID(m.container):
		return memento{}, fmt.Errorf("%q is no container; nothing is touched", m.container)
	}
	return m, err
}

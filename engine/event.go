package engine

import (
	"time"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// An EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	RunStarted     EventKind = "run-started" // Text is its id
	StackStarted   EventKind = "stack-started"
	StackPlanned   EventKind = "stack-planned"  // Plan is set
	StackFinished  EventKind = "stack-finished" // Result is set
	LockRequested  EventKind = "lock-requested" // before the request is sent
	LockWaiting    EventKind = "lock-waiting"   // Text says who holds it
	AssetPublished EventKind = "asset-published"

	ResourceStarted   EventKind = "resource-started"
	ResourceSucceeded EventKind = "resource-succeeded"
	ResourceFailed    EventKind = "resource-failed"
	ResourceLetGo     EventKind = "resource-let-go" // the run is ending; Text says what was under way
	ResourceRetained  EventKind = "resource-retained"
	ResourceSkipped   EventKind = "resource-skipped" // Text says why
	ResourceWaiting   EventKind = "resource-waiting" // a heartbeat of something that takes long; Text, if set, says all of it

	// The next two come too often for a log. What a resource awaits is in Text,
	// and may be told before its operation has started; then Action is set. When
	// it is over the plan has nothing more for it, whether it had operations or not.
	ResourceAwaits EventKind = "resource-awaits"
	ResourceOver   EventKind = "resource-over"

	RollbackStarted  EventKind = "rollback-started"
	RollbackFinished EventKind = "rollback-finished"

	AppWarning EventKind = "app-warning" // of the app, about a stack of its own
	AppError   EventKind = "app-error"

	Detail  EventKind = "detail" // for who looks closely
	Notice  EventKind = "notice"
	Warning EventKind = "warning"
)

// An Event is one thing that happened in a run, for whoever watches it. Text
// and Plan hold no secrets.
type Event struct {
	Time          time.Time
	Kind          EventKind
	Stack, Region string
	Account       string // "" for the caller's; see Config.Others

	LogicalID, Type string
	Action          plan.Action
	PhysicalID      string
	Elapsed         time.Duration
	Rollback        bool // the operation undoes an earlier one

	File string // of the app, where a construct was made; "" when unknown
	Line int

	Text   string
	Plan   *plan.Plan
	Result *result.Stack
}

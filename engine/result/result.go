// Package result is what a command of the engine did, as plain values.
//
// The log, the step outputs, the summary, the comment and --json are all made
// from it, so that they cannot disagree. It holds no secret: values that must
// not be shown are left out or replaced by their expression before they get
// here.
package result

import (
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/value"
)

// An Outcome says how a run, or one stack of it, ended. The names are the step
// output's.
type Outcome string

// The outcomes, worst first: of several stacks' the first one here wins.
const (
	Cancelled        Outcome = "cancelled"         // a signal stopped work
	Failed           Outcome = "failed"            // an error, a refusal, a rolled back deploy
	Locked           Outcome = "locked"            // somebody else holds the lock, nothing else failed
	PlanChanged      Outcome = "plan-changed"      // not what was reviewed
	ApprovalRequired Outcome = "approval-required" // somebody has to agree first
	Drifted          Outcome = "drifted"
	Partial          Outcome = "partial"   // done but for what Unaddressed names
	Success          Outcome = "success"   // something changed (in a diff: would change)
	NoChange         Outcome = "no-change" // nothing to do
)

var precedence = []Outcome{Cancelled, Failed, Locked, PlanChanged, ApprovalRequired, Drifted, Partial, Success, NoChange}

// Worse returns the outcome that takes precedence; "" gives way to any.
func Worse(a, b Outcome) Outcome {
	if a == "" {
		return b
	}
	if b == "" || slices.Index(precedence, a) <= slices.Index(precedence, b) {
		return a
	}
	return b
}

// ExitCode returns the process's exit code for the outcome: 0 done, 1 not
// done, 2 done in part, 130 interrupted.
func (o Outcome) ExitCode() int {
	switch o {
	case Success, NoChange:
		return 0
	case Partial:
		return 2
	case Cancelled:
		return 130
	}
	return 1
}

// A Reason is one stable word that says why a run failed.
type Reason string

// The reasons.
const (
	ReasonLock          Reason = "lock"
	ReasonRegistry      Reason = "registry"
	ReasonNameHeld      Reason = "name-held"
	ReasonApproval      Reason = "approval"
	ReasonPlanChanged   Reason = "plan-changed"
	ReasonSynth         Reason = "synth"
	ReasonTemplate      Reason = "template"
	ReasonCredentials   Reason = "credentials"
	ReasonStateConflict Reason = "state-conflict"
	ReasonResource      Reason = "resource"
	ReasonOutput        Reason = "output"
	ReasonInput         Reason = "input"
	ReasonInternal      Reason = "internal"
)

// A Run is the result of one command.
type Run struct {
	Command string // deploy, diff, destroy
	DryRun  bool
	RunID   string
	Outcome Outcome
	Reason  Reason // "" unless it failed
	// Message, Remedy and Page explain a failure that belongs to no one stack. A
	// page is an address.
	Message, Remedy, Page string
	Stacks                []*Stack // in the order in which they were worked on
	// PlanDigest names what would be done, if only nothing, for whoever is to agree
	// to it; "" when nobody asked.
	PlanDigest string
	// ShowValues are the values that somebody wants to see although they stand
	// where secrets often do, as Subject:Path; see ci/report.
	ShowValues []string
	Duration   time.Duration
}

// Add puts a stack into the run and lets its outcome count.
func (r *Run) Add(s *Stack) {
	r.Stacks = append(r.Stacks, s)
	if Worse(r.Outcome, s.Outcome) == s.Outcome {
		if s.Outcome != r.Outcome || r.Reason == "" {
			r.Reason = s.Reason
		}
		r.Outcome = s.Outcome
	}
}

// Counts adds up the stacks' counts.
func (r *Run) Counts() Counts {
	var c Counts
	for _, s := range r.Stacks {
		c.Created += s.Counts.Created
		c.Updated += s.Counts.Updated
		c.Deleted += s.Counts.Deleted
		c.Skipped += s.Counts.Skipped
		c.Failed += s.Counts.Failed
		c.Unchanged += s.Counts.Unchanged
	}
	return c
}

// Changed tells whether something was changed or, after a diff or a dry run,
// would be.
func (r *Run) Changed() bool {
	return slices.ContainsFunc(r.Stacks, func(s *Stack) bool { return s.Changed })
}

// A Stack is what became of one stack.
type Stack struct {
	Name, Region string
	Account      string // "" for the caller's
	DisplayName  string
	Outcome      Outcome
	Reason       Reason
	// Message and Remedy explain a failure of the stack as a whole: a held
	// lock, a template that cannot be evaluated. Page is where more is said about
	// that, or about what was left.
	Message, Remedy, Page string

	Plan        *plan.Plan    // nil when it did not come to one
	Counts      Counts        // of what was done
	Outputs     *value.Object // by output name, without export aliases and secrets
	Failures    []Failure     // every failed resource, in the order of failing
	Unaddressed []Unaddressed // what was left: why the outcome is partial, or a rollback incomplete
	Pending     []Pending     // what goes on in AWS, or may
	Unawaited   []Unawaited   // what was made or changed and may not be ready yet
	Warnings    []string

	// After says what each resource that changes waits for, by logical id.
	After map[string][]string
	// Chain are the resources that one after the other are expected to take
	// longest: the time that a deploy takes at least.
	Chain []Link
	// Timeline are the operations that ended, in that order, those on resources
	// of nested stacks as Nested/Resource.
	Timeline []Span

	Changed    bool // something was changed, or would be
	RolledBack bool // the deploy failed and what it had done was undone
	// RollbackIncomplete says that it failed and not all of what it had done was
	// undone: Unaddressed has what was not.
	RollbackIncomplete bool
	Lock               *Lock
	Duration           time.Duration
}

// A Link is one resource of a chain, and a rough guess of its time.
type Link struct {
	LogicalID string
	Expected  time.Duration
}

// A Span is one operation on a resource: when it started and how long it took.
type Span struct {
	LogicalID, Type string
	Action          plan.Action
	Rollback        bool // it undid an earlier one
	Failed          bool
	Start           time.Time
	Took            time.Duration
}

// Counts counts resources by what happened to them.
type Counts struct{ Created, Updated, Deleted, Skipped, Failed, Unchanged int }

// A Failure is one resource's operation that did not succeed.
type Failure struct {
	LogicalID, Type string
	Path            string // aws:cdk:path, "" when unknown
	Action          plan.Action
	PhysicalID      string // "" when none is known
	Message         string // what AWS, or the engine, said
	Remedy          string // what to do next, "" when there is nothing to say
	Page            string // where more is said about it, "" for nowhere
	File            string // of the app, where the resource was made; "" when unknown
	Line            int    // from 1; 0 when unknown
}

// FailuresBesideLeft are the failures of which no entry of Unaddressed says the
// same: a destroy has its failures there too, with what to do about them.
func (s *Stack) FailuresBesideLeft() []Failure {
	return slices.DeleteFunc(slices.Clone(s.Failures), func(f Failure) bool {
		return slices.ContainsFunc(s.Unaddressed, func(u Unaddressed) bool {
			id := f.LogicalID[strings.LastIndex(f.LogicalID, "/")+1:] // without the nested stack's
			return u.LogicalID == id && u.PhysicalID == f.PhysicalID && u.Reason == f.Message
		})
	})
}

// Unaddressed is a resource that was knowingly left, and what to do about it.
type Unaddressed struct {
	Stack      string `json:"stack"`
	LogicalID  string `json:"logicalId"`
	Type       string `json:"type"`
	PhysicalID string `json:"physicalId"`
	Reason     string `json:"reason"`
	Remedy     string `json:"remedy"`
}

// Pending is an operation that this run, or one before it, had to let go.
type Pending struct {
	Stack      string `json:"stack"`
	LogicalID  string `json:"logicalId"`
	Type       string `json:"type"`
	PhysicalID string `json:"physicalId,omitempty"`
	Change     string `json:"change"`    // create, update or delete
	Stage      string `json:"stage"`     // sent, accepted or settling
	StartedAt  int64  `json:"startedAt"` // Unix milliseconds
}

// Unawaited is a resource that was made or changed and that the run's wait mode
// does not wait for.
type Unawaited struct {
	Stack      string `json:"stack"`
	LogicalID  string `json:"logicalId"`
	Type       string `json:"type"`
	PhysicalID string `json:"physicalId"`
	Command    string `json:"command"` // shows its state, or waits for it
}

// A Lock is who holds a stack that this run could not have.
type Lock struct {
	Owner     string `json:"owner"`
	Operation string `json:"operation"`
	Stack     string `json:"stack"`
	Region    string `json:"region"`
	ExpiresAt int64  `json:"expiresAt"` // Unix milliseconds, 0 when unknown
	RunURL    string `json:"runUrl,omitempty"`
}

// Place is where the stack is, in words: its region and, if that is not the caller's,
// its account.
func (s *Stack) Place() string { return place(s.Region, s.Account) }

func place(region, account string) string {
	if account == "" {
		return region
	}
	return region + " of account " + account
}

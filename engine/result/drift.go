package result

import (
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/drift"
)

// A DriftMode says what is done about drift.
type DriftMode int

// The modes.
const (
	DriftDetect DriftMode = iota // nothing
	DriftAccept                  // record what is
	DriftRevert                  // make it what is recorded
)

// A Drift is how a resource compares with what is recorded of it.
type Drift string

// What a comparison can come to.
const (
	InSync           Drift = "in-sync"
	DriftFound       Drift = "drifted"
	DriftDeleted     Drift = "deleted"
	DriftUnsupported Drift = "unsupported" // nothing can read the type
	DriftRefused     Drift = "refused"     // the record forbids a comparison
	DriftOpen        Drift = "open"        // an earlier run's operation on it is not over
	DriftFailed      Drift = "failed"      // it could not be read
)

// A DriftRun is the result of a look for drift.
type DriftRun struct {
	Mode     DriftMode
	DryRun   bool
	Outcome  Outcome
	Reason   Reason
	Stacks   []*DriftedStack
	Duration time.Duration
	// Message, Remedy and Page explain a failure that belongs to no one stack.
	Message, Remedy, Page string
	ShowValues            []string // as those of a [Run]
}

// Add puts a stack into the run and lets its outcome count.
func (r *DriftRun) Add(s *DriftedStack) {
	r.Stacks = append(r.Stacks, s)
	if Worse(r.Outcome, s.Outcome) == s.Outcome {
		r.Outcome, r.Reason = s.Outcome, s.Reason
	}
}

// Count adds up the resources of all stacks that are one of these.
func (r *DriftRun) Count(is ...Drift) (n int) {
	for _, s := range r.Stacks {
		n += s.Count(is...)
	}
	return n
}

// Drifted tells whether anything is not as it is recorded, or was not before the
// run accepted or reverted it.
func (r *DriftRun) Drifted() bool {
	return slices.ContainsFunc(r.Stacks, func(s *DriftedStack) bool { return s.Drifted() })
}

// Changed tells whether something was accepted or reverted or, in a dry run,
// would be.
func (r *DriftRun) Changed() bool {
	return slices.ContainsFunc(r.Stacks, func(s *DriftedStack) bool { return s.Settled() > 0 })
}

// A DriftedStack is a stack that was compared with what AWS says of it.
type DriftedStack struct {
	Name, Region string
	Account      string // "" for the caller's
	Outcome      Outcome
	Reason       Reason
	// Message and Remedy explain why it was not compared, or nothing was done.
	// Page is where more is said about that, or about drift.
	Message, Remedy, Page string
	Declined              bool // nobody agreed to what would have been done
	Resources             []DriftedResource
}

// Count is how many of the stack's resources are one of these.
func (s *DriftedStack) Count(is ...Drift) (n int) {
	for _, r := range s.Resources {
		if slices.Contains(is, r.Drift) {
			n++
		}
	}
	return n
}

// Settled is how many of its resources were accepted or reverted.
func (s *DriftedStack) Settled() (n int) {
	for _, r := range s.Resources {
		if r.Settled {
			n++
		}
	}
	return n
}

// Drifted tells whether anything is not as it is recorded.
func (s *DriftedStack) Drifted() bool { return s.Count(DriftFound, DriftDeleted) > 0 }

// Incomparable tells whether something could not be compared that should have
// been.
func (s *DriftedStack) Incomparable() bool {
	return s.Message != "" || s.Count(DriftRefused, DriftOpen, DriftFailed) > 0
}

// A DriftedResource is one of a DriftedStack. Values of the comparison may be
// stored and shown, but for what a reader may know by its name to be secret.
type DriftedResource struct {
	LogicalID, Type, PhysicalID string

	Drift    Drift
	Reason   string // why it was not compared
	Observed bool   // it was compared with what was read back, not with the template's properties
	drift.Comparison

	Settled bool   // accepted, reverted or, in a dry run, what would be
	Left    string // why it was not accepted or reverted, and what to do
}

// Drifted tells whether it is not as it is recorded.
func (r *DriftedResource) Drifted() bool { return r.Drift == DriftFound || r.Drift == DriftDeleted }

// Place is as that of Stack.
func (s *DriftedStack) Place() string { return place(s.Region, s.Account) }

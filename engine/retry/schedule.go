package retry

import "time"

// A Schedule is how long to wait before which retry, and how many there are:
// First doubled each time, at most Cap.
type Schedule struct {
	First, Cap time.Duration
	Retries    int
}

// Delay returns the wait before retry k, counted from 0.
func (s Schedule) Delay(k int) time.Duration {
	d := s.First
	for range k {
		if d >= s.Cap {
			break
		}
		d *= 2
	}
	return min(d, s.Cap)
}

// The schedules of the classes.
var (
	Generic          = Schedule{First: time.Second, Cap: 8 * time.Second, Retries: 8}
	PropagationProbe = Schedule{First: 250 * time.Millisecond, Cap: 2 * time.Second, Retries: 26}
	NameCooldown     = Schedule{First: 2 * time.Second, Cap: 10 * time.Second, Retries: 8}
)

// The schedules of particular callers.
var (
	// Destroy is for deletes of a destroy.
	Destroy = Schedule{First: 5 * time.Second, Cap: 20 * time.Second, Retries: 3}
	// Reading is for throttled look-ups: schemas, dynamic references.
	Reading = Schedule{First: time.Second, Cap: 8 * time.Second, Retries: 4}
)

// A Policy is which failures are retried, and when.
type Policy struct {
	Classifier
	// Schedule, when set, is used for every retryable failure in the place of
	// the classes' own.
	Schedule *Schedule
	// ThrottlesOnly retries throttling and nothing else (503 included).
	ThrottlesOnly bool
	// NameTaken retries a taken name too, as name cooldown: for a create whose
	// old self was deleted just before.
	NameTaken bool
	// MaxSleep ends the sequence before it would have slept longer in all. 0: no
	// limit of its own.
	MaxSleep time.Duration
}

// The policies of the engine.

// ForCreate is the policy of creates and updates.
func ForCreate(c Classifier) Policy { return Policy{Classifier: c} }

// ForDelete is the policy of deletes in a deploy.
func ForDelete(c Classifier) Policy {
	c.Deleting = true
	return Policy{Classifier: c}
}

// ForDestroy is the policy of deletes in a destroy.
func ForDestroy(c Classifier) Policy {
	c.Deleting = true
	return Policy{Classifier: c, Schedule: &Destroy}
}

// ForRecreate is the policy of a create whose old self was deleted first.
func ForRecreate(c Classifier) Policy {
	return Policy{Classifier: c, NameTaken: true, MaxSleep: 640 * time.Second}
}

// ForReading is the policy of look-ups that only throttling should delay.
func ForReading() Policy { return Policy{Schedule: &Reading, ThrottlesOnly: true} }

package retry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/amount"
)

// A Task is what is tried, for reports, and what may interrupt its waits.
type Task struct {
	Name string // the logical id
	// Draining, when set, ends a wait when it closes.
	Draining <-chan struct{}
	// Crowded, when set, tells whether many operations are in flight: then
	// ordinary waits are spread by a tenth.
	Crowded func() bool
	// Retrying, when set, gets a line before each wait, for the debug log.
	Retrying func(line string)
	// GaveUp, when set, gets the line that says what was spent in vain.
	GaveUp func(line string)
}

// An InterruptedError says that work was stopped while waiting for a retry. The
// last attempt failed; nothing is in flight.
type InterruptedError struct{ Last error }

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("not tried again, because work was stopped: %v", e.Last)
}

func (e *InterruptedError) Unwrap() error { return e.Last }

// Do calls op until it succeeds, fails for good, or the policy's retries are
// spent. It returns op's last error unchanged, or an InterruptedError.
func Do(ctx context.Context, p Policy, t Task, op func(context.Context) error) error {
	var s sequence
	for {
		err := op(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		class := p.classOf(err)
		delay, ok := p.next(&s, class)
		if !ok {
			if line := s.line(t.Name, p, err); line != "" && t.GaveUp != nil {
				t.GaveUp(line)
			}
			return err
		}
		if class != Propagation && t.Crowded != nil && t.Crowded() {
			delay += time.Duration((rand.Float64() - 0.5) / 5 * float64(delay))
		}
		if t.Retrying != nil {
			t.Retrying(s.retrying(t.Name, p, class, delay, err))
		}
		if err := pause(ctx, t.Draining, delay, err); err != nil {
			return err
		}
	}
}

func (p Policy) classOf(err error) Class {
	class := p.Of(err)
	switch {
	case class == Collision && p.NameTaken:
		return Cooldown
	case class == Collision:
		return Final
	case p.ThrottlesOnly && class != Throttle:
		if class == Server && status(err) == 503 {
			return Throttle
		}
		return Final
	}
	return class
}

// A sequence is what one call of Do has spent.
type sequence struct {
	retries     int // all classes
	propagation int
	server      int
	backoff     time.Duration // of propagation retries only
	slept       time.Duration
	seen        bool // a propagation failure
}

// limit is how many retries there are, going by what was seen so far.
func (p Policy) limit(s *sequence) int {
	switch {
	case p.Schedule != nil:
		return p.Schedule.Retries
	case s.seen:
		return PropagationProbe.Retries
	}
	return Generic.Retries
}

// next counts a failure and returns the wait before the next attempt.
func (p Policy) next(s *sequence, class Class) (time.Duration, bool) {
	if class == Final {
		return 0, false
	}
	if p.Schedule == nil && class == Propagation {
		s.seen = true
	}
	if s.retries >= p.limit(s) {
		return 0, false
	}
	// Seeing a propagation failure must not lengthen what throttling may take.
	if p.Schedule == nil && class != Propagation && s.retries-s.propagation >= Generic.Retries {
		return 0, false
	}
	schedule := Generic
	switch {
	case p.Schedule != nil:
		schedule = *p.Schedule
	case class == Propagation:
		schedule = PropagationProbe
	case class == Cooldown:
		schedule = NameCooldown
	}
	delay := schedule.Delay(s.retries)
	if p.MaxSleep > 0 && s.slept+delay > p.MaxSleep {
		return 0, false
	}
	s.retries++
	s.slept += delay
	switch {
	case class == Propagation && p.Schedule == nil:
		s.propagation++
		s.backoff += delay
	case class == Server:
		s.server++
	}
	return delay, true
}

func (s *sequence) retrying(name string, p Policy, class Class, delay time.Duration, err error) string {
	line := fmt.Sprintf("%s: %s, retry %d/%d in %gs", name, class, s.retries, p.limit(s), delay.Seconds())
	if class == Propagation {
		line += fmt.Sprintf(" (%.2fs of propagation backoff)", s.backoff.Seconds())
	}
	return line + ": " + err.Error()
}

// line is what to say when giving up, "" when nothing notable was spent.
func (s *sequence) line(name string, p Policy, err error) string {
	var parts []string
	if s.propagation > 0 {
		part := fmt.Sprintf("%d IAM-propagation %s over %.2fs of propagation backoff",
			s.propagation, amount.Form(s.propagation, "retry", "retries"), s.backoff.Seconds())
		if s.retries >= p.limit(s) {
			part += " (the full propagation budget)"
		}
		parts = append(parts, part)
	}
	if s.server > 0 {
		parts = append(parts, fmt.Sprintf("%d transient server-error %s (HTTP 5xx)", s.server, amount.Form(s.server, "retry", "retries")))
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("%s: gave up after %s - %s%s", name, strings.Join(parts, " and "), err, signals(err))
}

// signals are what identifies a failure to AWS support.
func signals(err error) string {
	var name, id string
	var code int
	for _, l := range chain(err) {
		if l.code != "" && (code == 0 || name == "") {
			name = l.code // of the link with the status, else the deepest
		}
		if code == 0 {
			code = l.status
		}
		if id == "" {
			id = l.requestID
		}
	}
	var s []string
	if name != "" {
		s = append(s, "name="+name)
	}
	if code != 0 {
		s = append(s, fmt.Sprintf("http=%d", code))
	}
	if id != "" {
		s = append(s, "requestId="+id)
	}
	if s == nil {
		return ""
	}
	if code == 0 {
		s = append(s, "no-$metadata")
	}
	return " [" + strings.Join(s, " ") + "]"
}

func status(err error) int {
	for _, l := range chain(err) {
		if l.status != 0 {
			return l.status
		}
	}
	return 0
}

func pause(ctx context.Context, draining <-chan struct{}, d time.Duration, last error) error {
	select {
	case <-draining:
		return &InterruptedError{last}
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-draining:
		return &InterruptedError{last}
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), last)
	}
}

// Read calls read until it is not throttled any more; every other failure is
// returned at once.
func Read[T any](ctx context.Context, t Task, read func(context.Context) (T, error)) (v T, err error) {
	err = Do(ctx, ForReading(), t, func(ctx context.Context) error {
		v, err = read(ctx)
		return err
	})
	return v, err
}

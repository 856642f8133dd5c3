package ci

import (
	"errors"
	"strconv"

	"github.com/org/cdkd-action/engine/result"
)

// SetDrift writes the outputs of a look for drift. The error joins those of all
// outputs that could not be written.
func (s *Surface) SetDrift(run *result.DriftRun) error {
	unaddressed := []result.Unaddressed{}
	updated := 0
	for _, st := range run.Stacks {
		updated += st.Settled()
		for _, r := range st.Resources {
			if reason := open(run, &r); reason != "" {
				unaddressed = append(unaddressed, result.Unaddressed{
					Stack: st.Name, LogicalID: r.LogicalID, Type: r.Type, PhysicalID: r.PhysicalID, Reason: reason,
				})
			}
		}
	}
	if run.DryRun {
		updated = 0
	}
	var errs []error
	for _, o := range [][2]string{
		{"outcome", string(run.Outcome)},
		{"exit-code", strconv.Itoa(run.Outcome.ExitCode())},
		{"drifted", strconv.FormatBool(run.Drifted())},
		{"changed", strconv.FormatBool(run.Changed())},
		{"updated", strconv.Itoa(updated)},
		{"unchanged", strconv.Itoa(run.Count(result.InSync))},
		{"failed", strconv.Itoa(run.Count(result.DriftFailed))},
		{"failure-reason", string(run.Reason)},
		{"unaddressed", compact(unaddressed)},
	} {
		errs = append(errs, s.SetOutput(o[0], o[1]))
	}
	return errors.Join(errs...)
}

// open is what is left to take care of in a resource, "" for nothing.
func open(run *result.DriftRun, r *result.DriftedResource) string {
	switch {
	case r.Settled && !run.DryRun:
		return ""
	case r.Left != "":
		return r.Left
	case r.Drift == result.DriftFound:
		return "it is not as recorded"
	case r.Drift == result.DriftDeleted:
		return "it was deleted"
	case r.Drift == result.InSync, r.Drift == result.DriftUnsupported:
		return ""
	}
	return r.Reason
}
